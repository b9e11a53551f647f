"""The house's rules: a package imports only from rows below it, and nothing loads a pickle."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import gossipgan

ROOT = Path(gossipgan.__file__).parent
SOURCES = sorted(ROOT.rglob("*.py"))

#: Packages from the top floor to the bottom. A module right under gossipgan counts as a floor of its own.
FLOORS = (
    "__main__",
    "cli",
    "reports",
    "sweeps",
    "tracking",
    "training",
    "network",
    "evaluation",
    "mixing",
    "optimizers",
    "games",
    "data",
    "runs",
    "config",
    "errors",
)

#: Packages of sweeps, likewise.
SWEEPS = ("progress", "mirror", "confirmation", "workers", "study", "jobs", "processes", "search")

#: Modules that run what a file tells them to when they load it.
PICKLERS = {"pickle", "_pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _imports(tree: ast.AST) -> Iterator[str]:
    """Dotted names of what is imported, imports within functions included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names)


@pytest.fixture(scope="module", params=SOURCES, ids=_name)
def source(request: pytest.FixtureRequest) -> tuple[Path, ast.Module]:
    path: Path = request.param
    return path, ast.parse(path.read_text(encoding="utf-8"), str(path))


def test_it_imports_only_from_floors_below(source: tuple[Path, ast.Module]) -> None:
    path, tree = source
    floor = path.relative_to(ROOT).parts[0].removesuffix(".py")
    below = FLOORS[FLOORS.index(floor) + 1 :] if floor in FLOORS else ()

    for name in _imports(tree):
        assert not name.startswith("."), f"{name}: imports within gossipgan are absolute"
        package, _, rest = name.partition(".")
        if package == "gossipgan" and rest != "__version__":
            assert rest.split(".")[0] in (floor, *below), f"{floor} must not know {name}"


def test_a_package_of_sweeps_imports_only_from_those_below_it(source: tuple[Path, ast.Module]) -> None:
    path, tree = source
    parts = path.relative_to(ROOT).parts
    if parts[0] != "sweeps" or len(parts) < 3:
        return
    below = SWEEPS[SWEEPS.index(parts[1]) :]

    for name in _imports(tree):
        if name.startswith("gossipgan.sweeps."):
            assert name.split(".")[2] in below, f"{parts[1]} must not know {name}"


def test_it_loads_no_pickle(source: tuple[Path, ast.Module]) -> None:
    _, tree = source

    for name in _imports(tree):
        assert name.split(".")[0] not in PICKLERS, name
        assert name not in ("torch.load", "torch.save"), name
    tensors_only = {
        id(node.func)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for word in node.keywords
        if word.arg == "weights_only" and isinstance(word.value, ast.Constant) and word.value.value is True
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and id(node) not in tensors_only:
            assert (node.value.id, node.attr) not in (("torch", "load"), ("torch", "save")), node.lineno
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            assert isinstance(node.value, ast.Constant), node.value.lineno
            assert node.value.value is False, node.value.lineno


def test_every_package_has_its_floor() -> None:
    packages = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}

    assert packages
    assert packages <= set(FLOORS)
