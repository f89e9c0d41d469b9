"""Scores each key: which are hard to predict, which are new, and whose recent rows go worse than earlier ones."""

import math
from typing import Self

import numpy as np

from aioli.evaluate.key_line import KeyLine
from aioli.evaluate.keyed_player import keys_by
from aioli.evaluate.loop import Announced, Observer
from aioli.fleet.integer_table import Integers
from aioli.fleet.keys import KeyIndex
from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.logistic import finite_logit_many, softplus_many
from aioli.snapshots.tree import Snapshot

__all__ = ["KeyScores"]

# What is counted of a key; EARLY are the first 2ᵏ rows, at least a quarter of all, and MARK the first 2ᵏ⁺¹.
ROWS, LOSS, SQUARES, POSITIVE, FIRST, RECENT, EARLY_ROWS, EARLY_LOSS, MARK_ROWS, MARK_LOSS = range(10)
COUNTS = 10
MEMORY = 32.0  # rows that the recent loss looks back on, about
FEW = 20  # rows below which nobody is called hard or drifted
NEW = 10  # who came in the last tenth of the rows is new
SURE = 3.0  # standard errors by which later rows lose more than earlier ones


@compiled("void(f8[:,::1],i8[::1],f8[::1],f8[::1],f8)")
def count_rows(table: Matrix, numbers: Integers, losses: Vector, y: Vector, before: float) -> None:
    """Add rows to the counts of their keys; `before` rows came earlier. O(1) a row."""
    for t in range(numbers.size):
        key = table[numbers[t]]
        if key[ROWS] == 0.0:
            key[FIRST] = before + t + 1.0
        key[ROWS] += 1.0
        key[LOSS] += losses[t]
        key[SQUARES] += losses[t] * losses[t]
        key[POSITIVE] += y[t]
        key[RECENT] += (losses[t] - key[RECENT]) / min(key[ROWS], MEMORY)
        if key[ROWS] == max(1.0, 2.0 * key[MARK_ROWS]):
            key[EARLY_ROWS], key[EARLY_LOSS] = key[MARK_ROWS], key[MARK_LOSS]
            key[MARK_ROWS], key[MARK_LOSS] = key[ROWS], key[LOSS]


class KeyScores(Observer):
    """Counts rows and losses of every key as they are announced."""

    def __init__(self) -> None:
        self.keys = KeyIndex()
        self.rows = 0
        self._table: Matrix = np.zeros((64, COUNTS))

    def played(self, announced: Announced, rows: int) -> None:
        """Count the rows of a piece."""
        numbers = self.keys.add(keys_by(announced.keys))
        while self.keys.count > len(self._table):
            self._table = np.vstack([self._table, np.zeros_like(self._table)])
        z = finite_logit_many(announced.p)
        losses = softplus_many(np.where(announced.y > 0.5, -z, z))
        count_rows(self._table, numbers, losses, np.ascontiguousarray(announced.y), float(rows - len(announced.y)))
        self.rows = rows

    def hardest(self, most: int) -> list[KeyLine]:
        """Return the keys whose rows lost most beyond what their own share of positive labels would have."""
        table = self._counted()
        excess = table[:, LOSS] - table[:, ROWS] * _entropy(table[:, POSITIVE] / np.maximum(table[:, ROWS], 1.0))
        return self._lines(np.where(table[:, ROWS] >= FEW, excess, -math.inf), most, above=0.0)

    def newest(self, most: int) -> tuple[list[KeyLine], int, float]:
        """Return keys that first came in the last tenth of the rows, their number, and their mean loss."""
        table = self._counted()
        new = table[:, FIRST] > self.rows - self.rows / NEW
        rows = table[new, ROWS].sum()
        lines = self._lines(np.where(new, table[:, ROWS], -math.inf), most)
        return lines, int(new.sum()), float(table[new, LOSS].sum() / rows) if rows else math.nan

    def drifted(self, most: int) -> list[KeyLine]:
        """Return the keys whose later rows lost more than their earlier ones, by at least three standard errors."""
        table = self._counted()
        rows, early = np.maximum(table[:, ROWS], 1.0), np.maximum(table[:, EARLY_ROWS], 1.0)
        late = np.maximum(table[:, ROWS] - table[:, EARLY_ROWS], 1.0)
        risen = (table[:, LOSS] - table[:, EARLY_LOSS]) / late - table[:, EARLY_LOSS] / early
        spread = np.sqrt(np.maximum(table[:, SQUARES] / rows - (table[:, LOSS] / rows) ** 2, 1e-12))
        surprise = risen / (spread * np.sqrt(1.0 / early + 1.0 / late))
        return self._lines(np.where(table[:, EARLY_ROWS] >= FEW, surprise, -math.inf), most, above=SURE)

    def _counted(self) -> Matrix:
        return self._table[: self.keys.count]

    def _lines(self, ranking: Vector, most: int, above: float = -math.inf) -> list[KeyLine]:
        places = np.argsort(-ranking, kind="stable")[:most]
        places = places[ranking[places] > above]
        names = dict(enumerate(self.keys)) if places.size else {}
        return [self._line(str(names[int(place)]), self._table[place]) for place in places]

    def _line(self, key: str, counts: Vector) -> KeyLine:
        rows = float(counts[ROWS])
        base = float(_entropy(np.array([counts[POSITIVE] / rows]))[0])
        return KeyLine(key, int(rows), float(counts[LOSS] / rows), base, float(counts[RECENT]), int(counts[FIRST]))

    def snapshot(self) -> Snapshot:
        """Return the keys and what was counted of them."""
        return Snapshot(
            "KeyScores", {"rows": self.rows}, {"table": self._counted().copy()}, {"keys": self.keys.snapshot()}
        )

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make equal scores."""
        given = snapshot.of("KeyScores")
        scores = cls()
        scores.keys = KeyIndex.restore(given.part("keys"))
        scores.rows = given.whole("rows")
        counted = given.totals("table", (scores.keys.count, COUNTS))
        scores._table = np.vstack([counted, np.zeros((64, COUNTS))])
        return scores


def _entropy(p: Vector) -> Vector:
    """Return the least mean log loss of saying one probability, where a share p of the labels is 1."""
    inside = np.clip(p, 1e-300, 1.0 - 2.0**-53)
    return np.where((p > 0.0) & (p < 1.0), -p * np.log(inside) - (1.0 - p) * np.log1p(-inside), 0.0)
