"""Companions of the linear experts: learners of what bends, each heard by the log-odds of its members."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.learners.kernel.random_features import RandomFeatures
from aioli.numerics.compiling import Matrix, Vector, bound, compiled
from aioli.numerics.logistic import finite_logit, finite_logit_many, sigmoid
from aioli.numerics.threads import one_blas_thread
from aioli.snapshots.tree import Snapshot
from aioli.states.forest.kinds import MEMBERS
from aioli.states.forest.single_row import prepared_consult_odds, prepared_play_odds
from aioli.states.forest.state import ForestState

__all__ = ["Companion", "ForestCompanion", "KernelCompanion", "TreesCompanion"]

FARTHEST = 1e90  # a cell of which random features can still be made


class Companion(ABC):
    """A learner that announces one or several log-odds a row, before it sees the label.

    Attributes
    ----------
    names
        What its members are called, one for each of the log-odds.
    dismissed
        Whether it has failed, and must not be heard any more.
    in_callers_thread
        Whether the thread that called the ensemble must call it too: it may hold code of the user's, and warns.
    only_late
        Whether it plays only once a label has come late.
    """

    names: tuple[str, ...]
    dismissed: bool = False
    in_callers_thread: bool = False
    only_late: bool = False

    def fits(self, columns: int) -> bool:  # noqa: ARG002  (one that keeps nothing of its rows fits any)
        """Return whether what it has learned is of rows of so many columns, as it is but for a damaged file."""
        return True

    @abstractmethod
    def consult(self, X: Matrix) -> Matrix:
        """Return each member's log-odds of each row, as if it came next; changes nothing.

        NaN is for a member that has nothing to say of its own: it is heard as if it said what the linear experts do.
        """

    def prepared_consult(self, X: Matrix, out: Matrix) -> Callable[[], None]:
        """Return the call that writes, again and again, what `consult` says of the only row of X.

        A companion that does so in less time than `consult` takes has a call of its own.
        """

        def consult() -> None:
            out[...] = self.consult(X.copy())  # it may keep what it is given

        return consult

    @abstractmethod
    def play(self, X: Matrix, y: Vector, weights: Vector) -> Matrix:
        """Learn from the rows in order; return each member's log-odds of each row before its label."""

    def prepared(self, X: Matrix, y: Vector, weights: Vector, out: Matrix) -> Callable[[], None]:
        """Return the call that plays, again and again, the only row of these arrays, as `play` does, into `out`.

        Its weight is 1. A companion that plays single rows in less time than `play` takes has a call of its own.
        """

        def play() -> None:
            out[...] = self.play(X.copy(), y.copy(), weights.copy())  # it may keep what it is given

        return play

    def labels_come_late(self) -> None:  # noqa: B027  (most need not know)
        """Hear that labels may come late from the next row on.

        Neighbouring rows then lack the same labels, and go wrong together.
        """

    def mark_gaps(self, gaps: Sequence[tuple[int, int]]) -> None:  # noqa: B027  (most need not know)
        """Hear of columns whose missing numbers are marked: the places of the number and of the mark.

        All that are known are told, once more or for the first time.
        """

    @abstractmethod
    def grow(self, columns: int) -> None:
        """Make room for new columns, 0 in all rows so far."""

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """Return all that it remembers."""

    @abstractmethod
    def recalled(self, snapshot: Snapshot) -> Self:
        """Return an equal companion of the same kind as this one, from what it remembered."""


class TreeState(Protocol):
    """The state of trees, which begins with the first row."""

    width: int

    def grown(self, columns: int) -> Self:
        """Return the state with new columns, 0 in all rows so far."""


Trees = TypeVar("Trees", bound=TreeState)


