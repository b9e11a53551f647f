"""The training of one run, from its first iteration or from its last checkpoint to its result."""

from typing import Any

from rich.console import Console

from gossipgan.config import Settings, fingerprint
from gossipgan.data import Store
from gossipgan.errors import UserError
from gossipgan.evaluation import NotFiniteSamples, Ruler
from gossipgan.games import count_parameters
from gossipgan.mixing import Mixing, NoMixing
from gossipgan.runs import RunDirectory, code_digest, describe_environment, write_json
from gossipgan.training.checkpoint import latest_checkpoint, load_checkpoint
from gossipgan.training.iterates import Iterates
from gossipgan.training.progress import report_progress
from gossipgan.training.state import TrainingState


def train(
    run: RunDirectory,
    settings: Settings,
    seed: int,
    store: Store,
    ruler: Ruler,
    *,
    experiment: str,
    console: Console,
) -> dict[str, Any]:
    """Train one experiment at one seed; go on from the last checkpoint where there is one.

    Args:
        run: where everything is written. A finished run of the same fingerprint is returned as it is.
        settings: the experiment's, resolved.
        seed: the run's.
        store: the prepared pictures; training sees the training split alone.
        ruler: scores the curve. Its device is trained on: see ``set_up_device``.
        experiment: its name, for people.
        console: where progress is shown.

    Returns:
        the content of ``result.json``.

    Raises:
        UserError: the directory holds another run, its checkpoint is damaged or of other code, or the game has
            other classes than the pictures.
    """
    _check_classes(settings, store)
    identity = fingerprint(settings, seed, store.digest)
    _check_directory(run, identity)
    if run.result.exists():
        return run.read_result()
    device = ruler.device
    run.write_settings(settings, seed, store.digest, experiment)
    write_json(run.environment, describe_environment(settings.training.threads, device))

    state = TrainingState(run, settings, seed, store, identity, device)
    iterates = Iterates(settings, ruler, device)
    mixing: Mixing = NoMixing()
    budget = settings.training
    outcome, reason = "ok", None
    losses: dict[str, float] = {}

    with report_progress(f"{experiment} seed {seed}", state.step, budget.steps, console) as report:
        while state.step < budget.steps:
            # One iteration: fast steps, mixing, Lookahead, averaging (in this order, as in the papers).
            for learner in state.learners:
                state.sums += learner.play()
            mixing.start([player.vector for learner in state.learners for player in learner.players])
            mixing.finish()
            state.step += 1
            last = state.step == budget.steps
            evaluate = last or state.step % budget.evaluate_every == 0
            draw = last or state.step % budget.sample_every == 0
            # Fast weights are looked at as they were before the backtrack, or they would be the slow ones.
            fast = state.learners[0].iterate("fast") if evaluate or draw else {}
            for learner in state.learners:
                learner.backtrack()
            for learner in state.learners:
                learner.average()

            logged = last or state.step % budget.log_every == 0
            if logged:
                losses = state.log_losses()
                reason = state.divergence(losses)
            if reason is None:
                try:
                    if evaluate:
                        state.log_scores(iterates.score(state.learners[0], fast), iterates.primary)
                    if draw:
                        file = iterates.save_samples(run, state.learners[0], fast, state.step)
                        state.journal.append("samples", state.step, file=file)
                except NotFiniteSamples:
                    reason = f"G's samples are not finite at step {state.step}"
            if logged:
                report(state.step, losses, state.scores)
            if last or reason is not None:
                iterates.save(run, state.learners[0], fast)
            if reason is not None:
                outcome = "diverged"
                break
            if last or state.step % budget.checkpoint_every == 0 or state.step == state.best_step:
                state.checkpoint()

    state.journal.append("end", state.step, images=state.images, outcome=outcome, reason=reason)
    state.close()
    learner = state.learners[0]
    run.write_result(
        outcome=outcome,
        reason=reason,
        steps=state.step,
        images=state.images,
        best_step=state.best_step,
        experiment=experiment,
        seed=seed,
        fingerprint=identity,
        data=store.digest,
        parameters={
            "generator": count_parameters(learner.generator.network),
            "discriminator": count_parameters(learner.discriminator.network),
        },
    )
    return run.read_result()


def resumable(run: RunDirectory) -> bool:
    """Whether a run directory holds an unfinished run that this code can go on with."""
    path = latest_checkpoint(run.checkpoints)
    return path is not None and not run.result.exists() and load_checkpoint(path).numbers["code"] == code_digest()


def _check_classes(settings: Settings, store: Store) -> None:
    wanted, held = settings.game.classes, len(store.manifest.classes)
    if wanted not in (0, held):
        raise UserError(
            f"game.classes: {wanted}, but the pictures of {store.path} have "
            f"{f'{held} classes' if held else 'no classes'}; use 0" + (f" or {held}" if held else "")
        )


def _check_directory(run: RunDirectory, identity: str) -> None:
    if run.settings.exists():
        _, holder = run.read_settings()
        if holder["fingerprint"] != identity:
            raise UserError(
                f"{run.path}: holds another run (fingerprint {holder['fingerprint'][:12]}, not {identity[:12]}); "
                "give another --out, or --overwrite to start over"
            )
    elif run.path.exists() and any(run.path.iterdir()):
        raise UserError(f"{run.path}: not empty and not a run directory; give another --out")
