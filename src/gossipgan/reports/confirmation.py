"""What the fresh runs of a sweep's best settings show: intervals, tests against the baseline, and plain sentences.

Every setting is held against the baseline seed by seed. A claim is made where the paired t-test's p, after Holm's
correction for the number of settings, is below 0.05. A run that diverged has no score, and no number can stand for
it: means are then over the others, the count is shown, and no claim is made of a comparison that it belongs to.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gossipgan.reports.ruler import MetricName
from gossipgan.reports.significance import holm, least_sign_flip, paired_t, sign_flip
from gossipgan.reports.statistics import CONFIDENCE, Difference, interval, number, paired_difference, signed, spread
from gossipgan.runs import write_atomic, write_json
from gossipgan.sweeps import Confirmation, Confirmed, duration


class Gain(NamedTuple):
    """How much better than the baseline: positive is better, whatever the metric's direction.

    Attributes:
        difference: over the seeds at which both ended well.
        alone: p of the paired t-test.
        adjusted: that after Holm's correction; None, like all p, for fewer than two such seeds.
        flipped: p of the sign-flip test.
    """

    difference: Difference
    alone: float | None
    adjusted: float | None
    flipped: float | None

    @property
    def shown(self) -> bool:
        """Whether a difference can be claimed."""
        return self.adjusted is not None and self.adjusted < 1 - CONFIDENCE


def write_confirmation(root: Path, confirmation: Confirmation) -> dict[str, Any]:
    """Judge a confirmation, and write it.

    Written are ``work/sweeps/NAME/confirmation.json``, and ``confirmation.json`` and ``confirmation.md`` in
    ``reports/sweeps/NAME/``.

    Args:
        root: the folder of ``params.yaml``.

    Returns:
        What the JSON files hold.
    """
    content = judge(confirmation)
    reports = root / "reports" / "sweeps" / confirmation.sweep
    write_json(root / "work" / "sweeps" / confirmation.sweep / "confirmation.json", content)
    write_json(reports / "confirmation.json", content)
    write_atomic(reports / "confirmation.md", markdown(content))
    return content


def judge(confirmation: Confirmation) -> dict[str, Any]:
    """All numbers and sentences, as JSON has them. ``difference`` is null where no claim can be made at all."""
    baseline, candidates = confirmation.baselines[0], confirmation.candidates
    gains = _gains(confirmation)
    unit = _unit(confirmation.metric)
    sentences = [
        _sentence(one, baseline, gain, unit, len(candidates)) for one, gain in zip(candidates, gains, strict=True)
    ]
    return {
        "sweep": confirmation.sweep,
        "metric": confirmation.metric,
        "label": _label(confirmation.metric),
        "minimize": confirmation.minimize,
        "seeds": list(confirmation.seeds),
        "images": confirmation.images,
        "candidates": [
            {**_arm(one), "difference": _difference(one, baseline, gain), "sentence": sentence}
            for one, gain, sentence in zip(candidates, gains, sentences, strict=True)
        ],
        "baseline": _arm(baseline),
        "baselines": [_arm(one) for one in confirmation.baselines],
        "against": confirmation.against,
        "tuning": {
            "sweep_trials": confirmation.candidates_tuning.trials,
            "baseline_trials": confirmation.baseline_tuning.trials,
            "sweep_seconds": confirmation.candidates_tuning.seconds,
            "baseline_seconds": confirmation.baseline_tuning.seconds,
        },
        "conclusion": _conclusion(confirmation, gains, sentences),
    }


def _gains(confirmation: Confirmation) -> list[Gain]:
    sign = -1.0 if confirmation.minimize else 1.0
    baseline = {seed: sign * score for seed, score in _finite(confirmation.baselines[0]).items()}
    differences = []
    for one in confirmation.candidates:
        mine = {seed: sign * score for seed, score in _finite(one).items()}
        found = paired_difference(mine, baseline)
        differences.append((found, [mine[seed] - baseline[seed] for seed in found.seeds]))
    # Whoever diverged, or was held against one that did, still is one of the comparisons that were made.
    adjusted = holm([paired_t(values) for _, values in differences])
    return [
        Gain(found, paired_t(values), p, sign_flip(values))
        for (found, values), p in zip(differences, adjusted, strict=True)
    ]


def _finite(one: Confirmed) -> dict[int, float]:
    return {seed: score for seed, score in one.scores.items() if score is not None}


def _arm(one: Confirmed) -> dict[str, Any]:
    over = spread(list(_finite(one).values()))
    low, high = interval(over)
    return {
        "name": one.arm.name,
        "settings": one.arm.proposed,
        "experiment": one.arm.experiment,
        "overrides": one.arm.values,
        "score_in_sweep": one.arm.searched,
        "scores": {str(seed): score for seed, score in one.scores.items()},
        "diverged": {str(seed): reason for seed, reason in one.reasons.items()},
        "mean": over.mean,
        "low": low,
        "high": high,
    }


def _difference(one: Confirmed, baseline: Confirmed, gain: Gain) -> dict[str, Any] | None:
    if one.reasons or baseline.reasons or gain.adjusted is None:
        return None
    return {
        "mean": gain.difference.mean,
        "low": gain.difference.low,
        "high": gain.difference.high,
        "p": gain.adjusted,
        "p_alone": gain.alone,
        "p_sign_flip": gain.flipped,
    }


def _sentence(one: Confirmed, baseline: Confirmed, gain: Gain, unit: str, comparisons: int) -> str:
    """How a setting does against the baseline, in plain words."""
    found, n = gain.difference, len(one.scores)
    size = _size(found, unit)
    over = _interval(found)
    if one.reasons or baseline.reasons:
        counts = [
            f"{len(arm.reasons)} of {n} runs of {name} diverged"
            for arm, name in ((one, one.arm.name), (baseline, baseline.arm.name))
            if arm.reasons
        ]
        rest = f"; where both ended well it is {size}{over} ({len(found.seeds)} of {n} seeds)" if found.seeds else ""
        return f"no claim can be made: {' and '.join(counts)}{rest}"
    if gain.alone is None or gain.adjusted is None:
        return f"no difference can be shown: {size} at one seed, and one seed does not tell the spread"
    corrected = f", {_p(gain.adjusted)} after Holm's correction for {comparisons} comparisons"
    tested = f"p = {_p(gain.alone)}{corrected if comparisons > 1 else ''}"
    if not gain.shown:
        return f"no difference can be shown: {size} in the mean{over}; {tested}"
    doubt = ""
    if gain.flipped is not None and gain.flipped >= 1 - CONFIDENCE > least_sign_flip(n):
        doubt = f"; but by the sign-flip test alone p = {_p(gain.flipped)}, so that it hangs on the normal assumption"
    return f"{size}{over}; {tested}{doubt}"


def _size(found: Difference, unit: str) -> str:
    mean = found.mean or 0.0
    if mean == 0:
        return f"0 {unit} apart"
    return f"{'better' if mean > 0 else 'worse'} by {number(abs(mean))} {unit}"


def _interval(found: Difference) -> str:
    """The interval of the difference in words."""
    if found.low is None or found.high is None:
        return ""
    if found.shown:
        near, far = sorted((abs(found.low), abs(found.high)))
        return f", 95 % interval {number(near)} to {number(far)}"
    return f", 95 % interval {number(-found.low)} worse to {number(found.high)} better"


def _conclusion(confirmation: Confirmation, gains: Sequence[Gain], sentences: Sequence[str]) -> str:
    """The sweep's best against the baseline, how the others do, and what went into the choice of either."""
    best, baseline, seeds = confirmation.candidates[0].arm, confirmation.baselines[0], confirmation.seeds
    parts = [
        f"{best.name} against {baseline.arm.name}, by {_label(confirmation.metric)}, on {len(seeds)} fresh "
        f"{'seed' if len(seeds) == 1 else 'seeds'} with {confirmation.images:,} pictures each: {sentences[0]}."
    ]
    for one, gain in list(zip(confirmation.candidates, gains, strict=True))[1:]:
        if one.reasons or baseline.reasons:
            verdict = "no claim can be made, as runs diverged"
        elif not gain.shown:
            verdict = "no difference can be shown"
        else:
            verdict = _size(gain.difference, _unit(confirmation.metric))
        parts.append(f"{one.arm.name}: {verdict}.")
    return " ".join([*parts, _tuned(confirmation)])


