"""Whatever bytes a file has, reading it ends, and all that is ever raised is a sentence."""

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aioli.snapshots.codec import to_bytes
from aioli.streams.files import byte_window, recognition
from aioli.streams.filestream import FileStream, Reading

pa: Any = pytest.importorskip("pyarrow")
parquet: Any = pytest.importorskip("pyarrow.parquet")


def arrow_bytes(format: str) -> bytes:
    table = pa.table(
        {"a": [1.5, None, 3.0], "c": ["x", "y", None], "d": pa.array([1, 2, 3], pa.date32()), "y": [0, 1, 0]}
    )
    file = io.BytesIO()
    if format == "parquet":
        parquet.write_table(table, file)
        return file.getvalue()
    with (pa.ipc.new_file if format == "arrow" else pa.ipc.new_stream)(file, table.schema) as writer:
        writer.write_table(table)
    return file.getvalue()


CSV = (
    'a,"b ""c""",d,y\r\n1.5,"x,\ny",2020-01-01,no\n-2e5,,2020-01-02T10:00,yes\n\n+.5,z,,no\n0.123456789012345678,é,?,no'
)
LINES = [{"a": 1, "b": {"c": "x"}, "y": True}, {"a": None, "t": "2020-01-01", "y": False}, {"a": -2.5e3, "y": True}]
GOOD = {
    "csv": CSV.encode(),
    "tsv": CSV.replace(",", "\t").encode(),
    "jsonl": "\n".join(map(json.dumps, LINES)).encode(),
    "svm": b"1 1:2 3:-1.5e3 # x\n# y\n\n-1 qid:3 2:0.5\n+1 7:1234567890.123456789\n0.0",
    "vw": b"1 2.0 'tag|a x:2 y |b:0.5 z:-3e2\n-1 | x\n\n1 |c\n",
    "parquet": arrow_bytes("parquet"),
    "arrow": arrow_bytes("arrow"),
    "arrows": arrow_bytes("arrows"),
}
PIECES = [
    b"",
    b",",
    b'"',
    b"\n",
    b"\r",
    b"\r\n",
    b":",
    b"|",
    b" ",
    b"-",
    b".",
    b"e",
    b"0",
    b"999999999",
    b"\x00",
    b"\xff",
]
PIECES += [
    b"1e999",
    b"nan",
    b"{",
    b"}",
    b"[",
    b"#",
    b'"1"',
    b' "2" \r\n',
    b"'",
    b"\xef\xbb\xbf",
    b"\x1f\x8b",
    b"\xed\xa0\x80",
    b'"\\ud800"',
]


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
        try:
            with FileStream(str(path), Reading(label=label)) as stream:
                for batch in stream:
                    assert batch.X.shape == (batch.X.shape[0], len(stream.features))
                    to_bytes(stream.snapshot())
        except (ValueError, OSError, ImportError) as error:
            said = str(error)
            assert said.startswith(str(path)), said
            assert "\n" not in said
            assert "codec can't" not in said


FUZZ = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


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