class TreesCompanion(Companion, Generic[Trees]):
    """A companion of one state of trees, None before the first row."""

    _state: Trees | None = None

    def fits(self, columns: int) -> bool:
        """Return whether the trees are of rows of so many columns."""
        return self._state is None or self._state.width == columns

    def grow(self, columns: int) -> None:
        """Make room for new columns, 0 in all rows so far."""
        if self._state is not None:
            self._state = self._state.grown(columns)

    def recalled(self, snapshot: Snapshot) -> Self:
        """Return an equal companion."""
        restored = self.restore(snapshot)
        restored.only_late = self.only_late
        return restored

    @classmethod
    @abstractmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal companion."""


class ForestCompanion(TreesCompanion[ForestState]):
    """A forest: its kinds of trees, all of them, and the model in their paths are heard one by one.

    In time, boosted trees leave it little to say. Where labels come late its many voices err apart, and what is
    announced then is partly their mean (`states.mixture.late`).

    Parameters
    ----------
    trees
        How many.
    only_late
        As in `Companion`.
    """

    names = tuple(f"forest: {name}" for name in MEMBERS)

    def __init__(self, trees: int, only_late: bool = False) -> None:
        self.trees, self.only_late = trees, only_late

    def consult(self, X: Matrix) -> Matrix:
        """Return each member's log-odds of each row, as if it came next; changes nothing."""
        if self._state is None:
            return np.zeros((len(X), len(self.names)))
        return self._state.consult_odds(X)

    def prepared_consult(self, X: Matrix, out: Matrix) -> Callable[[], None]:
        """Return the call that writes, again and again, what `consult` says of the only row of X."""
        state: ForestState | None = None
        consult_trees: Callable[[], None] = partial(out.fill, 0.0)

        def consult() -> None:
            nonlocal state, consult_trees
            if self._state is not state:
                state = self._state
                assert state is not None  # trees that have begun stay
                consult_trees = prepared_consult_odds(state, X, out)
            consult_trees()

        return consult

    def play(self, X: Matrix, y: Vector, weights: Vector) -> Matrix:
        """Learn from the rows in order; return each member's log-odds of each row before its label."""
        return self._begun(X.shape[1]).play_odds(X, y, weights)

    def prepared(self, X: Matrix, y: Vector, weights: Vector, out: Matrix) -> Callable[[], None]:
        """Return the call that plays, again and again, the only row of these arrays, as `play` does, into `out`."""
        return prepared_play_odds(self._begun(X.shape[1]), X, y, weights, out)

    def _begun(self, width: int) -> ForestState:
        """Return the state of the trees, which begins with the first row."""
        if self._state is None:
            self._state = ForestState(width, 2, self.trees)
        return self._state

    def snapshot(self) -> Snapshot:
        """Return the number of trees and their state."""
        parts = {} if self._state is None else {"state": self._state.snapshot()}
        return Snapshot("ForestCompanion", {"trees": self.trees}, parts=parts)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal companion."""
        given = snapshot.of("ForestCompanion")
        companion = cls(given.whole("trees", 1))
        if "state" in given.parts:
            companion._state = ForestState.restore(given.part("state"))
            if companion._state.trees != companion.trees or companion._state.classes != 2:
                raise SnapshotRefused(f"in a ForestCompanion, {companion._state.trees} trees are not {companion.trees}")
        return companion


class KernelCompanion(Companion):
    """Random features at four bandwidths, heard as one."""

    names = ("kernel: random features",)

    def __init__(self, features: int) -> None:
        self.features = features
        self._learner = RandomFeatures(features=features, orthogonal=False)  # so that it grows

    def consult(self, X: Matrix) -> Matrix:
        """Return the log-odds of each row, as if it came next; changes nothing."""
        near = _within_reach(X)
        with self._products(near):
            return self._learner.logits_of_checked(near)[:, None]

    def prepared_consult(self, X: Matrix, out: Matrix) -> Callable[[], None]:
        """Return the call that writes, again and again, what `consult` says of the only row of X."""
        near = np.empty(X.shape)
        approach = bound(write_within_reach, X, near)

        def consult() -> None:
            approach()
            said = self._learner.logit_of_row_checked(near)
            out[0, 0] = self.consult(near).item() if said is None else said

        return consult

    def play(self, X: Matrix, y: Vector, weights: Vector) -> Matrix:
        """Learn from the rows in order; return the log-odds of each row before its label."""
        near = _within_reach(X)
        stakes = np.minimum(weights, self._learner._base.heaviest)
        with self._products(near):
            return finite_logit_many(self._learner.play_checked(near, y, stakes))[:, None]

    def prepared(self, X: Matrix, y: Vector, weights: Vector, out: Matrix) -> Callable[[], None]:
        """Return the call that plays, again and again, the only row of these arrays, as `play` does, into `out`."""
        near = np.empty(X.shape)
        approach = bound(write_within_reach, X, near)

        def play() -> None:
            approach()
            said = self._learner.play_row_checked(near, y, weights)
            out[0, 0] = self.play(near, y, weights).item() if said is None else finite_logit(sigmoid(said))

        return play

    def _products(self, X: Matrix) -> AbstractContextManager[None]:
        """Keep BLAS to one thread where rows need it: a product on two may round apart from one on one."""
        return nullcontext() if self._learner.plays_at_once(X) else one_blas_thread()

    def fits(self, columns: int) -> bool:
        """Return whether the features are of rows of so many columns."""
        return self._learner.n_features_ in (None, columns)

    def grow(self, columns: int) -> None:
        """Make room for new columns, 0 in all rows so far."""
        self._learner.grow(columns)

    def snapshot(self) -> Snapshot:
        """Return the number of features and the learner."""
        return Snapshot("KernelCompanion", {"features": self.features}, parts={"learner": self._learner.snapshot()})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal companion."""
        given = snapshot.of("KernelCompanion")
        companion = cls(given.whole("features", 2))
        companion._learner = RandomFeatures.restore(given.part("learner"))
        if companion._learner.features != companion.features:
            raise SnapshotRefused(f"in a KernelCompanion, {companion._learner.features} features came")
        return companion

    def recalled(self, snapshot: Snapshot) -> Self:
        """Return an equal companion."""
        return self.restore(snapshot)


def _within_reach(X: Matrix) -> Matrix:
    """Return the rows with cells of which random features can be made."""
    near = np.empty(X.shape)
    write_within_reach(X, near)
    return near


@compiled("void(f8[:,::1],f8[:,::1])")
def write_within_reach(X: Matrix, near: Matrix) -> None:
    """Write the rows with cells of which random features can be made. O(d) a row."""
    for t in range(X.shape[0]):
        for j in range(X.shape[1]):
            near[t, j] = min(max(X[t, j], -FARTHEST), FARTHEST)
