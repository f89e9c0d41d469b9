"""One row at a time through the experts of many classes: every array and every compiled call made ready beforehand."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from aioli.learners.classes.companions import Companions, Player
from aioli.learners.classes.experts import ROW
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.class_labels import Codes
from aioli.states.classes.base_views import BaseViews
from aioli.states.classes.mixture import ClassMixture
from aioli.states.classes.views import SeenView

__all__ = ["PreparedRow"]


class PreparedRow:
    """Holds room for a row, its views and what everybody says of it, and the calls that play it, in their order.

    It plays what the ensemble plays, to the last bit, without asking for each row who is to be called with what. It is
    made anew whenever somebody joins or leaves, or an array of theirs is replaced.
    """

    def __init__(
        self,
        bases: BaseViews,
        views: Mapping[str, SeenView],
        players: Sequence[Player],
        mixture: ClassMixture,
        companions: Companions | None,
    ) -> None:
        self.X: Matrix = np.empty((1, bases.width))
        self.codes: Codes = np.zeros(1, np.int64)
        self.weights: Vector = np.ones(1)
        plain, see = bases.prepared(self.X)
        calls: list[Callable[[], object]] = [see]
        seen = {ROW: self.X}
        for name, view in views.items():
            seen[name], see = view.prepared(plain[view.base])
            if seen[name] is not plain[view.base]:
                calls.append(see)
        below = np.empty((len(players), 1, mixture.classes))
        above = np.empty((1 + (len(companions.players) if companions is not None else 0), 1, mixture.classes))
        everybody = [*players, *(companions.players if companions is not None else [])]
        for player, out in zip(everybody, [*below, *above[1:]], strict=True):
            calls.append(player.state.prepared(seen[player.reads], self.codes, self.weights, out))
        self.announced, combine = mixture.prepared(below, self.codes, self.weights)
        calls.append(combine)
        if companions is not None:
            calls.append(partial(np.log, self.announced, out=above[0]))
            calls += companions.abstaining(above)
            self.announced, combine = companions.mixture.prepared(above, self.codes, self.weights)
            calls.append(combine)

        def play_all() -> None:
            for call in calls:
                call()

        # A function: whoever measures a learner's memory, as River does, goes past it; the calls hold all of Numba.
        self._play_all = play_all

    def play(self, code: int, weight: float) -> Matrix:
        """Learn from the row in X; return the probabilities before its label, in one line that is overwritten."""
        self.codes[0], self.weights[0] = code, weight
        self._play_all()
        return self.announced
