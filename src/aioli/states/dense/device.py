"""The dense state on a device of PyTorch: a GPU's matrix products, and the scalar part of every round on the CPU."""

from typing import Self

import numpy as np

from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.pytorch import Tensor
from aioli.numerics.root import root_many
from aioli.outcomes.spec import GameSpec
from aioli.outcomes.two_classes import Tally
from aioli.snapshots.tree import Snapshot
from aioli.states.dense.device_blocks import Block, DeviceBlocks, play_in_turn
from aioli.states.dense.squares import play_square, square_effect
from aioli.states.dense.state import State

__all__ = ["DeviceState"]


class DeviceState:
    """Holds P and w on a device; the running totals stay with the CPU. It is made from a `State`, and turns into one.

    The factored form is not for devices: a state that needs it goes on as a `State`.
    """

    def __init__(self, spec: GameSpec, width: int, device: object) -> None:
        self.spec, self.width = spec, width
        self.rules: Vector = np.array(spec.packed, np.float64)
        self.tally: Vector = np.zeros(len(Tally))
        self.there = DeviceBlocks(spec.ridge, width, 1, device)

    @classmethod
    def of(cls, state: State, device: object) -> Self:
        """Return the equal state on a device; it must not be factored."""
        made = cls(state.spec, state.width, device)
        there = made.there
        there.P.copy_(there.torch.from_numpy(state.P))
        there.W[0].copy_(there.torch.from_numpy(state.w))
        made.tally[...] = state.tally
        return made

    @property
    def P(self) -> Tensor:
        """The matrix, on the device."""
        return self.there.P

    @property
    def w(self) -> Vector:
        """The centre, on the CPU."""
        return np.array(self.there.W[0].cpu().numpy())

    def to_state(self) -> State:
        """Return the equal state of the CPU."""
        return State(self.spec, self.width).overwrite(self.P.cpu().numpy(), self.w, self.tally, factored=False)

    def snapshot(self) -> Snapshot:
        """Return the snapshot of the equal state of the CPU: files do not know of devices."""
        return self.to_state().snapshot()

    def precision(self) -> Matrix:
        """Return A, as a `State` does."""
        return self.to_state().precision()

    def logits(self, X: Tensor) -> Vector:
        """Return the log-odds of each row, as if it came next. O(d²) each."""
        v = self.there.spreads(X)
        return root_many((X @ self.there.W[0]).cpu().numpy(), 0.5 * self.spec.regulariser * v)

    @property
    def outer(self) -> int:
        """How many rows a block has at most."""
        return self.there.outer

    def play(self, X: Tensor, y: Vector, weights: Vector, logits: Vector) -> int:
        """Play the rows in order; return how many: fewer than came where the next block would cost P its digits."""
        for first in range(0, len(y), self.outer):
            rows = slice(first, first + self.outer)
            if not play_in_turn([self.block(X[rows], y[rows], weights[rows], logits[rows])])[0]:
                return first
        return len(y)

    def block(self, X: Tensor, y: Vector, weights: Vector, logits: Vector) -> Block:
        """Play all rows of a block and return True, or touch nothing and return False."""
        tally, announced = self.tally.copy(), logits.copy()
        gamma, alpha = np.empty(len(y)), np.empty(len(y))

        def answer(rows: slice, H: Matrix, w: Matrix, norms: Vector, spreads: Vector, effect: Matrix) -> bool:
            part = y[rows], weights[rows], announced[rows], gamma[rows], alpha[rows]
            if not play_square(H, w[0], self.rules, norms, spreads, *part, tally):
                return False
            square_effect(H, gamma[rows], alpha[rows], effect)
            return True

        played = yield from self.there.block(X, answer)
        if played:
            self.tally[...], logits[...] = tally, announced
        return played
