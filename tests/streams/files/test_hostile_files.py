"""Files made to harm: what is read takes time and memory in proportion to its size, and no signal ends the process."""

import json
import os
import subprocess
import sys
import warnings
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from aioli.errors import FileRefused
from aioli.evaluate.original_columns import columns_of_features
from aioli.streams.files import jsonlines
from aioli.streams.files.byte_source import Source
from aioli.streams.files.jsonlines import JSONLines
from aioli.streams.files.table import CATEGORY, NUMBER, ReadAs, Table
from aioli.streams.filestream import FileStream, Reading

CUT_WHILE_READ = """
import os, sys, numpy as np, pyarrow as pa
from aioli.streams.filestream import FileStream, Reading
path, kind = sys.argv[1:]
batch = pa.record_batch({"x": np.arange(300_000.0), "y": np.arange(300_000) % 2})
with pa.OSFile(path, "wb") as sink, getattr(pa.ipc, f"new_{kind}")(sink, batch.schema) as writer:
    for _ in range(4):
        writer.write_batch(batch)
stream = FileStream(path, Reading(label="y", format="arrow"))
tables = stream.tables()
next(tables)
os.truncate(path, 4096)
try:
    for table in tables:
        table.numbers.sum()
except ValueError as error:
    print(error)
"""


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_an_arrow_file_that_is_cut_short_while_it_is_read_is_refused(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "rows.arrow"
    command = [sys.executable, "-c", CUT_WHILE_READ, str(path), kind]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr  # -7 was a SIGBUS
    assert "cannot be read as arrow" in done.stdout or "was cut short while it was read" in done.stdout


@pytest.mark.parametrize("left", [0, 100_000, 1 << 20])
def test_a_text_file_that_is_cut_short_while_it_is_read_is_refused_and_not_just_over(left: int, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n" + "1.25,0\n2.5,1\n" * 200_000)
    tables = FileStream(str(path), Reading(label="y")).tables()
    next(tables)
    os.truncate(path, left)
    with pytest.raises(FileRefused, match="was cut short while it was read, from 2,600,004 bytes"):
        list(tables)


def test_a_quote_and_a_million_empty_lines_are_read_in_linear_time(tmp_path: Path) -> None:
    path = tmp_path / "quote.csv"
    path.write_text('"' + "\n" * 2**20)
    with pytest.raises(FileRefused, match="has no column but the label"):
        FileStream(str(path), Reading(label="1"))
    path.write_text('a,"' + "\n" * 2**16 + '",y\n1,2,0\n2,3,1\n')  # a name of many lines
    stream = FileStream(str(path), Reading(label="y"))
    assert [len(batch.X) for batch in stream] == [2]


def test_a_header_of_equal_names_is_told_apart_in_linear_time(tmp_path: Path) -> None:
    path = tmp_path / "names.csv"
    path.write_text(",".join(["x"] * 30_000) + "\n" + ",".join(["1"] * 30_000) + "\n")
    stream = FileStream(str(path), Reading(label="1"))
    assert stream.features[-1] == "x (30000)"
    assert len(set(stream.features)) == 29_999
    stream.close()


def test_names_that_are_told_apart_do_not_meet_a_name_that_was_there(tmp_path: Path) -> None:
    path = tmp_path / "names.csv"
    path.write_text("x,x,x (2),x,x (2)\n1,2,3,4,0\n")
    stream = FileStream(str(path), Reading(label="-1"))
    assert stream.features == ["x", "x (2)", "x (2) (2)", "x (3)"]
    assert stream.label == "x (2) (3)"
    stream.close()


def test_a_new_key_on_every_line_is_refused_before_a_matrix_is_made_of_them(tmp_path: Path) -> None:
    path = tmp_path / "keys.jsonl"
    path.write_text("".join(json.dumps({f"k{t}": t % 7, "y": t % 2}) + "\n" for t in range(20_000)))
    with pytest.raises(FileRefused, match=r"first 1,000 lines have 1,001 keys; keys are columns: write what differs"):
        FileStream(str(path), Reading(label="y"))


def test_keys_that_never_end_are_refused_by_the_line_and_tables_stay_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonlines, "MOST_KEYS", 300)
    monkeypatch.setattr(jsonlines, "CELLS", 1 << 14)
    path = tmp_path / "keys.jsonl"
    rows = [{"x": t % 7, "y": t % 2, **({f"k{t}": 1} if t > 1100 else {})} for t in range(2000)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    tables = JSONLines(Source(str(path))).tables(ReadAs({"x": NUMBER, "y": NUMBER}, "y"), None)
    read = [table for table in islice(tables, 5) if len(table) * (len(table.names) + 1) <= 1 << 14]
    assert [len(table) for table in read] == [1113, 121, 77, 60, 28]
    with pytest.raises(FileRefused, match="line 1400: the key 'k1399' is one of more than 300; keys are columns"):
        next(tables)


def test_tables_that_were_cut_small_are_cut_alike_when_reading_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonlines, "CELLS", 100)
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"x": t, "z": 1, "y": t % 2}) + "\n" * (1 + t % 2) for t in range(200)))
    kinds = {"x": NUMBER, "z": NUMBER, "y": NUMBER}
    tables = list(JSONLines(Source(str(path))).tables(ReadAs(kinds, "y"), None))
    assert [len(table) for table in tables] == [33] * 6 + [2]
    for k, table in enumerate(tables):
        again = list(JSONLines(Source(str(path))).tables(ReadAs(kinds, "y"), table.after))
        assert [len(later) for later in again] == [len(later) for later in tables[k + 1 :]]
        assert not again or (isinstance(again[0], Table) and again[0].numbers[0, 0] == 33.0 * (k + 1))


