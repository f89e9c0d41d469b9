"""JSON lines: an object a line, its keys the columns; what is nested is called `outer.inner`."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from aioli.numerics.compiling import Vector
from aioli.streams.files.byte_source import Source
from aioli.streams.files.cell_values import as_number, days_since_1970, is_missing, parse_date
from aioli.streams.files.table import CATEGORY, DATE, NUMBER, TEXT, Position, Table, Tables, Texts
from aioli.streams.files.text_reader import LONGEST_SHOWN, TextReader
from aioli.streams.files.where import Numbered, Where, row_refused

__all__ = ["JSONLines"]

SAMPLE = 1000  # lines by which it is decided what the first columns are

Value = float | int | str | bool | None
Row = dict[str, Value]


class JSONLines(TextReader):
    """Reads a file of JSON lines.

    Numbers are numbers, true and false are 1 and 0, null or a key that is not there is missing. A column in which a
    string has come is one of dates, if all strings are dates, or of categories. A key may come at any time:
    the table in which its first value comes decides what its column is.
    """

    sparse, grows = False, True

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._kinds: dict[str, str] | None = None

    @property
    def columns(self) -> dict[str, str]:
        """What each key of the first thousand lines seems to be."""
        if self._kinds is None:
            rows, _ = self._parsed(self._window.whole_lines(), SAMPLE)
            if not rows:
                raise self._refused("is empty; give a file with an object a line")
            self._kinds = _kinds(rows, {})
        return self._kinds

    def tables(self, kinds: dict[str, str], label: str | None, position: Position | None) -> Tables:
        """Yield the rows, in tables of about a megabyte of text."""
        kinds = dict(kinds)
        with self.source:
            self._go_to(position)
            while (end := self._window.whole_lines()) > self._window.start:
                rows, lines = self._parsed(end)
                self._window.go_on(end)
                if rows:
                    new = _kinds(rows, kinds)
                    kinds.update(new)
                    yield self._table(rows, kinds, label, Numbered(self.source.name, "line", lines), new)

    def _table(
        self, rows: list[Row], kinds: dict[str, str], label: str | None, where: Where, new: dict[str, str]
    ) -> Table:
        names = [name for name, kind in kinds.items() if kind == NUMBER and name != label]
        numbers = np.empty((len(rows), len(names)))
        for j, name in enumerate(names):
            numbers[:, j] = _numbers(rows, name, where)
        texts = {name: _texts(rows, name) for name, kind in kinds.items() if kind in (CATEGORY, TEXT)}
        dates = [name for name, kind in kinds.items() if kind == DATE]
        days = {name: days_since_1970(_texts(rows, name), name, where) for name in dates}
        labels: Vector | Texts | None = None
        if label is not None:
            labels = texts.pop(label) if label in texts else _numbers(rows, label, where)
        complete = not np.isnan(numbers).any()
        return Table(names, numbers, texts, labels, where, self._window.after(), complete, days, new)

    def _parsed(self, end: int, most: int | None = None) -> tuple[list[Row], list[int]]:
        """Return the objects up to a place of the window, and the numbers of their lines."""
        rows, lines = [], []
        for number, line in self._lines(end, most):
            rows.append(self._object(line, number))
            lines.append(number)
        return rows, lines

    def _object(self, line: bytes, number: int) -> Row:
        try:
            row = json.loads(line)
        except UnicodeDecodeError:
            raise self._refused("is not UTF-8; convert the file", number) from None
        except json.JSONDecodeError as error:
            problem = f"is no JSON ({error.msg}, column {error.colno}); write an object a line"
            raise self._refused(problem, number) from None
        except (ValueError, RecursionError):  # an integer of thousands of digits, or nesting as deep
            raise self._refused("is too long a number or too deeply nested to be read; mend it", number) from None
        if not isinstance(row, dict):
            problem = f'is no JSON object but {_shown(row)}; write an object a line, such as {{"x": 1}}'
            raise self._refused(problem, number)
        if any(isinstance(value, dict | list) for value in row.values()):
            row = dict(_flat(row, "", Numbered(self.source.name, "line", [number])))
        return row


def _flat(inner: dict[str, Any], outer: str, where: Where) -> Iterator[tuple[str, Value]]:
    """Yield the values of an object, those of the objects within it under the key `outer.inner`."""
    for key, value in inner.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{outer}{key}.", where)
        elif isinstance(value, list):
            problem = f"is a list, {_shown(value)}; write its entries under keys of their own"
            raise row_refused(where, 0, problem, outer + key, "key")
        else:
            yield outer + key, value


def _kinds(rows: list[Row], known: dict[str, str]) -> dict[str, str]:
    """Return what each column is that is not yet known. A key that is missing throughout has not come yet."""
    kinds: dict[str, str] = {}
    for name in dict.fromkeys(key for row in rows for key in row if key not in known):
        values = [value for row in rows if (value := row.get(name)) is not None]
        strings = [value for value in values if isinstance(value, str) and not is_missing(value)]
        numbers = any(not isinstance(value, str) for value in values)
        if not strings and numbers:
            kinds[name] = NUMBER
        elif strings:
            kinds[name] = CATEGORY if numbers or not all(map(parse_date, strings)) else DATE
    return kinds


def _numbers(rows: list[Row], name: str, where: Where) -> Vector:
    """Return a column of numbers. A string that writes one, or that says that it is missing, will do."""
    numbers = np.empty(len(rows))
    for t, row in enumerate(rows):
        value = row.get(name)
        try:
            if isinstance(value, str):
                number = np.nan if is_missing(value) else as_number(value)
            else:
                number = np.nan if value is None else float(value)
        except OverflowError:  # an integer beyond 1e308
            number = np.inf
        if number is None or abs(number) == np.inf:
            wrong = "no number" if number is None else "not finite"
            problem = (
                f"{_shown(value)} is {wrong}, and this was a column of numbers so far; mend it, or read the column as "
                f"categories (--category {name!r})"
            )
            raise row_refused(where, t, problem, name, "key")
        numbers[t] = number
    return numbers


def _texts(rows: list[Row], name: str) -> Texts:
    """Return a column of categories or dates; what is no string is written as JSON writes it."""
    values = [row.get(name) for row in rows]
    return [value if isinstance(value, str) or value is None else json.dumps(value) for value in values]


def _shown(value: object) -> str:
    try:
        shown = json.dumps(value)
    except ValueError:
        shown = "a number of many digits"
    return shown if len(shown) <= LONGEST_SHOWN else shown[:LONGEST_SHOWN] + "…"
