"""A window that moves over the bytes of a source: bytes that have been read and not yet been parsed."""

import numpy as np
from numpy.typing import NDArray

from aioli.errors import FileRefused
from aioli.snapshots.tree import Plain
from aioli.streams.files import parse_cells
from aioli.streams.files.byte_source import Source
from aioli.streams.files.table import Position

__all__ = ["Places", "Window"]

BLOCK = 1 << 20  # bytes read at a time
LONGEST_ROW = 1 << 26  # bytes without an end of line: the file is not what it seems
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")  # UTF-16 and UTF-32 begin so
NO_TEXT = {  # what files begin with that are no text, and what to do with them
    b"PAR1": "is Parquet; give it as a file, with --format parquet where its name does not say so",
    b"ARROW1": "is Arrow; say so (--format arrow)",
    b"PK\x03\x04": "is a zip archive, as Excel's files are; unpack it, or save the sheet as CSV",
}


class Window:
    """Bytes `start` to `stop` of `bytes` are still to be parsed; behind them come `parse_cells.ROOM` newlines."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.bytes: NDArray[np.uint8] = np.full(parse_cells.ROOM, parse_cells.NEWLINE, dtype=np.uint8)
        self.start = self.stop = 0
        self.line = 1
        self.before = 0  # bytes of the source before the window
        self._ended = False
        self.fill()
        if self._begins_with(*WIDE_MARKS):
            raise FileRefused(
                f"{source.name}: is UTF-16 or UTF-32; say so (--encoding utf-16), or convert it to UTF-8",
                path=source.name,
            )
        for mark, advice in NO_TEXT.items():
            if self._begins_with(mark):
                raise FileRefused(f"{source.name}: {advice}", path=source.name)
        if self._begins_with(BYTE_ORDER_MARK):
            self.start = len(BYTE_ORDER_MARK)

    @property
    def position(self) -> int:
        """Bytes of the source that have been parsed; the end that a last line may lack is not counted."""
        return min(self.before + self.start, self.source.position)

    @property
    def holds_the_end(self) -> bool:
        """Whether the source has been read to its end."""
        return self._ended

    def fill(self) -> bool:
        """Read on, up to the next whole block of the source; False if there is nothing more.

        So where tables end depends on the file alone, also when reading begins in the middle of it. Of a live source
        only what has come is read.
        """
        if self._ended:
            return False
        if self.stop - self.start > LONGEST_ROW:
            raise FileRefused(
                f"{self.source.name}, line {self.line}: goes on for more than {LONGEST_ROW >> 20} MiB; is this the "
                "right format, and every quote closed?",
                path=self.source.name,
                place=f"line {self.line}",
            )
        text = bytearray(self.bytes[self.start : self.stop])
        wanted = BLOCK - self.source.position % BLOCK
        while wanted and (read := self.source.read(wanted)):
            text += read
            wanted = 0 if self.source.live else wanted - len(read)
        self._ended = wanted > 0
        if self._ended and text and not text.endswith(b"\n"):  # a last line may lack its end
            text += b"\n"
        self.before += self.start
        more = len(text) > self.stop - self.start
        self.start, self.stop = 0, len(text)
        self.quoted = b'"' in text
        text += b"\n" * parse_cells.ROOM
        self.bytes = np.frombuffer(text, dtype=np.uint8)
        return more

    def hold(self, lines: int, most: int) -> None:
        """Read on until the window has so many lines, or so many bytes, or all that there are; live, one line."""
        lines = 1 if self.source.live else lines
        while self.stop - self.start < most and self.line_of(self.stop) - self.line < lines and self.fill():
            pass

    def whole_lines(self) -> int:
        """Return where the last whole line of the window ends, which is `start` only at the end of the source."""
        while True:
            end = self.bytes[self.start : self.stop].tobytes().rfind(b"\n") + 1
            if end or not self.fill():
                return self.start + end

    def line_of(self, place: int) -> int:
        """Return the number of the line in which a byte of the window lies."""
        return self.line + int(np.count_nonzero(self.bytes[self.start : place] == parse_cells.NEWLINE))

    def go_on(self, place: int, lines: int | None = None) -> None:
        """Move the window's start to `place`, past `lines` lines; None counts them."""
        self.line = self.line_of(place) if lines is None else self.line + lines
        self.start = place

    def go_to(self, byte: int, line: int) -> None:
        """Move the window to a byte of the source that an earlier run had reached, and to the number of its line."""
        if byte > self.before + self.stop:
            self.source.skip(byte - self.source.position)
            self.start = self.stop = 0
            self.before = byte
            self.fill()
        else:
            self.start = byte - self.before
        self.line = line

    def after(self) -> Position:
        """Return the byte and line from which `go_to` resumes reading, and the encoding that was guessed before it."""
        at: dict[str, Plain] = {"byte": self.position, "line": self.line}
        return at if self.source.guessed is None else {**at, "encoding": self.source.guessed}

    def _begins_with(self, *marks: bytes) -> bool:
        return self.bytes[: self.stop][:8].tobytes().startswith(marks)


class Places:
    """Names the line of a row, by the position of its first byte; lines are counted only when a message needs them."""

    def __init__(self, window: Window, starts: NDArray[np.int64]) -> None:
        self.path = window.source.name
        self.starts = starts
        self.bytes = window.bytes
        self._start, self._line = window.start, window.line

    def __call__(self, row: int) -> str:
        """Return the row's place, such as "clicks.csv, line 12"."""
        ends = np.count_nonzero(self.bytes[self._start : self.starts[row]] == parse_cells.NEWLINE)
        return f"{self.path}, line {self._line + int(ends)}"
