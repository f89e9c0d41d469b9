"""Delimited text that is not UTF-8 is taken for Windows-1252, wherever in the file its first such byte comes."""

import gzip
import io
import sys
from pathlib import Path

import pytest

from aioli.errors import FileRefused
from aioli.streams.files import byte_window
from aioli.streams.files.byte_source import Source
from aioli.streams.filestream import FileStream
from aioli.streams.reading import Reading

EVERY_BYTE = bytes(range(1, 256))  # but zero, which text does not have


def read(path: Path, size: int = 5) -> tuple[bytes, str | None]:
    with Source(str(path), guess=True) as source:
        pieces = list(iter(lambda: source.read(size), b""))
        assert all(len(piece) <= size for piece in pieces)
        assert source.position == sum(map(len, pieces))
        return b"".join(pieces), source.guessed


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 100])
@pytest.mark.parametrize("text", ["é", "aé", "abcdé,f", "Malmö, Nîmes, 5 € œ", "日本 𝄞 é", "plain", ""])
@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_however_it_is_cut_text_is_the_same(size: int, text: str, encoding: str, tmp_path: Path) -> None:
    if encoding == "cp1252" and "日" in text:
        return
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode(encoding))
    western = encoding == "cp1252" and not text.isascii()
    assert read(path, size) == (text.encode(), "windows-1252" if western else None)
    packed = tmp_path / "a.csv.gz"
    packed.write_bytes(gzip.compress(text.encode(encoding)))
    assert read(packed, size) == read(path, size)


def test_every_byte_is_a_character(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(EVERY_BYTE[::-1])  # ascending, some of them are UTF-8
    found, guessed = read(path, 4096)
    assert guessed == "windows-1252"
    assert len(set(found.decode())) == len(EVERY_BYTE)


@pytest.mark.parametrize("broken", [b"\xff", b"\xc3", b"\xe9."])
def test_utf8_with_a_broken_byte_stays_utf8(broken: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(text := "ä,ö\nü,1\n".encode() + broken + b",0\n")
    assert read(path, 4096) == (text, None)
    with pytest.raises(FileRefused, match="is not UTF-8; say how the file is encoded"):
        list(FileStream(str(path), Reading(label="ö")))


def test_a_late_letter_and_a_run_that_goes_on_behind_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_window, "BLOCK", 256)
    lines = [f"{t},{'Malmö' if t > 2500 else 'Ulm'},{t % 2}\n" for t in range(3000)]
    coded, plain = tmp_path / "coded.csv", tmp_path / "plain.csv"
    coded.write_bytes(("a,city,y\n" + "".join(lines)).encode("latin-1"))
    plain.write_text("a,city,y\n" + "".join(lines), "utf-8")
    reading = Reading(label="y", category=("city",))
    features = []
    for path in (coded, plain):
        with FileStream(str(path), reading) as stream:
            kept, rows = [], 0
            for batch in stream:
                rows += len(batch.X)
                kept.append((rows, stream.snapshot()))
            features.append(stream.features)
            assert ("encoding" in stream.told()) == (path == coded)
        for done, snapshot in kept:
            with FileStream(str(path), reading, snapshot) as again:
                assert sum(len(batch.X) for batch in again) == len(lines) - done
                assert again.features == features[0]
                assert ("encoding" in again.told()) == (path == coded and done < len(lines)) or done == len(lines)
    assert features[0] == features[1]


def test_a_live_pipe_is_guessed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO("a,y\nMalmö,1\nUlm,0\n".encode("latin-1"))))
    )
    with FileStream("-", Reading(label="y", format="csv", live=True)) as stream:
        assert sum(len(batch.X) for batch in stream) == 2
        assert "a=Malmö" in stream.features
