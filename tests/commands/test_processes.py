"""The command as a process: interrupted, unheard, with a full disk, waiting for input; never a traceback."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

import pytest
from command_files import HEADER, visits, write_visits
from patience import PATIENCE

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="this system has no signals and pipes of POSIX")
AIOLI = [sys.executable, "-m", "aioli"]


def started(*arguments: object, **options: Any) -> subprocess.Popen[str]:
    channels = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    return subprocess.Popen([*AIOLI, *map(str, arguments)], **channels)


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + PATIENCE
    while not path.exists() and time.monotonic() < until and process.poll() is None:
        time.sleep(0.01)
    assert path.exists(), "there is no checkpoint"


def given(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


def said(process: subprocess.Popen[str]) -> str:
    """What it says of itself as it ends, while its input is still open."""
    err = given(process.stderr).read()
    process.wait(PATIENCE)
    for pipe in (process.stdin, process.stdout, process.stderr):
        with contextlib.suppress(BrokenPipeError):
            if pipe is not None:
                pipe.close()
    return err


def test_ctrl_c_keeps_what_was_learned_and_the_run_can_go_on(tmp_path: Path) -> None:
    source = write_visits(tmp_path / "visits.csv", 30_000)
    many = tmp_path / "many"
    many.mkdir()
    for copy in range(400):  # so many that the signal comes in time however busy the machine is
        (many / f"{copy:03}.csv").hardlink_to(source)
    kept, model = tmp_path / "kept", tmp_path / "model.aioli"
    asked = ["run", many, "--label", "bought", "--json", "--learner", "AIOLI", "--checkpoint", kept, "--save", model]
    process = started(*asked, "--every", 0)
    wait_for(kept / "run.aioli", process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert out == ""
    assert err.startswith("aioli: interrupted (")
    assert err.count("\n") == 1
    assert f"--checkpoint {kept} --resume; the model is in {model})" in err
    learned = int(err.partition(" rows were learned")[0].rpartition("(")[2].replace(",", ""))
    told = subprocess.run([*AIOLI, "inspect", model, "--json"], capture_output=True, text=True, check=True).stdout
    assert json.loads(told)["rounds"] == learned
    assert 0 < learned < 12_000_000


def test_a_closed_pipe_ends_the_run_quietly(tmp_path: Path) -> None:
    process = started("run", write_visits(tmp_path / "visits.csv", 3000), "--label", "bought", "--learner", "AIOLI")
    given(process.stdout).close()
    assert said(process) == ""
    assert process.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("asked", [["--json"], []])
def test_a_full_standard_output_is_told(asked: list[str], tmp_path: Path) -> None:
    source = write_visits(tmp_path / "visits.csv", 100)
    with open("/dev/full", "w") as full:
        process = started("run", source, "--label", "bought", "--learner", "AIOLI", *asked, stdout=full)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert err.startswith("aioli: standard output: no space left on device")
    assert err.count("\n") == 1


@pytest.mark.parametrize(("signalled", "status"), [(True, 130), (False, 1)])
def test_a_run_that_waits_for_input_that_never_comes_can_be_ended(signalled: bool, status: int, tmp_path: Path) -> None:
    """The reading thread cannot be woken; the process ends all the same, and says why."""
    kept = tmp_path / "kept"
    process = started(
        *(
            "run",
            "-",
            "--label",
            "bought",
            "--classes",
            "two",
            "--learner",
            "AIOLI",
            "--checkpoint",
            kept,
            "--every",
            0,
        ),
        stdin=subprocess.PIPE,
    )
    rows = [",".join(row) + "\n" for row in visits(40_000)]  # more than a block, which is what is read at a time
    pipe = given(process.stdin)
    pipe.writelines([",".join(HEADER) + "\n", *rows])
    pipe.flush()
    wait_for(kept / "run.aioli", process)
    if signalled:
        process.send_signal(signal.SIGINT)
    else:
        with contextlib.suppress(BrokenPipeError):  # it may be gone before it has been given all
            pipe.writelines(["1,2,red,2020-01-01,maybe\n", *rows])
            pipe.flush()
    err = said(process)
    assert process.returncode == status
    assert ("interrupted" if signalled else "the label is 'maybe'") in err
    assert "go on from them with --checkpoint" in err
    assert err.count("\n") == 1


def test_a_stream_through_a_named_pipe_is_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = started("run", pipe, "--label", "bought", "--learner", "AIOLI", "--json", "--format", "csv")
    pipe.write_bytes(write_visits(tmp_path / "visits.csv", 200).read_bytes())
    out, err = process.communicate(timeout=PATIENCE)
    assert err == ""
    told = json.loads(out)
    assert told["rows"] == 200
    assert told["regret"] is None


def test_a_terminal_that_knows_few_letters_is_told_everything(tmp_path: Path) -> None:
    """Names of any alphabet, on a terminal that has only ASCII: escaped, not refused; the JSON is the same anywhere."""
    source = tmp_path / "größe.csv"
    source.write_text("größe,käse\n1,ja\n2,nein\n" * 1, encoding="utf-8")
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    asked = ["run", source, "--label", "käse", "--positive", "ja", "--learner", "AIOLI"]
    process = started(*asked, "--json", env=ascii_only)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")
    assert "‖θ‖" in json.loads(out)["certificate_against"]
    process = started(*asked, env=ascii_only)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")
    assert "\\u03b8" in out
