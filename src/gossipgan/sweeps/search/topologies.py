"""The graphs that learners are to exchange over, made once before anything starts: a file may be missing, or wrong."""

from gossipgan.config import Settings, fingerprinted
from gossipgan.errors import UserError
from gossipgan.sweeps.search.file import Sweep
from gossipgan.sweeps.search.parameter import Scalar

#: Settings that a graph is made of.
_OF_GRAPH = (
    "optimizer.name",
    "mixing.kind",
    "mixing.learners",
    "mixing.topology",
    "mixing.discriminator_topology",
    "mixing.weights",
    "mixing.degree",
    "mixing.probability",
    "mixing.topology_seed",
    "mixing.file",
)


def check_topologies(sweep: Sweep) -> None:
    """Make every graph of the baselines, and of trials as far as it is fixed, or one of several choices.

    Where a range takes part, a graph is left to the trials, but for its file: one trial may draw what others would not.

    Raises:
        UserError: in one line, with the settings that give such a graph: a file cannot be read, or its weights are not
            doubly stochastic; or the topology does not fit the learners, its options or the method.
    """
    for name in sweep.baselines:
        _check(sweep.baseline_settings(name), f"{sweep.path}: baselines: {name}", ranged=False)
    ranges = {key for key, one in sweep.space.searched.items() if one.choices is None}
    known: set[tuple[tuple[str, Scalar], ...]] = set()
    for values in sweep.space.tries():
        graph = tuple((key, values[key]) for key in _OF_GRAPH if key in values)
        if graph not in known:
            known.add(graph)
            given = ", ".join(f"{key}={value!r}" for key, value in graph)
            where = f"{sweep.path}: space: with {given}" if given else str(sweep.params.path)
            _check(sweep.trial_settings(values), where, ranged=any(key in ranges for key, _ in graph))


def _check(settings: Settings, where: str, *, ranged: bool) -> None:
    from gossipgan.mixing.build import schedules

    try:
        fingerprinted(settings.mixing)  # which reads the file, whether learners exchange over it or not
        if not ranged:
            schedules(settings)
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
