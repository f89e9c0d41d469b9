import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from file_reading import check_resuming, dense, gzipped, read, refused

from aioli.snapshots.codec import from_bytes, to_bytes
from aioli.streams import blocks
from aioli.streams.files import byte_window, recognition
from aioli.streams.filestream import FileStream, Reading


def write(folder: Path, *rows: Any) -> Path:
    path = folder / "a.jsonl"
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return path


def test_values_are_what_json_says(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        {"n": 1, "b": True, "s": "red", "d": "2020-01-02", "in": {"x": 2.5, "deep": {"y": 3}}, "z": "001", "y": "no"},
        "  ",
        {"n": None, "b": False, "s": None, "d": "2020-01-03T12:00", "in": {"x": 1.5}, "z": "002", "y": "yes"},
    )
    features, X, y = read(path, label="y")
    found = dict(zip(features, X.T.tolist(), strict=True))
    assert found["n"] == [1.0, 1.0]
    assert found["n is missing"] == [0.0, 1.0]
    assert found["b"] == [1.0, 0.0]
    assert found["s=red"] == [1.0, 0.0]
    assert found["s is missing"] == [0.0, 1.0]
    assert found["d"] == [18263.0, 18264.5]
    assert found["in.x"] == [2.5, 1.5]
    assert found["in.deep.y"] == [3.0, 3.0]
    assert found["in.deep.y is missing"] == [0.0, 1.0]
    assert found["z=001"] == [1.0, 0.0]  # a code
    assert y.tolist() == [0.0, 1.0]


def test_a_key_that_comes_late_was_0_and_stays_0_where_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(byte_window, "BLOCK", 16)
    monkeypatch.setattr(blocks, "ROWS", 1)
    monkeypatch.setattr(recognition, "SAMPLE", 1)
    late = [{"a": 3, "n": 7}, {"a": 4, "d": "1970-01-02T06:00", "c": "red"}, {"a": 5, "n": 9, "c": None}, {"a": 6}]
    features, X, _ = read(write(tmp_path, {"a": 1}, {"a": 2}, *late))
    found = dict(zip(features, X.T.tolist(), strict=True))
    assert found == {
        "a": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        "n": [0.0, 0.0, 7.0, 0.0, 9.0, 0.0],
        "n is there": [0.0, 0.0, 1.0, 0.0, 1.0, 0.0],
        "d": [0.0, 0.0, 0.0, 1.25, 0.0, 0.0],
        "d, weekday": [0.0, 0.0, 0.0, 4.0, 0.0, 0.0],
        "d, hour": [0.0, 0.0, 0.0, 6.0, 0.0, 0.0],
        "d is there": [0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
        "c=red": [0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
    }


@pytest.mark.parametrize("seed", range(8))
def test_reading_goes_on_with_late_keys_as_if_it_had_never_stopped(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(byte_window, "BLOCK", 60 + 17 * seed)
    monkeypatch.setattr(blocks, "ROWS", 2 + seed)
    monkeypatch.setattr(recognition, "SAMPLE", 4)
    rows: list[Any] = []
    for t in range(40):
        row = {"a": int(rng.integers(9)), f"k{rng.integers(1 + t // 4)}": rng.choice(["red", "blue"]), "y": t % 2}
        rows += [row, ""] if t % 7 == 0 else [row]
    path = write(tmp_path, *rows)
    for file in (path, gzipped(path, 2)):
        whole = list(FileStream(str(file), Reading(label="y")))
        for stop in range(1, len(whole)):
            first = FileStream(str(file), Reading(label="y"))
            for _, table in zip(range(stop), first.tables(), strict=False):
                first.encode(table)
            state = from_bytes(to_bytes(first.snapshot()))
            first.close()
            rest = list(FileStream(str(file), Reading(label="y"), state))
            assert [dense(batch.X).tolist() for batch in rest] == [dense(batch.X).tolist() for batch in whole[stop:]]
            assert [batch.where(0) for batch in rest] == [batch.where(0) for batch in whole[stop:]]
    assert check_resuming(write(tmp_path, *[{"a": 1.5, "y": t % 2} for t in range(99)]), "y") > 5


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("{", "a.jsonl, line 3: is no JSON ("),
        ("[1, 2]", "a.jsonl, line 3: is no JSON object but [1, 2]; write an object a line"),
        ("3", "a.jsonl, line 3: is no JSON object but 3"),
        ('{"a": [1, 2]}', "a.jsonl, line 3, key 'a': is a list, [1, 2]; write its entries under keys of their own"),
        ('{"a": {"b": []}}', "a.jsonl, line 3, key 'a.b': is a list"),
        ('{"a": 1' + "0" * 5000 + "}", "a.jsonl, line 3: is too long a number or too deeply nested"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "a.jsonl, line 3: is too long a number or too deeply nested"),
    ],
)
def test_what_is_wrong_is_told_with_line_and_key(row: str, said: str, tmp_path: Path) -> None:
    assert refused(write(tmp_path, {"a": 1}, {"a": 2}, row)).startswith(said)


@pytest.mark.parametrize("cell", ['"red"', "Infinity", "1e999", "1" + "0" * 400])
def test_what_is_no_number_is_missing_and_marked_by_a_feature_of_its_own(cell: str, tmp_path: Path) -> None:
    path = write(tmp_path, {"a": 1}, {"a": 3}, {"a": 1}, {"a": 3}, f'{{"a": {cell}}}')
    features, X, _ = read(path)
    assert features == ["a", "a is unreadable"]
    assert X[-1].tolist() == [2.0, 1.0]


def test_a_string_in_a_column_of_numbers_may_write_one(tmp_path: Path) -> None:
    rows = [{"a": 1}] * 1000
    assert read(write(tmp_path, *rows, {"a": "2.5"}))[1][-1] == [2.5]
    assert read(write(tmp_path, {"a": 1}, {"a": "NA"}))[1].tolist() == [[1.0, 0.0], [1.0, 1.0]]


def test_numbers_and_strings_in_one_column_are_categories(tmp_path: Path) -> None:
    assert read(write(tmp_path, {"a": 1}, {"a": "x"}, {"a": True}, {"a": 0.5}))[0] == ["a=1", "a=x", "a=true", "a=0.5"]


def test_an_empty_file_or_one_that_is_not_utf8_is_told(tmp_path: Path) -> None:
    assert refused(write(tmp_path, "")).startswith("a.jsonl: is empty")
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": "\xff"}\n')
    assert refused(path).startswith("a.jsonl, line 1: is not UTF-8; say how the file is encoded (--encoding latin-1")
    assert read(path, encoding="latin-1")[0] == ["a=ÿ"]
