"""Files are whole or as they were."""

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gossipgan.runs import atomic, sha256, write_atomic


@pytest.mark.parametrize("content", [b"\x00\xff", "caf\u00e9\n", ""])
def test_what_is_written_is_what_is_read(tmp_path: Path, content: bytes | str) -> None:
    path = tmp_path / "new folder" / "file"

    write_atomic(path, "before")
    write_atomic(path, content)

    assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert list(path.parent.iterdir()) == [path]


def test_nothing_is_seen_at_the_path_before_the_end_of_the_block(tmp_path: Path) -> None:
    path = tmp_path / "file"

    with atomic(path) as temporary:
        temporary.write_text("new")
        assert not path.exists()
        # A rename is one step only within a file system.
        assert temporary.parent == path.parent

    assert path.read_text() == "new"


def test_a_block_that_raises_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def write_half() -> None:
        with atomic(path) as temporary:
            temporary.write_text("half of the n")
            raise RuntimeError("disk on fire")

    with pytest.raises(RuntimeError, match="disk on fire"):
        write_half()

    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_process_killed_in_the_middle_of_writing_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    code = """
import sys, time
from pathlib import Path
from gossipgan.runs.files import atomic
with atomic(Path(sys.argv[1])) as temporary, temporary.open("wb") as file:
    file.write(b"half of the n")
    file.flush()
    print("writing", flush=True)
    time.sleep(60)
"""

    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "writing\n"
        writer.send_signal(signal.SIGKILL)
        assert writer.wait() == -signal.SIGKILL

    assert path.read_text() == "old"
    write_atomic(path, "new")
    assert path.read_text() == "new"


def test_a_reader_always_sees_one_whole_version(tmp_path: Path) -> None:
    path = tmp_path / "file"
    versions = [bytes([byte]) * 100_000 for byte in b"ab"]
    write_atomic(path, versions[0])
    code = """
import sys
from pathlib import Path
from gossipgan.runs.files import write_atomic
for turn in range(20):
    write_atomic(Path(sys.argv[1]), bytes([b"ab"[turn % 2]]) * 100_000)
"""

    with subprocess.Popen([sys.executable, "-c", code, str(path)]) as writer:
        while writer.poll() is None:
            assert path.read_bytes() in versions
    assert writer.returncode == 0


@pytest.mark.parametrize("content", [b"", b"abc", os.urandom(3_000_001)], ids=["empty", "abc", "3 MB"])
def test_sha256_is_hashlibs(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)

    assert sha256(path) == hashlib.sha256(content).hexdigest()


def test_sha256_of_abc_is_the_published_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")

    # FIPS 180-2, appendix B.1
    assert sha256(path) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
