"""One row at a time through a forest: the arguments of its compiled calls are bound once, and again where it grew.

Each function returns a call for the one row that the arrays given hold whenever it is called.
"""

from collections.abc import Callable

import numpy as np

from aioli.numerics.compiling import Cube, Matrix, Vector, bound
from aioli.states.forest.kinds import MEMBERS
from aioli.states.forest.loops import consult_rows, play_rows, write_odds
from aioli.states.forest.ranks import rank_rows
from aioli.states.forest.state import Codes, ForestState

__all__ = ["prepared_consult", "prepared_consult_odds", "prepared_play", "prepared_play_odds"]


def prepared_play(state: ForestState, X: Matrix, codes: Codes, weights: Vector, out: Cube) -> Callable[[], None]:
    """Return the call that plays the row into `out`, as `ForestState.play` does."""
    U = np.empty(X.shape)
    ranks, nodes, rank, play_trees = None, state.nodes, bound(rank_rows), bound(play_rows)

    def play() -> None:
        nonlocal ranks, nodes, rank, play_trees
        known = state.ranks
        if known is None or not state.nothing_is_due:
            out[...] = state.play(X, codes, weights)
            return
        if known is not ranks or state.nodes is not nodes:
            ranks, nodes = known, state.nodes
            rank = bound(rank_rows, known.values, known.positions, known.counts, X, U)
            play_trees = bound(play_rows, *state.given_to_play(X, U, codes, weights, out))
        rank()
        play_trees(state.rows)
        state.count_in(1)

    return play


def prepared_play_odds(state: ForestState, X: Matrix, y: Vector, weights: Vector, out: Matrix) -> Callable[[], None]:
    """Return the call that plays the row of two classes into `out`, as `ForestState.play_odds` does."""
    codes, said = np.zeros(1, np.int64), np.empty((1, len(MEMBERS), 2))
    play, write = prepared_play(state, X, codes, weights, said), bound(write_odds, said, out)

    def play_odds() -> None:
        codes[0] = y.item()
        play()
        write()

    return play_odds


def prepared_consult(state: ForestState, X: Matrix, out: Cube) -> Callable[[], None]:
    """Return the call that writes what is said of the row into `out`, as `ForestState.consult` does."""
    U = np.empty(X.shape)
    ranks, nodes, rank, consult_trees = None, state.nodes, bound(rank_rows), bound(consult_rows)

    def consult() -> None:
        nonlocal ranks, nodes, rank, consult_trees
        known = state.ranks
        if known is None:
            out[...] = state.consult(X)
            return
        if known is not ranks or state.nodes is not nodes:
            ranks, nodes = known, state.nodes
            rank = bound(rank_rows, known.values, known.positions, known.counts, X, U)
            consult_trees = bound(consult_rows, *state.given_to_consult(U, out))
        rank()
        consult_trees(state.rows)

    return consult


def prepared_consult_odds(state: ForestState, X: Matrix, out: Matrix) -> Callable[[], None]:
    """Return the call that writes what is said of the row of two classes, as `ForestState.consult_odds` does."""
    said = np.empty((1, len(MEMBERS), 2))
    consult, write = prepared_consult(state, X, said), bound(write_odds, said, out)

    def consult_odds() -> None:
        consult()
        write()

    return consult_odds
