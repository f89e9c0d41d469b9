"""JSON lines: an object a line, its keys the columns; what is nested is called `outer.inner`."""

import json
from collections.abc import Container, Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from aioli.errors import FileRefused
from aioli.numerics.compiling import Vector
from aioli.snapshots.json_values import JsonMapping
from aioli.streams.files.byte_source import Source
from aioli.streams.files.cell_values import POINT, as_number, converted, is_missing, number_in
from aioli.streams.files.dates import days_in
from aioli.streams.files.parse_cells import NEWLINE
from aioli.streams.files.recognition import recognise, sample_size
from aioli.streams.files.table import (
    CATEGORY,
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
from aioli.streams.files.text_reader import LONGEST_SHOWN, NOT_UTF8, TextReader
from aioli.streams.files.where import Numbered, Where, row_refused

__all__ = ["JSONLines", "Row", "flat_row", "sample_of_rows", "table_of_rows"]

LONGEST_SAMPLE = 1 << 24  # bytes that may be read to get a sample
CELLS = 1 << 21  # cells in a table, at most
MOST_KEYS = 2000  # a learner keeps a matrix of so many columns; more are welcome where the first lines have them
MANY_KEYS, SCATTERED = 500, 0.02  # so many, of which a line has so small a share, are no columns

Value = float | int | str | bool | None
Row = dict[str, Value]


class JSONLines(TextReader):
    """Reads a file of JSON lines.

    Numbers are numbers, true and false are 1 and 0, null or a key that is not there is missing. What the strings of a
    column are, the recogniser says (`streams.files.recognition`). A key may come at any time: the table in which its
    first value comes decides what its column is.
    """

    sparse, grows = False, True

    def __init__(self, source: Source, tolerant: bool = False) -> None:
        super().__init__(source, tolerant)
        self._sample: dict[str, Texts | str] | None = None

    @property
    def sample(self) -> Mapping[str, Texts | str]:
        """The values of each key in the first thousand lines, or "number" where no string is among them."""
        if self._sample is None:
            most = sample_size(columns=1)
            self._window.hold(most + 1, LONGEST_SAMPLE)
            rows, _, skipped = self._parsed(self._window.whole_lines(), most)
            if not rows and not skipped:
                raise self._refused("is empty; give a file with an object a line")
            keys = {key for row in rows for key in row}
            if len(keys) > MANY_KEYS and sum(map(len, rows)) < SCATTERED * len(rows) * len(keys):
                raise self._too_many_keys(f"its first {len(rows):,} lines have {len(keys):,} keys")
            self._sample = sample_of_rows(rows[: sample_size(len(keys))], ())
        return self._sample

    def tables(self, read_as: ReadAs, position: Position | None) -> Tables:
        """Yield the rows, in tables of about a megabyte of text."""
        kinds, label, notations = dict(read_as.kinds), read_as.label, dict(read_as.notations)
        most = max(MOST_KEYS, 4 * len(kinds))
        with self.source:
            self._go_to(position)
            pending: list[str] = []  # what was wrong with lines behind the last that could be read
            while (end := self._window.whole_lines()) > self._window.start:
                every, lines, skipped = self._parsed(end)
                ends = np.flatnonzero(self._window.bytes[self._window.start : end] == NEWLINE) + self._window.start + 1
                before, first = 0, self._window.line
                while before < len(every):
                    rows = self._for_one_table(every[before:], lines[before:], kinds, most)
                    after = before + len(rows)
                    self._window.go_on(end if after == len(every) else int(ends[lines[after - 1] - first]))
                    found = recognise(sample_of_rows(rows, kinds))
                    new = {name: column.kind for name, column in found.items()}
                    written = {name: column.notation for name, column in found.items() if column.notation}
                    kinds.update(new)
                    notations.update(written)
                    where = Numbered(self.source.name, "line", lines[before:after])
                    here = [(row - before, why) for row, why in skipped if before <= row < after]
                    here = [*((0, why) for why in pending), *here]
                    pending = []
                    bad: dict[int, FileRefused] = {}
                    table = table_of_rows(rows, kinds, where, notations, label, self._window.after(), bad)
                    if bad and not self.tolerant:
                        raise next(iter(bad.values()))
                    said = {t: str(error) for t, error in bad.items()}
                    yield without_rows(replace(table, new=new, notations=written, skipped=here), said)
                    before = after
                pending += [why for row, why in skipped if row == len(every)]
                self._window.go_on(end)
            if pending:
                yield self._without_rows(pending)

    def _for_one_table(self, rows: list[Row], lines: list[int], kinds: Mapping[str, str], most: int) -> list[Row]:
        """Return the first of the rows, as many as a table takes; more keys than `most` are refused."""
        known, new = len(kinds), set[str]()
        for t, row in enumerate(rows):
            new.update(key for key in row if key not in kinds)
            if known + len(new) > most:
                extra = next(key for key in row if key not in kinds)
                if t:
                    return rows[:t]
                raise self._too_many_keys(f"the key {extra!r} is one of more than {most:,}", lines[t])
            if t and (t + 1) * (known + len(new)) > CELLS:
                return rows[:t]
        return rows

    def _too_many_keys(self, what: str, line: int | None = None) -> FileRefused:
        advice = "write what differs from line to line as values, or as features by name (--format vw)"
        return self._refused(f"{what}; keys are columns: {advice}", line)

    def _parsed(self, end: int, most: int | None = None) -> tuple[list[Row], list[int], list[tuple[int, str]]]:
        """Return the objects up to a place of the window, the numbers of their lines, and lines that were left out."""
        rows: list[Row] = []
        lines: list[int] = []
        skipped: list[tuple[int, str]] = []
        for number, line in self._lines(end, most):
            try:
                rows.append(self._object(line, number))
                lines.append(number)
            except FileRefused as error:
                if not self.tolerant:
                    raise
                skipped.append((len(rows), str(error)))
        return rows, lines, skipped

    def _object(self, line: bytes, number: int) -> Row:
        try:
            row = json.loads(line)
        except UnicodeDecodeError:
            raise self._refused(NOT_UTF8, number) from None
        except json.JSONDecodeError as error:
            problem = f"is no JSON ({error.msg}, column {error.colno}); write an object a line"
            raise self._refused(problem, number) from None
        except (ValueError, RecursionError):  # an integer of thousands of digits, or nesting as deep
            raise self._refused("is too long a number or too deeply nested to be read; mend it", number) from None
        if not isinstance(row, dict):
            problem = f'is no JSON object but {_shown(row)}; write an object a line, such as {{"x": 1}}'
            raise self._refused(problem, number)
        return flat_row(row, Numbered(self.source.name, "line", [number]))


def table_of_rows(
    rows: list[Row],
    kinds: Mapping[str, str],
    where: Where,
    notations: Mapping[str, str],
    label: str | None = None,
    after: Position | None = None,
    bad: dict[int, FileRefused] | None = None,
) -> Table:
    """Return rows of plain values as a table, each column read as its kind says.

    A row whose label is no number, in a column of such, is added to those that are `bad`.
    """
    names = [name for name, kind in kinds.items() if kind == NUMBER and name != label]
    numbers = np.empty((len(rows), len(names)))
    days: dict[str, Vector] = {}
    unreadable: dict[str, dict[int, str]] = {}
    for j, name in enumerate(names):
        numbers[:, j], unreadable[name] = _numbers(rows, name, notations.get(name, POINT))
    for name in [name for name, kind in kinds.items() if kind == DATE and name != label]:
        read = partial(days_in, notation=notations.get(name, POINT))
        days[name], unreadable[name] = converted(_texts(rows, name), read)
    texts = {name: _texts(rows, name, name == label) for name, kind in kinds.items() if kind in (CATEGORY, TEXT)}
    labels: Vector | Texts | None = None
    if label is not None:
        labels = texts.pop(label) if label in texts else _number_labels(rows, label, where, {} if bad is None else bad)
    complete = not np.isnan(numbers).any()
    found = {name: cells for name, cells in unreadable.items() if cells}
    return Table(names, numbers, texts, labels, where, after or {}, complete, days, unreadable=found)


def flat_row(row: JsonMapping, where: Where) -> Row:
    """Return an object with what is nested in it under the keys `outer.inner`."""
    if any(isinstance(value, dict | list) for value in row.values()):
        return dict(_flat(row, "", where))
    return dict(row)


def _flat(inner: JsonMapping, outer: str, where: Where) -> Iterator[tuple[str, Value]]:
    """Yield the values of an object, those of the objects within it under the key `outer.inner`."""
    for key, value in inner.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{outer}{key}.", where)
        elif isinstance(value, list):
            problem = f"is a list, {_shown(value)}; write its entries under keys of their own"
            raise row_refused(where, 0, problem, outer + key, "key")
        else:
            yield outer + key, value


def sample_of_rows(rows: list[Row], known: Container[str]) -> dict[str, Texts | str]:
    """Return the values of each column that is not yet known. A key that is missing throughout has not come yet."""
    sample: dict[str, Texts | str] = {}
    for name in dict.fromkeys(key for row in rows for key in row if key not in known):
        values = _texts(rows, name)
        if any(isinstance(row.get(name), str) and text is not None for row, text in zip(rows, values, strict=True)):
            sample[name] = values
        elif any(value is not None for value in values):
            sample[name] = NUMBER
    return sample


def _numbers(rows: list[Row], name: str, notation: str) -> tuple[Vector, dict[int, str]]:
    """Return a column of numbers, NaN where there is none, and by row what is there and cannot be read as one."""
    numbers = np.full(len(rows), np.nan)
    unreadable: dict[int, str] = {}
    for t, row in enumerate(rows):
        value = row.get(name)
        if value is None or (isinstance(value, str) and is_missing(value)):
            continue
        number = number_in(value, notation) if isinstance(value, str) else _finite(value)
        if number is None:
            unreadable[t] = _shown(value)
        else:
            numbers[t] = number
    return numbers, unreadable


def _finite(value: float) -> float | None:
    """Return a number of JSON as a float, NaN as what it is; None where it is beyond all floats."""
    try:
        number = float(value)
    except OverflowError:  # an integer beyond 1e308
        return None
    return None if abs(number) == np.inf else number


def _number_labels(rows: list[Row], name: str, where: Where, bad: dict[int, FileRefused]) -> Vector:
    """Return labels that are numbers, NaN where one is missing. The row of one that is no number is `bad`."""
    labels = np.full(len(rows), np.nan)
    for t, row in enumerate(rows):
        value = row.get(name)
        if value is None or (isinstance(value, str) and is_missing(value)):
            continue
        number = as_number(value) if isinstance(value, str) else _finite(value)
        if number is None:
            problem = (
                f"{_shown(value)} is no finite number, and this was the label's column so far; mend it, or read the "
                f"column as categories (--category {name!r})"
            )
            bad[t] = row_refused(where, t, problem, name, "key")
            continue
        labels[t] = number
    return labels


def _texts(rows: list[Row], name: str, label: bool = False) -> Texts:
    """Return a column of strings, None where one says that it is missing; what is no string is as JSON writes it."""
    texts: Texts = []
    for row in rows:
        value = row.get(name)
        text = value if isinstance(value, str) else None if value is None else json.dumps(value)
        texts.append(None if text is None or is_missing(text, label) else text)
    return texts


def _shown(value: object) -> str:
    try:
        shown = json.dumps(value)
    except ValueError:
        shown = "a number of many digits"
    return shown if len(shown) <= LONGEST_SHOWN else shown[:LONGEST_SHOWN] + "…"
