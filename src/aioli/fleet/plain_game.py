"""Plays a fleet without pooling: each key has one model, which knows of no other."""

import math
from typing import Self

import numpy as np

from aioli.fleet.game import Game, factor_model
from aioli.fleet.keyed_records import KeyedRecords
from aioli.fleet.layout import Layout
from aioli.fleet.loops import logits_of_keyed_rows, play_keyed_rows
from aioli.fleet.packed_rows import PackedWorkspace
from aioli.fleet.records import Records
from aioli.fleet.room import Places
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.spec import GameSpec
from aioli.outcomes.two_classes import Tally
from aioli.snapshots.tree import Snapshot
from aioli.states.dense.state import State

__all__ = ["PlainGame"]


class PlainGame(Game):
    """Plays rows of many keys, each by its key's model."""

    def __init__(self, spec: GameSpec, layout: Layout) -> None:
        super().__init__([spec], layout)
        self._state = State(spec, layout.width)
        self._body = np.empty(layout.body)
        self._group = PackedWorkspace(layout.width)

    def play(
        self, records: Records, places: Places, X: Matrix, y: Vector, weights: Vector, logits: Vector, clock: float
    ) -> None:
        """See `Game`."""
        told, state = self.layout.told, self._state
        room = (self._body, state.w, state.P, state.tally), state.rules, state.workspace, self._group.arrays
        played = 0
        while played < len(X):
            played = play_keyed_rows(records.hot, places, played, told, room, X, y, weights, logits, clock)
            if played < len(X):
                factor_model(records, int(places[played]), self.layout, 0, self.specs[0])

    def logits(self, matrix: Matrix, places: Places, X: Matrix, logits: Vector) -> None:
        """See `Game`."""
        own = State(self.specs[0], self.layout.width)  # not the game's, so that threads may predict side by side
        model = np.empty(self.layout.body), own.w, own.P, own.tally
        room = model, own.rules, own.workspace, PackedWorkspace(self.layout.width).arrays
        logits_of_keyed_rows(matrix, places, self.layout.told, room, X, logits)

    def losses_and_certificates(self, records: KeyedRecords) -> tuple[Vector, Vector]:
        """See `Game`."""
        (spec,) = self.specs
        tallies = records.tallies()
        prior = math.inf if spec.curvature == "full" else spec.ridge * spec.radius**2
        return tallies[:, Tally.LOSS], prior + tallies[:, Tally.REGRET]

    def grown(self, layout: Layout) -> Self:
        """See `Game`."""
        return type(self)(self.specs[0], layout)

    def merge(self, other: Self) -> None:
        """See `Game`: keys have nothing in common."""

    def parts(self) -> dict[str, Snapshot]:
        """See `Game`: keys have nothing in common."""
        return {}
