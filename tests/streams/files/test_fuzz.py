"""Whatever bytes a file has, reading it ends, and all that is ever raised is a sentence."""

import gzip
from pathlib import Path

import pytest
from attack.data_files import GOOD, PIECES, read_or_refuse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aioli.streams.files import byte_window, recognition

pytest.importorskip("pyarrow")


@st.composite
def damaged(draw: st.DrawFn, good: bytes) -> bytes:
    """A good file with some places overwritten, cut out or repeated."""
    data = good
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(data)))
        gone = draw(st.integers(0, 12))
        piece = draw(st.sampled_from(PIECES) | st.binary(max_size=4))
        data = data[:at] + piece * draw(st.sampled_from([1, 1, 1, 9])) + data[at + gone :]
    return data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data


def check(folder: Path, ending: str, data: bytes, label: str | None, block: int) -> None:
    path = folder / f"a.{ending}"
    path.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(byte_window, "BLOCK", block)
        patch.setattr(recognition, "SAMPLE", 2)
        read_or_refuse(path, label)


FUZZ = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.mark.parametrize("ending", list(GOOD))
@FUZZ
@given(draws=st.data())
def test_a_damaged_file_is_read_or_refused_in_a_sentence(ending: str, draws: st.DataObject, tmp_path: Path) -> None:
    data = draws.draw(damaged(GOOD[ending]))
    label = draws.draw(st.sampled_from([None, "y", "1"]))
    check(tmp_path, ending, data, label, draws.draw(st.integers(1, 80)))


@pytest.mark.parametrize("ending", list(GOOD))
@FUZZ
@given(data=st.binary(max_size=200), block=st.integers(1, 80))
def test_any_bytes_are_read_or_refused_in_a_sentence(ending: str, data: bytes, block: int, tmp_path: Path) -> None:
    check(tmp_path, ending, data, None, block)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "svm", "vw"])
@FUZZ
@given(draws=st.data())
def test_damaged_gzip_is_read_or_refused_in_a_sentence(ending: str, draws: st.DataObject, tmp_path: Path) -> None:
    data = draws.draw(damaged(gzip.compress(GOOD[ending] * 3, mtime=0)))
    check(tmp_path, f"{ending}.gz", data, None, draws.draw(st.integers(1, 80)))
