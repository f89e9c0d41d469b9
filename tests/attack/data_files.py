"""Data files under attack: good files of every format with places overwritten, cut out, repeated or cut off.

Whatever bytes a file has, reading it ends, and all that is raised is one sentence that begins with the file's name.
"""

import gzip
import importlib
import io
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from aioli.snapshots.codec import to_bytes
from aioli.streams.files import byte_window, recognition
from aioli.streams.filestream import FileStream, Reading

__all__ = ["GOOD", "PIECES", "damaged_by_seed", "read_or_refuse", "try_data"]


def arrow_bytes(format: str) -> bytes:
    """Return a small file of Parquet or Arrow; nothing where pyarrow is not installed."""
    try:
        pa: Any = importlib.import_module("pyarrow")
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError:
        return b""
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


def read_or_refuse(path: Path, label: str | None) -> None:
    """Read a file to its end; what is raised must be a sentence about the file."""
    try:
        with FileStream(str(path), Reading(label=label)) as stream:
            for batch in stream:
                assert batch.X.shape == (batch.X.shape[0], len(stream.features))
                to_bytes(stream.snapshot())
    except (ValueError, OSError, ImportError) as error:
        said = str(error)
        assert said.startswith(str(path)), said
        assert "\n" not in said, said
        assert "codec can't" not in said, said


def damaged_by_seed(seed: int) -> tuple[str, bytes, str | None, int]:
    """Return the ending, the bytes, the label and the size of blocks of the file that this seed makes."""
    rng = np.random.default_rng(seed)
    ending = str(rng.choice(list(GOOD)))
    data, packed = GOOD[ending], ending not in ("parquet", "arrow", "arrows") and rng.random() < 0.15
    if packed:
        data, ending = gzip.compress(data * 3, mtime=0), f"{ending}.gz"
    for _ in range(int(rng.integers(0, 5))):
        at, gone = int(rng.integers(0, len(data) + 1)), int(rng.integers(0, 13))
        piece = PIECES[int(rng.integers(len(PIECES)))] if rng.random() < 0.7 else rng.bytes(int(rng.integers(0, 5)))
        data = data[:at] + piece * int(rng.choice([1, 1, 1, 9])) + data[at + gone :]
    if rng.random() < 0.3:
        data = data[: int(rng.integers(0, len(data) + 1))]
    label = [None, "y", "1"][int(rng.integers(3))]
    return ending, data, label, int(rng.integers(1, 81))


def try_data(seed: int, folder: Path) -> None:
    """Read the file of this seed; an AssertionError or any other error is a finding."""
    ending, data, label, block = damaged_by_seed(seed)
    path = folder / f"a.{ending}"
    path.write_bytes(data)
    before = byte_window.BLOCK, recognition.SAMPLE
    byte_window.BLOCK, recognition.SAMPLE = block, 2
    try:
        read_or_refuse(path, label)
    finally:
        byte_window.BLOCK, recognition.SAMPLE = before


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        for given in sys.argv[1:]:
            print(given, damaged_by_seed(int(given)))
            try_data(int(given), Path(place))
