"""One row at a time through the experts of many classes: every array and every compiled call made ready beforehand."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Protocol

import numpy as np

from aioli.learners.classes.companions import Companions, Player
from aioli.learners.classes.experts import ROW
from aioli.numerics.compiling import Cube, Matrix, Vector
from aioli.outcomes.class_labels import Codes
from aioli.states.classes.base_views import BaseViews
from aioli.states.classes.mixture import ClassMixture
from aioli.states.classes.views import SeenView

__all__ = ["LearnedRow", "PreparedRows"]


class Ensemble(Protocol):
    """Says what there is to prepare: the views, those that read them, and who mixes what they say."""

    bases: BaseViews
    views: dict[str, SeenView]
    players: list[Player]
    mixture: ClassMixture
    companions: Companions | None


class PreparedRow(ABC):
    """Holds room for a row, its views and what everybody says of it, and the calls that fill it, in their order.

    It does what the ensemble does, to the last bit, without asking for each row who is to be called with what. It is
    made anew whenever somebody joins or leaves, or an array of theirs is replaced.

    Attributes
    ----------
    X, announced
        The row, to be written before the calls, and the probabilities that they end in, which the next row overwrites.
    below, above
        What `Heard` calls so; the next row overwrites them too.
    """

    def __init__(self, whole: Ensemble) -> None:
        bases, players, mixture, companions = whole.bases, whole.players, whole.mixture, whole.companions
        self.X: Matrix = np.empty((1, bases.width))
        plain, see = self._plain(bases)
        calls: list[Callable[[], object]] = [see]
        seen = {ROW: self.X}
        for name, view in whole.views.items():
            seen[name], see = self._view(view, plain[view.base])
            if seen[name] is not plain[view.base]:
                calls.append(see)
        self.below: Cube = np.empty((len(players), 1, mixture.classes))
        beside = [] if companions is None else companions.players
        self.above: Cube = np.empty((1 + len(beside), 1, mixture.classes))
        below, above = self.below, self.above
        everybody = [*players, *beside]
        for player, out in zip(everybody, [*below, *above[1:]], strict=True):
            calls.append(self._say(player, seen[player.reads], out))
        self.announced, combine = self._combine(mixture, below)
        calls.append(combine)
        if companions is not None:
            calls.append(partial(np.log, self.announced, out=above[0]))
            calls += companions.abstaining(above)
            self.announced, combine = self._combine(companions.mixture, above)
            calls.append(combine)

        def call_all() -> None:
            for call in calls:
                call()

        # A function: whoever measures a learner's memory, as River does, goes past it; the calls hold all of Numba.
        self._call_all = call_all

    @abstractmethod
    def _plain(self, bases: BaseViews) -> tuple[tuple[Matrix, Matrix, Matrix], Callable[[], None]]:
        """Return room for the plain views, and the call that makes them."""

    @abstractmethod
    def _view(self, view: SeenView, plain: Matrix) -> tuple[Matrix, Callable[[], None]]:
        """Return room for a view, and the call that makes it."""

    @abstractmethod
    def _say(self, player: Player, seen: Matrix, out: Matrix) -> Callable[[], None]:
        """Return the call by which a player writes what it says."""

    @abstractmethod
    def _combine(self, mixture: ClassMixture, Z: Cube) -> tuple[Matrix, Callable[[], None]]:
        """Return room for what a mixture says, and the call by which it does."""


class LearnedRow(PreparedRow):
    """A row that is announced, and then learned."""

    def __init__(self, whole: Ensemble) -> None:
        self.codes: Codes = np.zeros(1, np.int64)
        self.weights: Vector = np.ones(1)
        super().__init__(whole)

    def play(self, code: int, weight: float) -> Matrix:
        """Learn from the row in X; return the probabilities before its label, in one line that is overwritten."""
        self.codes[0], self.weights[0] = code, weight
        self._call_all()
        return self.announced

    def _plain(self, bases: BaseViews) -> tuple[tuple[Matrix, Matrix, Matrix], Callable[[], None]]:
        return bases.prepared(self.X)

    def _view(self, view: SeenView, plain: Matrix) -> tuple[Matrix, Callable[[], None]]:
        return view.prepared(plain)

    def _say(self, player: Player, seen: Matrix, out: Matrix) -> Callable[[], None]:
        return player.state.prepared(seen, self.codes, self.weights, out)

    def _combine(self, mixture: ClassMixture, Z: Cube) -> tuple[Matrix, Callable[[], None]]:
        return mixture.prepared(Z, self.codes, self.weights)


class PredictedRow(PreparedRow):
    """A row that is asked about as if it came next; nothing else changes. It is for one thread at a time."""

    def predict(self) -> Matrix:
        """Return the probabilities of the row in X, in one line that is overwritten."""
        self._call_all()
        return self.announced

    def _plain(self, bases: BaseViews) -> tuple[tuple[Matrix, Matrix, Matrix], Callable[[], None]]:
        return bases.prepared_peek(self.X)

    def _view(self, view: SeenView, plain: Matrix) -> tuple[Matrix, Callable[[], None]]:
        return view.prepared(plain, peek=True)

    def _say(self, player: Player, seen: Matrix, out: Matrix) -> Callable[[], None]:
        return player.state.prepared_consult(seen, out)

    def _combine(self, mixture: ClassMixture, Z: Cube) -> tuple[Matrix, Callable[[], None]]:
        return mixture.prepared_announce(Z)


class PreparedRows:
    """Holds the prepared rows of an ensemble, which are made when they are first asked for."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Let all rows go, since somebody joins or leaves, or an array is replaced."""
        self._learned: LearnedRow | None = None
        self._spare: list[PredictedRow] = []  # those that no thread predicts with

    def to_learn(self, whole: Ensemble) -> LearnedRow:
        """Return the row through which single rows are learned."""
        learned = self._learned
        if learned is None:
            learned = self._learned = LearnedRow(whole)
        return learned

    def consult(self, whole: Ensemble, X: Matrix) -> tuple[Matrix, Cube, Cube]:
        """Return what is said of the only row of X; each thread takes a row of its own, and hands it back."""
        spare = self._spare  # a list that is replaced takes back what nobody will use
        try:
            row = spare.pop()
        except IndexError:
            row = PredictedRow(whole)
        row.X[...] = X
        said = row.predict().copy(), row.below.copy(), row.above.copy()
        spare.append(row)
        return said
