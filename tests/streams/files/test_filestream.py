import gc
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from file_reading import dense, read, refused

from aioli.errors import FileRefused, SnapshotRefused
from aioli.snapshots.codec import from_bytes, to_bytes
from aioli.streams import blocks
from aioli.streams.file_snapshots import for_another_file
from aioli.streams.files import byte_window, recognition
from aioli.streams.filestream import FileStream, Reading

TEXT = {
    "a.csv": "size,colour,y\n" + "".join(f"{k / 8},{'rgb'[k % 3]}{k // 20},{k % 2}\n" for k in range(100)),
    "a.jsonl": "".join(json.dumps({"size": k / 8, f"k{k // 30}": "rgb"[k % 3], "y": k % 2}) + "\n" for k in range(100)),
    "a.svm": "".join(f"{k % 2} {1 + k % 7}:{k / 8} {9 + k // 9}:1\n" for k in range(100)),
    "a.vw": "".join(f"{k % 2} {1 + k % 3} |f w{k % 7}:{k / 8} v{k // 9}\n" for k in range(100)),
}


@pytest.fixture(params=list(TEXT))
def path(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of some kind, read in small pieces."""
    monkeypatch.setattr(byte_window, "BLOCK", 150)
    monkeypatch.setattr(recognition, "SAMPLE", 10)
    monkeypatch.setattr(blocks, "ROWS", 7)
    path: Path = tmp_path / request.param
    path.write_text(TEXT[request.param])
    return path


def reading(path: Path) -> Reading:
    return Reading(label="y" if path.suffix in (".csv", ".jsonl") else None)


def same(batch: Any, other: Any) -> bool:
    weights = (batch.weights is None and other.weights is None) or batch.weights.tolist() == other.weights.tolist()
    rows = dense(batch.X).tolist() == dense(other.X).tolist()
    return bool(weights and rows and batch.y.tolist() == other.y.tolist() and batch.where(0) == other.where(0))


def test_a_stream_that_is_left_and_taken_up_gives_the_same_batches(path: Path) -> None:
    stream = FileStream(str(path), reading(path))
    batches, states = [], []
    for batch in stream:
        batches.append(batch)
        states.append(to_bytes(stream.snapshot()))
    assert len(batches) > 5
    for k, state in enumerate(states):
        again = FileStream(str(path), reading(path), from_bytes(state))
        rest = list(again)
        assert len(rest) == len(batches) - k - 1
        assert all(map(same, rest, batches[k + 1 :]))
        assert again.features == stream.features
        assert to_bytes(again.snapshot()) == states[-1]


def test_tables_may_be_read_ahead_of_their_encoding(path: Path) -> None:
    ahead = FileStream(str(path), reading(path))
    assert all(map(same, map(ahead.encode, list(ahead.tables())), FileStream(str(path), reading(path))))


def test_a_stream_lets_its_file_go_at_its_end_by_close_or_when_it_is_left(path: Path) -> None:
    list(FileStream(str(path), reading(path)))
    with FileStream(str(path), reading(path)):
        pass
    stream = FileStream(str(path), reading(path))
    next(iter(stream))
    stream.close()
    stream.close()
    del stream
    gc.collect()  # a file that was left open would warn, which is an error here


def test_a_folder_is_read_like_its_files_one_after_the_other(path: Path) -> None:
    first, second = path.parent / "parts" / f"1{path.suffix}", path.parent / "parts" / f"2{path.suffix}"
    first.parent.mkdir()
    lines = path.read_text().splitlines(keepends=True)
    header = lines[:1] if path.suffix == ".csv" else []
    first.write_text("".join(lines[:60]))
    second.write_text("".join(header + lines[60:]))
    options = vars(reading(path))
    (features, X, y), (expected_features, expected, expected_y) = read(first.parent, **options), read(path, **options)
    assert features == expected_features
    np.testing.assert_array_equal(X, expected)
    np.testing.assert_array_equal(y, expected_y)
    stream = FileStream(str(first.parent), reading(path))
    states = []
    batches = []
    for batch in stream:
        batches.append(batch)
        states.append(to_bytes(stream.snapshot()))
    for k, state in enumerate(states):
        rest = list(FileStream(str(first.parent), reading(path), from_bytes(state)))
        assert len(rest) == len(batches) - k - 1
        assert all(map(same, rest, batches[k + 1 :]))


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def test_files_of_a_folder_must_agree(tmp_path: Path) -> None:
    write(tmp_path, "parts/1.csv", "a,y\n1,0\n")
    write(tmp_path, "parts/2.csv", "a,b,y\n1,2,1\n")
    said = refused(tmp_path / "parts", label="y")
    assert "2.csv: its columns are 'a', 'b', 'y', but those of 1.csv are 'a', 'y'" in said
    write(tmp_path, "parts/3.vw", "1 | x\n")
    assert "has files of several kinds, csv, vw" in refused(tmp_path / "parts", label="y")


def test_a_model_reads_another_file_by_the_names_of_its_columns(tmp_path: Path) -> None:
    learned = FileStream(str(write(tmp_path, "a.csv", "a,c,b,y\n1,red,2,no\n3,blue,4,yes\n")), Reading(label="y"))
    list(learned)
    state = for_another_file(learned.snapshot())
    other = write(tmp_path, "b.csv", "new,y,b,c,a\n9,?,2,blue,1\n9,?,4,red,\n")
    with FileStream(str(other), Reading(), state) as stream:
        (batch,) = stream
        assert stream.features == ["a", "b", "c=red", "c=blue", "a is missing"]
    assert dense(batch.X).tolist() == [
        [1.0, 2.0, 0.0, 1.0, 0.0],
        [2.0, 4.0, 1.0, 0.0, 1.0],
    ]  # filled with what was learned
    assert batch.y is None
    short = write(tmp_path, "c.csv", "a,c\n1,red\n")
    with pytest.raises(ValueError, match=r"c\.csv: there is no column 'b', but the model has learned from it; add it"):
        FileStream(str(short), Reading(), state)


@pytest.mark.parametrize("last", ["8,g,2020-01-09,2", "8,g"])
def test_a_table_that_is_refused_leaves_the_state_as_it_was(
    last: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(byte_window, "BLOCK", 64)
    monkeypatch.setattr(recognition, "SAMPLE", 2)
    monkeypatch.setattr(blocks, "ROWS", 3)
    rows = "".join(f"{k},{'rgb'[k % 3]},2020-01-0{1 + k},{k % 2}\n" for k in range(8))
    stream = FileStream(str(write(tmp_path, "a.csv", f"a,c,d,y\n{rows}{last}\n")), Reading(label="y"))
    states = [to_bytes(stream.snapshot())]
    with pytest.raises(ValueError, match="line 10"):
        states.extend(to_bytes(stream.snapshot()) for _ in stream)
    assert len(states) > 2
    assert to_bytes(stream.snapshot()) == states[-1]


@pytest.mark.parametrize("label", ["y", "3", "-1"])
def test_the_label_is_found_by_name_or_number(label: str, tmp_path: Path) -> None:
    features, _, y = read(write(tmp_path, "a.csv", "a,b,y\n1,2,0\n1,2,1\n"), label=label)
    assert (features, y.tolist()) == (["a", "b"], [0.0, 1.0])


@pytest.mark.parametrize("label", ["z", "4", "-4", "0"])
def test_a_label_that_is_not_there_is_told_with_what_is(label: str, tmp_path: Path) -> None:
    said = refused(write(tmp_path, "a.csv", "a,b,y\n1,2,0\n"), label=label)
    assert said == f"a.csv: there is no column {label!r}; its columns are 'a', 'b', 'y'"


def test_columns_are_read_as_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "zip,day,id,y\n10115,2020-01-01,7,0\n80331,2020-01-02,8,1\n")
    assert read(path, label="y", category=["zip", "day"], skip=["id"])[0] == [
        "day=2020-01-01",
        "zip=10115",
        "day=2020-01-02",
        "zip=80331",
    ]
    assert "column 'day': was asked to be of numbers" in refused(path, label="y", number=["day"])


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_words_of_free_text_are_features_where_they_are_asked_for(name: str, tmp_path: Path) -> None:
    rows = [("a good thing", 1), ("no good", 0)]
    delimited_text = "t,y\n" + "".join(f"{t},{y}\n" for t, y in rows)
    lines = "".join(json.dumps({"t": t, "y": y}) + "\n" for t, y in rows)
    path = write(tmp_path, name, delimited_text if name == "a.csv" else lines)
    features, X, _ = read(path, label="y", text=["t"])
    assert features == ["t: a", "t: good", "t: thing", "t: no"]
    assert X.tolist() == [[1.0, 1.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]
    with FileStream(str(path), Reading(label="y", text=["t"])) as stream:
        assert stream.sparse


def test_a_label_may_be_a_dash_or_none(tmp_path: Path) -> None:
    assert read(write(tmp_path, "a.csv", "a,y\n1,+\n2,-\n"), label="y")[2].tolist() == [1.0, 0.0]
    assert read(write(tmp_path, "b.csv", "a,y\n1,some\n2,none\n"), label="y")[2].tolist() == [1.0, 0.0]


def test_a_label_alone_is_nothing_to_learn_from(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "y\n0\n1\n")
    assert refused(path, label="y") == "a.csv: has no column but the label; there is nothing to learn from"


def test_formats_are_told_by_the_name_or_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path, "rows.of.mine", "1 | x\n-1 | y\n")
    assert read(path, format="vw")[0] == ["x", "y"]
    said = refused(path, format="xls")
    assert re.match("there is no format called 'xls'; give one of csv, tsv, parquet", said)
    assert read(write(tmp_path, "a.tsv", "a b\ty\n1\t0\n"))[0] == ["a b", "y"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a,y\n1,0\n2,1\n3,2\n", "line 4"),
        ("a,y\n1,0\n2,1\n3\n", "line 4"),
        ("", None),
    ],
)
def test_what_is_refused_is_data(text: str, place: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognition, "SAMPLE", 1)
    path = write(tmp_path, "a.csv", text)
    with pytest.raises(FileRefused) as caught, FileStream(str(path), Reading(label="y", number=["a"])) as stream:
        list(stream)
    assert (caught.value.path, caught.value.place) == (str(path), place)
    assert str(caught.value).startswith(str(path) if place is None else f"{path}, {place}: ")


def test_columns_keep_their_order_through_a_file(tmp_path: Path) -> None:
    """Where two columns bring new categories in one table, their names decide which feature comes first."""
    rows = [{"z": "a", "b": "a", "y": 0}, {"z": "c", "b": "c", "y": 1}]
    first = write(tmp_path, "first.jsonl", json.dumps(rows[0]) + "\n" + json.dumps(rows[1]) + "\n")
    stream = FileStream(str(first), Reading(label="y"))
    list(stream)
    kept = from_bytes(to_bytes(stream.snapshot()))
    second = write(tmp_path, "second.jsonl", json.dumps({"z": "new", "b": "new", "y": 0}) + "\n")
    with FileStream(str(second), Reading(label="y"), for_another_file(kept)) as again:
        list(again)
        assert again.features[-2:] == ["b=new", "z=new"]


def test_a_model_of_columns_does_not_read_sparse_rows_nor_the_other_way_round(path: Path, tmp_path: Path) -> None:
    stream = FileStream(str(path), reading(path))
    list(stream)
    other = tmp_path / ("other.csv" if stream.sparse else "other.svm")
    other.write_text(TEXT["a.csv" if stream.sparse else "a.svm"])
    kind = "sparse features" if stream.sparse else "columns"
    with pytest.raises(FileRefused, match=f"is not of {kind}, as the rows were from which the model was taught"):
        FileStream(str(other), Reading(label="y"), for_another_file(stream.snapshot()))


def test_a_stream_can_be_read_again_from_its_first_row(path: Path) -> None:
    stream = FileStream(str(path), reading(path))
    assert stream.rereadable
    batches = list(stream)
    assert all(map(same, stream.read_again(), batches))


@pytest.mark.parametrize(
    ("part", "change"),
    [("encoder", {"cap": -1}), ("encoder", {"columns": ["a"]}), ("labels", {"counts": [1]}), ("labels", {"asked": 1})],
)
def test_a_damaged_snapshot_is_refused(part: str, change: dict[str, Any], tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", TEXT["a.csv"])
    stream = FileStream(str(path), Reading(label="y", scale=True))
    list(stream)
    whole = stream.snapshot()
    damaged = replace(whole.part(part), values={**whole.part(part).values, **change})
    with pytest.raises(SnapshotRefused):
        FileStream(str(path), Reading(label="y"), replace(whole, parts={**whole.parts, part: damaged}))
    with pytest.raises(SnapshotRefused, match="not of a FileStream"):
        FileStream(str(path), Reading(label="y"), whole.part(part))
