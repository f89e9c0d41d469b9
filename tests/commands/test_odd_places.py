"""Small things that went wrong once: closed streams, Ctrl-C at the start, labels that are formulas, odd numbers."""

import os
import re
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from command_files import write_visits
from patience import PATIENCE
from scipy import sparse

from aioli import KernelAIOLI, Wide
from aioli.cli import main
from aioli.learners.auto.auto import Auto
from aioli.learners.protocol import Learner

COMMAND = [sys.executable, "-c", "from aioli.cli import console; console()"]
INTERRUPTED = """
import os, signal, sys
from aioli.cli import console

module = sys.argv.pop(1)

def press_ctrl_c(event, told):
    if event == "import" and told[0] == module:
        os.kill(os.getpid(), signal.SIGINT)

sys.addaudithook(press_ctrl_c)
console()
"""  # when the command begins to load a module


@pytest.mark.skipif(os.name != "posix", reason="this system has no shell of POSIX")
@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_a_run_with_closed_streams_ends_as_any_other_and_nothing_is_written_into_its_files(
    closed: str, tmp_path: Path
) -> None:
    source = write_visits(tmp_path / "visits.csv", 60)
    before = source.read_bytes()
    written = f"--save {tmp_path / 'model'} --predictions {tmp_path / 'p.csv'} --learner AIOLI"
    line = f"exec '{COMMAND[0]}' -c '{COMMAND[2]}' run {source} --label bought --json {written} {closed}"
    done = subprocess.run(["sh", "-c", line], stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert source.read_bytes() == before
    assert main(["inspect", str(tmp_path / "model")]) == 0
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 61


@pytest.mark.skipif(os.name != "posix", reason="this system has no signals of POSIX")
@pytest.mark.parametrize("module", ["aioli.commands.options", "numpy", "numba.core.config", "aioli.commands.run"])
def test_an_interruption_while_everything_is_loaded_is_told_in_one_line(module: str, tmp_path: Path) -> None:
    source = write_visits(tmp_path / "visits.csv", 60)
    asked = ["run", str(source), "--label", "bought", "--json"]
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, module, *asked],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "aioli: interrupted\n")


def press_ctrl_c(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(PATIENCE)  # from which the signal wakes it


def lose_it_to_another_error(*_: object) -> None:
    """What NumPy does when Ctrl-C comes while it compares records."""
    try:
        press_ctrl_c()
    except KeyboardInterrupt:
        raise TypeError("Cannot compare structured arrays") from None


def lose_it_in_a_callback(*_: object) -> None:
    """What importing a module does when Ctrl-C comes while it lets go of the module's lock."""

    class Lock:
        pass

    lock = Lock()
    watched = weakref.ref(lock, press_ctrl_c)
    del lock
    assert watched() is None
    time.sleep(PATIENCE)


@pytest.mark.skipif(os.name != "posix", reason="this system has no signals of POSIX")
@pytest.mark.parametrize("lose", [press_ctrl_c, lose_it_to_another_error, lose_it_in_a_callback])
def test_ctrl_c_is_heard_even_where_its_exception_is_lost(
    lose: Callable[..., None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("aioli.commands.inspect.inspect_model", lose)
    assert main(["inspect", "model"]) == 130
    assert capsys.readouterr().err == "aioli: interrupted\n"


def test_an_error_that_nobody_foresaw_is_no_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise TypeError("a defect")

    monkeypatch.setattr("aioli.commands.inspect.inspect_model", fail)
    with pytest.raises(TypeError, match="a defect"):
        main(["inspect", "model"])


def test_a_label_that_a_spreadsheet_would_compute_is_written_as_text(tmp_path: Path) -> None:
    source = tmp_path / "rows.csv"
    source.write_text("x,y\n" + "1,=cmd|calc\n2,-1\n" * 20)
    out = tmp_path / "p.csv"
    assert main(["run", str(source), "--label", "y", "--predictions", str(out), "--json"]) == 0
    labels = {line.split(",", 2)[2] for line in out.read_text().splitlines()[1:]}
    assert labels == {"'=cmd|calc", "-1"}


def test_an_underscore_is_no_digit_in_any_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = {"vw": "1 |a x:1_0\n-1 |a x:2\n", "svm": "1 1:1_0\n-1 1:2\n"}
    for ending, text in texts.items():
        path = tmp_path / f"rows.{ending}"
        path.write_text(text)
        assert main(["run", str(path), "--json"]) == 1
        assert re.search(r"line 1: .*1_0", capsys.readouterr().err)


def test_text_of_parquet_that_is_not_utf8_is_told_in_our_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow.parquet")
    source, spoilt = write_visits(tmp_path / "visits.parquet", 60), tmp_path / "spoilt.parquet"
    spoilt.write_bytes(source.read_bytes().replace(b"light", b"l\xffght").replace(b"dark", b"d\xffrk"))
    assert main(["run", str(spoilt), "--label", "bought", "--json"]) == 1
    told = capsys.readouterr().err
    assert "codec" not in told
    assert "not UTF-8" in told or "cannot be read as parquet" in told


def corrupted(which: str) -> "sparse.csr_array[np.float64, tuple[int, int]]":
    matrix = sparse.csr_array((np.ones(4), np.array([0, 1, 2, 1]), np.array([0, 2, 4])), shape=(2, 5))
    if which == "a column beyond":
        matrix.indices[1] = 10**6
    elif which == "a column below 0":
        matrix.indices[1] = -7
    elif which == "an end beyond":
        matrix.indptr[1] = 10**6
    elif which == "ends that fall":
        matrix.indptr[:] = [0, 3, 2]
    else:
        matrix.data = np.ones(2)
    return matrix


@pytest.mark.parametrize("which", ["a column beyond", "a column below 0", "an end beyond", "ends that fall", "short"])
@pytest.mark.parametrize("make", [Wide, Auto, KernelAIOLI])
def test_a_sparse_matrix_that_contradicts_itself_reaches_nobody(make: type[Learner], which: str) -> None:
    with pytest.raises(ValueError, match="a sparse matrix that contradicts itself came"):
        make().learn_many(corrupted(which), [0, 1])


@pytest.mark.parametrize("kind", ["f2", ">f8", ">f4", ">i4", "f4", "?", "i1"])
@pytest.mark.parametrize("as_csc", [False, True])
def test_sparse_numbers_of_any_real_type_are_taken(kind: str, as_csc: bool) -> None:
    plain = sparse.csr_array((np.ones(4), np.array([0, 1, 2, 1]), np.array([0, 2, 4])), shape=(2, 5))
    other = plain.tocsc() if as_csc else plain.copy()
    other.data = other.data.astype(kind)
    first, second = Wide(), Wide()
    assert np.array_equal(first.learn_many(plain, [0, 1]), second.learn_many(other, [0, 1]))
    assert np.array_equal(other.data, np.ones(4))
