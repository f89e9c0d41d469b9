"""Few rows at a time through all bandwidths of random features: the arguments of compiled calls, made ready once."""

from collections.abc import Callable, Sequence
from typing import Self

import numpy as np

from aioli.learners.aioli import AIOLI
from aioli.learners.kernel.base_learner import BaseLearner
from aioli.learners.kernel.scales import FARTHEST, Scaling
from aioli.numerics.compiling import Matrix, Vector, bound
from aioli.states.dense.state import State
from aioli.states.kernel.fourier_rows import PLAYED, consult_maps, play_maps

__all__ = ["FEW", "FewRows"]

FEW = 64  # rows below which compiled loops are faster than matrix products


class FewRows:
    """Holds the states of all maps side by side in one array, and plays rows by one call for all maps.

    Parameters
    ----------
    scaling
        Of the columns.
    directions, bandwidths
        Of each map.
    bases
        The base learners, each an `AIOLI` that has learned from a row: their states move into the array.
    """

    def __init__(
        self, scaling: Scaling, directions: Sequence[Matrix], bandwidths: Sequence[float], bases: Sequence[BaseLearner]
    ) -> None:
        states = [base.state for base in bases]
        known = [state for state in states if state is not None]
        buffers = np.zeros((len(bases), State.size(known[0].width)))
        self._states: list[State] = []
        for base, state, buffer in zip(bases, known, buffers, strict=True):
            moved = State(state.spec, state.width, buffer)
            base.settle(moved.overwrite(state.P, state.w, state.tally, factored=state.factored))
            self._states.append(moved)
        by_columns = np.stack([np.ascontiguousarray(each.T) for each in directions])
        self._given = scaling.centre, scaling.unit, FARTHEST, by_columns, np.array(bandwidths), buffers

    @classmethod
    def of(
        cls, scaling: Scaling, directions: Sequence[Matrix], bandwidths: Sequence[float], bases: Sequence[BaseLearner]
    ) -> Self | None:
        """Return what plays few rows; None where base learners are others than `AIOLI`, or have seen no row."""
        if any(type(base.learner) is not AIOLI or base.state is None for base in bases):
            return None
        return cls(scaling, directions, bandwidths, bases)

    def consult(self, prior: Vector, X: Matrix) -> Matrix:
        """Return each map's log-odds of each row, as if it came next; 0 for a map of prior share 0."""
        Z = np.zeros((len(X), prior.size))
        consult_maps(self._given, prior, X, Z)
        return Z

    def play(self, prior: Vector, X: Matrix, y: Vector, weights: Vector) -> Matrix:
        """Let each map learn the rows; return its log-odds of each row before its label."""
        Z, play = self.prepared(prior, X, y, weights)
        play()
        return Z

    def prepared(self, prior: Vector, X: Matrix, y: Vector, weights: Vector) -> tuple[Matrix, Callable[[], None]]:
        """Return room for each map's log-odds, and the call that plays, again and again, the rows of these arrays.

        The call is good until the prior share of a map becomes 0.
        """
        Z, rows, states = np.zeros((len(X), prior.size)), len(X), self._states
        play_from = bound(play_maps, self._given, prior, X, y, weights, Z)

        def play() -> None:
            place = play_from(0)
            while place != PLAYED:  # a state would lose its digits: it is factored, and its map goes on
                states[place // rows].factor()
                place = play_from(place)

        return Z, play
