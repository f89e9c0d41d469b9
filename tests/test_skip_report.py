"""What a run of the tests says of those that it skipped, alone and in several processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ABSENT = """
import pytest
def test_a(): pytest.importorskip("no_such_library")
def test_b(): pytest.importorskip("no_such_library.part")
@pytest.mark.skipif(True, reason="this system has no fork")
def test_c(): pass
"""
ABSENT_FILE = """
import pytest
pytest.importorskip("no_such_frames")
def test_d(): pass
"""


def outcome(folder: Path, ci: str, *options: str) -> tuple[int, str]:
    (folder / "test_some.py").write_text(ABSENT)
    (folder / "test_file.py").write_text(ABSENT_FILE)
    (folder / "pytest.ini").write_text("[pytest]\n")
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(Path(__file__).parent)}
    plugins = ["-p", "skip_report", "-p", "xdist", "-p", "no:cacheprovider"]
    environment = {**os.environ, "CI": ci, **alone}
    command = [sys.executable, "-m", "pytest", *plugins, *options, str(folder)]
    found = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    return found.returncode, found.stdout


@pytest.mark.parametrize("options", [(), ("--numprocesses=2",)], ids=["alone", "in two processes"])
def test_each_reason_is_told_once_with_its_count(options: tuple[str, ...], tmp_path: Path) -> None:
    status, told = outcome(tmp_path, "", *options)
    assert status == 0, told
    table = told.partition("skipped, and why")[2].splitlines()
    assert table[1:4] == [
        "     2  no_such_library is not installed",
        "     1  no_such_frames is not installed",
        "     1  this system has no fork",
    ]


@pytest.mark.parametrize("options", [(), ("--numprocesses=2",)], ids=["alone", "in two processes"])
def test_in_continuous_integration_only_the_system_may_be_the_reason(options: tuple[str, ...], tmp_path: Path) -> None:
    assert outcome(tmp_path, "true", *options)[0] != 0
    status, told = outcome(tmp_path, "true", *options, "--ignore", str(tmp_path / "test_file.py"))
    assert status == 1
    assert "2 failed, 1 skipped" in told
    assert "but no_such_library is not installed" in told
    assert "     1  this system has no fork" in told
