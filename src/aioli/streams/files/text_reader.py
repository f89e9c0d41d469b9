"""The base of the readers of text formats: a window over the bytes, a position in it, and errors by line."""

from collections.abc import Iterator, Sequence

import numpy as np

from aioli.errors import FileRefused
from aioli.snapshots.tree import Snapshot
from aioli.streams.files.byte_source import Source
from aioli.streams.files.byte_window import Window
from aioli.streams.files.table import Position, Table
from aioli.streams.files.where import Numbered

__all__ = ["NOT_UTF8", "TextReader", "shortened"]

LONGEST_SHOWN = 40  # characters of what a file holds that are quoted in a message


NOT_UTF8 = "is not UTF-8; say how the file is encoded (--encoding latin-1, cp1252, utf-16, …), or convert the file"


class TextReader:
    """Reads a source through a window of some megabytes; the formats derive from it."""

    def __init__(self, source: Source, tolerant: bool = False) -> None:
        self.source = source
        self.tolerant = tolerant  # whether rows that cannot be read are left out, and told in their table
        self._window = Window(source)

    @property
    def fraction(self) -> float | None:
        """How much of the file has been read, from 0 to 1; None where its size is not known."""
        return self.source.fraction

    @property
    def guessed(self) -> str | None:
        """The encoding that the text was taken for, since it is not UTF-8; None where there was no need."""
        return self.source.guessed

    def close(self) -> None:
        """Close the file; a second time does nothing."""
        self.source.close()

    def _go_to(self, position: Position | None) -> None:
        """Go on at the position behind a table of an earlier run; None stays at the beginning."""
        if position is not None:
            place = Snapshot("Position", position)
            if "encoding" in place.values:
                self.source.read_as(place.text("encoding"))
            self._window.go_to(place.whole("byte"), place.whole("line"))

    def _lines(self, end: int, most: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Yield the lines of the window up to `end` that are not blank, each with its number."""
        text = self._window.bytes[self._window.start : end].tobytes()
        for number, line in enumerate(text.split(b"\n")[:most], self._window.line):
            if line and not line.isspace():
                yield number, line

    def _without_rows(self, messages: Sequence[str]) -> Table:
        """Return a table of rows that were left out, behind the last that could be read."""
        where = Numbered(self.source.name, "line", [])
        skipped = [(0, message) for message in messages]
        return Table([], np.empty((0, 0)), {}, None, where, self._window.after(), skipped=skipped)

    def _refused(self, problem: str, line: int | None = None) -> FileRefused:
        """Return the error for the file, or for a line of it."""
        name = self.source.name
        if line is None:
            return FileRefused(f"{name}: {problem}", path=name)
        return FileRefused(f"{name}, line {line}: {problem}", path=name, place=f"line {line}")


def shortened(text: str | bytes) -> str:
    """Return what a file holds as a message quotes it: cut after some forty characters."""
    whole = text if isinstance(text, str) else text.decode("utf-8", "replace")
    return repr(whole if len(whole) <= LONGEST_SHOWN else whole[:LONGEST_SHOWN] + "…")
