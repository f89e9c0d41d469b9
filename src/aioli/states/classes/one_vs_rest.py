r"""One class against the rest: a game of two classes for each class, whose probabilities are normalised.

The normalised loss is at most the sum of the K losses:

$$\sum_j p_j \le 1 + \sum_{j \ne y} p_j \le \prod_{j \ne y}(1 - p_j)^{-1}.$$

So the sum of the K certificates bounds the regret against K models, one a class, scored as games of two classes.
"""

from typing import Self

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.class_labels import Codes
from aioli.outcomes.spec import GameSpec
from aioli.snapshots.tree import Snapshot
from aioli.states.classes.binary_node import BinaryNode, log_probabilities, predict_nodes
from aioli.states.classes.protocol import Proof

__all__ = ["OneVsRestState", "normalised"]


class OneVsRestState:
    """Plays every class against the rest; the game of a class begins with the row that brings it."""

    def __init__(self, spec: GameSpec, width: int, classes: int) -> None:
        self.spec, self.width = spec, width
        self.nodes = [BinaryNode(spec, width) for _ in range(classes)]

    @property
    def classes(self) -> int:
        """How many classes are known."""
        return len(self.nodes)

    @property
    def loss(self) -> float:
        """The sum of the losses of all games of two classes."""
        return sum(node.loss for node in self.nodes)

    @property
    def described(self) -> str:
        """What it is, in a few words."""
        return "one class against the rest"

    def play(self, X: Matrix, codes: Codes, stakes: Vector) -> Matrix:
        """Play the rows in order in every class's game; return the logarithms of the normalised probabilities."""
        z = [node.play(X, (codes != k).astype(np.int64), stakes) for k, node in enumerate(self.nodes)]
        return _normalised(np.array(z))

    def predict(self, X: Matrix) -> Matrix:
        """Return the logarithms of each row's normalised probabilities, as if it came next."""
        return _normalised(predict_nodes(self.nodes, X))

    def add_class(self, x: Vector | None = None) -> None:  # noqa: ARG002  (the signature of other games)
        """Begin the game of one more class."""
        self.nodes.append(BinaryNode(self.spec, self.width))

    def grow(self, columns: int) -> None:
        """Make room for new columns in every game."""
        for node in self.nodes:
            node.grow(columns)
        self.width += columns

    def certificate(self, tight: bool = False) -> Proof:
        """Return the sums of the games' certificates and of their theorems."""
        proofs = [node.certificate(tight) for node in self.nodes]
        return sum(proof[0] for proof in proofs), sum(proof[1] for proof in proofs)

    def merged(self, other: Self, places: Codes) -> Self:
        """Return both games, class by class; the game of a class that only one of them knows is that one's."""
        both = type(self)(self.spec, self.width, 0)
        nodes = dict(enumerate(self.nodes))
        for place, theirs in zip(places.tolist(), other.nodes, strict=True):
            nodes[place] = nodes[place].merged(theirs) if place in nodes else theirs.copy()
        both.nodes = [node.copy() if node in self.nodes else node for _, node in sorted(nodes.items())]
        return both

    def snapshot(self) -> Snapshot:
        """Return every class's game."""
        parts = {f"class {k}": node.snapshot() for k, node in enumerate(self.nodes)}
        return Snapshot("OneVsRestState", {"width": self.width}, parts={"spec": self.spec.snapshot(), **parts})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal state."""
        given = snapshot.of("OneVsRestState")
        state = cls(GameSpec.restore(given.part("spec")), given.whole("width", 1), 0)
        state.nodes = [BinaryNode.restore(given.part(f"class {k}")) for k in range(len(given.parts) - 1)]
        if any(node.width != state.width or node.spec != state.spec for node in state.nodes):
            raise SnapshotRefused(f"in a {given.kind}, the game of a class is of another width or other parameters")
        return state


def _normalised(z: Matrix) -> Matrix:
    """Return the logarithms of the normalised probabilities, one column a class, of log-odds of one row a class."""
    return normalised(log_probabilities(z)[0])


def normalised(log_p: Matrix) -> Matrix:
    """Return the logarithms of the normalised probabilities, one column a class, of one row a class; -inf stays."""
    normal = np.ascontiguousarray(log_p.T)
    most = np.maximum(normal.max(axis=1, keepdims=True), -1e300)
    total = np.exp(normal - most).sum(axis=1, keepdims=True)
    normal -= most + np.log(np.where(total > 0.0, total, 1.0))
    return normal
