"""How tests are dealt out to processes, with pytest and pytest-xdist as they are installed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent

CONFTEST = """
def pytest_xdist_make_scheduler(config, log):
    from .scheduling import ByFile

    return ByFile(config, log)
"""


def test_files_stay_together_hosts_of_this_machine_do_not_meet_and_slow_folders_come_first(tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    for file in ("cli/test_a.py", "cli/test_bench.py", "network/test_b.py", "network/test_c.py", "system/test_d.py"):
        path = tests / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("import pytest\n\n@pytest.mark.parametrize('n', range(8))\ndef test(n): pass\n")
    (tests / "conftest.py").write_text(CONFTEST)
    shutil.copy(HERE / "scheduling.py", tests)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib -p no:cacheprovider\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-n", "2", "--dist", "loadgroup"],
        cwd=tmp_path,
        env={key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")},
        text=True,
        capture_output=True,
        check=False,
    )
    ran = re.findall(r"\[(gw\d)\] .* PASSED tests/(\w+)/(\w+)\.py", done.stdout)
    assert len(ran) == 5 * 8, done.stdout + done.stderr
    processes = {file: {process for process, _, name in ran if name == file} for _, _, file in ran}
    assert all(len(one) == 1 for one in processes.values())
    assert processes["test_bench"] == processes["test_b"] == processes["test_c"]
    assert "system" in {next(folder for process, folder, _ in ran if process == one) for one in ("gw0", "gw1")}
