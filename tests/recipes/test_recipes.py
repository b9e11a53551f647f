"""The recipes: complete, with a source for every value, and each experiment plays at full width."""

import functools
import json
import re
from pathlib import Path

import pytest
import torch
from ruamel.yaml import YAML

from gossipgan.config import ParamsFile, Settings, load_params
from gossipgan.games import build, count_parameters
from gossipgan.training.learner import Learner

ROOT = Path(__file__).parents[2]
RECIPES = {path.stem: load_params(path) for path in sorted((ROOT / "recipes").glob("*.yaml"))}
EXPERIMENTS = [(name, experiment) for name, file in RECIPES.items() for experiment in file.experiments]

#: What decides how a learner of one small batch plays: recipes that agree in it are played once.
PLAYED = ("game", "optimizer", "lookahead", "averaging")

any_recipe = pytest.mark.parametrize("file", RECIPES.values(), ids=RECIPES)
any_experiment = pytest.mark.parametrize(("recipe", "experiment"), EXPERIMENTS, ids=["-".join(e) for e in EXPERIMENTS])


def test_there_is_a_recipe_for_every_setting_of_the_papers() -> None:
    papers = {"mnist", "cifar10", "svhn", "imagenet32", "cifar10-biggan", "cifar10-wgan-gp"}
    assert papers <= set(RECIPES)
    for name in ("mnist", "cifar10", "svhn", "imagenet32"):
        assert list(RECIPES[name].experiments) == [
            "baseline",
            "lookahead",
            "nested",
            "extragradient",
            "la-extragradient",
        ]


@any_recipe
def test_a_recipe_takes_the_place_of_params_yaml(file: ParamsFile) -> None:
    # DVC tracks these sections, and stops where one is missing.
    whole = YAML(typ="safe", pure=True).load((ROOT / "params.yaml").read_text())
    recipe = YAML(typ="safe", pure=True).load(file.path.read_text())
    assert set(whole) <= set(recipe)


@any_recipe
def test_every_value_says_where_it_comes_from(file: ParamsFile) -> None:
    lines = file.path.read_text().splitlines()
    explained = {tag for line in lines if (tag := _first(r"^#   \[(\w+)\]  ", line))}
    for number, line in enumerate(lines, 1):
        value, _, comment = line.partition("#")
        if re.search(r":\s*\S", value):
            tags = set(re.findall(r"\[(\w+)\]", comment))
            assert tags, f"{file.path.name}:{number}: no source: {line}"
            assert tags <= explained, f"{file.path.name}:{number}: {line}"


@any_experiment
def test_it_plays_at_full_width(recipe: str, experiment: str) -> None:
    settings = RECIPES[recipe].settings(experiment)
    sections = {name: section for name, section in settings.model_dump(mode="json").items() if name in PLAYED}
    sections["data"] = {"size": settings.data.size, "channels": settings.data.channels}
    statistics, moved = _play(json.dumps(sections, sort_keys=True))
    assert torch.isfinite(statistics).all()
    assert moved == (True, True)


@functools.cache
def _play(sections: str) -> tuple[torch.Tensor, tuple[bool, ...]]:
    """Losses and outputs of D over two iterations on a batch of four, ``(2, 4)``, and whether G and D have moved."""
    training = {"training": {"batch": 4, "steps": 1_000_000, "threads": 1}}
    settings = Settings.model_validate(json.loads(sections) | training)
    data, classes = settings.data, settings.game.classes
    draws = torch.Generator().manual_seed(0)
    pictures = torch.randint(256, (8, data.channels, data.size, data.size), dtype=torch.uint8, generator=draws)
    labels = torch.randint(classes, (8,), generator=draws) if classes else None
    learner = Learner(0, settings, 1, pictures, labels, torch.device("cpu"))
    before = [player.vector.detach().clone() for player in learner.players]
    statistics = []
    for _ in range(2):
        statistics.append(learner.play())
        learner.average(learner.backtrack())
    for player in learner.players:
        assert torch.isfinite(player.vector).all()
    moved = tuple(not torch.equal(player.vector, start) for player, start in zip(learner.players, before, strict=True))
    return torch.stack(statistics), moved


#: Published counts of trainable numbers, in millions, of G and D.
PUBLISHED = {
    ("mnist", "baseline"): (3.22, 0.66),
    ("cifar10-biggan", "biggan"): (4.30, 4.21),
}


@pytest.mark.parametrize(("recipe", "experiment"), PUBLISHED, ids="-".join)
def test_networks_have_the_published_numbers_of_parameters(recipe: str, experiment: str) -> None:
    settings = RECIPES[recipe].settings(experiment)
    counts = tuple(round(count_parameters(network) / 1e6, 2) for network in build(settings.game, settings.data))
    assert counts == PUBLISHED[recipe, experiment]


@pytest.mark.parametrize("recipe", ["cifar10", "svhn", "imagenet32"])
def test_residual_networks_have_the_published_5_1_million_parameters(recipe: str) -> None:
    for experiment in RECIPES[recipe].experiments:
        settings = RECIPES[recipe].settings(experiment)
        together = sum(count_parameters(network) for network in build(settings.game, settings.data))
        assert round(together / 1e6, 1) == 5.1


def _first(pattern: str, text: str) -> str | None:
    found = re.search(pattern, text)
    return found[1] if found else None
