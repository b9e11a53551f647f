"""Everything there is to measure about a run that has ended."""

from collections.abc import Callable
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from gossipgan.config import DataSettings, GameSettings, Settings
from gossipgan.errors import UserError
from gossipgan.evaluation.ruler import Ruler
from gossipgan.evaluation.sampling import NotFiniteSamples, sample
from gossipgan.games import build
from gossipgan.runs import RunDirectory, sha256

Builder = Callable[[GameSettings, DataSettings], tuple[nn.Module, nn.Module]]


def evaluate_run(
    run: RunDirectory, ruler: Ruler, settings: Settings, generator_builder: Builder = build
) -> dict[str, float | str]:
    """Score each iterate of a run's generator, and the floor beside them.

    An iterate whose pictures are not finite is left out, and the outcome is then ``diverged`` whatever the run
    recorded. Iterates whose weights are missing are left out where the run diverged.

    Args:
        run: a run that has ended.
        ruler: built for these settings.
        settings: the run's; game, data, evaluation and the method's iterates are read.
        generator_builder: makes generator and discriminator; else the registry of networks.

    Returns:
        ``outcome``, then scores by metric name, such as ``fid_digits_2000_ema`` and ``fid_digits_2000_floor``; of
        several learners these are the scores of their mean, and beside them stand each learner's own, as
        ``fid_digits_2000_ema-learner-0003``, ``-best-learner``, ``-worst-learner`` and ``-ensemble``.
        Of a run that has lost learners the scores are the survivors', and ``lost_learners`` says whose are missing.

    Raises:
        UserError: the run has not ended, its weights are missing, damaged, or another network's.
    """
    result = run.read_result()
    outcome: str = result["outcome"]
    scores: dict[str, float] = {}
    for iterate in settings.iterates:
        path = run.generator(iterate)
        if not path.exists() and outcome != "ok":
            continue
        try:
            samples = _sample_file(run, path, ruler, settings, generator_builder)
        except NotFiniteSamples:
            outcome = "diverged"
            continue
        for metric, value in ruler.score(samples, settings.evaluation.metrics).items():
            scores[ruler.metric_name(metric, iterate)] = value
    if outcome == "ok" and settings.mixing.learners > 1 and settings.evaluation.learners:
        scores |= _score_learners(run, ruler, settings, generator_builder)
    for metric, value in ruler.floor(settings.evaluation.metrics).items():
        scores[ruler.metric_name(metric, "floor")] = value
    lost = [number for one in result.get("lost", []) for number in one["learners"]]
    # A word, not a number: it is no score, but a record of this run is none of a run that has lost nobody.
    return {"outcome": outcome, **({"lost_learners": ", ".join(map(str, lost))} if lost else {}), **scores}


def _score_learners(
    run: RunDirectory, ruler: Ruler, settings: Settings, generator_builder: Builder
) -> dict[str, float]:
    """FID of the headline iterate at each learner, at the best and at the worst, and of all of them together.

    A learner that was lost, or whose pictures are not finite, is left out.
    Picture i of the ensemble is learner (i mod n)'s.
    """
    headline = settings.evaluation.headline
    scores, everybody = {}, []
    lost = {number for one in run.read_result().get("lost", []) for number in one["learners"]}
    for learner in sorted(set(range(settings.mixing.learners)) - lost):
        try:
            samples = _sample_file(run, run.generator(headline, learner), ruler, settings, generator_builder)
        except NotFiniteSamples:
            continue
        everybody.append(samples)
        scores[f"learner-{learner:04d}"] = ruler.score(samples, ("fid",))["fid"]
    if not everybody:
        return {}
    places = torch.arange(len(everybody[0]))
    ensemble = torch.stack(everybody)[places % len(everybody), places]
    together = {
        "best-learner": min(scores.values()),
        "worst-learner": max(scores.values()),
        "ensemble": ruler.score(ensemble, ("fid",))["fid"],
    }
    return {ruler.metric_name("fid", f"{headline}-{name}"): value for name, value in {**together, **scores}.items()}


def _sample_file(
    run: RunDirectory, path: Path, ruler: Ruler, settings: Settings, generator_builder: Builder
) -> torch.Tensor:
    """Samples of the generator whose weights a file of the run holds."""
    generator, _ = generator_builder(settings.game, settings.data)
    recorded = run.read_result().get("weights", {})
    load_weights(generator, path, recorded.get(str(path.relative_to(run.weights).with_suffix(""))))
    return sample(
        generator.to(ruler.device),
        settings.game.latent,
        settings.evaluation.samples,
        batch=settings.evaluation.batch,
        noise_seed=settings.evaluation.noise_seed,
        device=ruler.device,
        recompute_batch_norm=settings.evaluation.batch_norm == "recompute",
        classes=settings.game.classes,
    )


def load_weights(network: nn.Module, path: Path, recorded: str | None) -> None:
    """Load a finished run's weights into a network of the same settings.

    Args:
        network: G or D.
        path: the file of weights.
        recorded: its SHA-256 by the run's ``result.json``.

    Raises:
        UserError: the file is missing, damaged, or another network's.
    """
    if not path.exists():
        raise UserError(f"{path}: no such file, though the run's result.json says that it ended well; train it again")
    if sha256(path) != recorded:
        raise UserError(f"{path}: not the weights that result.json records; train the run again")
    try:
        network.load_state_dict(load_file(path))
    except (SafetensorError, RuntimeError):
        raise UserError(
            f"{path}: not the weights of the network that game and data describe; train the run again"
        ) from None
