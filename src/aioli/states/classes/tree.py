r"""Nested choices: a tree whose inner nodes each play a game of their own, and whose leaves are the classes.

The probability of a class is the product along its path, so its log loss is the sum of the nodes' losses, and the sum
of the nodes' certificates is a certificate: against one model a node, each of the ball.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np

from aioli.errors import ParameterRefused, SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.class_labels import Codes
from aioli.outcomes.spec import GameSpec
from aioli.snapshots.tree import Plain, Snapshot
from aioli.states.classes.binary_node import BinaryNode, log_probabilities, predict_nodes
from aioli.states.classes.full import FullState
from aioli.states.classes.protocol import Proof

__all__ = ["TreeState"]

OUTSIDE = -1.0  # the weight of a row at a node that is not on its label's path


class TreeState:
    """Plays a root of at most `most` children, a full softmax, over nodes of two children each.

    A new class becomes a child of the root while that has room. Then it takes the place of a leaf, in a node of its own
    with that leaf's class: of the leaf that is likeliest for the row which brought it, or, where no row did, of the
    leaf least deep. Every other node's game goes on as it was, and the new node's begins there.

    Attributes
    ----------
    most
        How many children the root may have.
    children
        For each node, what its children are: a class k as k, node j as ~j. Node 0 is the root.
    """

    def __init__(self, spec: GameSpec, width: int, classes: int, most: int) -> None:
        self.spec, self.most, self.width = spec, most, width
        self.classes = 0
        self.root = FullState(spec, width, 0)
        self.nodes: list[BinaryNode] = []
        self.children: list[list[int]] = [[]]
        for _ in range(classes):
            self.add_class()

    @property
    def _all(self) -> list[FullState | BinaryNode]:
        return [self.root, *self.nodes]

    @property
    def loss(self) -> float:
        """The sum of all nodes' losses."""
        return self.root.loss + sum(node.loss for node in self.nodes)

    @property
    def described(self) -> str:
        """What it is, in a few words."""
        return "full softmax" if not self.nodes else f"tree of {1 + len(self.nodes)} nodes"

    # ---- playing

    def play(self, X: Matrix, codes: Codes, stakes: Vector) -> Matrix:
        """Play the rows in order at every node of their label's path, and predict them at the others."""
        chosen = np.take(self._choices(), codes, axis=1)
        root = self.root.play(X, chosen[0], stakes)
        z = np.empty((len(self.nodes), len(X)))
        for j, node in enumerate(self.nodes):
            child = chosen[j + 1]
            z[j] = node.play(X, child, np.where(child < 0, OUTSIDE, stakes))
        return self._along_paths(root, z)

    def predict(self, X: Matrix) -> Matrix:
        """Return the logarithms of each row's probabilities, as if it came next."""
        return self._along_paths(self.root.predict(X), predict_nodes(self.nodes, X))

    def _choices(self) -> Codes:
        """Return, for every node and class, the child on the class's path; -1 where the node is not on it."""
        chosen = np.full((len(self.children), self.classes), -1)
        for j in range(len(self.children) - 1, -1, -1):  # a node's number is greater than its parent's
            for place, child in enumerate(self.children[j]):
                beneath = np.array([child]) if child >= 0 else np.flatnonzero(chosen[~child] >= 0)
                chosen[j, beneath] = place
        return chosen

    def _along_paths(self, root: Matrix, z: Matrix) -> Matrix:
        """Return the sums along the paths of what the root and the nodes, by their log-odds, say."""
        log_p = np.empty((self.classes, len(root)))
        above: dict[int, Vector] = {}
        choices = [list(root.T), *zip(*log_probabilities(z), strict=True)]
        for j, children in enumerate(self.children):
            for child, said in zip(children, choices[j], strict=True):
                here = said if j == 0 else above[j] + said
                if child >= 0:
                    log_p[child] = here
                else:
                    above[~child] = here
        return np.ascontiguousarray(log_p.T)

    @classmethod
    def of_root(cls, root: FullState, most: int) -> Self:
        """Return the tree that has this root and no other node."""
        tree = cls(root.spec, root.width, 0, most)
        tree.root, tree.classes, tree.children = root, root.classes, [list(range(root.classes))]
        return tree

    # ---- growing

    def add_class(self, x: Vector | None = None) -> None:
        """Add a class: a child of the root, or the sibling of a leaf."""
        new = self.classes
        if len(self.children[0]) < self.most:
            self.root.add_class()
            self.children[0].append(new)
        else:
            leaf = self._shallowest() if x is None else int(np.argmax(self.predict(x[None, :])[0]))
            for children in self.children:
                if leaf in children:
                    children[children.index(leaf)] = ~len(self.children)
                    break
            self.children.append([leaf, new])
            self.nodes.append(BinaryNode(self.spec, self.width))
        self.classes += 1

    def _shallowest(self) -> int:
        """Return a leaf of the least depth, the first of them by its code."""
        depth = (self._choices() >= 0).sum(axis=0)
        return int(np.argmin(depth))

    def grow(self, columns: int) -> None:
        """Make room for new columns at every node."""
        for node in self._all:
            node.grow(columns)
        self.width += columns

    # ---- what it proves

    def certificate(self, tight: bool = False) -> Proof:
        """Return the sums of the nodes' certificates and of their theorems."""
        proofs = [node.certificate(tight) for node in self._all]
        return sum(proof[0] for proof in proofs), sum(proof[1] for proof in proofs)

    def merged(self, other: Self, places: Codes) -> Self:
        """Return the tree of both games, node by node; both must have the same nodes, or no node but the root."""
        roots_only = not self.nodes and not other.nodes and int(places.max(initial=-1)) < self.most
        if not roots_only and (self.children != other.children or not np.array_equal(places, np.arange(self.classes))):
            raise ParameterRefused(
                "the two learners have different trees of classes; declare the same classes in the same order, or give "
                'structure="full" or "one_vs_rest"',
                parameter="other",
            )
        both = type(self)(self.spec, self.width, 0, self.most)
        both.root = self.root.merged(other.root, places if roots_only else np.arange(self.root.classes))
        both.nodes = [mine.merged(theirs) for mine, theirs in zip(self.nodes, other.nodes, strict=True)]
        both.classes = both.root.classes if roots_only else self.classes
        both.children = [list(range(both.classes))] if roots_only else [list(c) for c in self.children]
        return both

    # ---- moving

    def snapshot(self) -> Snapshot:
        """Return the nodes and how they hang together."""
        children: list[Plain] = [list(c) for c in self.children]
        values: dict[str, Plain] = {"most": self.most, "classes": self.classes, "children": children}
        parts = {"root": self.root.snapshot()}
        parts |= {f"node {j}": node.snapshot() for j, node in enumerate(self.nodes, 1)}
        return Snapshot("TreeState", values, parts=parts)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal tree; one that does not hang together is refused."""
        given = snapshot.of("TreeState")
        root = FullState.restore(given.part("root"))
        tree = cls(root.spec, root.width, 0, given.whole("most", 2))
        tree.root, tree.classes = root, given.whole("classes")
        tree.nodes = [BinaryNode.restore(given.part(f"node {j}")) for j in range(1, len(given.parts))]
        tree.children = _children(given)
        leaves = sorted(child for children in tree.children for child in children if child >= 0)
        parents = {~child: j for j, children in enumerate(tree.children) for child in children if child < 0}
        hangs = (
            leaves == list(range(tree.classes))
            and sorted(parents) == list(range(1, len(tree.children)))
            and all(parent < j for j, parent in parents.items())
            and len(tree.children) == 1 + len(tree.nodes)
            and len(tree.children[0]) == root.classes <= tree.most
            and all(len(children) == 2 for children in tree.children[1:])
            and all(node.width == root.width and node.spec == root.spec for node in tree.nodes)
        )
        if not hangs:
            raise SnapshotRefused(f"in a {given.kind}, the nodes do not hang together as a tree")
        return tree


def _children(snapshot: Snapshot) -> list[list[int]]:
    values = snapshot.values.get("children")
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise SnapshotRefused(f"in a {snapshot.kind}, 'children' is {values!r}, no list")
    children: list[list[int]] = []
    for row in values:
        if isinstance(row, str) or not isinstance(row, Sequence):
            raise SnapshotRefused(f"in a {snapshot.kind}, 'children' holds {row!r}, no list")
        children.append([child for child in row if isinstance(child, int)])
    return children
