import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from gossipgan.config import Settings
from gossipgan.reports.confirmation import judge, lines, write_confirmation
from gossipgan.sweeps import Arm, Confirmation, Confirmed, Tuning

BASELINE = [20.0, 22.5, 19.0, 21.0, 20.5]
BETTER = [17.0, 19.0, 16.5, 17.2, 17.3]
#: Beside the baseline on average, and never far from it.
BESIDE = [20.5, 22.0, 19.4, 20.8, 20.4]
SEEDS = (4, 5, 6, 7, 8)


def _arm(name: str, scores: Sequence[float | None], **proposed: Any) -> Confirmed:
    by_seed = dict(zip(SEEDS, scores, strict=False))
    reasons = {seed: "D has won" for seed, score in by_seed.items() if score is None}
    return Confirmed(Arm(name, "baseline", proposed, proposed, Settings(), 1.0), by_seed, reasons)


def _confirmation(
    *candidates: Sequence[float | None],
    baseline: Sequence[float | None] = BASELINE,
    minimize: bool = True,
    against: str | None = None,
    tuning: tuple[Tuning, Tuning] = (Tuning(40, 3600.0), Tuning(1, 90.0)),
) -> Confirmation:
    return Confirmation(
        sweep="some",
        metric="fid_digits_2000_ema" if minimize else "is_digits_2000_ema",
        minimize=minimize,
        seeds=SEEDS[: len(baseline)],
        images=128_000,
        candidates=tuple(_arm(f"trial-{number}", scores, k=number) for number, scores in enumerate(candidates)),
        baselines=(_arm("baseline", baseline),),
        against=against,
        candidates_tuning=tuning[0],
        baseline_tuning=tuning[1],
    )


def test_a_difference_is_that_of_scipys_paired_t_test_and_above_zero_is_better() -> None:
    content = judge(_confirmation(BETTER))
    test = stats.ttest_rel(BASELINE, BETTER)
    low, high = test.confidence_interval(0.95)
    (candidate,) = content["candidates"]
    found = candidate["difference"]
    assert found["mean"] == pytest.approx(3.2)
    assert (found["low"], found["high"]) == (pytest.approx(low), pytest.approx(high))
    assert found["p"] == found["p_alone"] == pytest.approx(test.pvalue)
    assert found["p_sign_flip"] == pytest.approx(2 / 32)
    assert candidate["sentence"].startswith(f"better by 3.20 FID, 95 % interval {low:.2f} to {high:.2f}; p = ")
    assert "no difference" not in content["conclusion"]

    mean = stats.ttest_1samp(BETTER, 0.0).confidence_interval(0.95)
    assert (candidate["low"], candidate["high"]) == (pytest.approx(mean.low), pytest.approx(mean.high))
    assert candidate["mean"] == pytest.approx(sum(BETTER) / 5)


def test_the_same_scores_are_worse_where_more_is_better() -> None:
    (candidate,) = judge(_confirmation(BETTER, minimize=False))["candidates"]
    assert candidate["difference"]["mean"] == pytest.approx(-3.2)
    assert candidate["sentence"].startswith("worse by 3.20 IS, 95 % interval ")
    (candidate,) = judge(_confirmation(BASELINE, baseline=BETTER, minimize=False))["candidates"]
    assert candidate["sentence"].startswith("better by 3.20 IS")


def test_no_difference_is_said_to_be_not_shown_with_both_ends_of_the_interval_in_words() -> None:
    (candidate,) = judge(_confirmation(BESIDE))["candidates"]
    test = stats.ttest_rel(BASELINE, BESIDE)
    low, high = test.confidence_interval(0.95)
    assert low < 0 < high
    assert candidate["sentence"].startswith(
        "no difference can be shown: worse by 0.0200 FID in the mean, 95 % interval"
    )
    assert f"{-low:.3f} worse to {high:.3f} better; p = " in candidate["sentence"]


def test_what_is_shown_alone_may_be_lost_among_several_comparisons() -> None:
    differences = [0.3, 1.6, 0.9, 1.4, 0.1]
    close = [score - one for score, one in zip(BASELINE, differences, strict=True)]
    alone = float(stats.ttest_rel(BASELINE, close).pvalue)
    assert 0.05 / 3 < alone < 0.05
    (only,) = judge(_confirmation(close))["candidates"]
    assert only["sentence"].startswith("better by")
    first, *_ = judge(_confirmation(close, BESIDE, BESIDE))["candidates"]
    assert first["difference"]["p"] == pytest.approx(3 * alone)
    assert first["sentence"].startswith("no difference can be shown: better by 0.860 FID")
    assert "after Holm's correction for 3 comparisons" in first["sentence"]


def test_settings_that_are_the_baselines_show_no_difference() -> None:
    (candidate,) = judge(_confirmation(BASELINE))["candidates"]
    assert candidate["difference"]["p"] == 1.0
    assert candidate["sentence"].startswith("no difference can be shown: 0 FID apart")


