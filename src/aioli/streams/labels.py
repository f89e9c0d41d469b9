"""Labels of any two values, as a file writes them: which of them is the positive one, and what else is refused."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from aioli.numerics.compiling import Vector

__all__ = ["Labels"]

YES = frozenset(["1", "1.0", "+1", "true", "t", "yes", "y", "positive", "pos", "+"])
NO = frozenset(["0", "0.0", "-1", "-1.0", "false", "f", "no", "n", "negative", "neg", "-"])
Where = Callable[[int], str]


class Labels:
    """The two values of the label. Until both have come, what is known is the one that has.

    The positive one is `positive` where it was given; otherwise the one that says so (1, true, yes), or the one that
    is not the negative one (0, -1, false, no), or the later one in the order of numbers or of the alphabet: which needs
    both among the first rows.
    """

    def __init__(self, positive: str | None = None) -> None:
        self.positive = positive
        self.negative: str | None = None
        self.counts = [0, 0]  # rows of the negative one, of the positive one
        self._asked = positive is not None

    def encode(self, values: Any, where: Where) -> Vector:
        """0.0 or 1.0 for each row. A third value, or none, is refused with its place."""
        if isinstance(values, np.ndarray):
            y = self._encode_numbers(values, where)
        else:
            self._learn_names(list(dict.fromkeys(values)), values, where)
            y = np.array([value == self.positive for value in values], dtype=np.float64)
        ones = int(y.sum())
        self.counts[0] += len(y) - ones
        self.counts[1] += ones
        return y

    def _encode_numbers(self, values: Vector, where: Where) -> Vector:
        if self.positive is not None and self.negative is not None:
            one, zero = values == float(self.positive), values == float(self.negative)
            if (one | zero).all():
                return one.astype(np.float64)
        if np.isnan(values).any():
            self._missing(int(np.argmax(np.isnan(values))), where)
        distinct, first = np.unique(values, return_index=True)
        in_order = distinct[np.argsort(first)].tolist()
        if self._asked and self.positive is not None:  # 1 and 1.0 are one label, however it was asked for
            self.positive = next((f"{v:g}" for v in in_order if _same(self.positive, v)), self.positive)
        self._learn_names([f"{value:g}" for value in in_order], [f"{value:g}" for value in values.tolist()], where)
        return (values == float(self.positive or "nan")).astype(np.float64)

    def _learn_names(self, seen: list[str | None], values: Any, where: Where) -> None:
        known = [name for name in (self.negative, self.positive) if name is not None]
        new = [name for name in seen if name not in known]
        if None in new:
            self._missing(values.index(None), where)
        if len(known) + len(new) > 2:
            third = new[2 - len(known)]
            others = " and ".join(repr(name) for name in [*known, *new][:2])
            raise ValueError(
                f"{where(values.index(third))}: the label is {third!r}, but {others} have come already; this is for "
                "two classes: keep the rows of two of them, or join them into two"
            )
        for name in new:
            self._place(str(name), [n for n in new if n != name], values, where)

    def _place(self, name: str, others: list[str | None], values: Any, where: Where) -> None:
        if self.positive is not None or self.negative is not None:
            if name in (self.positive, self.negative):
                return
            if self.negative is None and not self._contradicts(name):
                self.negative = name
            elif self.positive is None:
                self.positive = name
            else:
                raise ValueError(
                    f"{where(values.index(name))}: the label is {name!r}, after {self.positive!r} was taken for the "
                    f"positive class; say which is (--positive {name!r} or --positive {self.positive!r})"
                )
            return
        pair = [name, *(str(other) for other in others)]
        for candidate in pair:
            if candidate.lower() in YES:
                self.positive, self.negative = candidate, next((p for p in pair if p != candidate), None)
                return
            if candidate.lower() in NO:
                self.negative, self.positive = candidate, next((p for p in pair if p != candidate), None)
                return
        if len(pair) == 1:
            raise ValueError(
                f"{where(0)}: the label of the first {len(values):,} rows is always {name!r}; say which class is the "
                f"positive one (--positive {name!r}, or the name of the other)"
            )
        self.negative, self.positive = sorted(pair, key=_order)

    def _contradicts(self, name: str) -> bool:
        """Whether a label that comes later would have been the positive one, had it come at once."""
        known = str(self.positive)
        both_numbers = _order(name)[0] == 0 and _order(known)[0] == 0
        return not self._asked and both_numbers and _order(name) > _order(known)

    def _missing(self, row: int, where: Where) -> None:
        raise ValueError(f"{where(row)}: the label is missing; fill it in, or drop the row")

    def state(self) -> dict[str, Any]:
        """What is known, to be kept."""
        return {
            "positive": self.positive,
            "negative": self.negative,
            "counts": list(self.counts),
            "asked": self._asked,
        }

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Self:
        """Go on from a state."""
        labels = cls(state["positive"])
        labels.negative, labels.counts, labels._asked = state["negative"], list(state["counts"]), state["asked"]
        return labels


def _order(name: str) -> tuple[int, float, str]:
    """Numbers by their value, before texts by the alphabet."""
    try:
        return 0, float(name), name
    except ValueError:
        return 1, 0.0, name


def _same(name: str, value: float) -> bool:
    try:
        return float(name) == value
    except ValueError:
        return False
