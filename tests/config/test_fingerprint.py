"""Two runs with one fingerprint are the same run, wherever they run and however they are written."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from gossipgan.config import Settings, fingerprint, flatten, load_params
from gossipgan.errors import UserError

Write = Callable[[str], Path]

#: The defaults as canonical JSON: keys in order, no spaces, the fields of ``Placement`` left out.
#: Written by hand from the schema; a changed line here is a changed fingerprint of every run.
CANONICAL = (
    '{"data":"d1","seed":7,"settings":{'
    '"averaging":{"buffers":"copy","ema_decay":null,"ema_half_life":100.0,"ema_slow_at":"slow","ema_slow_decay":null,'
    '"uniform_from":null},'
    '"data":{"channels":1,"held_out":null,"limit":null,"resize":false,"size":28,"skip_bad":false,'
    '"source":"mnist-sample","split_seed":0},'
    '"evaluation":{"batch":250,"batch_norm":"recompute","headline":"ema","iterates":["fast","slow","ema","ema-slow","uniform"],'
    '"kid_subset_size":1000,"kid_subsets":100,"learners":true,"metrics":["fid","is","kid","prc"],"neighbours":3,'
    '"noise_seed":0,"samples":2000},'
    '"extractor":{"batch":128,"epochs":12,"features":64,"kind":"classifier","lr":0.003,"name":"digits",'
    '"seed":0,"sha256":null,"shift":2,"weights":null,"width":32},'
    '"game":{"classes":0,"discriminator_norm":"spectral","gradient_penalty":10.0,"latent":64,"loss":"nonsaturating",'
    '"network":"dcgan","width":16},'
    '"lookahead":{"alpha":0.5,"buffers":"keep","discriminator_k":null,"k":5,"k_max":null,"kind":"none",'
    '"moments":"keep","super_alpha":0.5,"super_k":50},'
    '"mixing":{"buffers":"keep","degree":null,"dirichlet":0.5,"discriminator_rounds":null,"discriminator_topology":null,'
    '"file":null,"gamma":0.5,"kind":"none","learners":1,"mixes":"fast","moments":"keep","period":1,"probability":null,'
    '"rounds":1,"shards":"iid","topk":0.05,"topology":"ring","topology_seed":0,"weights":"auto","wire":"float32"},'
    '"optimizer":{"d_steps":1,'
    '"discriminator":{"beta1":0.5,"beta2":0.999,"clip_norm":null,"eps":1e-08,"final":0.01,"lr":0.001,"momentum":0.0,'
    '"schedule":"constant","warmup":0,"weight_decay":0.0},'
    '"extrapolation":"shared",'
    '"generator":{"beta1":0.5,"beta2":0.999,"clip_norm":null,"eps":1e-08,"final":0.01,"lr":0.001,"momentum":0.0,'
    '"schedule":"constant","warmup":0,"weight_decay":0.0},'
    '"name":"adam","update":"alternating"},'
    '"training":{"batch":64,"channels_last":true,"compile":false,"divergence_window":500,'
    '"evaluate_every":500,"log_every":50,"precision":"float32","sample_every":500,"steps":2000,"threads":2}'
    "}}"
)

#: Fields that say where or how often something happens, not what is computed.
PLACEMENT = {
    "data.path",
    "data.download",
    "training.device",
    "training.checkpoint_every",
    "mixing.timeout",
    "mixing.on_loss",
    "tracking.mlflow",
    "tracking.uri",
    "tracking.experiment",
}


def _leaves(model: BaseModel, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _changed(model: Any, key: str, value: Any) -> Any:
    first, _, rest = key.partition(".")
    return model.model_copy(update={first: _changed(getattr(model, first), rest, value) if rest else value})


LEAVES = dict(_leaves(Settings()))
DEFAULT = hashlib.sha256(CANONICAL.encode()).hexdigest()


def test_it_is_the_sha256_of_canonical_json() -> None:
    assert fingerprint(Settings(), 7, "d1") == DEFAULT


#: Fields that name a file: what it holds counts.
FILES = {"mixing.file"}


@pytest.mark.parametrize("key", sorted(set(LEAVES) - PLACEMENT - FILES))
def test_it_changes_with_every_setting_of_what_is_computed(key: str) -> None:
    # model_copy does not validate, so that each field can be changed alone.
    other = LEAVES[key] + 1 if isinstance(LEAVES[key], int | float) else "another"

    assert fingerprint(_changed(Settings(), key, other), 7, "d1") != DEFAULT


@pytest.mark.parametrize("key", sorted(PLACEMENT))
def test_it_does_not_change_with_where_and_how_often(key: str) -> None:
    assert key in LEAVES
    assert fingerprint(_changed(Settings(), key, "another"), 7, "d1") == DEFAULT


@pytest.mark.parametrize("key", sorted(FILES))
def test_it_changes_with_what_a_file_holds_and_not_with_its_name(key: str, tmp_path: Path) -> None:
    assert key in LEAVES
    path, renamed = tmp_path / "graph.txt", tmp_path / "renamed.txt"

    def of(file: Path, content: str) -> str:
        file.write_text(content)
        return fingerprint(_changed(Settings(), key, str(file)), 7, "d1")

    first = of(path, "0 1\n1 2\n")
    assert first != DEFAULT
    assert of(renamed, "0 1\n1 2\n") == first
    assert of(path, "0 1\n0 2\n") != first
    # Worked out by hand: the content's SHA-256 stands where the name did.
    digest = hashlib.sha256(b"0 1\n0 2\n").hexdigest()
    canonical = CANONICAL.replace('"file":null', f'"file":"{digest}"')
    assert of(path, "0 1\n0 2\n") == hashlib.sha256(canonical.encode()).hexdigest()


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none.txt: cannot be read \(No such file or directory\)"):
        fingerprint(_changed(Settings(), "mixing.file", str(tmp_path / "none.txt")), 7, "d1")


def test_it_changes_with_the_seed_and_with_the_data() -> None:
    assert len({fingerprint(Settings(), seed, data) for seed in (1, 2) for data in ("a", "b")}) == 4


def test_order_of_keys_does_not_matter(params: Write) -> None:
    one = load_params(params("{lookahead: {k: 3, alpha: 0.4}, training: {steps: 9, batch: 8}}")).settings()
    other = load_params(params("{training: {batch: 8, steps: 9}, lookahead: {alpha: 0.4, k: 3}}")).settings()

    assert fingerprint(one, 1, "d") == fingerprint(other, 1, "d")


@pytest.mark.parametrize(
    ("key", "spellings"),
    [
        ("lookahead.alpha", ["0.5", "0.50", "5e-1", "5.0E-1", ".5"]),
        ("lookahead.alpha", ["1", "1.0", "1e0", "+1"]),
        ("averaging.ema_half_life", ["100", "100.0", "1e2"]),
        ("training.steps", ["2000", "2e3", "2000.0", "2_000"]),
        ("data.channels", ["1", "1.0"]),
        ("evaluation.metrics", ["[fid, is]", '["fid", "is"]']),
    ],
)
def test_spelling_of_a_value_does_not_matter(params: Write, key: str, spellings: list[str]) -> None:
    file = load_params(params(""))

    found = {fingerprint(file.settings(overrides=[f"{key}={value}"]), 1, "d") for value in spellings}

    assert len(found) == 1


@settings(deadline=None)
@given(st.floats(min_value=0.0, max_value=1.0, exclude_min=True))
def test_every_float_is_told_from_its_neighbour_and_not_from_itself(alpha: float) -> None:
    def of(value: float) -> str:
        return fingerprint(Settings.model_validate({"lookahead": {"alpha": value}}), 1, "d")

    assert of(alpha) == of(float(f"{alpha:.17e}"))
    if alpha < 1.0:
        assert of(alpha) != of(min(1.0, alpha * (1 + 2**-52) + 5e-324))


def test_a_default_written_out_is_the_default(params: Write) -> None:
    written = load_params(params("game: {network: dcgan, width: 16}")).settings()

    assert fingerprint(written, 7, "d1") == DEFAULT


def test_another_process_in_another_folder_finds_the_same(tmp_path: Path) -> None:
    code = "from gossipgan.config import *; print(fingerprint(Settings(), 7, 'd1'))"
    surroundings = {**os.environ, "PYTHONHASHSEED": "123", "LC_ALL": "C", "TZ": "Asia/Tokyo", "HOME": str(tmp_path)}

    found = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=surroundings, capture_output=True, text=True, check=True
    )

    assert found.stdout.strip() == DEFAULT


def test_flatten_joins_keys_by_dots() -> None:
    assert flatten({"a": {"b": {"c": 1}, "d": [2]}, "e": None}) == {"a.b.c": 1, "a.d": [2], "e": None}
