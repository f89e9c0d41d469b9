"""Vowpal Wabbit's text: `label importance 'tag |namespace:weight feature:value …`, a row a line."""

import math

import numpy as np

from aioli.streams.files.recognise import as_number
from aioli.streams.files.sources import Source
from aioli.streams.files.table import Position, SparseTable, Tables
from aioli.streams.files.window import Lines, Window

__all__ = ["VowpalText"]

LONGEST_SHOWN = 40


class VowpalText:
    """A file of rows of named features.

    A feature is called `namespace^feature`, or `feature` in the namespace without a name. What has no value is 1. The
    weight of a namespace multiplies its values. A row without a label has the label NaN, and that without an
    importance counts 1. Tags are passed over.
    """

    sparse, grows = True, False

    def __init__(self, source: Source) -> None:
        self.source = source
        self._window = Window(source)
        if self._window.whole_lines() == self._window.start:
            raise ValueError(f"{source.name}: is empty; give a file with rows such as '1 |words tall green'")

    @property
    def columns(self) -> dict[str, str]:
        """None: features are named as they come."""
        return {}

    @property
    def fraction(self) -> float | None:
        """How much of the file has been read, where its size is known."""
        return self.source.fraction

    def close(self) -> None:
        """Let the file go."""
        self.source.close()

    def tables(self, _kinds: dict[str, str], _label: str | None, position: Position | None) -> Tables:
        """The rows, in tables of about a megabyte of text."""
        window = self._window
        with self.source:
            if position is not None:
                window.go_to(position["byte"], position["line"])
            while (end := window.whole_lines()) > window.start:
                rows = _Rows(self.source.name)
                text = window.bytes[window.start : end].tobytes()
                for number, line in enumerate(text.split(b"\n"), window.line):
                    if line and not line.isspace():
                        rows.add(line, number)
                window.go_on(end)
                if rows.lines:
                    yield rows.table(window.after())


class _Rows:
    """The rows of a table, as they are gathered."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines: list[int] = []
        self.labels: list[float] = []
        self.weights: list[float] = []
        self.starts = [0]
        self.features: list[int] = []
        self.values: list[float] = []
        self.names: list[str] = []
        self._places: dict[bytes, dict[bytes, int]] = {}  # of each namespace: its features' places in `names`

    def add(self, line: bytes, number: int) -> None:
        """One line."""
        self.lines.append(number)
        head, bar, rest = line.partition(b"|")
        if not bar:
            raise ValueError(f"{self._place()}: has no bar; write the label, ' |' and the features")
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
            values.append(value * weight)

    def _add_head(self, head: bytes) -> None:
        """Label, importance and base, where they are; a word that touches the bar and is no number is a tag."""
        words = head.split()
        if words and (words[-1][:1] == b"'" or not (head[-1:].isspace() or _is_number(words[-1]))):
            words.pop()
        if len(words) > 3:
            raise ValueError(f"{self._place()}: {_shown(head)} is more than label, importance, base and tag")
        numbers = [self._number(word, b"label") for word in words]
        if len(numbers) == 3 and numbers[2]:
            raise ValueError(
                f"{self._place()}: has the base {numbers[2]:g}; rows with a base are not known: take it out"
            )
        if len(numbers) > 1 and numbers[1] < 0:
            raise ValueError(f"{self._place()}: has the importance {numbers[1]:g}; it must be at least 0")
        self.labels.append(numbers[0] if numbers else math.nan)
        self.weights.append(numbers[1] if len(numbers) > 1 else 1.0)

    def _named(self, space: bytes, name: bytes) -> int:
        try:
            named = f"{space.decode()}^{name.decode()}" if space else name.decode()
        except UnicodeDecodeError:
            raise ValueError(f"{self._place()}: {_shown(name)} is not UTF-8; convert the file") from None
        place = self._places[space][name] = len(self.names)
        self.names.append(named)
        return place

    def _number(self, written: bytes, name: bytes) -> float:
        number = as_number(written.decode("utf-8", "replace"))
        if number is None or not math.isfinite(number):
            raise ValueError(
                f"{self._place()}: {_shown(written)}, the value of {_shown(name)}, is no finite number; mend it"
            )
        return number

    def _place(self) -> str:
        return f"{self.source}, line {self.lines[-1]}"

    def table(self, after: Position) -> SparseTable:
        """All of them."""
        values, starts = np.array(self.values), np.array(self.starts)
        where = Lines(self.source, self.lines)
        if not np.isfinite(values).all():
            wrong = int(np.argmin(np.isfinite(values)))
            row = int(np.searchsorted(starts, wrong, side="right")) - 1
            name = self.names[self.features[wrong]]
            raise ValueError(f"{where(row)}: the value of {name[:LONGEST_SHOWN]!r} is not finite; mend it, or drop it")
        weights = None if all(weight == 1.0 for weight in self.weights) else np.array(self.weights)
        features, labels = np.array(self.features, dtype=np.int64), np.array(self.labels)
        return SparseTable(starts, features, values, labels, where, after, weights, self.names)


def _is_number(word: bytes) -> bool:
    return as_number(word.decode("utf-8", "replace")) is not None


def _shown(text: bytes) -> str:
    shown = text.decode("utf-8", "replace")
    return repr(shown if len(shown) <= LONGEST_SHOWN else shown[:LONGEST_SHOWN] + "…")