def _tuned(confirmation: Confirmation) -> str:
    mine, theirs = confirmation.candidates_tuning, confirmation.baseline_tuning
    if confirmation.against is None:
        tried = "1 setting" if theirs.trials == 1 else f"{theirs.trials} settings"
        return f"The baseline was not tuned: {tried} tried against {mine.trials}."
    times = f"{duration(mine.seconds)} against {duration(theirs.seconds)} of device time"
    if mine.trials == theirs.trials:
        return f"Both were tuned with {mine.trials} trials, {times}."
    return f"Tuning was unequal: {mine.trials} trials against {theirs.trials} for the baseline, {times}."


def _label(metric: str) -> str:
    name = MetricName.parse(metric)
    return metric if name is None else name.label


def _unit(metric: str) -> str:
    """The metric without its ruler, which the text around tells."""
    return _label(metric).partition(" (")[0]


def _p(p: float | None) -> str:
    if p is None:
        return "-"
    return "<0.0001" if p < 1e-4 else f"{p:.2g}"


_COLUMNS = ("", "in the sweep", "mean", "95 % interval", "better by", "95 % interval", "p", "sign-flip p", "diverged")


def table(content: dict[str, Any]) -> list[list[str]]:
    """A header, and a row for each setting: p is after Holm's correction."""
    rows = [list(_COLUMNS)]
    for one in (*content["candidates"], *content["baselines"]):
        found = one.get("difference") or {}
        rows.append(
            [
                one["name"],
                _cell(one["score_in_sweep"]),
                _cell(one["mean"]),
                _range(one, signs=False),
                "-" if not found else signed(found["mean"]),
                _range(found, signs=True),
                _p(found.get("p")),
                _p(found.get("p_sign_flip")),
                f"{len(one['diverged'])} of {len(one['scores'])}" if one["diverged"] else "-",
            ]
        )
    return rows


