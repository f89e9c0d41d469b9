"""The bytes of a file or of standard input, plain or compressed, read in pieces and never as a whole."""

import gzip
import importlib
import io
import os
import sys
import zlib
from pathlib import Path
from typing import BinaryIO, Self, cast

from aioli.errors import FileRefused
from aioli.streams.files.as_utf8 import WESTERN, AsUTF8, Readable, is_utf8, seems_western, unfinished

__all__ = ["STANDARD_INPUT", "Source"]

STANDARD_INPUT = "-"
GZIP, ZSTANDARD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"  # the first bytes of what is compressed, whatever its name
SKIPPED_AT_ONCE = 1 << 20
LONGEST_CHARACTER = 4  # bytes of UTF-8


class Source:
    """The bytes of a file (or of standard input, `-`), unpacked where they are compressed with gzip or Zstandard.

    Parameters
    ----------
    live
        Whether `read` gives what has come and does not wait for more, as for rows that are to be answered when they
        come; what is compressed cannot be read so.
    encoding
        How the text is encoded, where it is not UTF-8; it is read as UTF-8 all the same.
    guess
        Whether text that has no `encoding` and is not UTF-8 is taken for Windows-1252: the first bytes beyond ASCII
        decide, wherever in the file they come, since up to there both are the same.

    Attributes
    ----------
    guessed
        The encoding that the text was taken for; None where it was not guessed.
    """

    def __init__(self, name: str, live: bool = False, encoding: str | None = None, guess: bool = False) -> None:
        self.name = "standard input" if name == STANDARD_INPUT else name
        self._raw, self.size = _opened(name)
        self._ours = name != STANDARD_INPUT  # to close
        self._stream: Readable = self._raw
        self.position = 0
        self.guessed: str | None = None
        self._undecided = guess and encoding is None
        self._waiting = b""  # bytes of the file that come next
        self._closed_at: float | None = None
        try:
            start = self._raw.peek(4)[:4]
            self.packing = "gzip" if start[:2] == GZIP else "Zstandard" if start == ZSTANDARD else None
            if self.packing == "gzip":
                self._stream = gzip.GzipFile(fileobj=self._raw)
            elif self.packing == "Zstandard":
                self._stream = _unpacked_zstandard(self._raw, self.name)
            self.live = live and self.packing is None
            self._plain = self.packing is None  # bytes are given as they are in the file
            if encoding is not None and not is_utf8(encoding):
                self._decode(encoding)
        except BaseException:
            self.close()
            raise

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`; empty at the end."""
        read, self._waiting = self._waiting[:size], self._waiting[size:]
        read = read or self._unpacked(size)
        if self._undecided and not read.isascii():
            read = self._decided(read, size)
        self.position += len(read)
        return read

    def read_as(self, encoding: str) -> None:
        """Take the text from here on for what an earlier run has guessed."""
        if self.guessed is None:
            self._decode(encoding, self._waiting)
            self._waiting, self._undecided, self.guessed = b"", False, encoding

    def _decode(self, encoding: str, begun: bytes = b"") -> None:
        read = self._raw.read1 if self.live else self._stream.read
        self._stream, self._plain = AsUTF8(read, encoding, self.name, self.live, begun), False

    def _decided(self, read: bytes, size: int) -> bytes:
        """Decide by the first bytes beyond ASCII what the text is, and return them, or those before them, as UTF-8."""
        tail = unfinished(read)
        if tail and read[:-tail].isascii():  # the first character beyond ASCII, where it is one, has not come whole
            if tail < len(read):
                self._waiting = read[-tail:] + self._waiting
                return read[:-tail]
            while len(read) < LONGEST_CHARACTER and (more := self._unpacked(LONGEST_CHARACTER - len(read))):
                read += more
        self._undecided = False
        self._waiting = read + self._waiting
        if seems_western(read):
            self.read_as(WESTERN)
            return self._unpacked(size)
        read, self._waiting = self._waiting[:size], self._waiting[size:]
        return read

    def _unpacked(self, size: int) -> bytes:
        try:
            read = self._raw.read1(size) if self.live and self._plain else self._stream.read(size)
        except (EOFError, zlib.error, OSError) as error:
            if self.packing is None:
                raise
            raise FileRefused(
                f"{self.name}: the {self.packing} data are broken or cut short after {self.position:,} bytes of text "
                f"({error}); fetch or pack the file again (what came before was read)",
                path=self.name,
            ) from error
        if not read and size and self._plain and self.size is not None and (at := self._raw.tell()) < self.size:
            raise FileRefused(
                f"{self.name}: was cut short while it was read, from {self.size:,} bytes to {at:,}; run it "
                "again on the whole file",
                path=self.name,
            )
        return read

    def skip(self, count: int) -> None:
        """Pass over the next bytes: by seeking in a plain file, by reading in any other."""
        if self._plain and self.size is not None and self.position + count <= self.size:
            self._raw.seek(count - len(self._waiting), os.SEEK_CUR)
            self._waiting = b""
            self.position += count
            return
        while count:
            passed = len(self.read(min(count, SKIPPED_AT_ONCE)))
            if not passed:
                message = f"{self.name}: ends before the point to go on from; is it the same file?"
                raise FileRefused(message, path=self.name)
            count -= passed

    @property
    def fraction(self) -> float | None:
        """How much of the file has been read, from 0 to 1; None where its size is not known."""
        if self._closed_at is not None or not self.size:
            return self._closed_at
        return self._raw.tell() / self.size

    def close(self) -> None:
        """Close the file, unless it is standard input."""
        if self._ours and not self._raw.closed:
            self._closed_at = self.fraction
            if self._stream is not self._raw:
                self._stream.close()
            self._raw.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _opened(name: str) -> tuple[io.BufferedReader, int | None]:
    if name == STANDARD_INPUT:
        return cast(io.BufferedReader, sys.stdin.buffer), None
    path = Path(name)
    if path.is_dir():
        raise FileRefused(f"{name}: is a folder; give a file, or a folder of files of one kind", path=name)
    if not path.exists():
        raise FileNotFoundError(f"{name}: there is no such file")
    try:
        raw = path.open("rb")
    except OSError as error:
        raise OSError(f"{name}: cannot be read ({error.strerror})") from error
    return raw, path.stat().st_size if path.is_file() else None


def _unpacked_zstandard(raw: BinaryIO, name: str) -> Readable:
    try:
        arrow = importlib.import_module("pyarrow")
    except ImportError:
        raise ImportError(f"{name}: Zstandard needs pyarrow: pip install 'aioli-online[files]'") from None
    return cast(Readable, arrow.CompressedInputStream(arrow.PythonFile(raw, mode="r"), "zstd"))
