r"""The views that experts of many classes read: a plain one, alone or with waves or products of columns beside it.

- Waves of random directions, whose lengths differ by a factor, are a kernel of low rank on top of a linear model. Each
  is a parabola for every half wave, within 6 % of a sine: vector instructions can do it.
- Products of two columns, or of one with itself, let effects bend and interact. Where there are more than `PRODUCTS`,
  so many are drawn at random; a new column brings its own while there is room.

What is beside the plain view has about a mean squared norm of 1, too.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector, bound, compiled
from aioli.snapshots.tree import Snapshot
from aioli.states.classes.base_views import BASES

__all__ = ["SeenView", "ViewSpec"]

PRODUCTS = 256
TOTALS = 2
ROWS, NORM = range(TOTALS)
MODEST = 16  # columns up to which waves have their full lengths: among more columns, rows stand farther apart
GOLDEN = 0.6180339887498949  # its multiples, modulo 1, fill the interval evenly, wherever one stops

Places = NDArray[np.int64]


@dataclass(frozen=True)
class ViewSpec:
    """Say what an expert reads of a row: a plain view, and how many waves, or products of columns, beside it.

    Attributes
    ----------
    base
        The plain view: "standard", "peak" or "rank".
    waves
        How many waves stand beside it.
    shortest, longest
        Between which lengths their directions are, for one normal number a column, where columns are few.
    seed
        Of the directions.
    products
        Whether products of columns stand beside it; then there are no waves.
    called
        A word in front of its name, where there is another view of the same base and as many waves.
    """

    base: str
    waves: int = 0
    shortest: float = 1.0
    longest: float = 2.5
    seed: int = 1
    products: bool = False
    called: str = ""

    @property
    def name(self) -> str:
        """What the view is called."""
        if self.products:
            return f"{self.base} cross"
        return f"{self.called}{self.base} {self.waves}-wave" if self.waves else self.base


class SeenView:
    """Holds the directions of the waves, or which columns are multiplied, and makes the view from a plain one."""

    def __init__(self, spec: ViewSpec, columns: int) -> None:
        self.spec = spec
        self.columns = columns
        self.stretch = min(1.0, (MODEST / max(columns, 1)) ** (1.0 / 3.0))  # of the waves' lengths, for good
        self.directions: Matrix = self._directions(0, columns)
        self.phases: Vector = np.random.default_rng(spec.seed).uniform(0.0, 1.0, spec.waves)
        self.pairs: Places = _pairs(columns) if spec.products else np.zeros((0, 2), np.int64)
        self.totals: Vector = np.zeros(TOTALS)

    @property
    def width(self) -> int:
        """How many features the view has, its 1 counted."""
        return 1 + self.columns + self.spec.waves + len(self.pairs)

    @property
    def base(self) -> int:
        """The number of the plain view, as counted in `BASES`."""
        return BASES.index(self.spec.base)

    def of_rows(self, plain: Matrix, *, peek: bool = False) -> Matrix:
        """Return the view of rows in order, or each as if it came next, given the plain one. O(width) a row."""
        made, see = self.prepared(plain, peek=peek)
        see()
        return made

    def prepared(self, plain: Matrix, *, peek: bool = False) -> tuple[Matrix, Callable[[], None]]:
        """Return room for the view of rows, and the call that fills it, again and again, from the plain view."""
        if not self.spec.waves and not self.spec.products:
            return plain, _nothing
        made = np.empty((len(plain), self.width))
        if self.spec.products:
            totals = self.totals.copy() if peek else self.totals
            multiply = bound(multiply_columns, self.pairs, totals, plain, made, peek)

            def multiply_anew() -> None:
                totals[...] = self.totals
                multiply()

            return made, multiply_anew if peek else multiply
        return made, bound(add_waves, self.directions, self.phases, plain, made)

    def grown(self, columns: int) -> tuple[Self, Places]:
        """Return the view with so many further columns, and where in it the features so far are."""
        larger = type(self)(self.spec, 0)
        larger.columns, larger.stretch = self.columns + columns, self.stretch
        new = larger._directions(self.columns, larger.columns)
        larger.directions, larger.phases = np.vstack([self.directions, new]), self.phases
        if self.spec.products:
            room = max(PRODUCTS - len(self.pairs), 0)
            larger.pairs = np.vstack([self.pairs, _all_pairs(self.columns, larger.columns)[:room]])
        larger.totals[...] = self.totals
        beside = np.arange(self.width - 1 - self.columns)
        return larger, np.concatenate([np.arange(1 + self.columns), 1 + larger.columns + beside])

    def snapshot(self) -> Snapshot:
        """Return directions, phases, pairs and totals: another version of NumPy might draw others."""
        arrays = {"directions": self.directions.copy(), "phases": self.phases.copy(), "totals": self.totals.copy()}
        values = {"columns": self.columns, "stretch": self.stretch}
        return Snapshot("SeenView", values, arrays | {"pairs": self.pairs.copy()})

    @classmethod
    def restore(cls, snapshot: Snapshot, spec: ViewSpec) -> Self:
        """Make an equal view."""
        given = snapshot.of("SeenView")
        columns = given.whole("columns")
        view = cls(spec, 0)
        view.columns, view.stretch = columns, given.number("stretch")
        view.directions = given.array("directions", (columns, spec.waves)).copy()
        view.phases = given.array("phases", (spec.waves,)).copy()
        view.pairs = given.integers("pairs", (None, 2)).copy()
        view.totals[...] = given.array("totals", (TOTALS,))
        if ((view.pairs < 0) | (view.pairs >= columns)).any() or (len(view.pairs) and not spec.products):
            raise SnapshotRefused("in a SeenView, a product is of columns that are not there")
        return view

    def _directions(self, first: int, last: int) -> Matrix:
        """Draw a direction of every column for each wave, column by column: a new column disturbs no other."""
        spec = self.spec
        spread = np.arange(spec.waves) * GOLDEN % 1.0
        lengths = self.stretch * spec.shortest * (spec.longest / spec.shortest) ** spread
        drawn = [np.random.default_rng([spec.seed, j]).normal(size=spec.waves) * lengths for j in range(first, last)]
        return np.array(drawn).reshape(last - first, spec.waves)


def _nothing() -> None:
    """Do nothing: a plain view is there already."""


def _all_pairs(first: int, last: int) -> Places:
    """Return all pairs of columns whose later one is at least `first`, ordered by the later one."""
    return np.array([(i, j) for j in range(first, last) for i in range(j + 1)], np.int64).reshape(-1, 2)


def _pairs(columns: int) -> Places:
    """Return pairs of columns, all of them or as many as may be, drawn at random."""
    count = columns * (columns + 1) // 2
    if count <= PRODUCTS:
        return _all_pairs(0, columns)
    drawn = np.sort(np.random.default_rng(columns).choice(count, PRODUCTS, replace=False))
    later = ((np.sqrt(8.0 * drawn + 1.0) - 1.0) // 2.0).astype(np.int64)  # place p of pair (i, j) is j(j+1)/2 + i
    return np.column_stack([drawn - later * (later + 1) // 2, later])


@compiled("void(f8[:,::1],f8[::1],f8[:,::1],f8[:,::1])", reassociate=True)
def add_waves(directions: Matrix, phases: Vector, plain: Matrix, made: Matrix) -> None:
    """Write the plain view, and the waves behind it. O(d m) a row."""
    d, m = directions.shape
    turn = 1.0 / (2.0 * math.pi)
    height = 4.0 * math.sqrt(2.0 / m)
    for t in range(len(plain)):
        for j in range(d + 1):
            made[t, j] = plain[t, j]
        wave = made[t, d + 1 :]
        for k in range(m):
            wave[k] = phases[k]
        for j in range(0, d - 3, 4):  # four columns a pass: each pass waits for what the last one wrote
            a, b = turn * plain[t, 1 + j], turn * plain[t, 2 + j]
            c, e = turn * plain[t, 3 + j], turn * plain[t, 4 + j]
            if a != 0.0 or b != 0.0 or c != 0.0 or e != 0.0:
                for k in range(m):
                    wave[k] += (a * directions[j, k] + b * directions[j + 1, k]) + (
                        c * directions[j + 2, k] + e * directions[j + 3, k]
                    )
        for j in range(d - d % 4, d):
            a = turn * plain[t, 1 + j]
            for k in range(m):
                wave[k] += a * directions[j, k]
        for k in range(m):
            s = 2.0 * (wave[k] - np.floor(wave[k])) - 1.0
            wave[k] = height * s * (1.0 - abs(s))


@compiled("void(i8[:,::1],f8[::1],f8[:,::1],f8[:,::1],b1)", reassociate=True)
def multiply_columns(pairs: Places, totals: Vector, plain: Matrix, made: Matrix, peek: bool) -> None:
    """Write the plain view, and the products behind it, each row counted into the totals unless it is only seen."""
    d = plain.shape[1] - 1
    rows, norm = totals[ROWS], totals[NORM]
    for t in range(len(plain)):
        for j in range(d + 1):
            made[t, j] = plain[t, j]
        norm2 = 0.0
        for q in range(len(pairs)):
            product = plain[t, 1 + pairs[q, 0]] * plain[t, 1 + pairs[q, 1]]
            made[t, d + 1 + q] = product
            norm2 += product * product
        if peek:
            totals[ROWS], totals[NORM] = rows, norm
        totals[ROWS] += 1.0
        totals[NORM] += norm2
        by = math.sqrt(totals[ROWS] / totals[NORM]) if totals[NORM] > 0.0 else 0.0
        for q in range(len(pairs)):
            made[t, d + 1 + q] *= by
