"""CSV, TSV and their like: a header, then rows of cells, quoted or not, with any one delimiter."""

import csv
import io
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from aioli.errors import FileRefused, ParameterRefused
from aioli.numerics.compiling import Matrix, Vector
from aioli.streams.files import parse_cells
from aioli.streams.files.byte_source import Source
from aioli.streams.files.byte_window import Places
from aioli.streams.files.cell_values import POINT, converted, is_missing, number_in
from aioli.streams.files.cells import cell_text, label_in, refuse_row, texts_of
from aioli.streams.files.dates import days_in
from aioli.streams.files.delimited_columns import numbered_names, plan_columns
from aioli.streams.files.parse_cells import Integers, RowArrays
from aioli.streams.files.parse_uniform_rows import ends_of_cells, read_regular_rows, room_for_ends
from aioli.streams.files.recognition import sample_size
from aioli.streams.files.table import (
    AS_PROGRAMS_WRITE,
    DATE,
    NUMBER,
    TEXT,
    Position,
    ReadAs,
    Table,
    Tables,
    Texts,
)
from aioli.streams.files.table_rows import without_rows
from aioli.streams.files.text_reader import NOT_UTF8, TextReader

__all__ = ["Delimited"]

ROWS = 16384  # rows in a table, at most
CELLS = 1 << 21  # cells in a table, at most
LONGEST_SAMPLE = 1 << 24  # bytes that may be read to get so many
LONGEST_SKIPPED = 16  # lines of one row that are left out together: a stray quote would take all behind it along
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

    def __init__(
        self, source: Source, delimiter: str | None = None, header: bool = True, tolerant: bool = False
    ) -> None:
        super().__init__(source, tolerant)
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
        self._names = numbered_names(names if header else [str(i + 1) for i in range(len(names))])
        self._rows, self._room = 0, room_for_ends(1, 0)
        self._ended = False
        rows = sample_size(len(names))
        self._window.hold(rows + 1, LONGEST_SAMPLE)
        self._sample = self._first_cells(rows)

    def _first_cells(self, rows: int) -> dict[str, Texts]:
        """Return the cells of the first rows without passing over them; those that cannot be read are left out."""
        kinds = dict.fromkeys(self._names, TEXT)
        if not self.tolerant:
            return self._read(kinds, None, rows, AS_PROGRAMS_WRITE, keep=True).texts
        start, line = self._window.start, self._window.line
        cells: dict[str, Texts] = {name: [] for name in self._names}
        while rows and not self._ended:
            table = self._read(kinds, None, rows, AS_PROGRAMS_WRITE, held=True)
            rows -= len(table)
            for name, texts in table.texts.items():
                cells[name] += texts
        self._window.start, self._window.line, self._ended = start, line, False
        return cells

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
            pending: list[str] = []  # what was wrong with rows behind the last that could be read
            while not self._ended:
                table = self._read(kinds, label, rows, notations)
                if len(table):
                    yield replace(table, skipped=[*((0, why) for why in pending), *table.skipped])
                    pending = []
                else:
                    pending += [why for _, why in table.skipped]
            if pending:
                yield self._without_rows(pending)

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
            raise self._refused(NOT_UTF8, self._window.line) from None

    def _split(self, row: str) -> list[str]:
        try:
            return next(csv.reader(io.StringIO(row, newline=""), delimiter=self.delimiter), [])
        except csv.Error as error:
            problem = f"is no row of delimited text ({error}); mend it, or say what the file is (--format)"
            raise self._refused(problem, self._window.line) from None

    def _read(
        self,
        kinds: dict[str, str],
        label: str | None,
        rows: int,
        notations: Mapping[str, str],
        keep: bool = False,
        held: bool = False,
    ) -> Table:
        """Return the next rows, `rows` of them or fewer; none, with `_ended` set, at the end.

        `keep` reads them without passing over them; `held` reads no more than the window holds.
        """
        window = self._window
        codes, places, numbers, texts = plan_columns(self._names, kinds, label, notations)
        values, labels = np.empty((rows, len(numbers))), np.empty(rows)
        spans = np.empty((rows, len(texts), 2), dtype=np.int64)
        starts, odd = np.empty(rows, dtype=np.int64), np.empty((rows * len(codes), 4), dtype=np.int64)
        outcome = np.empty(5, dtype=np.int64)
        arrays = (codes, places, values, labels, spans, starts, odd, outcome)
        skipped: list[tuple[int, str]] = []
        while True:
            outcome[:] = 0
            count, regular = self._read_rows(rows, len(codes), arrays)
            if count:
                break
            if outcome[1] != parse_cells.RAGGED and not held and window.fill():
                continue
            if outcome[0] >= window.stop or (held and self._goes_on(outcome)):
                self._ended = not keep
                break
            if not self.tolerant:
                raise self._no_row(outcome, len(codes))
            skipped.append((0, str(self._no_row(outcome, len(codes)))))
            window.go_on(self._behind_row(int(outcome[0])))
        where = Places(window, starts[:count])
        bad: dict[int, str] | None = {} if self.tolerant else None
        unreadable = self._read_odd(odd[: outcome[3]], values, labels, places, label, where, bad)
        whole = window.bytes.tobytes() if texts else b""
        written = {
            name: texts_of(whole, spans[:count, j], name, where, name == label, bad) for j, name in enumerate(texts)
        }
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
        table = Table(numbers, matrix, written, heard, where, window.after(), complete, days, unreadable=found)
        return without_rows(replace(table, skipped=skipped), bad or {})

    def _goes_on(self, outcome: Integers) -> bool:
        """Return whether a row may end behind the window; one of very many lines has a stray quote."""
        window, begin = self._window, int(outcome[0])
        if outcome[1] == parse_cells.RAGGED or window.holds_the_end:
            return False
        return bool(np.count_nonzero(window.bytes[begin : window.stop] == parse_cells.NEWLINE) <= LONGEST_SKIPPED)

    def _behind_row(self, begin: int) -> int:
        """Return where to go on behind a row that cannot be read: behind its first line, where it has very many."""
        window = self._window
        end, lines, stop = begin, 0, window.stop
        while end < stop and lines < LONGEST_SKIPPED:
            end = int(parse_cells.end_of_cell(window.bytes, end, stop, ord(self.delimiter))) + 1
            lines = int(np.count_nonzero(window.bytes[begin:end] == parse_cells.NEWLINE))
            if end <= stop and window.bytes[end - 1] == parse_cells.NEWLINE:
                return end
        first = int(np.argmax(window.bytes[begin:stop] == parse_cells.NEWLINE))
        return begin + first + 1

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
        bad: dict[int, str] | None,
    ) -> dict[str, dict[int, str]]:
        """Read the cells that programs do not write so; return those that hold no number, by column and row.

        A label that is no number, or a cell that is not UTF-8, is refused; or its row is added to the `bad` ones.
        """
        unreadable: dict[str, dict[int, str]] = {}
        for row, column, first, end in odd.tolist():
            name = self._names[column]
            try:
                text = cell_text(where.bytes[first:end].tobytes(), name, where, row)
                if name == label:
                    labels[row] = label_in(text, name, where, row)
            except FileRefused as error:
                refuse_row(error, row, bad)
                continue
            if name == label:
                continue
            if text is not None and not is_missing(text):
                value = number_in(text)
                if value is None:
                    unreadable.setdefault(name, {})[row] = text
                else:
                    values[row, places[column]] = value
        return unreadable


def _no_delimiter(delimiter: str, wanted: str) -> ParameterRefused:
    message = f"the delimiter is {delimiter!r}; it must be {wanted}"
    return ParameterRefused(message, parameter="delimiter", value=delimiter)
