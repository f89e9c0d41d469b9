"""JSON lines: an object a line, its keys the columns; what is nested is called `outer.inner`."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from aioli.numerics.compiling import Vector
from aioli.streams.files.recognise import as_number, days_since_1970, is_missing, parse_date
from aioli.streams.files.sources import Source
from aioli.streams.files.table import CATEGORY, DATE, NUMBER, TEXT, Position, Table, Tables, Texts, Where
from aioli.streams.files.window import Lines, Window

__all__ = ["JSONLines"]

SAMPLE = 1000  # lines from which the first columns are told
LONGEST_SHOWN = 40

Value = float | int | str | bool | None
Row = dict[str, Value]


class JSONLines:
    """A file of JSON lines.

    Numbers are numbers, true and false are 1 and 0, null or a key that is not there is missing. A column in which a
    string has come is one of dates, if all strings are dates, or of categories. A key may come at any time: what its
    column is, is told from the table in which its first value comes.
    """

    sparse, grows = False, True

    def __init__(self, source: Source) -> None:
        self.source = source
        self._window = Window(source)
        self._kinds: dict[str, str] | None = None

    @property
    def columns(self) -> dict[str, str]:
        """The keys of the first thousand lines, and what each seems to be."""
        if self._kinds is None:
            rows, _ = self._parsed(self._window.whole_lines(), SAMPLE)
            if not rows:
                raise ValueError(f"{self.source.name}: is empty; give a file with an object a line")
            self._kinds = _kinds(rows, {})
        return self._kinds

    @property
    def fraction(self) -> float | None:
        """How much of the file has been read, where its size is known."""
        return self.source.fraction

    def close(self) -> None:
        """Let the file go."""
        self.source.close()

    def tables(self, kinds: dict[str, str], label: str | None, position: Position | None) -> Tables:
        """The rows, in tables of about a megabyte of text."""
        kinds = dict(kinds)
        with self.source:
            if position is not None:
                self._window.go_to(position["byte"], position["line"])
            while (end := self._window.whole_lines()) > self._window.start:
                rows, lines = self._parsed(end)
                self._window.go_on(end)
                if rows:
                    new = _kinds(rows, kinds)
                    kinds.update(new)
                    yield self._table(rows, kinds, label, Lines(self.source.name, lines), new)

    def _table(self, rows: list[Row], kinds: dict[str, str], label: str | None, where: Lines, new: Any) -> Table:
        names = [name for name, kind in kinds.items() if kind == NUMBER and name != label]
        numbers = np.empty((len(rows), len(names)))
        for j, name in enumerate(names):
            numbers[:, j] = _numbers(rows, name, where)
        texts = {name: _texts(rows, name) for name, kind in kinds.items() if kind in (CATEGORY, TEXT)}
        dates = [name for name, kind in kinds.items() if kind == DATE]
        days = {name: days_since_1970(_texts(rows, name), name, where) for name in dates}
        labels: Any = None
        if label is not None:
            labels = texts.pop(label) if label in texts else _numbers(rows, label, where)
        complete = not np.isnan(numbers).any()
        return Table(names, numbers, texts, labels, where, self._window.after(), complete, days, new)

    def _parsed(self, end: int, most: int | None = None) -> tuple[list[Row], list[int]]:
        """The objects up to there, and the numbers of their lines."""
        window = self._window
        rows, lines = [], []
        text = window.bytes[window.start : end].tobytes()
        for number, line in enumerate(text.split(b"\n")[:most], window.line):
            if line and not line.isspace():
                rows.append(self._object(line, number))
                lines.append(number)
        return rows, lines

    def _object(self, line: bytes, number: int) -> Row:
        place = f"{self.source.name}, line {number}"
        try:
            row = json.loads(line)
        except UnicodeDecodeError:
            raise ValueError(f"{place}: is not UTF-8; convert the file") from None
        except json.JSONDecodeError as error:
            raise ValueError(
                f"{place}: is no JSON ({error.msg}, column {error.colno}); write an object a line"
            ) from None
        except (ValueError, RecursionError):  # an integer of thousands of digits, or nesting as deep
            raise ValueError(f"{place}: is too long a number or too deeply nested to be read; mend it") from None
        if not isinstance(row, dict):
            raise ValueError(
                f'{place}: is no JSON object but {_shown(row)}; write an object a line, such as {{"x": 1}}'
            )
        if any(isinstance(value, dict | list) for value in row.values()):
            row = dict(_flat(row, "", place))
        return row


def _flat(inner: dict[str, Any], outer: str, place: str) -> Iterator[tuple[str, Value]]:
    for key, value in inner.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{outer}{key}.", place)
        elif isinstance(value, list):
            raise ValueError(
                f"{place}, key {outer + key!r}: is a list, {_shown(value)}; write its entries under keys of their own"
            )
        else:
            yield outer + key, value


def _kinds(rows: list[Row], known: dict[str, str]) -> dict[str, str]:
    """What the columns are that are not yet known. A key that is missing throughout has not come yet."""
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
    """A column of numbers. A string that writes one, or that says that it is missing, will do."""
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
            raise ValueError(
                f"{where(t)}, key {name!r}: {_shown(value)} is {wrong}, and this was a column of numbers so far; mend "
                f"it, or read the column as categories (--category {name!r})"
            )
        numbers[t] = number
    return numbers


def _texts(rows: list[Row], name: str) -> Texts:
    """A column of categories or dates; what is no string is written as JSON writes it."""
    values = [row.get(name) for row in rows]
    return [value if isinstance(value, str) or value is None else json.dumps(value) for value in values]


def _shown(value: object) -> str:
    try:
        shown = json.dumps(value)
    except ValueError:
        shown = "a number of many digits"
    return shown if len(shown) <= LONGEST_SHOWN else shown[:LONGEST_SHOWN] + "…"