@pytest.mark.parametrize("rows", [5, 300, 3000])
@pytest.mark.parametrize("place", [0, 3])
def test_a_stray_quote_among_the_first_rows_does_not_hide_what_the_columns_are(
    rows: int, place: int, tmp_path: Path
) -> None:
    """Words behind the quote were taken for numbers, of which none could be read."""
    lines = [f"{t},w{t % 3},{t % 2}" for t in range(rows)]
    lines[place] = f'{place},"w,1'
    path = tmp_path / "rows.csv"
    path.write_text("x,town,y\n" + "\n".join(lines) + "\n")
    with FileStream(str(path), Reading(label="y", on_error="skip")) as stream:
        read = sum(len(batch.y) for batch in stream if batch.y is not None)
        assert stream.kinds["town"] == CATEGORY
        assert stream.categories == {"town": 3}
    assert (read, stream.skipped.count) == (rows - 1, 1)


def test_a_row_that_ends_behind_the_first_lines_is_no_stray_quote(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    long = "\n".join("a line" for _ in range(5))
    path.write_text("x,note,y\n" + "".join(f'{t},"{long}{t % 3}",{t % 2}\n' for t in range(2000)))
    with FileStream(str(path), Reading(label="y", on_error="skip")) as stream:
        assert sum(len(batch.y) for batch in stream if batch.y is not None) == 2000
    assert stream.skipped.count == 0


def test_numbers_whose_sum_is_beyond_float64_are_read_without_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n" + "1e308,0\n,1\n" * 20)
    with warnings.catch_warnings(), FileStream(str(path), Reading(label="y")) as stream:
        warnings.simplefilter("error")
        assert sum(len(batch.y) for batch in stream if batch.y is not None) == 40


class Asked(dict[str, str]):
    """Kinds of columns that count how often they are asked."""

    times = 0

    def get(self, name: str, otherwise: Any = None) -> Any:
        self.times += 1
        return super().get(name, otherwise)


def test_a_long_category_is_not_asked_for_its_column_letter_by_letter() -> None:
    kinds = Asked({"town": CATEGORY, "town=a": CATEGORY, "size": NUMBER})
    long = "a" * 20_000
    names = [
        column.name for column in columns_of_features(["size", f"town={long}", "town=a=b", "size is missing"], kinds)
    ]
    assert names == ["size", "town", "town=a"]
    assert kinds.times < 30


@pytest.mark.parametrize(
    ("begin", "said"), [(b"PAR1", "is Parquet"), (b"ARROW1", "is Arrow"), (b"PK\x03\x04", "save the sheet as CSV")]
)
@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl", "rows.svm"])
def test_a_file_that_is_no_text_is_called_by_its_format(begin: bytes, said: str, name: str, tmp_path: Path) -> None:
    """A pipe has no name that tells it: the message was about ends of lines."""
    path = tmp_path / name
    path.write_bytes(begin + b"\x15\x04\r\x00" * 100)
    with pytest.raises(FileRefused, match=said):
        list(FileStream(str(path), Reading(label="y")))
