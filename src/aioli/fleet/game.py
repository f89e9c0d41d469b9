"""Defines what a fleet plays: models by key, in records; with or without what all keys have in common."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

import numpy as np

from aioli.fleet.keyed_records import KeyedRecords
from aioli.fleet.layout import FACTORED, HEAD, Layout
from aioli.fleet.loops import load_model, store_model
from aioli.fleet.records import Records
from aioli.fleet.room import Places
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.spec import GameSpec
from aioli.snapshots.tree import Snapshot
from aioli.states.dense.state import State

__all__ = ["Game", "factor_model", "read_state", "write_state"]


class Game(ABC):
    """Plays rows of many keys, each by its key's models.

    Attributes
    ----------
    specs
        The parameters of each model of a key.
    layout
        How the models of a key lie in their record.
    """

    def __init__(self, specs: Sequence[GameSpec], layout: Layout) -> None:
        self.specs, self.layout = list(specs), layout

    @property
    def ridges(self) -> Vector:
        """λ of each model of a key."""
        return np.array([spec.ridge for spec in self.specs])

    @abstractmethod
    def play(
        self, records: Records, places: Places, X: Matrix, y: Vector, weights: Vector, logits: Vector, clock: float
    ) -> None:
        """Play the rows in order; `logits` comes with NaN, or what was announced earlier, and leaves as announced."""

    @abstractmethod
    def logits(self, matrix: Matrix, places: Places, X: Matrix, logits: Vector) -> None:
        """Write the log-odds of the rows whose place in this matrix of records is not below 0; changes nothing."""

    @abstractmethod
    def losses_and_certificates(self, records: KeyedRecords) -> tuple[Vector, Vector]:
        """Return each key's loss, and the nats that its regret is proven not to have exceeded."""

    @abstractmethod
    def grown(self, layout: Layout) -> Self:
        """Return the game that goes on with records of more columns."""

    @abstractmethod
    def merge(self, other: Self) -> None:
        """Take in what is common to another fleet's keys."""

    @abstractmethod
    def parts(self) -> dict[str, Snapshot]:
        """Return the snapshots of what is common to all keys."""

    def merge_record(self, records: Records, place: int, theirs: Matrix, source: int) -> None:
        """Take a record of another fleet into one of the same key here. O(d³)."""
        for number, spec in enumerate(self.specs):
            mine = read_state(records.hot, place, self.layout, number, spec)
            other = read_state(theirs, source, self.layout, number, spec)
            write_state(records, place, self.layout, number, mine.merged(other))


def read_state(matrix: Matrix, place: int, layout: Layout, number: int, spec: GameSpec) -> State:
    """Return a model of a record as a state of its own. O(d²)."""
    state = State(spec, layout.width)
    load_model(matrix, place, layout.told, number, (np.empty(layout.body), state.w, state.P, state.tally))
    factored = bool(matrix[place, HEAD + number * layout.model + FACTORED])
    return state.overwrite(state.P, state.w, state.tally, factored=factored)


def write_state(records: Records, place: int, layout: Layout, number: int, state: State) -> None:
    """Overwrite a model of a record in memory with a state. O(d²)."""
    if state.factored and layout.extends:
        records.extend(place)
    matrix = records.hot
    matrix[place, HEAD + number * layout.model + FACTORED] = state.factored
    store_model(matrix, place, layout.told, number, (np.empty(layout.body), state.w, state.P, state.tally))


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
