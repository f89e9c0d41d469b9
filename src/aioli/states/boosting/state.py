r"""The state of boosted trees on a stream: the newest rows, and a model that is fitted anew to them as rows come.

The model is fitted at 32 rows, and again whenever rows have grown by half, or doubled, as `Boosting.fresh` says; beyond
16,384 rows it is fitted to so many of the newest, each time that this part of them is new. What is announced of a row
is what the last fit says, with leaves that have learned from the rows since (`states.boosting.learning`), and both
depend on the rows before it alone. Up to then, all fits together take about three times what the last one takes, or
twice.

Of a column whose missing numbers are marked, trees send these either way (`states.boosting.gaps`).

Where losses say that the world has changed (`states.boosting.watch`), all rows but the newest 64 are forgotten: the
model is fitted to these at once, and again as they grow.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Cube, Matrix, Vector
from aioli.snapshots.tree import Array, Plain, Snapshot
from aioli.states.boosting.fitting import Boosting, fit
from aioli.states.boosting.gaps import NO_GAPS, Gaps, show_gaps, with_gaps
from aioli.states.boosting.growing import CHILD, COVER, FEATURE, LEAF, NODE, NODES, VALUE
from aioli.states.boosting.learning import MOST_COVER, learn_rows
from aioli.states.boosting.scoring import Walks
from aioli.states.boosting.watch import RECENT, WATCHED

__all__ = ["BoostedState"]

FIRST = 32  # rows before the first fit
ROOM = 1 << 24  # bytes of the rows kept: of wide ones there are fewer

HEAVIEST = 1e100  # a weight that no learner takes
BOLDEST = 1e6  # that no leaf says: a fit gives it at most 1, and a row moves it by at most 2

Codes = NDArray[np.int64]


class BoostedState:
    """Hold the newest rows with their labels and weights, and the model: the last fit, and what leaves learned since.

    Parameters
    ----------
    how
        How models are fitted, and when.
    width
        How many columns a row has.
    outputs
        How many scores a row has: 1, the log-odds of the second of two classes, or one a class.
    """

    def __init__(self, how: Boosting, width: int, outputs: int) -> None:
        self.how, self.width, self.outputs = how, width, outputs
        self._stages = np.array(how.stages)
        self.rows = 0  # that have come since the world changed last
        self.due = FIRST  # rows at which the next model is fitted
        self.base: Vector = np.zeros(outputs)
        self._walks = Walks.of(np.empty((0, NODES, NODE)))  # no trees where no fit has seen two classes
        self.gaps = NO_GAPS  # columns whose missing numbers are marked
        self._shown = NO_GAPS  # those of them that the model reads twice: some were missing in the rows of its fit
        self.watches = True  # whether the losses are watched
        self.watched: Vector = np.zeros(WATCHED)
        self._table: Matrix = np.empty((0, width + 2))  # rows, their labels and weights
        self._held = 0  # rows of the table

    @property
    def bytes(self) -> int:
        """The size of all that it keeps."""
        return self._table.nbytes + sum(array.nbytes for array in self._walks)

    @property
    def trees(self) -> Cube:
        """The trees as they are now: none where no fit has seen two classes."""
        return self._walks.trees()

    def consult(self, X: Matrix) -> Cube:
        """Return the scores of each row, rows × stages × outputs, as if it came next: NaN before the first model."""
        out = np.empty((len(X), self._stages.size, self.outputs))
        self.consult_into(X, out)
        return out

    def consult_into(self, X: Matrix, out: Cube) -> None:
        """Write what `consult` returns."""
        if len(self._walks.depths):
            self._walks.score(self.base, self._stages, self._seen(X), out)
        else:
            out[...] = np.nan

    def play(self, X: Matrix, codes: Codes, weights: Vector) -> Cube:
        """Return what `consult` would say of each row when it comes, and learn from the rows in order."""
        out = np.empty((len(X), self._stages.size, self.outputs))
        first = 0
        while first < len(X):
            part = slice(first, min(len(X), first + self.due - self.rows))
            changed = self._learn(X[part], codes[part], weights[part], out[part])
            part = slice(first, first + changed) if changed else part
            self._keep(X[part], codes[part], weights[part])
            first = part.stop
            self._fit_when_due(bool(changed))
        return out

    def play_row(self, X: Matrix, codes: Codes, weights: Vector, out: Cube) -> None:
        """Write what `consult` says of the only row of X, and learn from it, as `play` does."""
        changed = self._learn(X, codes, weights, out)
        if self._held == len(self._table):
            self._make_room(1)
        row = self._table[self._held]
        row[:-2], row[-2], row[-1] = X[0], codes[0], weights[0]
        self._held += 1
        self.rows += 1
        self._fit_when_due(bool(changed))

    def mark_gaps(self, gaps: Sequence[tuple[int, int]]) -> None:
        """Hear of columns whose missing numbers are marked: the places of the number and of the mark (`gaps`).

        The next fit divides by where they are missing; until then they are what they were filled with.
        """
        self.gaps = with_gaps(self.gaps, gaps, self.width)

    def grown(self, columns: int) -> Self:
        """Return the state with new columns, as if they had been there, and 0.

        Of wider rows fewer are kept where they would take more than 16 MiB, and the next fit sees those alone.
        """
        wider = type(self)(self.how, self.width + columns, self.outputs)
        trees = self.trees
        trees[..., FEATURE] += np.where(trees[..., FEATURE] >= self.width, columns, 0)  # those behind all columns
        wider._set_model(self.base, trees)
        wider.gaps, wider._shown = self.gaps, self._shown
        wider.rows, wider.due, wider.watches, wider.watched = self.rows, self.due, self.watches, self.watched.copy()
        known = self.kept[-wider._most :]
        wider._table = np.insert(known, [self.width] * columns, 0.0, axis=1)
        wider._held = len(known)
        return wider

    def with_class(self) -> Self:
        """Return the state with one further class, which no row has had, nor any tree speaks of until the next fit."""
        more = type(self)(self.how, self.width, self.outputs + 1)
        more.rows, more.due, more.watches, more.watched = self.rows, self.due, self.watches, self.watched.copy()
        more._table, more._held = self._table.copy(), self._held
        more.gaps, more._shown = self.gaps, self._shown
        if len(self._walks.depths):
            unseen = np.log(0.5 / (min(self.rows, self._most) + 1.0))
            silent = np.zeros((self.how.rounds, 1, NODES, NODE))
            silent[..., FEATURE] = LEAF
            trees = np.concatenate([self.trees.reshape(self.how.rounds, self.outputs, NODES, NODE), silent], axis=1)
            more._set_model(np.append(self.base, unseen), trees.reshape(-1, NODES, NODE))
        return more

    def snapshot(self) -> Snapshot:
        """Return the rows kept, the counts, and the model."""
        counts = {"width": self.width, "outputs": self.outputs, "rows": self.rows, "due": self.due}
        values: dict[str, Plain] = {**counts, "watches": self.watches}
        arrays: dict[str, Array] = {"kept": self.kept.copy(), "base": self.base.copy(), "trees": self.trees}
        arrays["watched"] = self.watched.copy()
        if len(self.gaps):
            arrays |= {"gaps": self.gaps.copy(), "shown": self._shown.copy()}
        return Snapshot("BoostedState", values, arrays)

    @classmethod
    def restore(cls, snapshot: Snapshot, how: Boosting) -> Self:
        """Make an equal state, whose models are fitted so."""
        given = snapshot.of("BoostedState")
        width, outputs, rows, due = (given.whole(name) for name in ("width", "outputs", "rows", "due"))
        # copies: arrays of a file may be read-only, which compiled code does not take
        base, trees = given.array("base", (outputs,)).copy(), given.array("trees", (None, NODES, None)).copy()
        kept = given.array("kept", (min(rows, most_kept(how, width)), width + 2))
        if trees.shape[2] == COVER:  # in files from before there were covers: leaves learn as if they had many rows
            trees = np.insert(trees, COVER, MOST_COVER, axis=2)
        codes, weights = kept[:, -2], kept[:, -1]
        if ((codes < 0) | (codes >= max(outputs, 2)) | (codes % 1 != 0)).any():
            raise SnapshotRefused("in a BoostedState, a label of the rows kept is no class")
        if not (
            np.isfinite(kept).all() and np.isfinite(base).all() and ((weights >= 0.0) & (weights < HEAVIEST)).all()
        ):
            raise SnapshotRefused("in a BoostedState, the rows kept are not such as are learned")
        if not rows < due <= max(FIRST, 2 * rows) or len(trees) not in (0, how.rounds * outputs):
            raise SnapshotRefused("in a BoostedState, the model is not one of the rows that came")
        state = cls(how, width, outputs)  # only now: a file may claim sizes that no memory has
        state.rows, state.due = rows, due
        if "watched" in given.arrays:  # files from before there was a watch begin it anew
            state.watches, state.watched = given.flag("watches"), given.totals("watched", (WATCHED,)).copy()
        if "gaps" in given.arrays:
            state.gaps, state._shown = (
                _require_gaps(given.integers(name, (None, 2)).copy(), width) for name in ("gaps", "shown")
            )
        _require_trees(trees, state.width + len(state._shown))
        state._set_model(base, trees)
        state._table, state._held = kept.copy(), len(kept)
        return state

    # ---- within

    @property
    def kept(self) -> Matrix:
        """The newest rows, oldest first, with their labels and weights behind them."""
        return self._table[max(0, self._held - self._most) : self._held]

    @property
    def _most(self) -> int:
        """How many rows are kept."""
        return most_kept(self.how, self.width)

    def _keep(self, X: Matrix, codes: Codes, weights: Vector) -> None:
        """Put rows behind those kept, in room that is made where there is none."""
        if self._held + len(X) > len(self._table):
            self._make_room(len(X))
        new = self._table[self._held : self._held + len(X)]
        new[:, :-2], new[:, -2], new[:, -1] = X, codes, weights
        self._held += len(X)
        self.rows += len(X)

    def _make_room(self, rows: int) -> None:
        """Leave the oldest rows out, and make room for so many new ones behind those kept."""
        known = self.kept
        room = np.empty((2 * (len(known) + rows), self.width + 2))
        room[: len(known)] = known
        self._table, self._held = room, len(known)

    def _learn(self, X: Matrix, codes: Codes, weights: Vector, out: Cube) -> int:
        """Write what `consult` says of each row, and have leaves learn; return after how many the world has changed."""
        if not len(self._walks.depths):
            out[...] = np.nan
            return 0
        return int(
            learn_rows(
                self.base,
                *self._walks,
                self._stages,
                self.how.rate,
                self._seen(X),
                codes,
                weights,
                self.watches,
                self.watched,
                out,
            )
        )

    def _fit_when_due(self, changed: bool) -> None:
        """Fit the model where rows have grown enough, or, to the newest alone, where the world has changed."""
        if changed:
            self._table = self.kept[-RECENT:].copy()
            self._held = self.rows = self.due = len(self._table)
            self.watched[:] = 0.0
        if self.rows == self.due:
            self._fit()

    def _fit(self) -> None:
        """Fit the model to the rows kept, unless all have one label."""
        self.due = self.rows + max(1, int(self.how.fresh * min(self.rows, self._most)))
        kept = self.kept
        codes = kept[:, -2].astype(np.int64)
        if codes.min() < codes.max():
            self._shown = self.gaps[(kept[:, self.gaps[:, 1]] == 1.0).any(axis=0)]
            X = self._seen(np.ascontiguousarray(kept[:, :-2]))
            self._set_model(*fit(self.how, X, codes, kept[:, -1].copy(), self.outputs))

    def _seen(self, X: Matrix) -> Matrix:
        """Return rows as the trees see them."""
        if not len(self._shown):
            return X
        seen = np.empty((len(X), self.width + len(self._shown)))
        show_gaps(X, self._shown, seen)
        return seen

    def _set_model(self, base: Vector, trees: Cube) -> None:
        self.base, self._walks = base, Walks.of(trees)


def most_kept(how: Boosting, width: int) -> int:
    """Return how many rows of this width are kept at the most."""
    return min(how.newest, max(ROOM // (8 * (width + 2)), FIRST))


def _require_gaps(gaps: Gaps, width: int) -> Gaps:
    """Return columns that have gaps, or refuse those that rows have not."""
    if (gaps < 0).any() or (gaps >= width).any() or len(np.unique(gaps, axis=0)) < len(gaps):
        raise SnapshotRefused("in a BoostedState, the columns with gaps are none of the rows'")
    return gaps


def _require_trees(trees: Cube, width: int) -> None:
    """Refuse trees of which a row would not find its way to a leaf, or not learn there."""
    if trees.shape[2] != NODE:
        raise SnapshotRefused(f"in a BoostedState, a node has {trees.shape[2]} numbers, not {NODE}")
    if not np.isfinite(trees).all() or (np.abs(trees[:, :, VALUE]) > BOLDEST).any():
        raise SnapshotRefused("in a BoostedState, a leaf says what none can")
    feature, child, places = trees[:, :, FEATURE], trees[:, :, CHILD], np.arange(NODES)
    inner = feature != LEAF
    fits = (feature >= 0) & (feature < width) & (feature % 1 == 0) & (child % 1 == 0) & (child > places)
    learns = (trees[:, :, COVER] >= 0.0).all()
    if not (learns and ((fits & (child < NODES - 1)) | ~inner).all()):
        raise SnapshotRefused("in a BoostedState, a tree leads nowhere")
