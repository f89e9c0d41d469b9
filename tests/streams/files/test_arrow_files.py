import datetime as dt
import io
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from file_reading import check_resuming, read, refused

from aioli.streams.files import arrow_pieces
from aioli.streams.filestream import FileStream, Reading

pa: Any = pytest.importorskip("pyarrow")
parquet: Any = pytest.importorskip("pyarrow.parquet")
FORMATS = ["parquet", "feather", "arrows"]


def write(folder: Path, columns: Any, format: str = "parquet", rows: int = 1000) -> Path:
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    path = folder / f"a.{format}"
    if format == "parquet":
        parquet.write_table(table, path, row_group_size=rows)
    else:
        writer = pa.ipc.new_file if format == "feather" else pa.ipc.new_stream
        with writer(str(path), table.schema) as out:
            out.write_table(table, max_chunksize=rows)
    return path


@pytest.mark.parametrize("format", FORMATS)
def test_columns_are_what_their_types_say(format: str, tmp_path: Path) -> None:
    noon = dt.datetime(2020, 1, 2, 12)
    columns = {
        "whole": pa.array([1, None, 3], pa.int32()),
        "yes": [True, False, None],
        "exact": [Decimal("1.50"), Decimal("2.25"), None],
        "half": pa.array([1.5, np.nan, 0.25], pa.float32()),
        "day": [dt.date(1970, 1, 2), None, dt.date(1970, 1, 4)],
        "moment": pa.array([noon, noon, None], pa.timestamp("us", tz="Europe/Paris")),
        "name": ["a", None, "NA"],
        "time": [dt.time(14, 30), None, dt.time(0, 15)],
        "colour": pa.array(["red", "blue", "red"]).dictionary_encode(),
        "label": ["ham", "spam", "ham"],
    }
    features, X, y = read(write(tmp_path, columns, format), label="label")
    found = dict(zip(features, X.T.tolist(), strict=True))
    assert found["whole"] == [1.0, 1.0, 3.0]
    assert found["whole is missing"] == [0.0, 1.0, 0.0]
    assert found["yes"] == [1.0, 0.0, 0.5]
    assert found["exact"] == [1.5, 2.25, 1.875]
    assert found["half is missing"] == [0.0, 1.0, 0.0]
    assert found["day"] == [1.0, 1.0, 3.0]
    assert found["day, weekday"] == [4.0, 4.0, 6.0]  # the second of January 1970 was a Friday
    assert found["moment"] == [18263.5] * 3
    assert found["moment, hour"] == [12.0] * 3
    assert found["name is missing"] == [0.0, 1.0, 1.0]  # as in any other file
    assert found["time"] == [14.5, 14.5, 0.25]
    assert found["colour=red"] == [1.0, 0.0, 1.0]
    assert y.tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_moment_is_the_same_in_every_unit(unit: str, tmp_path: Path) -> None:
    moments = pa.array([dt.datetime(2020, 1, 2, 6)], pa.timestamp(unit))
    assert read(write(tmp_path, {"t": moments}))[1].tolist() == [[18263.25, 3.0, 6.0]]


def test_a_column_may_be_read_as_something_else(tmp_path: Path) -> None:
    columns = {
        "zip": [10115, 80331],
        "written": ["1.5", None],
        "day": ["2020-01-02", "2020-01-03"],
        "flag": [True, False],
        "since": [dt.date(1970, 1, 2), None],
    }
    path = write(tmp_path, columns)
    features, X, _ = read(path, category=["zip", "flag"], number=["written", "since"], date=["day"])
    assert features[:2] == ["since", "written"]
    assert {"zip=10115", "zip=80331", "flag=true", "flag=false", "day, weekday"} < set(features)
    assert X[:, :2].tolist() == [[1.0, 1.5], [1.0, 1.5]]
    assert "column 'day': was asked to be of numbers, but '2020-01-02'" in refused(path, number=["day"])


@pytest.mark.parametrize("kind", ["list", "struct", "binary"])
def test_a_type_that_cannot_be_read_is_to_be_skipped(kind: str, tmp_path: Path) -> None:
    value = {"list": [1], "struct": {"a": 1}, "binary": b"x"}[kind]
    path = write(tmp_path, {"x": [1.0, 2.0], "odd": [value, value]})
    assert "column 'odd': is of the type" in refused(path)
    assert "--skip 'odd'" in refused(path)
    assert read(path, skip=["odd"])[0] == ["x"]


@pytest.mark.parametrize("format", FORMATS)
def test_an_infinity_is_unreadable_and_told_with_row_and_column(format: str, tmp_path: Path) -> None:
    x = np.zeros(5000)
    x[4321] = -np.inf
    with FileStream(str(path := write(tmp_path, {"x": x}, format)), Reading()) as stream:
        list(stream)
        assert stream.features == ["x", "x is unreadable"]
        assert stream.unreadable.first == [f"{path}, row 4322, column 'x': '-inf'"]


@pytest.mark.parametrize("format", FORMATS)
def test_reading_goes_on_from_anywhere_as_if_it_had_never_stopped(
    format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrow_pieces, "ROWS", 64)
    rng = np.random.default_rng(0)
    columns = {"x": rng.normal(size=1000), "c": rng.choice(["a", "b"], size=1000), "y": rng.integers(0, 2, size=1000)}
    path = write(tmp_path, columns, format, rows=150)
    assert check_resuming(path, "y") == 6 * 3 + 2  # 150 rows are tables of 64, 64 and 22; the last 100 are two
    _, X, y = read(path, label="y")
    np.testing.assert_array_equal(X[:, 0], columns["x"])
    np.testing.assert_array_equal(y, columns["y"])


def test_no_more_of_a_file_is_in_memory_than_a_group_of_rows(tmp_path: Path) -> None:
    path = write(tmp_path, {"x": np.random.default_rng(0).normal(size=1_000_000)}, rows=50_000)
    before = pa.total_allocated_bytes()
    with FileStream(str(path), Reading()) as stream:
        most = max(pa.total_allocated_bytes() - before for _ in stream)
    assert most < 4 * 50_000 * 8  # a group is read, decoded and cut into batches: never 20 of them


@pytest.mark.parametrize("format", FORMATS)
def test_a_damaged_file_is_told_in_a_sentence(format: str, tmp_path: Path) -> None:
    path = write(tmp_path, {"x": np.arange(1000.0)}, format)
    whole = path.read_bytes()
    for damaged in (whole[:-200], whole[: len(whole) // 3], whole[:2], b"", b"x" * 100):
        path.write_bytes(damaged)
        assert f"a.{format}: cannot be read as" in refused(path)


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    assert "two columns are called 'x'; rename one" in refused(write(tmp_path, table))


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    for format in FORMATS:
        assert refused(tmp_path / f"b.{format}") == f"b.{format}: there is no such file"


def test_without_pyarrow_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, {"x": [1.0]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"need pyarrow: pip install 'aioli-online\[files\]'"):
        FileStream(str(path), Reading())


def test_an_arrow_stream_may_come_from_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = write(tmp_path, {"x": np.arange(3000.0)}, "arrows").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data))))
    with FileStream("-", Reading(format="arrow")) as stream:
        assert sum(len(batch.X) for batch in stream) == 3000
    assert not sys.stdin.closed
    with pytest.raises(ValueError, match="give it as a file"):
        FileStream("-", Reading(format="parquet"))


def test_no_rows_are_no_batches(tmp_path: Path) -> None:
    for format in FORMATS:
        assert read(write(tmp_path, {"x": pa.array([], pa.float64())}, format))[1].shape == (0, 1)
