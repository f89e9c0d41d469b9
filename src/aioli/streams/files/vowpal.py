"""Vowpal Wabbit's text: `label importance 'tag |namespace:weight feature:value …`, a row a line."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from aioli.errors import FileRefused
from aioli.streams.files.byte_source import Source
from aioli.streams.files.cell_values import as_number
from aioli.streams.files.table import Position, ReadAs, SparseTable, Tables, Texts
from aioli.streams.files.text_reader import NOT_UTF8, TextReader, shortened
from aioli.streams.files.where import Numbered, row_refused

__all__ = ["VowpalRow", "VowpalText", "parse_line"]


class VowpalRow(NamedTuple):
    """One row of text: its label, None where there is none, its importance, its tag, and its features by name."""

    label: float | None
    weight: float
    tag: str
    features: dict[str, float]


def parse_line(line: bytes) -> VowpalRow:
    """Return the row of one line; a feature that comes several times has the sum of its values.

    >>> parse_line(b"1 2.0 'visit-7|site:0.5 home |time noon:3")
    VowpalRow(label=1.0, weight=2.0, tag='visit-7', features={'site^home': 0.5, 'time^noon': 3.0})
    """
    row = _TableBuilder("the line")
    row.add(line, 1)
    if not np.isfinite(row.values).all():
        raise FileRefused("the line: a value is not finite; mend it, or drop it", path="")
    features: dict[str, float] = {}
    for place, value in zip(row.features, row.values, strict=True):
        features[row.names[place]] = features.get(row.names[place], 0.0) + value
    label = None if math.isnan(row.labels[0]) else row.labels[0]
    return VowpalRow(label, row.weights[0], row.tag.decode("utf-8", "replace").removeprefix("'"), features)


class VowpalText(TextReader):
    """Reads a file of rows of named features.

    A feature is called `namespace^feature`, or `feature` in the namespace without a name. What has no value is 1. The
    weight of a namespace multiplies its values. A row without a label has the label NaN, and that without an
    importance counts 1. Tags are passed over.
    """

    sparse, grows = True, False

    def __init__(self, source: Source, tolerant: bool = False) -> None:
        super().__init__(source, tolerant)
        if self._window.whole_lines() == self._window.start:
            raise self._refused("is empty; give a file with rows such as '1 |words tall green'")

    @property
    def sample(self) -> Mapping[str, Texts]:
        """An empty mapping: features are named as they come."""
        return {}

    def tables(self, _read_as: ReadAs, position: Position | None) -> Tables:
        """Yield the rows, in tables of about a megabyte of text."""
        window = self._window
        with self.source:
            self._go_to(position)
            while (end := window.whole_lines()) > window.start:
                rows = _TableBuilder(self.source.name)
                for number, line in self._lines(end):
                    if self.tolerant:
                        rows.add_or_skip(line, number)
                    else:
                        rows.add(line, number)
                window.go_on(end)
                if rows.lines or rows.skipped:
                    yield rows.table(window.after())


class _TableBuilder:
    """Gathers the rows of a table."""

    def __init__(self, source: str) -> None:
        self.lines: list[int] = []
        self._where = Numbered(source, "line", self.lines)
        self.labels: list[float] = []
        self.weights: list[float] = []
        self.starts = [0]
        self.features: list[int] = []
        self.values: list[float] = []
        self.names: list[str] = []
        self._places: dict[bytes, dict[bytes, int]] = {}  # of each namespace: its features' places in `names`
        self.skipped: list[tuple[int, str]] = []
        self.tag = b""  # of the last row

    def add_or_skip(self, line: bytes, number: int) -> None:
        """Add the row of one line; one that cannot be read is left out, and nothing of it stays."""
        rows, entries, names = len(self.lines), len(self.features), len(self.names)
        try:
            self.add(line, number)
            if not np.isfinite(self.values[entries:]).all():
                raise self._refused("a value is not finite; mend it, or drop it")
        except FileRefused as error:
            self.skipped.append((rows, str(error)))
            del self.lines[rows:], self.labels[rows:], self.weights[rows:], self.starts[rows + 1 :]
            del self.features[entries:], self.values[entries:], self.names[names:]
            self._places = {
                space: {name: place for name, place in places.items() if place < names}
                for space, places in self._places.items()
            }

    def add(self, line: bytes, number: int) -> None:
        """Add the row of one line."""
        self.lines.append(number)
        head, bar, rest = line.partition(b"|")
        if not bar:
            raise self._refused("has no bar; write the label, ' |' and the features")
        self._add_head(head)
        for part in rest.split(b"|"):
            words = part.split()
            space, weight = b"", 1.0
            if words and not part[:1].isspace():
                space, colon, written = words.pop(0).partition(b":")
                weight = self._number(written, space) if colon else 1.0
            self._add_features(space, weight, words)
        self.starts.append(len(self.features))

    def _add_features(self, space: bytes, weight: float, words: list[bytes]) -> None:
        places, features, values = self._places.setdefault(space, {}), self.features, self.values
        for word in words:
            name, colon, written = word.partition(b":")
            place = places.get(name)
            features.append(self._named(space, name) if place is None else place)
            try:
                value = float(written) if colon else 1.0
            except ValueError:
                value = self._number(written, name)
            if colon and b"_" in written:  # Python reads 1_0 as 10; nobody means it in a file
                value = self._number(written, name)
            values.append(value * weight)

    def _add_head(self, head: bytes) -> None:
        """Add label, importance and base, where they are; a word that touches the bar and is no number is a tag."""
        words = head.split()
        if words and (words[-1][:1] == b"'" or not (head[-1:].isspace() or _is_number(words[-1]))):
            self.tag = words.pop()
        if len(words) > 3:
            raise self._refused(f"{shortened(head)} is more than label, importance, base and tag")
        numbers = [self._number(word, b"label") for word in words]
        if len(numbers) == 3 and numbers[2]:
            raise self._refused(f"has the base {numbers[2]:g}; rows with a base are not known: take it out")
        if len(numbers) > 1 and numbers[1] < 0:
            raise self._refused(f"has the importance {numbers[1]:g}; it must be at least 0")
        self.labels.append(numbers[0] if numbers else math.nan)
        self.weights.append(numbers[1] if len(numbers) > 1 else 1.0)

    def _named(self, space: bytes, name: bytes) -> int:
        try:
            named = f"{space.decode()}^{name.decode()}" if space else name.decode()
        except UnicodeDecodeError:
            raise self._refused(f"{shortened(name)} {NOT_UTF8}") from None
        place = self._places[space][name] = len(self.names)
        self.names.append(named)
        return place

    def _number(self, written: bytes, name: bytes) -> float:
        number = as_number(written.decode("utf-8", "replace"))
        if number is None or not math.isfinite(number):
            raise self._refused(f"{shortened(written)}, the value of {shortened(name)}, is no finite number; mend it")
        return number

    def _refused(self, problem: str) -> FileRefused:
        return row_refused(self._where, -1, problem)

    def table(self, after: Position) -> SparseTable:
        """Return the rows that were added."""
        values, starts = np.array(self.values), np.array(self.starts)
        if not np.isfinite(values).all():
            wrong = int(np.argmin(np.isfinite(values)))
            row = int(np.searchsorted(starts, wrong, side="right")) - 1
            name = self.names[self.features[wrong]]
            problem = f"the value of {shortened(name)} is not finite; mend it, or drop it"
            raise row_refused(self._where, row, problem)
        weights = None if all(weight == 1.0 for weight in self.weights) else np.array(self.weights)
        features, labels = np.array(self.features, dtype=np.int64), np.array(self.labels)
        return SparseTable(
            starts, features, values, labels, self._where, after, weights, self.names, skipped=self.skipped
        )


def _is_number(word: bytes) -> bool:
    return as_number(word.decode("utf-8", "replace")) is not None
