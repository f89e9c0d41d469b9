"""CSV, TSV and their like: a header, then rows of cells, quoted or not, with any one delimiter."""

import csv
import io
from typing import Any

import numpy as np

from aioli.streams.files import cells
from aioli.streams.files.recognise import as_number, days_since_1970, is_missing, kind_of
from aioli.streams.files.regular import ends_of_cells, read_regular_rows, room_for_ends
from aioli.streams.files.sources import Source
from aioli.streams.files.table import DATE, NUMBER, SKIPPED, TEXT, Position, Table, Tables, Texts
from aioli.streams.files.window import Places, Window

__all__ = ["Delimited"]

ROWS = 16384  # rows in a table, at most
CELLS = 1 << 21  # cells in a table, at most
SAMPLE = 1000  # rows from which the kinds of columns are told; a tenth of them, where rows are wide
SAMPLED_CELLS = 1 << 18
LONGEST_SAMPLE = 1 << 24  # bytes that may be read to get so many
DELIMITERS = ",\t;|"
NO_DELIMITERS = '"\r\n.+-'  # they have another meaning, as letters and digits have


class Delimited:
    """A file of delimited text. Its first row names the columns, unless `header` is False.

    Parameters
    ----------
    source
        The bytes.
    delimiter
        None takes the one of `, tab ; |` that is most frequent in the first line.
    header
        Whether the first row has the names; otherwise columns are called 1, 2, 3, …
    """

    sparse = grows = False

    def __init__(self, source: Source, delimiter: str | None = None, header: bool = True) -> None:
        self.source = source
        self._window = Window(source)
        first = self._first_row()
        self.delimiter = delimiter or max(DELIMITERS, key=first.count)
        if not self.delimiter.isascii() or len(self.delimiter) != 1 or self.delimiter in NO_DELIMITERS:
            raise ValueError(f"the delimiter is {self.delimiter!r}; it must be one plain character, such as ',' or ';'")
        if self.delimiter.isalnum():
            raise ValueError(f"the delimiter is {self.delimiter!r}; it must be neither letter nor digit")
        found = self._split(first)
        if header:
            self._window.go_on(self._window.start + len(first.encode()))
        names = [name.strip() or f"column {i + 1}" for i, name in enumerate(found)]
        self._names = _distinct(names if header else [str(i + 1) for i in range(len(names))])
        self._rows, self._room = 0, room_for_ends(1, 0)
        sample = min(SAMPLE, max(SAMPLE // 10, SAMPLED_CELLS // len(names)))
        self._window.hold(sample + 1, LONGEST_SAMPLE)
        texts = self._read(dict.fromkeys(self._names, TEXT), None, sample, keep=True).texts
        self._kinds = {name: kind_of(texts[name]) for name in self._names}

    @property
    def columns(self) -> dict[str, str]:
        """The columns, and what each seems to be by its first thousand rows."""
        return self._kinds

    @property
    def fraction(self) -> float | None:
        """How much of the file has been read, where its size is known."""
        return self.source.fraction

    def close(self) -> None:
        """Let the file go."""
        self.source.close()

    def tables(self, kinds: dict[str, str], label: str | None, position: Position | None) -> Tables:
        """The rows, in tables of a few megabytes."""
        rows = max(1, min(ROWS, CELLS // len(self._names)))
        with self.source:
            if position is not None:
                self._window.go_to(position["byte"], position["line"])
            while len(table := self._read(kinds, label, rows)):
                if table.complete:
                    _ = table.sums
                yield table

    def _first_row(self) -> str:
        """The first row with its end. It is not passed over, but empty lines before it are."""
        window = self._window
        while (end := window.whole_lines()) > window.start:
            text = window.bytes[window.start : end].tobytes()
            empty = len(text) - len(text.lstrip(b"\r\n"))
            window.go_on(window.start + empty)
            if empty < len(text):
                return self._decoded(text[empty:])
        raise ValueError(f"{self.source.name}: is empty; give a file with a header and at least one row")

    def _decoded(self, text: bytes) -> str:
        end = text.index(b"\n") + 1
        first = end
        while text.count(b'"', 0, end) % 2 and end < len(text):  # a name with an end of line in it
            end = text.index(b"\n", end) + 1
        row = text[: first if text.count(b'"', 0, end) % 2 else end]
        if b"\r" in row.rstrip(b"\r\n") and b'"' not in row:
            raise ValueError(
                f"{self.source.name}: its lines end with a mere return; convert them to end with a newline"
            )
        try:
            return row.decode()
        except UnicodeDecodeError:
            raise ValueError(f"{self.source.name}, line {self._window.line}: is not UTF-8; convert the file") from None

    def _split(self, row: str) -> list[str]:
        try:
            return next(csv.reader(io.StringIO(row, newline=""), delimiter=self.delimiter), [])
        except csv.Error as error:
            raise ValueError(
                f"{self.source.name}, line {self._window.line}: is no row of delimited text ({error}); mend it, or say "
                "what the file is (--format)"
            ) from None

    def _read(self, kinds: dict[str, str], label: str | None, rows: int, keep: bool = False) -> Table:
        """The next rows, as many as that, fewer at the end. `keep` reads them without passing over them."""
        window = self._window
        codes, places, numbers, texts = _plan(self._names, kinds, label)
        values, labels = np.empty((rows, len(numbers))), np.empty(rows)
        spans = np.empty((rows, len(texts), 2), dtype=np.int64)
        starts, odd = np.empty(rows, dtype=np.int64), np.empty((rows * len(codes), 4), dtype=np.int64)
        outcome = np.empty(5, dtype=np.int64)
        arrays = (codes, places, values, labels, spans, starts, odd, outcome)
        while True:
            outcome[:] = 0
            count, regular = self._read_rows(rows, len(codes), arrays)
            if count or outcome[1] == cells.RAGGED or not window.fill():
                break
        if not count and outcome[0] < window.stop:
            self._refuse(outcome, len(codes))
        where = Places(window, starts[:count])
        self._read_odd(odd[: outcome[3]], values, labels, places, label, where)
        whole = window.bytes.tobytes() if texts else b""
        written = {name: _texts(whole, spans[:count, j], name, where, name == label) for j, name in enumerate(texts)}
        dates = [name for name in texts if kinds[name] == DATE]
        days = {name: days_since_1970(written.pop(name), name, where) for name in dates}
        heard: Any = None if label is None else written.pop(label) if label in written else labels[:count]
        if not keep:
            window.go_on(int(outcome[0]), count if regular else None)
        complete = not outcome[3] and not outcome[4]
        return Table(numbers, values[:count], written, heard, where, window.after(), complete, days)

    def _read_rows(self, rows: int, columns: int, arrays: tuple[Any, ...]) -> tuple[int, bool]:
        """The next whole rows of the window into the arrays; and whether all are alike, which is quick."""
        window = self._window
        part = (window.bytes, window.start, window.stop, ord(self.delimiter))
        if rows != self._rows:
            self._rows, self._room = rows, room_for_ends(columns, rows)
        ends = None if window.quoted or columns < 2 else ends_of_cells(*part, columns, self._room)
        if ends is None:
            return cells.read_rows(*part, *arrays), False
        return read_regular_rows(*part, ends, *arrays), True

    def _refuse(self, outcome: Any, columns: int) -> None:
        place = f"{self.source.name}, line {self._window.line_of(int(outcome[0]))}"
        if outcome[1] == cells.RAGGED:
            raise ValueError(
                f"{place}: has {outcome[2]} cells, but there are {columns} columns; mend the row, or quote cells that "
                "hold the delimiter"
            )
        raise ValueError(f"{place}: a quote is opened and never closed; close it")

    def _read_odd(self, odd: Any, values: Any, labels: Any, places: Any, label: str | None, where: Places) -> None:
        """The cells that are no plain numbers: missing ones stay NaN, what Python can read is read, others told."""
        for row, column, first, end in odd.tolist():
            name = self._names[column]
            text = _cell(where.bytes[first:end].tobytes(), name, where, row)
            value = np.nan if text is None or is_missing(text) else as_number(text)
            if value is None or abs(value) == np.inf:
                wrong = "no number" if value is None else "not finite"
                kind = "the label's column" if name == label else "a column of numbers"
                raise ValueError(
                    f"{where(row)}, column {name!r}: {text!r} is {wrong}, and this was {kind} so far; mend it, or "
                    f"read the column as categories (--category {name!r})"
                )
            if name == label:
                labels[row] = value
            else:
                values[row, places[column]] = value


def _plan(names: list[str], kinds: dict[str, str], label: str | None) -> tuple[Any, Any, list[str], list[str]]:
    """What the compiled reader does with each column and where to, and which are numbers and texts."""
    codes, places = [], []
    numbers: list[str] = []
    texts: list[str] = []
    for name in names:
        kind = kinds[name]
        if kind == SKIPPED:
            codes.append(cells.SKIPPED)
            places.append(0)
        elif kind != NUMBER:
            codes.append(cells.TEXT)
            places.append(len(texts))
            texts.append(name)
        elif name == label:
            codes.append(cells.LABEL)
            places.append(0)
        else:
            codes.append(cells.NUMBER)
            places.append(len(numbers))
            numbers.append(name)
    return np.array(codes), np.array(places, dtype=np.uint64), numbers, texts


def _texts(whole: bytes, spans: Any, name: str, where: Places, label: bool) -> Texts:
    """The cells of a column. Most are repeated, and are taken apart once."""
    known: dict[bytes, str | None] = {}
    texts: Texts = []
    for t, (first, end) in enumerate(spans.tolist()):
        raw = whole[first:end]
        if raw not in known:
            known[raw] = _cell(raw, name, where, t, label)
        texts.append(known[raw])
    return texts


def _cell(raw: bytes, name: str, where: Places, row: int, label: bool = False) -> str | None:
    """The text of a cell, its quotes taken off; None if it says that there is none."""
    raw = raw.strip(b" \t\r")
    if raw[:1] == b'"' and raw[-1:] == b'"' and len(raw) > 1:
        raw = raw[1:-1].replace(b'""', b'"')
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise ValueError(f"{where(row)}, column {name!r}: {raw[:40]!r} is not UTF-8; convert the file") from None
    return None if is_missing(text, label) else text


def _distinct(names: list[str]) -> list[str]:
    """A name that comes again is given a number, one that no other has."""
    distinct: dict[str, None] = {}
    for name in names:
        again, free = 1, name
        while free in distinct:
            again += 1
            free = f"{name} ({again})"
        distinct[free] = None
    return list(distinct)
