"""The game of a fleet without pooling: each key has one model, which knows of no other."""

import numpy as np

from aioli.fleet.layout import FACTORED, HEAD, Layout
from aioli.fleet.loops import load_model, logits_of_keyed_rows, play_keyed_rows, store_model
from aioli.fleet.records import Records
from aioli.fleet.room import Places
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.spec import GameSpec
from aioli.states.dense.state import State

__all__ = ["PlainGame", "read_state", "write_state"]


class PlainGame:
    """Plays rows of many keys, each by its key's model."""

    def __init__(self, spec: GameSpec, layout: Layout) -> None:
        self.spec, self.layout = spec, layout
        self._state = State(spec, layout.width)
        self._body = np.empty(layout.body)

    def play(
        self, records: Records, places: Places, X: Matrix, y: Vector, weights: Vector, logits: Vector, clock: float
    ) -> None:
        """Play the rows in order; `logits` comes with NaN, or what was announced earlier, and leaves as announced."""
        state, layout = self._state, self.layout
        played = 0
        while played < len(X):
            played = play_keyed_rows(
                records.hot,
                places,
                played,
                layout.told,
                self._body,
                state.P,
                state.w,
                state.tally,
                state.rules,
                state.workspace,
                X,
                y,
                weights,
                logits,
                clock,
            )
            if played < len(X):
                factor_model(records, int(places[played]), layout, 0, self.spec)

    def logits(self, matrix: Matrix, places: Places, X: Matrix, logits: Vector) -> None:
        """Write the log-odds of the rows whose place in this matrix of records is not below 0."""
        own = State(self.spec, self.layout.width)  # not the game's, so that threads may predict side by side
        told, body = self.layout.told, np.empty(self.layout.body)
        parts = own.P, own.w, own.tally, own.rules, own.workspace
        logits_of_keyed_rows(matrix, places, told, body, *parts, X, logits)


def read_state(matrix: Matrix, place: int, layout: Layout, number: int, spec: GameSpec) -> State:
    """Return a model of a record as a state of its own. O(d²)."""
    state = State(spec, layout.width)
    load_model(matrix, place, layout.told, number, np.empty(layout.body), state.w, state.P, state.tally)
    factored = bool(matrix[place, HEAD + number * layout.model + FACTORED])
    return state.overwrite(state.P, state.w, state.tally, factored=factored)


def write_state(records: Records, place: int, layout: Layout, number: int, state: State) -> None:
    """Overwrite a model of a record in memory with a state. O(d²)."""
    if state.factored and layout.extends:
        records.extend(place)
    matrix = records.hot
    matrix[place, HEAD + number * layout.model + FACTORED] = state.factored
    store_model(matrix, place, layout.told, number, np.empty(layout.body), state.w, state.P, state.tally)


def factor_model(records: Records, place: int, layout: Layout, number: int, spec: GameSpec) -> None:
    r"""Turn a model to its factored form, $P = SS^\top$. O(d³), at most once in a model's life."""
    state = read_state(records.hot, place, layout, number, spec)
    if layout.storage == "float64":
        state.factor()
    else:  # rounding may have cost P a small eigenvalue its sign
        values, vectors = np.linalg.eigh(state.P)
        S = vectors * np.sqrt(np.maximum(values, 2.0**-24 * values[-1]))
        state.overwrite(S, state.w, state.tally, factored=True)
    write_state(records, place, layout, number, state)