def test_one_seed_tells_no_spread() -> None:
    (candidate,) = judge(_confirmation([17.0], baseline=[20.0]))["candidates"]
    assert candidate["difference"] is None
    assert (candidate["mean"], candidate["low"], candidate["high"]) == (17.0, None, None)
    assert candidate["sentence"].startswith("no difference can be shown: better by 3.00 FID at one seed")


def test_a_run_that_diverged_is_counted_and_forbids_a_claim() -> None:
    content = judge(_confirmation([None, *BETTER[1:]], BETTER))
    first, second = content["candidates"]
    assert first["scores"] == {"4": None, "5": 19.0, "6": 16.5, "7": 17.2, "8": 17.3}
    assert first["diverged"] == {"4": "D has won"}
    assert first["mean"] == pytest.approx(17.5)
    assert first["difference"] is None
    assert first["sentence"].startswith(
        "no claim can be made: 1 of 5 runs of trial-0 diverged; where both ended well it is better by 3.25 FID"
    )
    assert first["sentence"].endswith("(4 of 5 seeds)")
    assert second["sentence"].startswith("better by 3.20 FID")
    # The comparison that came to nothing was made, and counts: the p of the other is doubled.
    assert second["difference"]["p"] <= 2 * second["difference"]["p_alone"]
    assert "no claim can be made" in content["conclusion"]
    assert any("1 of 5" in line for line in lines(content))


def test_a_baseline_that_diverged_forbids_all_claims() -> None:
    content = judge(_confirmation(BETTER, [None] * 5, baseline=[*BASELINE[:4], None]))
    assert [one["difference"] for one in content["candidates"]] == [None, None]
    assert "1 of 5 runs of baseline diverged" in content["candidates"][0]["sentence"]
    sentence = content["candidates"][1]["sentence"]
    assert sentence == ("no claim can be made: 5 of 5 runs of trial-1 diverged and 1 of 5 runs of baseline diverged")
    assert content["candidates"][1]["mean"] is None


def test_a_claim_that_sign_flips_do_not_bear_out_says_so() -> None:
    # Of the 256 ways to sign these, 14 have a sum as far from zero: 0.055, where the t-test finds 0.042.
    differences = [1.4, 2.0, 0.6, -0.8, 0.7, 0.2, 1.0, 0.7]
    seeds = tuple(range(4, 12))
    some = _confirmation(BETTER)
    arm = some.candidates[0].arm
    mine: dict[int, float | None] = {seed: 10.0 - one for seed, one in zip(seeds, differences, strict=True)}
    content = judge(
        some._replace(
            seeds=seeds,
            candidates=(Confirmed(arm, mine, {}),),
            baselines=(Confirmed(arm, dict.fromkeys(seeds, 10.0), {}),),
        )
    )
    (candidate,) = content["candidates"]
    assert candidate["difference"]["p_sign_flip"] == pytest.approx(14 / 256)
    assert candidate["sentence"].startswith("better by 0.725 FID")
    assert "by the sign-flip test alone p = 0.055" in candidate["sentence"]
    # Of five seeds nobody could expect it.
    assert "sign-flip" not in judge(some)["candidates"][0]["sentence"]


@pytest.mark.parametrize(
    ("against", "tuning", "says"),
    [
        (None, (Tuning(100, 60.0), Tuning(1, 9.0)), "The baseline was not tuned: 1 setting tried against 100."),
        (
            "plain",
            (Tuning(100, 7200.0), Tuning(40, 3600.0)),
            "Tuning was unequal: 100 trials against 40 for the baseline, 2:00:00 against 1:00:00 of device time.",
        ),
        (
            "plain",
            (Tuning(40, 60.0), Tuning(40, 66.0)),
            "Both were tuned with 40 trials, 1:00 against 1:06 of device time.",
        ),
    ],
)
def test_the_conclusion_says_what_went_into_either_choice(
    against: str | None, tuning: tuple[Tuning, Tuning], says: str
) -> None:
    content = judge(_confirmation(BETTER, against=against, tuning=tuning))
    assert content["conclusion"].endswith(says)
    assert content["tuning"]["sweep_trials"] == tuning[0].trials
    assert content["tuning"]["baseline_trials"] == tuning[1].trials


def test_the_files_hold_the_same_numbers_and_the_page_a_row_for_each_setting(tmp_path: Path) -> None:
    content = write_confirmation(tmp_path, _confirmation(BETTER, BESIDE))
    reports = tmp_path / "reports" / "sweeps" / "some"
    for path in (tmp_path / "work" / "sweeps" / "some" / "confirmation.json", reports / "confirmation.json"):
        assert json.loads(path.read_text()) == content
    page = (reports / "confirmation.md").read_text()
    assert content["conclusion"] in page
    assert re.findall(r"^\| (trial-0|trial-1|baseline) \| 1\.00 \| ", page, re.MULTILINE) == [
        "trial-0",
        "trial-1",
        "baseline",
    ]
    assert "| trial-0 | 17.0 | 19.0 | 16.5 | 17.2 | 17.3 |" in page
