"""The training of one run, from its first iteration or from its last checkpoint to its result."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from gossipgan.config import Settings, fingerprint
from gossipgan.data import Store
from gossipgan.errors import UserError
from gossipgan.evaluation import NotFiniteSamples, Ruler
from gossipgan.games import count_parameters
from gossipgan.mixing.elastic import LostError
from gossipgan.mixing.group import Group, OneProcess
from gossipgan.runs import RunDirectory, code_digest, describe_environment, write_json
from gossipgan.training.checkpoint import latest_checkpoint, read_run
from gossipgan.training.iterates import Iterates
from gossipgan.training.progress import report_progress
from gossipgan.training.state import TrainingState, remaining


def train(
    run: RunDirectory,
    settings: Settings,
    seed: int,
    store: Store,
    ruler: Ruler,
    *,
    experiment: str,
    console: Console,
    group: Group | None = None,
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
        group: the run's learners, where several processes host them; all call this function. None: this one does.

    Returns:
        the content of ``result.json``.

    Raises:
        UserError: the directory holds another run, its checkpoint is damaged or of other code, or the game has
            other classes than the pictures.
    """
    _check_classes(settings, store)
    group = group or OneProcess(learners_left(run, settings))
    identity = fingerprint(settings, seed, store.digest)
    _check_directory(run, identity)
    if run.result.exists():
        return run.read_result()
    device = ruler.device
    group.barrier()  # nobody writes before all have looked
    if group.main:
        run.write_settings(settings, seed, store.digest, experiment)
        write_json(run.environment, describe_environment(settings.training.threads, device))

    state = TrainingState(run, settings, seed, store, identity, group, device)
    iterates = Iterates(settings, ruler, group, device)
    about = {"experiment": experiment, "seed": seed, "fingerprint": identity, "data": store.digest}
    title, lost = f"{experiment} seed {seed}", False
    while True:
        try:
            if lost:
                happened = state.rewire()
                if group.main:
                    console.print(f"{title}: {happened}", soft_wrap=True, highlight=False)
            outcome, reason = _iterate(run, settings, state, iterates, title, console)
            _finish(run, state, outcome, reason, about)
            return run.read_result()
        except LostError:
            lost = True


def _iterate(
    run: RunDirectory, settings: Settings, state: TrainingState, iterates: Iterates, title: str, console: Console
) -> tuple[str, str | None]:
    """All iterations that are left; returns the outcome and, where it is not ``ok``, the reason.

    Raises:
        LostError: a process has gone, and the others can go on without it.
    """
    group, learners = state.group, state.learners.values()
    budget, mixes = settings.training, settings.mixing.mixes
    losses: dict[str, float] = {}

    with report_progress(title, state.step, budget.steps, console, shown=group.main) as report:
        while state.step < budget.steps:
            # One iteration: fast steps, mixing, Lookahead, averaging (in this order, as in the papers).
            for taken in zip(*(learner.fast_steps() for learner in learners), strict=True):
                state.exchange_gradients(taken)
            state.step += 1
            reason: str | None = None
            last = state.step == budget.steps
            logged = last or state.step % budget.log_every == 0
            before = state.consensus() if logged and group.learners > 1 else {}
            if mixes != "slow":
                state.exchange_weights()
            if logged and group.learners > 1:
                state.log_mixing(before, state.consensus())
            evaluate = last or state.step % budget.evaluate_every == 0
            draw = last or state.step % budget.sample_every == 0
            # Fast weights are looked at as they were before the backtrack, or they would be the slow ones.
            fast = [learner.iterate("fast") for learner in learners] if evaluate or draw else []
            levels = [learner.backtrack() for learner in learners]
            if mixes != "fast" and levels[0]:
                state.exchange_weights()
                for learner in learners:
                    learner.anchor()
            for learner, level in zip(learners, levels, strict=True):
                learner.average(level)

            if logged:
                losses = state.log_losses()
                reason = state.divergence(losses)
            if evaluate or draw:
                iterates.take(list(learners), fast)
            if group.main and reason is None:
                try:
                    if evaluate:
                        state.log_scores(iterates.score(), iterates.primary)
                    if draw:
                        state.journal.append("samples", state.step, file=iterates.save_samples(run, state.step))
                except NotFiniteSamples:
                    reason = f"G's samples are not finite at step {state.step}"
            if logged or evaluate or draw:
                reason, state.best_step = group.share([reason, state.best_step])
            if logged:
                report(state.step, losses, state.scores)
            if last or reason is not None:
                iterates.take(list(learners), fast, everything=True)
                if group.main:
                    iterates.save(run, state.numbers)
            if reason is not None:
                return "diverged", reason
            saved = last or state.step % budget.checkpoint_every == 0 or state.step == state.best_step
            if saved:
                state.checkpoint()
            if (saved or logged) and not last:
                state.mark()
    return "ok", None


def _finish(
    run: RunDirectory, state: TrainingState, outcome: str, reason: str | None, about: Mapping[str, Any]
) -> None:
    """Close the journal and write the result, with what the run is about. All processes."""
    if state.group.main:
        state.journal.append("end", state.step, images=state.images, outcome=outcome, reason=reason)
        state.close()
        learner = next(iter(state.learners.values()))
        run.write_result(
            outcome=outcome,
            reason=reason,
            steps=state.step,
            images=state.images,
            best_step=state.best_step,
            **about,
            parameters={
                "generator": count_parameters(learner.generator.network),
                "discriminator": count_parameters(learner.discriminator.network),
            },
            # A run that has lost learners is another than one that has not.
            **({"lost": state.lost} if state.lost else {}),
        )
    state.group.barrier()


def learners_left(run: RunDirectory, settings: Settings) -> int:
    """How many learners a run has: all, or the survivors of its last checkpoint."""
    path = latest_checkpoint(run.checkpoints)
    return len(remaining(settings, [] if path is None else read_run(path).get("lost", [])))


def resumable(run: RunDirectory) -> bool:
    """Whether a run directory holds an unfinished run that this code can go on with to the end it always has: without
    lost learners."""
    path = latest_checkpoint(run.checkpoints)
    if path is None or run.result.exists():
        return False
    numbers = read_run(path)
    return bool(numbers["code"] == code_digest() and not numbers["lost"])


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
