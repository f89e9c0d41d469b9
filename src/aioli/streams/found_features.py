"""What is found in a table before its new features have their places, and what an encoder knew before it."""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.compiling import Vector

__all__ = ["CATEGORIES", "DATES", "NO_CATEGORY", "NUMBERS", "RARE", "WORDS", "Claim", "Column", "Found", "Mark"]

Claim: TypeAlias = tuple[int, int, int, int, str]  # of a new feature: row, kind, rank and part, in order; its name
NUMBERS, DATES, WORDS, CATEGORIES, NO_CATEGORY, RARE = range(6)  # kinds of features, in their order within a row


class Column(NamedTuple):
    """Describes a column of numbers or dates: its features, the first of its own name, and its order within a row."""

    features: tuple[str, ...]
    kind: int
    rank: int


class Found(NamedTuple):
    """Gathers values, marks and new features of a table by name, before the new features have their places."""

    dense: list[tuple[str, Vector]]
    marks: list[tuple[NDArray[np.int64], str]]
    claims: list[Claim]

    def mark(self, column: Column, rows: NDArray[np.int64], feature: str) -> None:
        """Add a feature that is 1 in these rows, and claim a place for it at the first of them."""
        if rows.size:
            self.marks.append((rows, feature))
            self.claims.append((int(rows[0]), column.kind, column.rank, len(column.features), feature))


class Mark(NamedTuple):
    """Holds what an encoder knew at a moment, for `Encoder.undo`."""

    features: int
    rows: int
    shared: int
    missing: dict[str, int]
    categories: dict[str, int]
    words: dict[str, int]
    kinds: dict[str, str]
    late: list[str]
    sums: dict[str, list[float]]
