from pathlib import Path

import numpy as np
import pytest
from file_reading import check_resuming, dense, gzipped, read, refused

from aioli.streams.files import byte_window, delimited, recognition
from aioli.streams.files.formats import open_reader
from aioli.streams.files.recognition import kinds_of
from aioli.streams.files.table import ReadAs, Table
from aioli.streams.filestream import FileStream, Reading


def write(folder: Path, text: str | bytes, name: str = "a.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("last", [b"", b"\n", b"\n\n\r\n"])
@pytest.mark.parametrize("first", [b"", b"\n\r\n"])
def test_ends_of_lines_empty_lines_and_marks_change_nothing(
    mark: bytes, end: bytes, last: bytes, first: bytes, tmp_path: Path
) -> None:
    path = write(tmp_path, mark + first + end.join([b"a,b,y", b"1,2,0", b"", b"3,4,1"]) + last)
    features, X, y = read(path, label="y")
    assert features == ["a", "b"]
    np.testing.assert_array_equal(X, [[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(y, [0.0, 1.0])


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
def test_the_delimiter_is_found(delimiter: str, tmp_path: Path) -> None:
    path = write(tmp_path, delimiter.join("aby") + "\n" + delimiter.join("120") + "\n" + delimiter.join("341") + "\n")
    np.testing.assert_array_equal(read(path, label="y")[1], [[1.0, 2.0], [3.0, 4.0]])


def test_cells_between_single_spaces_may_be_empty(tmp_path: Path) -> None:
    features, X, _ = read(write(tmp_path, "a b c\n1  3\n4 5 6\n 8 9\n"), delimiter=" ")
    assert features == ["a", "b", "c", "b is missing", "a is missing"]
    assert X[:, :3].tolist() == [[1.0, 0.0, 3.0], [4.0, 5.0, 6.0], [2.5, 8.0, 9.0]]


@pytest.mark.parametrize("delimiter", [",,", "é", "1", "x", ".", "-", '"', "\n"])
def test_a_delimiter_that_could_be_part_of_a_cell_is_refused(delimiter: str, tmp_path: Path) -> None:
    path = write(tmp_path, "a,y\n1,0\n")
    assert "the delimiter is" in refused(path, delimiter=delimiter)


def test_names_may_be_quoted_repeated_or_empty(tmp_path: Path) -> None:
    path = write(tmp_path, '"the\n""first"", one",x,x,x (2),,y\n1,2,3,4,5,0\n1,2,3,4,5,1\n')
    assert read(path, label="y")[0] == ['the\n"first", one', "x", "x (2)", "x (2) (2)", "column 5"]


def test_without_a_header_columns_have_numbers(tmp_path: Path) -> None:
    path = write(tmp_path, "1.5,red,0\n2.5,blue,1\n")
    features, X, y = read(path, header=False, label="-1")
    assert features == ["1", "2=red", "2=blue"]
    np.testing.assert_array_equal(X, [[1.5, 1.0, 0.0], [2.5, 0.0, 1.0]])
    np.testing.assert_array_equal(y, [0.0, 1.0])


def test_one_column_is_a_file_too(tmp_path: Path) -> None:
    features, X, _ = read(write(tmp_path, "size\n1\n2\n"))
    assert features == ["size"]
    np.testing.assert_array_equal(X, [[1.0], [2.0]])


def test_a_header_alone_has_no_rows(tmp_path: Path) -> None:
    assert read(write(tmp_path, "a,b,y\n"), label="y")[1].shape == (0, 2)


@pytest.mark.parametrize("cell", ["", " ", "NA", "?", "nan", "null", "-", '""', '"NA"'])
def test_what_is_missing_is_filled_with_the_mean_so_far_and_told(cell: str, tmp_path: Path) -> None:
    features, X, _ = read(write(tmp_path, f"a,b\n1,0\n3,0\n{cell},0\n5,0\n"))
    assert features == ["a", "b", "a is missing"]
    np.testing.assert_array_equal(X[:, [0, 2]], [[1.0, 0.0], [3.0, 0.0], [2.0, 1.0], [5.0, 0.0]])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a.csv: is empty"),
        ("\n\r\n", "a.csv: is empty"),
        ("a,b\n1,2\n1,2,3,4\n", "a.csv, line 3: has 4 cells, but there are 2 columns"),
        ("a,b\n1,2\n\n1\n", "a.csv, line 4: has 1 cells, but there are 2 columns"),
        ('a,b\n1,2\n1,"2\n3,4\n', "a.csv, line 3: a quote is opened and never closed"),
        ("a,b\n1,äöü\n1,".encode() + b"\xff\xfe\n", "a.csv, line 3, column 'b': b'\\xff\\xfe' is not UTF-8"),
        ("äö".encode() + b",\xff\n1,2\n", "a.csv, line 1: is not UTF-8"),
        (b"\xff\xfea\x00,\x00", "a.csv: is UTF-16"),
        ("a,b\r1,2\r3,4\r", "a.csv: its lines end with a mere return"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str | bytes, said: str, tmp_path: Path) -> None:
    assert refused(write(tmp_path, text)).startswith(said)


@pytest.mark.parametrize("cell", ["red", "1e999", "inf"])
def test_a_text_among_numbers_is_missing_and_told_with_line_and_column(cell: str, tmp_path: Path) -> None:
    path = write(tmp_path, "a,b\n" + "1,2\n" * 1000 + f"1,{cell}\n")
    with FileStream(str(path), Reading()) as stream:
        (batch,) = stream
        assert stream.features == ["a", "b", "b is unreadable"]
        assert dense(batch.X)[-1].tolist() == [1.0, 2.0, 1.0]
        assert stream.unreadable.counts == {"b": 1}
        assert stream.unreadable.first == [f"{path}, line 1002, column 'b': {cell!r}"]
    assert read(path, category=["b"])[0] == ["a", "b=2", f"b={cell}"]


def test_a_nul_byte_is_part_of_a_cell(tmp_path: Path) -> None:
    assert read(write(tmp_path, b"a,b\nx\x00,1\ny,2\n"))[0] == ["b", "a=x\x00", "a=y"]


def test_rows_before_a_ragged_one_are_given_first(tmp_path: Path) -> None:
    reader = open_reader(str(write(tmp_path, "a,b\n1,2\n3,4\n5\n")))
    rows = reader.tables(ReadAs(kinds_of(reader.sample)), None)
    first = next(rows)
    assert isinstance(first, Table)
    np.testing.assert_array_equal(first.numbers, [[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(ValueError, match="line 4: has 1 cells"):
        next(rows)


def test_a_row_longer_than_a_block_is_read_whole(tmp_path: Path) -> None:
    long = "x" * (3 * byte_window.BLOCK + 17)
    path = write(tmp_path, f'a,b,y\n1,"{long}",0\n2,short,1\n3,"{long}",1\n')
    features, X, y = read(path, label="y")
    assert [len(name) for name in features] == [1, len(long) + 2, 7]
    np.testing.assert_array_equal(X, [[1.0, 1.0, 0.0], [2.0, 0.0, 1.0], [3.0, 1.0, 0.0]])
    np.testing.assert_array_equal(y, [0.0, 1.0, 1.0])


def test_a_line_without_an_end_is_not_read_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_window, "LONGEST_ROW", 1 << 20)
    said = refused(write(tmp_path, 'a,b\n1,"' + "x" * (5 << 20)))
    assert said.startswith("a.csv, line 2: goes on for more than 1 MiB")


def random_file(folder: Path, seed: int) -> Path:
    """Numbers, categories, quoted ends of lines, empty lines, missing cells."""
    rng = np.random.default_rng(seed)
    end = "\r\n" if seed % 2 else "\n"
    lines = ["size,colour,when,y"]
    for _ in range(int(rng.integers(0, 60))):
        colour = rng.choice(["red", '"dark, blue"', f'"two{end}lines"', "", '"a ""b"""'])
        size = rng.choice(["", "NA", f"{rng.normal():.3g}", f"{rng.normal()!r}"])
        lines.append(f"{size},{colour},2020-01-{rng.integers(1, 29):02d},{rng.integers(2)}")
        lines += [""] * int(rng.integers(0, 3) == 0)
    return write(folder, end.join(lines) + end * int(rng.integers(0, 3)), f"{seed}.csv")


@pytest.mark.parametrize("seed", range(20))
def test_reading_goes_on_from_anywhere_as_if_it_had_never_stopped(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(byte_window, "BLOCK", 7 + 11 * seed)
    monkeypatch.setattr(delimited, "ROWS", 1 + seed % 5)
    monkeypatch.setattr(recognition, "SAMPLE", 8)
    path = random_file(tmp_path, seed)
    for file in (path, gzipped(path, 3)):
        check_resuming(file, "y")


def test_reading_goes_on_in_large_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60_000, 3)).round(6).tolist()
    path = write(tmp_path, "a,b,y\n" + "".join(f"{a},{b},{int(c > 0)}\n" for a, b, c in rows))
    assert check_resuming(path, "y") > 2
    _, X, y = read(path, label="y")
    np.testing.assert_array_equal(X, [row[:2] for row in rows])
    np.testing.assert_array_equal(y, [float(row[2] > 0) for row in rows])
