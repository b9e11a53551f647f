"""Everything there is to measure about a run that has ended."""

from collections.abc import Callable
from pathlib import Path

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
        ``outcome``, then scores by metric name, such as ``fid_digits_2000_ema`` and ``fid_digits_2000_floor``.

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
        generator, _ = generator_builder(settings.game, settings.data)
        load_weights(generator, path, result.get("weights", {}).get(path.stem))
        try:
            samples = sample(
                generator.to(ruler.device),
                settings.game.latent,
                settings.evaluation.samples,
                batch=settings.evaluation.batch,
                noise_seed=settings.evaluation.noise_seed,
                device=ruler.device,
                recompute_batch_norm=settings.evaluation.batch_norm == "recompute",
                classes=settings.game.classes,
            )
        except NotFiniteSamples:
            outcome = "diverged"
            continue
        for metric, value in ruler.score(samples, settings.evaluation.metrics).items():
            scores[ruler.metric_name(metric, iterate)] = value
    for metric, value in ruler.floor(settings.evaluation.metrics).items():
        scores[ruler.metric_name(metric, "floor")] = value
    return {"outcome": outcome, **scores}


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
