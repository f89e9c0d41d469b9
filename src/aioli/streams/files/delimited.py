"""CSV, TSV and their like: a header, then rows of cells, quoted or not, with any one delimiter."""

import csv
import io
from collections.abc import Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from aioli.errors import FileRefused, ParameterRefused
from aioli.numerics.compiling import Matrix, Vector
from aioli.streams.files import parse_cells
from aioli.streams.files.byte_source import Source
from aioli.streams.files.byte_window import Places
from aioli.streams.files.cell_values import POINT, as_number, converted, is_missing, number_in
from aioli.streams.files.dates import days_in
from aioli.streams.files.parse_cells import Integers, RowArrays
from aioli.streams.files.parse_uniform_rows import ends_of_cells, read_regular_rows, room_for_ends
from aioli.streams.files.recognition import sample_size
from aioli.streams.files.table import (
    AS_PROGRAMS_WRITE,
    DATE,
    NUMBER,
    SKIPPED,
    TEXT,
    Position,
    ReadAs,
    Table,
    Tables,
    Texts,
)
from aioli.streams.files.text_reader import TextReader
from aioli.streams.files.where import row_refused

__all__ = ["Delimited"]

ROWS = 16384  # rows in a table, at most
CELLS = 1 << 21  # cells in a table, at most
LONGEST_SAMPLE = 1 << 24  # bytes that may be read to get so many
DELIMITERS = ",\t;|"
NO_DELIMITERS = '"\r\n.+-'  # they have another meaning, as letters and digits have


