import gzip
import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from file_reading import gzipped, read, refused

from aioli.streams.files.byte_source import Source
from aioli.streams.filestream import FileStream, Reading

pa: Any = pytest.importorskip("pyarrow")
TEXT = "a,y\n" + "".join(f"{k},{k % 2}\n" for k in range(50_000))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.csv"
    path.write_text(TEXT)
    return path


def zstandard(path: Path, name: str = "a.csv.zst") -> Path:
    packed = path.with_name(name)
    with pa.CompressedOutputStream(str(packed), "zstd") as stream:
        stream.write(path.read_bytes())
    return packed


@pytest.mark.parametrize("members", [1, 3])
def test_gzip_of_one_or_several_parts_is_read_like_the_file_itself(members: int, path: Path) -> None:
    np.testing.assert_array_equal(read(gzipped(path, members), label="y")[1], read(path, label="y")[1])


def test_zstandard_is_read_like_the_file_itself(path: Path) -> None:
    np.testing.assert_array_equal(read(zstandard(path), label="y")[1], read(path, label="y")[1])


def test_packing_is_told_by_the_bytes_whatever_the_name(path: Path) -> None:
    packed = zstandard(path, "b.csv")
    np.testing.assert_array_equal(read(packed, label="y")[1], read(path, label="y")[1])


@pytest.mark.parametrize("kept", [0.3, 0.9])
def test_gzip_that_was_cut_short_is_told_in_a_sentence(kept: float, path: Path) -> None:
    packed = gzipped(path)
    packed.write_bytes(packed.read_bytes()[: int(kept * packed.stat().st_size)])
    assert refused(packed, label="y").startswith("a.csv.gz: the gzip data are broken or cut short after")


def test_gzip_with_a_changed_byte_is_told_in_a_sentence(path: Path) -> None:
    packed = gzipped(path)
    data = bytearray(packed.read_bytes())
    data[len(data) // 2] ^= 0xFF
    packed.write_bytes(data)
    assert "a.csv.gz" in refused(packed, label="y")


def test_zstandard_that_was_cut_short_is_told_in_a_sentence(path: Path) -> None:
    packed = zstandard(path)
    packed.write_bytes(packed.read_bytes()[: packed.stat().st_size // 2])
    assert refused(packed, label="y").startswith("a.csv.zst: the Zstandard data are broken or cut short")


def test_zstandard_without_pyarrow_says_what_to_install(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = zstandard(path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'aioli-online\[files\]'"):
        FileStream(str(packed), Reading())


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input_is_a_file_and_stays_open(packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    data = gzip.compress(TEXT.encode()) if packed else TEXT.encode()
    stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(data)))
    monkeypatch.setattr(sys, "stdin", stdin)
    with FileStream("-", Reading(label="y")) as stream:
        assert sum(len(batch.X) for batch in stream) == 50_000
        assert stream.fraction is None
    assert not stdin.closed


def test_a_file_that_is_not_there_or_a_folder_is_told(tmp_path: Path) -> None:
    assert refused(tmp_path / "none.csv") == "none.csv: there is no such file"
    with pytest.raises(ValueError, match="is a folder"):
        Source(str(tmp_path))
    assert "no file in this folder has a known ending" in refused(tmp_path)


def test_passing_over_more_than_there_is_is_told(path: Path) -> None:
    with Source(str(gzipped(path))) as source, pytest.raises(ValueError, match="ends before the point to go on from"):
        source.skip(1 << 30)


def test_the_fraction_goes_from_0_to_1_and_outlives_the_file(path: Path) -> None:
    stream = FileStream(str(path), Reading(label="y"))
    fractions = [stream.fraction or 0.0 for _ in stream]
    assert fractions == sorted(fractions)
    assert stream.fraction == 1.0
    stream.close()
    assert stream.fraction == 1.0
