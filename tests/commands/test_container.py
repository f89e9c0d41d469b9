"""The command works where containers run it: nothing to write but one folder, no home, no network, one core, 512 MB."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE

import aioli

SCRIPT = Path(__file__).with_name("container.py")
SCENARIO = """
import os, socket, sys, pathlib
from aioli.cli import main
assert os.geteuid() == 65534 and os.cpu_count() and len(os.sched_getaffinity(0)) == 1
for place in (pathlib.Path(sys.argv[1]), pathlib.Path("/"), pathlib.Path.home()):
    try:
        (place / "probe").touch()
    except OSError:
        continue
    sys.exit(f"{place} can be written")
try:
    socket.create_connection(("192.0.2.1", 80), 1)
    sys.exit("there is a network")
except OSError:
    pass
rows = "".join(f"{t % 7},{t % 3},{'yes' if t % 7 > t % 3 else 'no'}\\n" for t in range(600))
pathlib.Path("rows.csv").write_text("a,b,y\\n" + rows)
results = ["--predictions", "p.csv", "--save", "model.aioli", "--report", "page.html"]
assert main(["run", "rows.csv", "--label", "y", "--json", "--checkpoint", "kept", "--every", "0", *results]) == 0
assert main(["predict", "rows.csv", "--model", "model.aioli", "--out", "q.csv"]) == 0
assert main(["inspect", "model.aioli", "--json"]) == 0
"""


def confined(scratch: Path, *command: str) -> dict[str, Any]:
    """Run a command in such a place; skip where the system lets nobody make one."""
    if sys.platform != "linux" or shutil.which("unshare") is None:
        pytest.skip("this system has no unshare")
    package = Path(aioli.__file__).parents[1]
    paths = {Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve(), package.resolve()}
    joined = os.pathsep.join(str(path) for path in paths)
    whole = ["unshare", "--mount", "--net", "--fork", sys.executable, str(SCRIPT), str(scratch), joined, *command]
    environment = os.environ | {"PYTHONPATH": str(package)}
    try:
        done = subprocess.run(whole, capture_output=True, text=True, env=environment, check=True, timeout=PATIENCE)
    except subprocess.CalledProcessError as error:
        if "not permitted" in error.stderr or "ermission denied" in error.stderr or "must be superuser" in error.stderr:
            pytest.skip("this system lets this user make no read-only place of its own")
        raise AssertionError(error.stderr) from error
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_the_command_works_in_a_container_like_place() -> None:
    with tempfile.TemporaryDirectory() as scratch:  # pytest's own is below a folder that others may not enter
        told = confined(Path(scratch), sys.executable, "-c", SCENARIO, str(Path(aioli.__file__).parent))
    assert told["status"] == 0, told["err"]
    assert told["resident"] < 512 * 2**20
