"""A choice between two, as part of a game of many classes: the state of two classes, in the units of contrasts."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np

from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.root import root_many
from aioli.numerics.softmax import SQRT2
from aioli.outcomes.class_labels import Codes
from aioli.outcomes.spec import GameSpec
from aioli.outcomes.two_classes import Tally
from aioli.snapshots.tree import Snapshot
from aioli.states.certificate import running_certificate, tight_certificate
from aioli.states.classes.protocol import Proof
from aioli.states.dense.play import centre_and_hedge, play
from aioli.states.dense.state import State

__all__ = ["BinaryNode", "log_probabilities", "predict_nodes", "spec_of_two"]


def spec_of_two(spec: GameSpec) -> GameSpec:
    r"""Return the same game in log-odds: $\theta = \sqrt2\,w$, so the ball is √2·B, and λ‖w‖² is (λ/2)‖θ‖²."""
    return replace(spec, radius=SQRT2 * spec.radius, ridge=0.5 * spec.ridge)


class BinaryNode:
    """Plays class 0 against class 1; rows of negative weight are other nodes' rows, and are only predicted.

    Parameters
    ----------
    spec
        The parameters in the units of contrasts, as those of `FullState`.
    """

    classes = 2

    def __init__(self, spec: GameSpec, width: int) -> None:
        self.spec = spec
        self.state = State(spec_of_two(spec), width)

    @property
    def width(self) -> int:
        """How many columns a row has, the intercept counted."""
        return self.state.width

    @property
    def loss(self) -> float:
        """The sum of its losses so far."""
        return float(self.state.tally[Tally.LOSS])

    def play(self, X: Matrix, codes: Codes, stakes: Vector) -> Vector:
        """Play the rows in order; return the log-odds of class 0 before each label."""
        z = np.full(len(X), math.nan)
        others = float(np.sum(stakes < 0.0))
        play(self.state, X, (codes == 0).astype(np.float64), np.maximum(stakes, 0.0), z)
        self.state.tally[Tally.ROUNDS] -= others  # a row of weight 0 teaches nothing; another node's is not a row here
        self.state.tally[Tally.IRREGULAR] -= others
        return z

    def grow(self, columns: int) -> None:
        """Make room for new columns."""
        self.state = self.state.grown(columns)

    def certificate(self, tight: bool = False) -> Proof:
        """Return the certificate of its losses, and the theorem."""
        proven = tight_certificate(self.state) if tight else running_certificate(self.state)
        return float(proven), proven.theorem

    def merged(self, other: Self) -> Self:
        """Return the node of both games."""
        return self._with(self.state.merged(other.state))

    def copy(self) -> Self:
        """Return an equal node that shares nothing with this one."""
        return self._with(self.state.copy())

    def _with(self, state: State) -> Self:
        node = type(self)(self.spec, state.width)
        node.state = state
        return node

    def snapshot(self) -> Snapshot:
        """Return the state of two classes."""
        return Snapshot("BinaryNode", parts={"spec": self.spec.snapshot(), "state": self.state.snapshot()})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal node."""
        given = snapshot.of("BinaryNode")
        state = State.restore(given.part("state"))
        return cls(GameSpec.restore(given.part("spec")), state.width)._with(state)


def predict_nodes(nodes: Sequence[BinaryNode], X: Matrix) -> Matrix:
    """Return the log-odds of class 0, one row a node and one column a row of X, as if each came next."""
    if not nodes:
        return np.empty((0, len(X)))
    read = [centre_and_hedge(node.state, X) for node in nodes]
    return root_many(np.array([m for m, _ in read]), np.array([hedge for _, hedge in read]))


def log_probabilities(z: Matrix) -> tuple[Matrix, Matrix]:
    """Return the logarithms of the probabilities of class 0 and of class 1, of any log-odds of class 0."""
    first: Matrix = -np.logaddexp(0.0, -z)
    second: Matrix = -np.logaddexp(0.0, z)
    return first, second
