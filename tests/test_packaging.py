"""What the package's own files say of it agrees."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

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


def test_every_dependency_of_the_core_has_an_upper_bound_and_a_locked_version_below_it() -> None:
    locked = tomllib.loads((ROOT / "pylock.toml").read_text(encoding="utf-8"))["packages"]
    versions = {package["name"]: package["version"] for package in locked if "version" in package}
    for requirement in PROJECT["dependencies"]:
        bounds = re.fullmatch(r"([\w-]+)>=([\d.]+),<([\d.]+)", requirement)
        assert bounds is not None, requirement
        low, version, high = (tuple(map(int, text.split("."))) for text in (bounds[2], versions[bounds[1]], bounds[3]))
        assert low <= version < high
    hashes = [wheel["hashes"] for package in locked for wheel in package.get("wheels", [])]
    assert len(hashes) >= 40
    assert all(len(found["sha256"]) == 64 for found in hashes)


def names_in(group: str) -> set[str]:
    """The packages that an extra asks for, those of the extras that it is made of too."""
    found = set()
    for requirement in PROJECT["optional-dependencies"][group]:
        if requirement.startswith("aioli-online["):
            parts = requirement.partition("[")[2].rstrip("]").split(",")
            found |= set().union(*map(names_in, parts))
        else:
            found.add(re.split(r"[>=<;\[ ]", requirement)[0])
    return found


def test_the_lock_holds_every_package_of_the_development_environment() -> None:
    locked = tomllib.loads((ROOT / "pylock.toml").read_text(encoding="utf-8"))["packages"]
    assert names_in("dev") - {package["name"] for package in locked} == set()  # else: `make lock`
    assert all("version" in package for package in locked)  # pip installs no folder from a lock: it has no hash


def test_the_licences_of_the_core_are_known_and_permissive() -> None:
    command = [sys.executable, str(ROOT / ".ci" / "licences.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "aioli-online" not in done.stdout:
        pytest.skip("aioli-online is not installed")
    assert done.returncode == 0, done.stdout
    assert {"numpy", "scipy", "numba", "safetensors"} <= {line.split()[0] for line in done.stdout.splitlines()}