def lines(content: dict[str, Any]) -> list[str]:
    """For the terminal: the table, a sentence for each setting, and the conclusion."""
    rows = table(content)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    printed = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return [
        content["label"],
        *printed,
        *(f"{one['name']}: {one['sentence']}" for one in content["candidates"]),
        content["conclusion"],
    ]


def markdown(content: dict[str, Any]) -> str:
    """The confirmation as a page."""
    header, *rows = table(content)
    seeds = content["seeds"]
    text = [
        f"# {content['sweep']}: confirmation",
        "",
        content["conclusion"],
        "",
        f"{content['label']}, {'lower' if content['minimize'] else 'higher'} is better; fresh seeds "
        f"{', '.join(map(str, seeds))}, {content['images']} pictures a run.",
        "",
        *(f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows)),
        "",
        *(f"- **{one['name']}** ({_settings(one['settings'])}): {one['sentence']}." for one in content["candidates"]),
        "",
        "| seed | " + " | ".join(map(str, seeds)) + " |",
        "| --- |" + " --- |" * len(seeds),
    ]
    for one in (*content["candidates"], *content["baselines"]):
        scores = ["diverged" if score is None else number(score) for score in one["scores"].values()]
        text.append(f"| {one['name']} | {' | '.join(scores)} |")
    text += [
        "",
        "Intervals are Student's, of a mean over seeds and of the mean difference seed by seed, each by itself. p is "
        f"that of the paired t-test after Holm's correction for {len(content['candidates'])} comparisons; a difference "
        "is claimed where it is below 0.05. The sign-flip test needs no normal differences, and can give no less than "
        f"{least_sign_flip(len(seeds)):.4g} with {len(seeds)} seeds. Runs that diverged are left out of means, and no "
        "claim is made where there are any.",
        "",
    ]
    return "\n".join(text)


def _settings(values: dict[str, Any]) -> str:
    return ", ".join(
        f"{key}={value:.4g}" if isinstance(value, float) else f"{key}={value}" for key, value in values.items()
    )


def _cell(value: float | None) -> str:
    return "-" if value is None else number(value)


def _range(found: dict[str, Any], *, signs: bool) -> str:
    if found.get("low") is None:
        return "-"
    write = signed if signs else number
    return f"{write(found['low'])} to {write(found['high'])}"
