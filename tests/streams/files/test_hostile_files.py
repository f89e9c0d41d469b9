"""Files made to harm: what is read takes time and memory in proportion to its size, and no signal ends the process."""

import json
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from aioli.errors import FileRefused
from aioli.streams.files import jsonlines
from aioli.streams.files.byte_source import Source
from aioli.streams.files.jsonlines import JSONLines
from aioli.streams.files.table import NUMBER, ReadAs, Table
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