class Delimited(TextReader):
    """Reads a file of delimited text. The first row names the columns, unless `header` is False.

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
        super().__init__(source)
        first = self._first_row()
        self.delimiter = delimiter or max(DELIMITERS, key=first.count)
        if not self.delimiter.isascii() or len(self.delimiter) != 1 or self.delimiter in NO_DELIMITERS:
            raise _no_delimiter(self.delimiter, "one plain character, such as ',' or ';'")
        if self.delimiter.isalnum():
            raise _no_delimiter(self.delimiter, "neither letter nor digit")
        found = self._split(first)
        if header:
            self._window.go_on(self._window.start + len(first.encode()))
        names = [name.strip() or f"column {i + 1}" for i, name in enumerate(found)]
        self._names = _distinct(names if header else [str(i + 1) for i in range(len(names))])
        self._rows, self._room = 0, room_for_ends(1, 0)
        rows = sample_size(len(names))
        self._window.hold(rows + 1, LONGEST_SAMPLE)
        self._sample = self._read(dict.fromkeys(self._names, TEXT), None, rows, AS_PROGRAMS_WRITE, keep=True).texts

    @property
    def sample(self) -> Mapping[str, Texts]:
        """The cells of the first thousand rows, by column."""
        return self._sample

    def tables(self, read_as: ReadAs, position: Position | None) -> Tables:
        """Yield the rows, in tables of a few megabytes."""
        kinds, label, notations = read_as
        rows = max(1, min(ROWS, CELLS // len(self._names)))
        with self.source:
            self._go_to(position)
            while len(table := self._read(kinds, label, rows, notations)):
                yield table

    def _first_row(self) -> str:
        """Return the first row with its end; it is not passed over, but empty lines before it are."""
        window = self._window
        while (end := window.whole_lines()) > window.start:
            text = window.bytes[window.start : end].tobytes()
            empty = len(text) - len(text.lstrip(b"\r\n"))
            window.go_on(window.start + empty)
            if empty < len(text):
                return self._decoded(text[empty:])
        raise self._refused("is empty; give a file with a header and at least one row")

    def _decoded(self, text: bytes) -> str:
        end = text.index(b"\n") + 1
        first, quotes = end, text.count(b'"', 0, end)
        while quotes % 2 and (quote := text.find(b'"', end)) >= 0:  # a name with an end of line in it
            end, passed = text.index(b"\n", quote) + 1, end
            quotes += text.count(b'"', passed, end)
        row = text[: first if quotes % 2 else end]
        if b"\r" in row.rstrip(b"\r\n") and b'"' not in row:
            raise self._refused("its lines end with a mere return; convert them to end with a newline")
        try:
            return row.decode()
        except UnicodeDecodeError:
            raise self._refused("is not UTF-8; convert the file", self._window.line) from None

    def _split(self, row: str) -> list[str]:
        try:
            return next(csv.reader(io.StringIO(row, newline=""), delimiter=self.delimiter), [])
        except csv.Error as error:
            problem = f"is no row of delimited text ({error}); mend it, or say what the file is (--format)"
            raise self._refused(problem, self._window.line) from None

    def _read(
        self, kinds: dict[str, str], label: str | None, rows: int, notations: Mapping[str, str], keep: bool = False
    ) -> Table:
        """Return the next rows, `rows` of them or fewer at the end. `keep` reads them without passing over them."""
        window = self._window
        codes, places, numbers, texts = _plan(self._names, kinds, label, notations)
        values, labels = np.empty((rows, len(numbers))), np.empty(rows)
        spans = np.empty((rows, len(texts), 2), dtype=np.int64)
        starts, odd = np.empty(rows, dtype=np.int64), np.empty((rows * len(codes), 4), dtype=np.int64)
        outcome = np.empty(5, dtype=np.int64)
        arrays = (codes, places, values, labels, spans, starts, odd, outcome)
        while True:
            outcome[:] = 0
            count, regular = self._read_rows(rows, len(codes), arrays)
            if count or outcome[1] == parse_cells.RAGGED or not window.fill():
                break
        if not count and outcome[0] < window.stop:
            raise self._no_row(outcome, len(codes))
        where = Places(window, starts[:count])
        unreadable = self._read_odd(odd[: outcome[3]], values, labels, places, label, where)
        whole = window.bytes.tobytes() if texts else b""
        written = {name: _texts(whole, spans[:count, j], name, where, name == label) for j, name in enumerate(texts)}
        heard: Vector | Texts | None = (
            None if label is None else written.pop(label) if label in written else labels[:count]
        )
        days: dict[str, Vector] = {}
        for name in [name for name in written if kinds[name] == DATE]:
            days[name], unreadable[name] = converted(
                written.pop(name), partial(days_in, notation=notations.get(name, POINT))
            )
        dressed: dict[str, Vector] = {}
        for name in [name for name in written if kinds[name] == NUMBER]:
            dressed[name], unreadable[name] = converted(written.pop(name), partial(number_in, notation=notations[name]))
        matrix = values[:count]
        if dressed:
            numbers, matrix = [*numbers, *dressed], np.column_stack([matrix, *dressed.values()])
        if not keep:
            window.go_on(int(outcome[0]), count if regular else None)
        complete = not outcome[3] and not outcome[4] and not dressed
        found = {name: cells for name, cells in unreadable.items() if cells}
        return Table(numbers, matrix, written, heard, where, window.after(), complete, days, unreadable=found)

    def _read_rows(self, rows: int, columns: int, arrays: RowArrays) -> tuple[int, bool]:
        """Read the next whole rows of the window into the arrays; return how many, and whether all were alike."""
        window = self._window
        part = (window.bytes, window.start, window.stop, ord(self.delimiter))
        if rows != self._rows:
            self._rows, self._room = rows, room_for_ends(columns, rows)
        ends = None if window.quoted or columns < 2 else ends_of_cells(*part, columns, self._room)
        if ends is None:
            return parse_cells.read_rows(*part, arrays), False
        return read_regular_rows(*part, ends, arrays), True

    def _no_row(self, outcome: Integers, columns: int) -> FileRefused:
        problem = "a quote is opened and never closed; close it"
        if outcome[1] == parse_cells.RAGGED:
            problem = (
                f"has {outcome[2]} cells, but there are {columns} columns; mend the row, or quote cells that hold the "
                "delimiter"
            )
        return self._refused(problem, self._window.line_of(int(outcome[0])))

    def _read_odd(
        self,
        odd: Integers,
        values: Matrix,
        labels: Vector,
        places: NDArray[np.uint64],
        label: str | None,
        where: Places,
    ) -> dict[str, dict[int, str]]:
        """Read the cells that programs do not write so; return those that hold no number, by column and row.

        A label that is no number is refused.
        """
        unreadable: dict[str, dict[int, str]] = {}
        for row, column, first, end in odd.tolist():
            name = self._names[column]
            text = _cell(where.bytes[first:end].tobytes(), name, where, row)
            if name == label:
                labels[row] = _label(text, name, where, row)
            elif text is not None and not is_missing(text):
                value = number_in(text)
                if value is None:
                    unreadable.setdefault(name, {})[row] = text
                else:
                    values[row, places[column]] = value
        return unreadable


def _label(text: str | None, name: str, where: Places, row: int) -> float:
    """Return a label of a column of numbers, NaN where it is missing."""
    value = np.nan if text is None or is_missing(text) else as_number(text)
    if value is None or abs(value) == np.inf:
        wrong = "no number" if value is None else "not finite"
        problem = (
            f"{text!r} is {wrong}, and this was the label's column so far; mend it, or read the column as categories "
            f"(--category {name!r})"
        )
        raise row_refused(where, row, problem, name)
    return value


def _no_delimiter(delimiter: str, wanted: str) -> ParameterRefused:
    message = f"the delimiter is {delimiter!r}; it must be {wanted}"
    return ParameterRefused(message, parameter="delimiter", value=delimiter)


def _plan(
    names: list[str], kinds: dict[str, str], label: str | None, notations: Mapping[str, str]
) -> tuple[Integers, NDArray[np.uint64], list[str], list[str]]:
    """Return what the compiled reader does with each column and where to, and which are numbers and texts."""
    codes, places = [], []
    numbers: list[str] = []
    texts: list[str] = []
    for name in names:
        kind = kinds[name]
        if kind == SKIPPED:
            codes.append(parse_cells.SKIPPED)
            places.append(0)
        elif kind != NUMBER or (name != label and notations.get(name, POINT) != POINT):
            codes.append(parse_cells.TEXT)
            places.append(len(texts))
            texts.append(name)
        elif name == label:
            codes.append(parse_cells.LABEL)
            places.append(0)
        else:
            codes.append(parse_cells.NUMBER)
            places.append(len(numbers))
            numbers.append(name)
    return np.array(codes), np.array(places, dtype=np.uint64), numbers, texts


def _texts(whole: bytes, spans: Integers, name: str, where: Places, label: bool) -> Texts:
    """Return the cells of a column. Most are repeated, and are decoded once."""
    known: dict[bytes, str | None] = {}
    texts: Texts = []
    for t, (first, end) in enumerate(spans.tolist()):
        raw = whole[first:end]
        if raw not in known:
            known[raw] = _cell(raw, name, where, t, label)
        texts.append(known[raw])
    return texts


def _cell(raw: bytes, name: str, where: Places, row: int, label: bool = False) -> str | None:
    """Return the text of a cell without its quotes; None if the cell says that there is no value."""
    raw = raw.strip(b" \t\r")
    if raw[:1] == b'"' and raw[-1:] == b'"' and len(raw) > 1:
        raw = raw[1:-1].replace(b'""', b'"')
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise row_refused(where, row, f"{raw[:40]!r} is not UTF-8; convert the file", name) from None
    return None if is_missing(text, label) else text


def _distinct(names: list[str]) -> list[str]:
    """Return the names, each that comes again with a number that makes it distinct."""
    distinct: dict[str, None] = {}
    counts: dict[str, int] = {}
    for name in names:
        free, count = name, counts.get(name, 1)
        while free in distinct:
            count += 1
            free = f"{name} ({count})"
        counts[name] = count
        distinct[free] = None
    return list(distinct)
