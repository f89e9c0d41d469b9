"""The labels of a file as 0.0 and 1.0: two values, or one against the rest; which is positive, and what is refused."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from aioli.numerics.compiling import Vector, compiled
from aioli.snapshots.tree import Plain, Snapshot
from aioli.streams.files.cell_values import as_number
from aioli.streams.files.table import Texts
from aioli.streams.files.where import Where, row_refused
from aioli.streams.label_spellings import meaning_of, spellings_of

__all__ = ["Labels", "written"]

TOLD = 3  # values of the rest that are told by name


class Labels:
    """Remembers the two values of the label and encodes them; until both have come, it knows the one that has.

    The positive class is `positive` where it was given, against the rest, of one value or many. Otherwise it is the
    greater of two numbers; of two texts it is the one that means yes (true, yes), or the other one than that which
    means no (false, no); or else it is guessed: the rarer one of the first rows, or the later one in the alphabet where
    both come as often. A value that comes alone must mean yes or no; otherwise it is refused, and `positive` has to be
    given. Upper and lower case do not count where that leaves two classes (`streams.label_spellings`).

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
        self.rest: list[str] = []  # further values of the negative class, the first of them
        self.spellings: dict[str, str] = {}  # what else a class is written as, and which it is
        self.guessed = 0  # rows by which the positive class was guessed
        self._asked = positive is not None

    @property
    def names(self) -> tuple[str, str]:
        """What the negative and the positive class are called; 0 and 1 where that is not known yet."""
        negative = f"not {self.positive}" if self.rest else self.negative
        return "0" if negative is None else negative, self.positive or "1"

    def told(self) -> str:
        """Return in words what was not obvious: a guess, the values of the rest, other spellings; "" if nothing."""
        said = []
        if self.guessed:
            said.append(
                f"{self.positive!r} is taken for the positive class, being the rarer one of the first {self.guessed:,} "
                f"rows or the later in the alphabet (--positive {self.negative!r} for the other)"
            )
        if self.rest:
            values = ", ".join(repr(name) for name in [self.negative, *self.rest])
            said.append(f"{self.positive!r} is played against the rest: {values}{', …' if self._rest_is_full else ''}")
        return "; ".join([*said, *self._spellings_told()])

    def _spellings_told(self) -> list[str]:
        return [f"{other!r} is taken for {name!r}" for other, name in list(self.spellings.items())[:TOLD]]

    @property
    def _rest_is_full(self) -> bool:
        return len(self.rest) >= TOLD

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
            written_so = {self.positive, *(other for other, name in self.spellings.items() if name == self.positive)}
            y = np.array([value in written_so for value in values], dtype=np.float64)
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
            if y is None:
                y = (values == _value(self.positive)).astype(np.float64)  # against the rest
        return y

    def _known_numbers(self, values: Vector) -> Vector | None:
        """Return 0.0 or 1.0 for each row; None where a number is neither of the two labels."""
        values = np.require(values, np.float64, ["C", "A", "W"])  # what others made may be read-only
        y = np.empty(len(values))
        return y if encode_two_values(values, _value(self.positive), _value(self.negative), y) else None

    def _learn(self, values: Texts, where: Where, counts: Mapping[str, int] | None = None) -> None:
        """Remember the values that are new; refuse them if they do not fit those that are known.

        `counts` says how often each comes, where `values` do not.
        """
        known = [name for name in (self.negative, self.positive) if name is not None]
        new = [value for value in dict.fromkeys(values) if value not in known and value not in self.spellings]
        if not new:
            return
        if None in new:
            raise row_refused(where, values.index(None), "the label is missing; fill it in, or drop the row")
        names = [name for name in new if name is not None]
        spellings = self._spellings_of(known, names)
        names = [*known, *(name for name in names if name not in spellings)]
        if len(names) > 2 and not self._asked:
            problem = (
                f"the label is {names[2]!r}, besides {names[0]!r} and {names[1]!r}; this is for two classes: "
                "keep the rows of two of them, join them into two, or say which is played against the rest (--positive)"
            )
            raise row_refused(where, values.index(names[2]), problem, alone=True)
        guessed = self.guessed
        if counts is None:
            counts = Counter(spellings.get(value, value) for value in values if value is not None)
        negative, positive = self._roles(names, counts, len(values), where)
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
            self.guessed = guessed
            raise row_refused(where, values.index(names[1]), problem)
        self.negative, self.positive = negative, positive
        self.spellings.update(spellings)
        if self._asked and not self._rest_is_full:
            more = [name for name in names if name not in (negative, positive, *self.rest)]
            self.rest += more[: TOLD - len(self.rest)]

    def _spellings_of(self, known: Sequence[str], new: Sequence[str]) -> Mapping[str, str]:
        """Return which new values are other spellings; of one against the rest, only the one has any."""
        if not self._asked or self.positive is None:
            return spellings_of(known, new)
        one = self.positive.casefold()
        rest = any(name.casefold() != one for name in (*known, *new))
        return {name: self.positive for name in new if rest and name.casefold() == one}

    def _roles(
        self, names: Sequence[str], counts: Mapping[str, int], rows: int, where: Where
    ) -> tuple[str | None, str | None]:
        """Return the values of the negative and the positive class; None for one that is not known yet."""
        if self._asked:
            return next((name for name in names if name != self.positive), None), self.positive
        if len(names) == 2:
            if not any(map(_is_text, names)):
                return min(names, key=_value), max(names, key=_value)
            if meaning_of(names[0]) == meaning_of(names[1]):
                self.guessed = self.guessed or rows
                negative, positive = sorted(names, key=lambda name: (-counts.get(name, 0), name.casefold(), name))
            else:
                negative, positive = sorted(names, key=meaning_of)
            return negative, positive
        meaning = meaning_of(names[0])
        if not meaning:
            problem = (
                f"the label of the first {rows:,} rows is always {names[0]!r}; say which class is the positive one "
                f"(--positive {names[0]!r}, or the name of the other)"
            )
            raise row_refused(where, 0, problem)
        return (names[0], None) if meaning < 0 else (None, names[0])

    def snapshot(self) -> Snapshot:
        """Return what is known of the two classes."""
        values: dict[str, Plain] = {"positive": self.positive, "negative": self.negative, "asked": self._asked}
        values |= {"rest": list(self.rest)} if self.rest else {}
        values |= {"spellings": dict(self.spellings)} if self.spellings else {}
        values |= {"guessed": self.guessed} if self.guessed else {}
        return Snapshot("Labels", {**values, "counts": list(self.counts)})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make equal labels from a snapshot."""
        snapshot.of("Labels")
        labels = cls(snapshot.optional_text("positive"))
        labels.negative = snapshot.optional_text("negative")
        labels._asked = snapshot.flag("asked")
        labels.counts = snapshot.wholes("counts", 2)
        labels._restore_told(snapshot)
        return labels

    def _restore_told(self, snapshot: Snapshot) -> None:
        """Take over what a snapshot says of the rest, of spellings and of a guess, where it does."""
        if "rest" in snapshot.values:
            self.rest = snapshot.texts("rest") or []
        if "spellings" in snapshot.values:
            self.spellings = {other: str(name) for other, name in snapshot.mapping("spellings").items()}
        if "guessed" in snapshot.values:
            self.guessed = snapshot.whole("guessed")


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
