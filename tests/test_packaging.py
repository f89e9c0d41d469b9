"""What the package's own files say of it agrees."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from aioli import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_version_is_the_same_everywhere() -> None:
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"aioli_online-{__version__}-py3-none-any.whl" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"\n## {__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_dependency_has_a_lowest_version() -> None:
    groups = ["project", *PROJECT["optional-dependencies"]]
    command = [sys.executable, str(ROOT / ".ci" / "lowest.py"), *groups]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert {"numpy", "numba", "torch", "pytest"} <= {line.partition("==")[0] for line in found}
    assert all(re.fullmatch(r"[\w.-]+==[\d.]+", line) for line in found)


def test_the_tests_run_on_every_python_that_is_declared() -> None:
    declared = [text.rpartition(" :: ")[2] for text in PROJECT["classifiers"] if "Python :: 3." in text]
    matrix = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    quoted = ", ".join(f'"{version}"' for version in declared)
    assert f"python: [{quoted}]" in matrix
    assert PROJECT["requires-python"] == f">={declared[0]}"
