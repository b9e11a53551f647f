"""Mistakes are told in one line, with file, key, what is allowed and the nearest right key."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from gossipgan.config import load_params, parse_override, read_yaml
from gossipgan.errors import UserError

Write = Callable[[str], Path]

#: What is wrong, and what its line must name beside the file.
MISTAKES = {
    "unknown section": ("trainig: {steps: 1}", ["'trainig'", "allowed: data,", "did you mean 'training'"]),
    "unknown section that is no text": ("1: 3", ["section 1", "allowed: data,"]),
    "unknown key": (
        "training: {step: 3}",
        ["'training.step'", "steps, batch", "did you mean 'steps'"],
    ),
    "unknown key two levels down": (
        "optimizer: {generator: {beta_1: 0.5}}",
        ["'optimizer.generator.beta_1'", "lr, momentum, beta1", "did you mean 'beta1'"],
    ),
    "key that is no text": ("training: {1: 3}", ["training.1"]),
    "text for a number": ("training: {steps: many}", ["training.steps", "integer", "'many'"]),
    "fraction for a count": ("training: {steps: 1.5}", ["training.steps", "integer", "1.5"]),
    "switch for a number": ("training: {steps: true}", ["training.steps", "switch", "True"]),
    "switch for a choice of numbers": ("data: {channels: true}", ["data.channels", "switch"]),
    "number for a switch": ("training: {compile: 2}", ["training.compile", "boolean", "2"]),
    "text for a list": ("evaluation: {metrics: fid}", ["evaluation.metrics", "list", "'fid'"]),
    "number that is not finite": ("optimizer: {generator: {lr: .nan}}", ["optimizer.generator.lr", "finite"]),
    "too small": ("lookahead: {k: 0}", ["lookahead.k", "greater than or equal to 1", "not 0"]),
    "too large": ("lookahead: {alpha: 1.5}", ["lookahead.alpha", "less than or equal to 1", "1.5"]),
    "not one of the choices": (
        "game: {loss: hing}",
        ["game.loss", "'nonsaturating', 'hinge' or 'wgan-gp'", "'hing'"],
    ),
    "not one of the choices in a list": ("evaluation: {metrics: [fdi]}", ["evaluation.metrics.0", "'fid'"]),
    "text of a wrong form": ("training: {device: tpu}", ["training.device", "cuda", "'tpu'"]),
    "empty list": ("evaluation: {metrics: []}", ["evaluation.metrics", "at least 1"]),
    "empty section": ("training:", ["training", "a mapping of steps, batch", "None"]),
    "section that is a list": ("training: [1]", ["training", "a mapping of steps, batch", "[1]"]),
    "penalty on each picture with batch norm": (
        "game: {loss: wgan-gp, discriminator_norm: batch}",
        ["game.discriminator_norm", "wgan-gp", "none or spectral"],
    ),
    "batch norm in resnet32": (
        "{data: {size: 32}, game: {network: resnet32, discriminator_norm: batch}}",
        ["game.discriminator_norm", "spectral or none"],
    ),
    "size that the network does not make": ("data: {size: 30}", ["data.size", "28 or 32 or 64", "30"]),
    "simultaneous with several D steps": (
        "optimizer: {update: simultaneous, d_steps: 2}",
        ["optimizer.d_steps", "must be 1"],
    ),
    "compiling what is differentiated twice": (
        "{training: {compile: true}, game: {loss: wgan-gp, discriminator_norm: none}}",
        ["training.compile", "wgan-gp", "set it to false"],
    ),
    "extragradient in turns": (
        "optimizer: {name: extra-adam}",
        ["optimizer.update", "extra-adam", "extrapolated pair", "must be simultaneous"],
    ),
    "momentum without its method": (
        "optimizer: {name: adam, generator: {momentum: 0.5}}",
        ["optimizer.generator.momentum", "adam has no heavy-ball momentum", "sgd and extragradient"],
    ),
    "moments of an extrapolation that has none": (
        "optimizer: {name: extragradient, update: simultaneous, extrapolation: own}",
        ["optimizer.extrapolation", "extra-adam", "momentum"],
    ),
    "exponential schedule to zero": (
        "optimizer: {generator: {schedule: exponential, final: 0}}",
        ["optimizer.generator.final", "never reaches 0"],
    ),
    "warm-up longer than the run": (
        "{training: {steps: 50}, optimizer: {discriminator: {warmup: 50}}}",
        ["optimizer.discriminator.warmup", "training.steps (50)"],
    ),
    "alternating Lookahead in a simultaneous update": (
        "{lookahead: {kind: alternating}, optimizer: {update: simultaneous}}",
        ["lookahead.kind", "each player's step", "use joint"],
    ),
    "nested cycles that do not fit": (
        "lookahead: {kind: nested, k: 6, super_k: 20}",
        ["lookahead.super_k", "multiple of k (6)"],
    ),
    "nested cycles of random length": (
        "lookahead: {kind: nested, k: 5, k_max: 9}",
        ["lookahead.kind", "one fixed k"],
    ),
    "random k from a range turned round": ("lookahead: {k: 5, k_max: 4}", ["lookahead.k_max", "at least k (5)"]),
    "random k and a k for D": (
        "lookahead: {k: 5, k_max: 7, discriminator_k: 3}",
        ["lookahead.discriminator_k", "one draw for both players"],
    ),
    "moments to pull back that are not there": (
        "{lookahead: {kind: joint, moments: pullback}, optimizer: {name: sgd}}",
        ["lookahead.moments", "sgd without momentum", "use keep"],
    ),
    "EMA of slow steps without slow steps": (
        "averaging: {ema_slow_decay: 0.9}",
        ["averaging.ema_slow_decay", "without lookahead"],
    ),
    "EMA at the steps of an outer Lookahead that is not there": (
        "{averaging: {ema_slow_decay: 0.9, ema_slow_at: super-slow}, lookahead: {kind: joint}}",
        ["averaging.ema_slow_at", "nested", "use slow"],
    ),
    "average that begins after the end": (
        "{averaging: {uniform_from: 50}, training: {steps: 50}}",
        ["averaging.uniform_from", "training.steps (50)"],
    ),
    "error feedback among neighbours that change": (
        "mixing: {kind: gossip, topology: random-matching, wire: int8}",
        ["mixing.wire", "int8's error feedback", "use float32, bf16 or fp16"],
    ),
    "error feedback for moments": (
        "mixing: {kind: gossip, wire: topk, moments: mix}",
        ["mixing.wire", "topk's error feedback is for weights"],
    ),
    "survivors that exchange gradients": (
        "mixing: {kind: allreduce, on_loss: rewire}",
        ["mixing.on_loss", "kind: allreduce exchange gradients", "use stop"],
    ),
    "several rounds of stale gossip": (
        "mixing: {kind: stale-gossip, rounds: 2}",
        ["mixing.rounds", "one round under way", "use 1"],
    ),
    "slow weights to mix without slow weights": (
        "mixing: {kind: gossip, mixes: slow}",
        ["mixing.mixes", "joint or nested", "use fast"],
    ),
    "moments to mix that are not there": (
        "{mixing: {kind: gossip, moments: mix}, optimizer: {name: sgd}}",
        ["mixing.moments", "sgd without momentum", "use keep"],
    ),
    "unknown topology": ("mixing: {topology: rings}", ["mixing.topology", "'rings'", "'ring'"]),
    "one class": ("game: {network: resnet32, classes: 1}", ["game.classes", "0, or 2 or more"]),
    "classes for an unconditional network": ("game: {classes: 10}", ["game.classes", "resnet32 or biggan32"]),
    "batch norm in a residual D": (
        "game: {network: biggan32, discriminator_norm: batch}",
        ["game.discriminator_norm", "biggan32", "spectral or none"],
    ),
    "two spellings of the EMA": ("averaging: {ema_decay: 0.99}", ["averaging.ema_decay", "ema_half_life"]),
    "headline that is not scored": (
        "evaluation: {iterates: [fast], headline: ema}",
        ["evaluation.headline", "evaluation.iterates"],
    ),
    "headline that the method lacks": (
        "evaluation: {headline: slow}",
        ["evaluation.headline", "slow", "fast, ema"],
    ),
    "KID subset larger than the samples": (
        "evaluation: {samples: 500}",
        ["evaluation.kid_subset_size", "500"],
    ),
    "duplicate key": ("training:\n  steps: 1\n  steps: 2\n", [":3:", "duplicate key", "steps"]),
    "bad YAML": ("data:\n  size: 28\ngame: a: b\n", [":3:", "not valid YAML"]),
    "unclosed quote": ("data: 'x\n", ["not valid YAML"]),
    "character that YAML forbids": ("data: \x01", ["not valid YAML"]),
    "tag of a Python object": ("data: !!python/object:os.system {}", [":1:", "tag"]),
    "brackets without end": ("[" * 1500, ["nested too deeply"]),
    "mapping that contains itself": ("training: &t {steps: *t}", ["contains itself"]),
    "a list": ("- data", ["mapping of sections", "list"]),
    "a word": ("data", ["mapping of sections", "str"]),
    "experiments as a list": ("experiments: [a]", ["experiments", "mapping from names", "['a']"]),
    "experiment as a word": ("experiments: {a: joint}", ["experiments.a", "mapping of sections", "'joint'"]),
    "experiment with a space in its name": ("experiments: {a b: {}}", ["experiments.a b", "letters, digits"]),
    "experiment with a path as its name": ("experiments: {../a: {}}", ["experiments.../a", "letters, digits"]),
    "experiment overriding the data": (
        "experiments: {a: {data: {size: 32}}}",
        ["experiments.a.data", "game, optimizer, lookahead, averaging, mixing, training", "one ruler"],
    ),
    "experiment overriding an unknown section": (
        "experiments: {a: {lookahed: {k: 2}}}",
        ["experiments.a.lookahed", "did you mean 'lookahead'"],
    ),
    "mistake within an experiment": (
        "experiments: {a: {lookahead: {kk: 2}}}",
        ["experiments.a", "'lookahead.kk'", "kind, k, k_max"],
    ),
    "unknown baseline": (
        "{baseline: adm, experiments: {adam: {}}}",
        ["baseline", "'adm'", "did you mean 'adam'"],
    ),
    "baseline that is a list": ("{baseline: [adam], experiments: {adam: {}}}", ["baseline", "there are adam"]),
    "no list of seeds": ("seeds: 1", ["seeds", "list of integers", "not 1"]),
    "no seeds": ("seeds: []", ["seeds", "list of integers", "[]"]),
    "negative seed": ("seeds: [1, -1]", ["seeds", "at least 0", "-1"]),
    "switch for a seed": ("seeds: [true]", ["seeds", "list of integers", "True"]),
    "fraction for a seed": ("seeds: [1.0]", ["seeds", "list of integers", "1.0"]),
    "seed twice": ("seeds: [1, 2, 1]", ["seeds", "once"]),
}


@pytest.mark.parametrize(("text", "named"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_the_file_is_one_line_that_names_file_and_key(
    params: Write, text: str, named: Sequence[str]
) -> None:
    path = params(text)

    line = _refusal(path)

    assert "\n" not in line
    assert line.startswith(str(path))
    for part in named:
        assert part in line


OVERRIDE_MISTAKES = {
    "no equals sign": ("training.steps", ["-S training.steps:", "dotted.key=value"]),
    "no key": ("=3", ["-S =3", "dotted.key=value"]),
    "an empty part of the key": ("training..steps=3", ["dotted.key=value"]),
    "a value that is not YAML": ("training.steps=[", ["-S training.steps=[", "not valid YAML"]),
    "a value nested without end": ("training.steps=" + "[" * 1500, ["not valid YAML"]),
    "an unknown section": ("trainig.steps=3", ["'trainig'", "did you mean 'training'"]),
    "an unknown key": ("training.step=3", ["'training.step'", "did you mean 'steps'"]),
    "a key below a number": ("training.steps.x=3", ["training.steps", "integer"]),
    "a number for a section": ("training=3", ["training", "a mapping of steps"]),
    "no value": ("training.steps=", ["training.steps", "integer"]),
    "a value out of range": ("lookahead.alpha=0", ["lookahead.alpha", "greater than 0"]),
    "what is no setting of one experiment": ("seeds=[1]", ["'seeds'"]),
}


@pytest.mark.parametrize(("override", "named"), OVERRIDE_MISTAKES.values(), ids=OVERRIDE_MISTAKES)
def test_a_mistake_in_an_override_is_one_line_that_names_it(params: Write, override: str, named: Sequence[str]) -> None:
    file = load_params(params(""))

    with pytest.raises(UserError) as refusal:
        file.settings(overrides=[override])

    assert "\n" not in str(refusal.value)
    for part in ["-S " + override.partition("=")[0], *named]:
        assert part in str(refusal.value)


def test_an_unknown_experiment_is_refused_with_those_there_are(params: Write) -> None:
    file = load_params(params("experiments: {adam: {}, lookahead: {lookahead: {kind: joint}}}"))

    with pytest.raises(UserError, match=r"'lookahed'; there are adam, lookahead; did you mean 'lookahead'\?"):
        file.settings("lookahed")


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    assert str(tmp_path / "params.yaml") in _refusal(tmp_path / "params.yaml")


def test_a_folder_and_a_file_that_is_not_text_are_refused_by_name(tmp_path: Path) -> None:
    picture = tmp_path / "picture.yaml"
    picture.write_bytes(b"\x89PNG\xff")

    assert str(picture) in _refusal(picture)
    assert str(tmp_path) in _refusal(tmp_path)


def test_later_sources_win_default_then_file_then_experiment_then_override(params: Write) -> None:
    text = """
        lookahead: {k: 6, alpha: 0.6}
        training: {steps: 7}
        experiments: {a: {lookahead: {kind: joint, k: 8}}}
    """
    path = params(text)

    resolved = load_params(path).settings("a", ["lookahead.k=9", "training.batch=3", "training.batch=4"])

    assert load_params(path).settings().optimizer.d_steps == 1  # a default
    assert load_params(path).settings().lookahead.k == 6
    assert load_params(path).settings("a").lookahead.k == 8
    assert resolved.lookahead.k == 9
    # What a later source leaves out stands; of two overrides the last one wins.
    assert (resolved.lookahead.alpha, resolved.lookahead.kind, resolved.training.steps) == (0.6, "joint", 7)
    assert resolved.training.batch == 4


def test_an_override_leaves_the_loaded_file_as_it_is(params: Write) -> None:
    file = load_params(params("{training: {steps: 7}, experiments: {a: {training: {batch: 2}}}}"))

    file.settings("a", ["training.steps=9"])

    assert file.settings("a").training.steps == 7
    assert file.settings().training.batch == 64


@pytest.mark.parametrize("spelling", ["1e-3", "1E-3", "0.001", "1.0e-3", ".001"])
def test_scientific_notation_is_a_number(params: Write, spelling: str) -> None:
    file = load_params(params(f"optimizer: {{generator: {{lr: {spelling}}}}}"))

    assert file.settings().optimizer.generator.lr == 0.001
    assert parse_override(f"optimizer.generator.lr={spelling}") == ("optimizer.generator.lr", 0.001)


def test_an_override_is_read_as_yaml(params: Write) -> None:
    overrides = ["evaluation.metrics=[fid, is]", "averaging.ema_half_life=null", " averaging.ema_decay = 0.9"]

    settings = load_params(params("")).settings(overrides=overrides)

    assert settings.evaluation.metrics == ("fid", "is")
    assert settings.averaging.decay == 0.9


def test_the_baseline_is_the_first_experiment_unless_it_is_named(params: Write) -> None:
    assert load_params(params("experiments: {b: {}, a: }")).baseline == "b"
    assert load_params(params("{baseline: a, experiments: {b: {}, a: {}}}")).baseline == "a"
    assert load_params(params("{baseline: 2, experiments: {1: {}, 2: {}}}")).baseline == "2"
    assert load_params(params("")).baseline is None


def test_sections_need_not_be_an_experiment_of_their_own(params: Write) -> None:
    text = "{evaluation: {headline: slow}, experiments: {a: {lookahead: {kind: joint}}}}"

    assert load_params(params(text)).settings("a").iterates == ("fast", "slow", "ema")


def test_an_empty_file_is_all_defaults(params: Write) -> None:
    file = load_params(params("# nothing yet\n"))

    assert (file.seeds, file.experiments) == ((1,), {})
    assert read_yaml(file.path) == {}


def _refusal(path: Path) -> str:
    with pytest.raises(UserError) as refusal:
        load_params(path)
    return str(refusal.value)
