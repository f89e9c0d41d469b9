from pathlib import Path
from typing import Any

import numpy as np
import pytest
from file_reading import check_resuming, dense, gzipped, read, refused

from aioli.streams.files import byte_window, svmlight
from aioli.streams.filestream import FileStream, Reading


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "a.svm"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def random_rows(n: int, features: int, seed: int) -> tuple[str, list[dict[int, float]], list[float]]:
    rng = np.random.default_rng(seed)
    rows, labels, lines = [], [], []
    for _ in range(n):
        indices = np.sort(rng.choice(features, size=rng.integers(0, min(15, features)), replace=False)) + 1
        row = dict(zip(indices.tolist(), rng.normal(size=len(indices)).tolist(), strict=True))
        labels.append(float(rng.integers(2)))
        rows.append(row)
        pairs = " ".join(f"{index}:{value!r}" for index, value in row.items())
        lines.append(f"{'+1' if labels[-1] else '-1'} {pairs}{' # note 3:4' if rng.random() < 0.1 else ''}")
        lines += [["", "# a comment", "  "][rng.integers(3)]] * int(rng.random() < 0.1)
    return "\n".join(lines), rows, labels


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_rows_are_those_that_were_written(end: str, tmp_path: Path) -> None:
    text, rows, labels = random_rows(500, 40, seed=0)
    features, X, y = read(write(tmp_path, text.replace("\n", end)))
    assert features == [str(k + 1) for k in range(X.shape[1])]
    np.testing.assert_array_equal(y, labels)
    for row, x in zip(rows, X, strict=True):
        np.testing.assert_array_equal(np.flatnonzero(x) + 1, list(row))
        np.testing.assert_array_equal(x[x != 0.0], list(row.values()))


def test_indices_count_from_0_where_there_is_a_0(tmp_path: Path) -> None:
    features, X, _ = read(write(tmp_path, "1 0:5 2:7\n-1 1:6\n"))
    assert features == ["0", "1", "2"]
    assert X.tolist() == [[5.0, 0.0, 7.0], [0.0, 6.0, 0.0]]


def test_queries_comments_and_odd_spaces_are_passed_over(tmp_path: Path) -> None:
    text = "# a file\n1\tqid:7  1:5 \t2:6   \n -1 2:7 # 3:8\n1\n0 1:0.12345678901234567890123#x\n".replace(
        "\n0", "\n-1"
    )
    assert read(write(tmp_path, text))[1].tolist() == [[5.0, 6.0], [0.0, 7.0], [0.0, 0.0], [0.12345678901234568, 0.0]]


def test_an_index_that_comes_twice_in_a_row_adds_up(tmp_path: Path) -> None:
    assert read(write(tmp_path, "1 2:3 1:1 2:4\n-1 1:1\n"))[1].tolist() == [[1.0, 7.0], [1.0, 0.0]]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("1 3", "'3' is no pair index:value; write a whole number, a colon, a number"),
        ("1 x:3", "'x:3' is no pair index:value"),
        ("1 -2:3", "'-2:3' is no pair index:value"),
        ("1 1234567890123456:3", "'1234567890123456:3' is no pair index:value"),
        ("1 3:", "'' in the pair '3:' is no number; mend it, or drop the pair"),
        ("1 3:x", "'x' in the pair '3:x' is no number"),
        ("1 3:nan", "'nan' in the pair '3:nan' is no number"),
        ("1 3:1e999", "'1e999' in the pair '3:1e999' is not finite"),
        ("x 3:1", "the label is 'x'; it must be one number, such as 1 or -1, before the pairs"),
        ("1,2 3:1", "the label is '1,2'"),
        ("3:1 4:1", "the label is '3:1'"),
        ("1 3:1 \xff:2", "is no pair index:value"),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_rows_before_it_are_given(row: str, said: str, tmp_path: Path) -> None:
    path = write(tmp_path, b"1 1:1\n# two\n-1 2:1\n" + row.encode("latin-1") + b"\n1 1:1\n")
    told = refused(path)
    assert told.startswith("a.svm, line 4: ")
    assert said in told
    with FileStream(str(path), Reading()) as stream:
        assert dense(next(iter(stream)).X).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_a_0_that_comes_later_contradicts_what_came_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_window, "BLOCK", 8)
    assert refused(write(tmp_path, "1 1:1\n-1 2:1\n1 0:5\n")).startswith("a.svm, line 3: has the index 0, but")


def test_an_empty_file_is_told(tmp_path: Path) -> None:
    for text in ("", "\n\n", "# nothing\n"):
        assert refused(write(tmp_path, text)).startswith("a.svm: is empty")


@pytest.mark.parametrize("seed", range(8))
def test_reading_goes_on_from_anywhere_as_if_it_had_never_stopped(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(byte_window, "BLOCK", 40 + 53 * seed)
    path = write(tmp_path, random_rows(60, 9, seed)[0])
    for file in (path, gzipped(path, 2)):
        assert check_resuming(file, None) > 5


def test_labels_may_be_left_unread(tmp_path: Path) -> None:
    features, X, y = read(write(tmp_path, "5 1:1\n7 1:2\n9 1:3\n"), labelled=False)
    assert (features, X.tolist(), y.tolist()) == (["1"], [[1.0], [2.0], [3.0]], [])


def test_python_takes_part_once_a_block_and_not_once_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = random_rows(3_000, 50_000, seed=1)[0] + "\n"
    path = write(tmp_path, text * 10)
    compiled, calls = svmlight.read_pairs, 0

    def counted(*arguments: Any) -> int:
        nonlocal calls
        calls += 1
        return compiled(*arguments)

    monkeypatch.setattr(svmlight, "read_pairs", counted)
    monkeypatch.setattr(svmlight.SVMLight, "_by_hand", None)  # plain rows never come to it
    with FileStream(str(path), Reading()) as stream:
        assert sum(batch.X.shape[0] for batch in stream) == 30_000
    assert calls <= 3 + len(text) * 10 / byte_window.BLOCK  # the first look, the part of a block, and the end
