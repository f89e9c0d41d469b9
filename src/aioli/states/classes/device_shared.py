"""The game of many classes with one precision matrix, on a device of PyTorch: one product for all classes' rows."""

from typing import Self

import numpy as np

from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.pytorch import Tensor
from aioli.outcomes.class_labels import Codes
from aioli.outcomes.spec import GameSpec
from aioli.snapshots.tree import Snapshot
from aioli.states.classes.protocol import Proof
from aioli.states.classes.shared_game import SharedGame, SharedRounds, SharedTally, bound_of_gradients
from aioli.states.classes.shared_squares import announce_centres
from aioli.states.dense.device_blocks import DeviceBlocks, play_in_turn

__all__ = ["DeviceSharedGame"]


class DeviceSharedGame:
    """Holds P, W and the sum of gradients on a device; it is made from a `SharedGame`, and turns into one."""

    def __init__(self, spec: GameSpec, width: int, classes: int, device: object) -> None:
        self.spec, self.width = spec, width
        self.tally: Vector = np.zeros(len(SharedTally))
        self.there = DeviceBlocks(spec.ridge, width, classes, device)
        self.G: Tensor = self.there.W.clone()

    @classmethod
    def of(cls, game: SharedGame, device: object) -> Self:
        """Return the equal state on a device."""
        made = cls(game.spec, game.width, game.classes, device)
        for own, given in ((made.there.P, game.P), (made.there.W, game.W), (made.G, game.G)):
            own.copy_(made.there.torch.from_numpy(given))
        made.tally[...] = game.tally
        return made

    def to_game(self) -> SharedGame:
        """Return the equal state of the CPU."""
        game = SharedGame(self.spec, self.width, self.classes)
        for own, given in ((game.P, self.there.P), (game.W, self.there.W), (game.G, self.G)):
            own[...] = given.cpu().numpy()
        game.tally[...] = self.tally
        return game

    @property
    def classes(self) -> int:
        """How many classes are known."""
        return self.there.centres

    @property
    def outer(self) -> int:
        """How many rows a block has at most."""
        return self.there.outer

    @property
    def loss(self) -> float:
        """The sum of the losses where rows were learned."""
        return float(self.tally[SharedTally.LOSS])

    @property
    def described(self) -> str:
        """What it is, in a few words."""
        return f"one matrix for all classes, on {self.there.device}"

    def play(self, X: Tensor, codes: Codes, stakes: Vector) -> Matrix:
        """Play the rows in order, in blocks; return the logarithms of the probabilities before each label."""
        said = np.empty((len(codes), self.classes))
        for first in range(0, len(codes), self.outer):
            rows = slice(first, first + self.outer)
            rounds = SharedRounds(self.spec, codes[rows], stakes[rows], self.classes)
            g_there = self.there.torch.empty((len(rounds.codes), self.classes), dtype=X.dtype, device=X.device)
            play_in_turn([self.there.block(X[rows], rounds)])
            g = rounds.gradients
            g_there.copy_(self.there.torch.from_numpy(g))
            self.G.addmm_(g_there.T, X[rows])
            rounds.count(self.tally, g)
            said[rows] = rounds.said
        return said

    def predict(self, X: Tensor) -> Matrix:
        """Return the logarithms of each row's probabilities, as if it came next."""
        said = np.empty((len(X), self.classes))
        centres = (X @ self.there.W.T).cpu().numpy()
        announce_centres(np.ascontiguousarray(centres), self.there.spreads(X), said)
        return said

    def add_class(self, x: Vector | None = None) -> None:
        """Make room for one more class, by way of the CPU."""
        game = self.to_game()
        game.add_class(x)
        self._take(game)

    def grow(self, columns: int) -> None:
        """Make room for new columns, exactly as if they had been there, and 0, from the first row."""
        game = self.to_game()
        game.grow(columns)
        self._take(game)

    def _take(self, game: SharedGame) -> None:
        there = self.of(game, self.there.device)
        self.width, self.there, self.G = there.width, there.there, there.G

    def certificate(self, tight: bool = False) -> Proof:
        """Return what the gradients prove; `tight` has nothing to add."""
        del tight
        return bound_of_gradients(self.tally, float(self.there.torch.linalg.norm(self.G)), self.spec.radius)

    def merged(self, other: Self, places: Codes) -> Self:
        """Return the state of both games, merged on the CPU. O(d³)."""
        return self.of(self.to_game().merged(other.to_game(), places), self.there.device)

    def snapshot(self) -> Snapshot:
        """Return the snapshot of the equal state of the CPU: files do not know of devices."""
        return self.to_game().snapshot()
