"""Reproducing recorded results: the pipeline again, in a scratch copy, compared with the record.

The record is what the ``evaluate`` and ``compare`` stages wrote: ``metrics/`` and ``reports/comparison.json``, both
kept in git.
"""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gossipgan.config import load_params
from gossipgan.errors import UserError
from gossipgan.runs import Project, run_dvc

#: What a scratch copy needs; everything else the pipeline makes.
_COPIED = ("params.yaml", "dvc.yaml", "pipeline", "src")

#: What an environment tells beside what decides the bits: the interpreter does no arithmetic of a run's.
_HARMLESS = ("python",)

#: A relative difference is relative to at least this, so that scores near 0 are not held to the last digit.
_SCALE = 0.05


class Verdict(NamedTuple):
    """Whether the record was reproduced, and what to tell a person: one line a finding."""

    reproduced: bool
    lines: list[str]


def verify_project(
    params: Path, experiments: Collection[str], seeds: Collection[int], tolerance: float | None
) -> Verdict:
    """Reproduce runs from nothing and compare them with the record.

    Where processor, device, libraries and threads are those of the record, every metric and the hash of every weights
    file must be equal. Elsewhere floating-point arithmetic differs in its last bits, which training amplifies: then
    metrics must agree within ``tolerance``, relative to the recorded value (or to .05, where that is less).

    Args:
        params: the project's ``params.yaml``.
        experiments, seeds: only these; empty: all.
        tolerance: for another machine than the recorded one; None: refuse to judge there.

    Raises:
        UserError: there is no record, it does not have the runs, or the pipeline fails in the copy.
    """
    project = Project(params.parent.resolve())
    file = load_params(params)
    for name in experiments:
        file.settings(name)
    for seed in seeds:
        if seed not in file.seeds:
            raise UserError(f"{params}: seeds: there is no {seed}; there are {', '.join(map(str, file.seeds))}")
    record = _read_record(project)
    chosen = [(e, s) for e in (experiments or file.experiments) for s in (seeds or file.seeds)]
    for experiment, seed in chosen:
        if str(seed) not in record["experiments"].get(experiment, {"runs": {}})["runs"]:
            raise UserError(f"{project.reports / 'comparison.json'}: no {experiment} seed {seed}; run dvc repro first")

    with tempfile.TemporaryDirectory(prefix="gossipgan-verify-") as folder:
        scratch = Project(Path(folder))
        environment = _reproduce(project, scratch, chosen)
        differing = [
            key
            for key, recorded in record["environment"].items()
            if key not in _HARMLESS and recorded != environment.get(key)
        ]
        lines = [f"{key}: recorded {record['environment'][key]}, here {environment.get(key)}" for key in differing]
        if differing and tolerance is None:
            lines.append("not the machine of the record, so bits may differ: give --tolerance, such as --tolerance 0.3")
            return Verdict(False, lines)
        reproduced = True
        for experiment, seed in chosen:
            recorded, again = _scores(project, experiment, seed), _scores(scratch, experiment, seed)
            weights = record["experiments"][experiment]["runs"][str(seed)]["weights"]
            if differing:
                assert tolerance is not None
                findings = list(_beyond(recorded, again, tolerance))
                agreed = f"{len(recorded)} metrics within {tolerance:g}"
            else:
                hashes = scratch.run(experiment, seed).read_result()["weights"]
                findings = [*_unequal(recorded, again), *_unequal(weights, hashes)]
                agreed = f"{len(recorded)} metrics and {len(weights)} weights files equal to the last bit"
            reproduced = reproduced and not findings
            lines.append(f"{experiment} seed {seed}: " + ("; ".join(findings) if findings else agreed))
    lines.append("reproduced" if reproduced else "not reproduced")
    return Verdict(reproduced, lines)


def _read_record(project: Project) -> dict[str, Any]:
    path = project.reports / "comparison.json"
    try:
        record: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        raise UserError(f"{path}: nothing is recorded yet; run dvc repro first") from None
    except ValueError:
        raise UserError(f"{path}: not valid JSON; restore it from git or run dvc repro") from None
    return record


def _scores(project: Project, experiment: str, seed: int) -> dict[str, Any]:
    path = project.metrics(experiment, seed)
    if not path.exists():
        raise UserError(f"{path}: not there; run dvc repro first")
    scores: dict[str, Any] = json.loads(path.read_text())
    return scores


def _reproduce(project: Project, scratch: Project, chosen: Sequence[tuple[str, int]]) -> dict[str, Any]:
    """Run the chosen runs' stages in the scratch copy, with a cache of its own; returns the environment."""
    for name in _COPIED:
        source = project.root / name
        if source.is_dir():
            shutil.copytree(source, scratch.root / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        elif source.exists():
            shutil.copy2(source, scratch.root / name)
    targets = [f"evaluate@{experiment}-{seed}" for experiment, seed in chosen]
    for command in (["init", "--no-scm", "--quiet"], ["repro", *targets]):
        done = run_dvc(scratch.root, *command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            last = [line for line in done.stdout.splitlines() if line.strip()][-3:]
            raise UserError(f"dvc {' '.join(command)}: failed in the scratch copy: {' / '.join(last)}")
    experiment, seed = chosen[0]
    fingerprint = scratch.run(experiment, seed).read_result()["fingerprint"]
    described: dict[str, Any] = json.loads(scratch.work(experiment, seed, fingerprint).environment.read_text())
    return described


def _unequal(recorded: dict[str, Any], again: dict[str, Any]) -> Iterator[str]:
    for key in sorted(recorded.keys() | again.keys()):
        if recorded.get(key) != again.get(key):
            yield f"{key}: recorded {recorded.get(key)}, now {again.get(key)}"


def _beyond(recorded: dict[str, Any], again: dict[str, Any], tolerance: float) -> Iterator[str]:
    for key in sorted(recorded.keys() | again.keys()):
        old, new = recorded.get(key), again.get(key)
        if isinstance(old, float) and isinstance(new, float):
            if abs(new - old) > tolerance * max(abs(old), _SCALE):
                yield f"{key}: recorded {old:.4f}, now {new:.4f}"
        elif old != new:
            yield f"{key}: recorded {old}, now {new}"
