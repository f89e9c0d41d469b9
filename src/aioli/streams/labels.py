"""The labels of a file, any two values, as 0.0 and 1.0: which of them is the positive class, and which are refused."""

import math
from collections.abc import Sequence
from typing import Self

import numpy as np

from aioli.numerics.compiling import Vector, compiled
from aioli.snapshots.tree import Snapshot
from aioli.streams.files.cell_values import as_number
from aioli.streams.files.table import Texts
from aioli.streams.files.where import Where, row_refused

__all__ = ["Labels", "written"]

YES = frozenset(["1", "1.0", "+1", "true", "t", "yes", "y", "positive", "pos", "+"])
NO = frozenset(["0", "0.0", "-1", "-1.0", "false", "f", "no", "n", "negative", "neg", "-"])


class Labels:
    """Remembers the two values of the label and encodes them; until both have come, it knows the one that has.

    The positive class is `positive` where it was given. Otherwise it is the greater of two numbers; of two texts it is
    the one that means yes (true, yes), or the other one than that which means no (false, no), or the later one in the
    alphabet. A value that comes alone must mean yes or no; otherwise it is refused, and `positive` has to be given.

    Examples
    --------
    >>> from aioli.streams.files.where import Numbered
    >>> labels = Labels()
    >>> labels.encode(["ham", "spam", "ham"], Numbered("mails.csv", "line", range(2, 5)))
    array([0., 1., 0.])
    >>> labels.positive, labels.negative, labels.counts
    ('spam', 'ham', [2, 1])
    """

    def __init__(self, positive: str | None = None) -> None:
        self.positive = positive
        self.negative: str | None = None
        self.counts = [0, 0]  # rows of the negative class, of the positive class
        self._asked = positive is not None

    @property
    def names(self) -> tuple[str, str]:
        """What the negative and the positive class are called; 0 and 1 where that is not known yet."""
        return "0" if self.negative is None else self.negative, self.positive or "1"

    @property
    def classes(self) -> tuple[str, ...]:
        """What the classes are called, in the order of their codes."""
        return self.names

    def encode(self, values: Vector | Texts, where: Where) -> Vector:
        """Return 0.0 or 1.0 for each row. A third value, or a missing one, is refused with its place."""
        if isinstance(values, np.ndarray):
            y = self._encode_numbers(values, where)
        else:
            self._learn(values, where)
            y = np.array([value == self.positive for value in values], dtype=np.float64)
        ones = int(y.sum())
        self.counts[0] += len(y) - ones
        self.counts[1] += ones
        return y

    def _encode_numbers(self, values: Vector, where: Where) -> Vector:
        y = self._known_numbers(values)
        if y is None:
            if self._asked and not math.isnan(asked := _value(self.positive)):
                self.positive = written(asked)  # 1 and 1.0 are one label, however it was asked for
            self._learn([None if math.isnan(value) else written(value) for value in values.tolist()], where)
            y = self._known_numbers(values)
            assert y is not None
        return y

    def _known_numbers(self, values: Vector) -> Vector | None:
        """Return 0.0 or 1.0 for each row; None where a number is neither of the two labels."""
        values = np.require(values, np.float64, ["C", "W"])  # what others made may be read-only
        y = np.empty(len(values))
        return y if encode_two_values(values, _value(self.positive), _value(self.negative), y) else None

    def _learn(self, values: Texts, where: Where) -> None:
        """Remember the values that are new; refuse them if they do not fit those that are known."""
        known = [name for name in (self.negative, self.positive) if name is not None]
        new = [value for value in dict.fromkeys(values) if value not in known]
        if not new:
            return
        if None in new:
            raise row_refused(where, values.index(None), "the label is missing; fill it in, or drop the row")
        names = [*known, *(name for name in new if name is not None)]
        if len(names) > 2:
            asked = " (the positive one, as asked for)" if self._asked and self.counts[1] == 0 else ""
            problem = (
                f"the label is {names[2]!r}, besides {names[0]!r}{asked} and {names[1]!r}; this is for two classes: "
                "keep the rows of two of them, or join them into two"
            )
            raise row_refused(where, values.index(names[2]), problem)
        negative, positive = self._roles(names, len(values), where)
        if (
            known
            and not self._asked
            and (self.negative not in (None, negative) or self.positive not in (None, positive))
        ):
            problem = (
                f"the label is {names[1]!r}, after {names[0]!r} alone had come and was taken for the "
                f"{'positive' if self.positive else 'negative'} class; say which is positive (--positive {names[0]!r} "
                f"or --positive {names[1]!r})"
            )
            raise row_refused(where, values.index(names[1]), problem)
        self.negative, self.positive = negative, positive

    def _roles(self, names: Sequence[str], rows: int, where: Where) -> tuple[str | None, str | None]:
        """Return the values of the negative and the positive class; None for one that is not known yet."""
        if self._asked:
            return next((name for name in names if name != self.positive), None), self.positive
        if len(names) == 2:
            negative, positive = sorted(names, key=_meaning if any(map(_is_text, names)) else _value)
            return negative, positive
        meaning = _meaning(names[0])[0]
        if not meaning:
            problem = (
                f"the label of the first {rows:,} rows is always {names[0]!r}; say which class is the positive one "
                f"(--positive {names[0]!r}, or the name of the other)"
            )
            raise row_refused(where, 0, problem)
        return (names[0], None) if meaning < 0 else (None, names[0])

    def snapshot(self) -> Snapshot:
        """Return what is known of the two classes."""
        values = {"positive": self.positive, "negative": self.negative, "asked": self._asked}
        return Snapshot("Labels", {**values, "counts": list(self.counts)})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make equal labels from a snapshot."""
        snapshot.of("Labels")
        labels = cls(snapshot.optional_text("positive"))
        labels.negative = snapshot.optional_text("negative")
        labels._asked = snapshot.flag("asked")
        labels.counts = snapshot.wholes("counts", 2)
        return labels


def _meaning(name: str) -> tuple[int, str]:
    """Return a key to sort by: 1 for a label that means yes, -1 for one that means no, else 0; then the label."""
    return (name.lower() in YES) - (name.lower() in NO), name


def _value(name: str | None) -> float:
    """Return a label as a number, NaN if it is none."""
    value = None if name is None else as_number(name)
    return math.nan if value is None else value


def _is_text(name: str) -> bool:
    return math.isnan(_value(name))


def written(value: float) -> str:
    """Return a number as a label: 1, not 1.0."""
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)


@compiled("b1(f8[::1],f8,f8,f8[::1])")
def encode_two_values(values: Vector, one: float, zero: float, y: Vector) -> bool:
    """Write 1.0 where the value is `one`, 0.0 elsewhere; return whether every other is `zero`. O(1) a row."""
    known = True
    for t in range(values.size):
        is_one = values[t] == one
        y[t] = 1.0 * is_one
        known &= is_one | (values[t] == zero)  # no branch: labels are what nobody can foresee
    return known
