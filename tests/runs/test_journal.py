"""The journal: one JSON object a line, cut back to what a checkpoint knows."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossipgan.errors import UserError
from gossipgan.runs import Journal, JournalReader, read_journal


def test_entries_are_lines_of_plain_json_in_order(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "run" / "journal.jsonl")
    journal.append("losses", 50, loss_d=0.5)
    journal.append("end", 100, outcome="ok", reason=None)
    journal.close()

    lines = journal.path.read_text().splitlines()

    assert [json.loads(line) for line in lines] == [
        {"event": "losses", "step": 50, "loss_d": 0.5},
        {"event": "end", "step": 100, "outcome": "ok", "reason": None},
    ]
    assert list(read_journal(journal.path)) == [json.loads(line) for line in lines]


def test_reopening_at_a_length_cuts_off_what_came_after_it(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal(path)
    journal.append("losses", 1, loss_d=1.0)
    length = journal.sync()
    kept = path.read_bytes()
    journal.append("losses", 2, loss_d=2.0)
    journal.close()
    assert length == len(kept) < path.stat().st_size

    again = Journal(path, length)
    again.append("losses", 2, loss_d=3.0)
    again.close()

    assert path.read_bytes().startswith(kept)
    assert [(entry["step"], entry["loss_d"]) for entry in read_journal(path)] == [(1, 1.0), (2, 3.0)]


def test_a_journal_that_was_interrupted_and_resumed_is_the_same_to_the_last_byte(tmp_path: Path) -> None:
    whole = Journal(tmp_path / "whole.jsonl")
    for step in range(4):
        whole.append("losses", step, loss_d=step / 3)
    whole.close()

    first = Journal(tmp_path / "resumed.jsonl")
    for step in range(2):
        first.append("losses", step, loss_d=step / 3)
    length = first.sync()
    first.append("losses", 2, loss_d=2 / 3)
    first.close()
    with first.path.open("ab") as file:
        file.write(b'{"event":"los')  # torn by the kill
    second = Journal(first.path, length)
    for step in range(2, 4):
        second.append("losses", step, loss_d=step / 3)
    second.close()

    assert second.path.read_bytes() == whole.path.read_bytes()


def test_the_length_after_reopening_counts_from_the_start_of_the_file(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    journal.append("losses", 1)
    length = journal.sync()
    journal.close()

    assert Journal(journal.path, length).sync() == length


def test_a_journal_shorter_than_its_checkpoint_says_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"{}\n")

    with pytest.raises(UserError, match=r"3 bytes.* taken at 4"):
        Journal(path, 4)
    assert path.read_bytes() == b"{}\n"


def test_opening_without_a_length_starts_afresh(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"{}\n")

    Journal(path).close()

    assert path.read_bytes() == b""


def test_an_entry_is_in_the_file_when_append_returns(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    journal.append("losses", 1, loss_d=1.0)

    assert [entry["step"] for entry in read_journal(journal.path)] == [1]
    journal.close()


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    # The second line is whole JSON, but without its newline nobody knows that it ends there.
    path.write_bytes(b'{"step":1}\n{"step":2}')

    assert list(read_journal(path)) == [{"step": 1}]


def test_a_damaged_line_is_refused_by_number(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"step":1}\n{"st\n{"step":3}\n')

    with pytest.raises(UserError, match=r"journal\.jsonl:2:"):
        list(read_journal(path))


def test_numbers_that_are_not_finite_are_words_in_the_file_and_numbers_again_when_read(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    journal.append("losses", 1, a=math.nan, b=math.inf, c=-math.inf, d=-math.nan)
    journal.close()

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    json.loads(journal.path.read_text(), parse_constant=refuse)
    (entry,) = read_journal(journal.path)
    assert math.isnan(entry["a"])
    assert math.isnan(entry["d"])
    assert (entry["b"], entry["c"]) == (math.inf, -math.inf)


# A write waits for the disk: no deadline.
@settings(deadline=None, max_examples=30)
@given(values=st.lists(st.floats(), min_size=1, max_size=20))
def test_every_float_reads_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, values: list[float]) -> None:
    journal = Journal(tmp_path_factory.mktemp("run") / "journal.jsonl")
    for step, value in enumerate(values):
        journal.append("losses", step, loss_d=value)
    journal.close()

    found = [entry["loss_d"] for entry in read_journal(journal.path)]

    for value, read in zip(values, found, strict=True):
        assert read == value or (math.isnan(read) and math.isnan(value))
        assert isinstance(read, float)


@given(st.lists(st.tuples(st.sampled_from(["append", "cut", "replace", "tear", "read"]), st.integers(0, 9))))
@settings(max_examples=60)
def test_a_reader_of_a_growing_journal_knows_what_reading_all_of_it_gives(
    tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[str, int]]
) -> None:
    path = tmp_path_factory.mktemp("growing") / "journal.jsonl"
    reader, known = JournalReader(path), list[object]()
    for act, number in [*acts, ("read", 0)]:
        content = path.read_bytes() if path.exists() else b""
        if act == "append":
            path.write_bytes(content[: content.rfind(b"\n") + 1] + b'{"step":%d}\n' % number)
        elif act == "cut":
            path.write_bytes(b"".join(content.splitlines(keepends=True)[:number]))
        elif act == "replace":
            path.unlink(missing_ok=True)
        elif act == "tear":
            path.write_bytes(content + b'{"st')
        if act == "read":
            entries, first = reader.read()
            known = entries if first else [*known, *entries]
            assert known == (list(read_journal(path)) if path.exists() else [])
