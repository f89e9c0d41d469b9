"""The state of a forest: trees, ranks, the sample of rows they are made from, and how it grows and is saved."""

import math
from typing import Self

import numpy as np
from numpy.typing import NDArray

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Cube, Matrix, Vector
from aioli.snapshots.tree import Array, Snapshot
from aioli.states.forest.intact_trees import read_trees
from aioli.states.forest.kinds import KINDS, MEMBERS
from aioli.states.forest.loops import consult_rows, play_rows, write_odds
from aioli.states.forest.nodes import FEATURE, THRESHOLD, record_size, with_class
from aioli.states.forest.ranks import Ranks, mutual_information

__all__ = ["Codes", "ForestState"]

Codes = NDArray[np.int64]
Trees = tuple[Cube, Cube, Codes, Vector, float, Matrix, Codes, int]
Playing = tuple[*Trees, Matrix, Matrix, Codes, Vector, Matrix, Cube]
Consulting = tuple[Cube, Codes, Vector, Codes, int, Matrix, Cube]

FIRST = 16  # rows before the trees begin: they are the first sample
EPOCHS = 4  # times as many rows as at the last
SAMPLE = 1024  # rows of which ranks are made, and what each column says of the label
MOST_NODES = 2048  # a tree: beyond, the streams tried became no better
GROWTH = 8  # times as many nodes where there are too few: memory that nobody has used yet costs nothing, moving it does
ROOM = 1 << 25  # bytes of all nodes: wide rows have fewer
MOST_ROWS = 1 << 53  # that a file may have counted: each of them is still a number of its own as float64


class ForestState:
    """Hold the nodes of all trees, the ranks, and the sample; K classes, d columns.

    A tree has at most 2,048 nodes, all of them together at most 32 MiB. A leaf is not split while all its rows have one
    label, and are fewer than `whole`.
    """

    def __init__(self, width: int, classes: int, trees: int, whole: float = 0.0) -> None:
        self.width, self.classes, self.trees, self.whole = width, classes, trees, whole
        self.kind_of: Codes = np.arange(trees) % len(KINDS)
        self.log_rho: Vector = np.array([math.log(KINDS[kind].forgetting) for kind in self.kind_of.tolist()])
        self.rows = 0
        self.sample: Matrix = np.zeros((SAMPLE, width + 2))
        self.ranks: Ranks | None = None  # until there are rows enough
        self.silent: Vector = np.ones(trees)  # the scale of a column that says nothing
        self.scales: Matrix = np.ones((trees, width))
        self.used: Codes = np.zeros(trees, dtype=np.int64)
        self.most = most_nodes(width, classes, trees)
        self.nodes: Cube = np.empty((trees, min(64, self.most), record_size(classes)))
        self.boxes: Cube = np.empty((trees, self.nodes.shape[1], 2 * width))
        self._spare = 0  # rows for which the nodes are known to have room

    @property
    def bytes(self) -> int:
        """The size of all that it keeps."""
        return self.nodes.nbytes + self.boxes.nbytes + self.sample.nbytes + self.scales.nbytes

    def consult(self, X: Matrix) -> Matrix:
        """Return each member's log-probabilities of each row, rows × members × classes, as if it came next."""
        if self.ranks is None:
            return self._before_the_trees(len(X))
        out = np.empty((len(X), len(MEMBERS), self.classes))
        consult_rows(*self.given_to_consult(self.ranks.of(X), out), self.rows)
        return out

    def play(self, X: Matrix, codes: Codes, weights: Vector) -> Matrix:
        """Announce and learn row after row; return what each member announced, rows × members × classes."""
        out = np.empty((len(X), len(MEMBERS), self.classes))
        if len(X) == 1 and self.nothing_is_due:
            self._play(X, codes, weights, out)
            return out
        first = 0
        while first < len(X):
            epoch = FIRST  # the next number of rows at which ranks are made
            while epoch <= self.rows:
                epoch *= EPOCHS
            part = slice(first, min(len(X), first + epoch - self.rows, first + self._room()))
            self._play(X[part], codes[part], weights[part], out[part])
            first = part.stop
            if self.rows == epoch:
                self._make_ranks()
        return out

    @property
    def nothing_is_due(self) -> bool:
        """Whether there is room for another row, and no ranks are made after it, as they are at some powers of 2."""
        return self._spare > 0 and self.rows & (self.rows + 1) != 0

    def consult_odds(self, X: Matrix) -> Matrix:
        """Return what `consult` does, of two classes, as log-odds: rows × members."""
        return _log_odds(self.consult(X))

    def play_odds(self, X: Matrix, y: Vector, weights: Vector) -> Matrix:
        """Return what `play` does, of two classes, as log-odds: rows × members."""
        return _log_odds(self.play(X, y.astype(np.int64), weights))

    def _room(self) -> int:
        """Return for how many rows the nodes have room, at least one."""
        if self._spare == 0:
            self._spare = self._make_room()
        return self._spare

    def _make_room(self) -> int:
        """Count the rows that fit; make more nodes where none does and there may be more."""
        capacity = self.nodes.shape[1]
        free = (capacity - int(self.used.max())) // 2
        if free == 0 and capacity < self.most:
            self._set_capacity(min(GROWTH * capacity, self.most))
            return self._make_room()
        return free if capacity < self.most else 1 << 62

    def _set_capacity(self, capacity: int) -> None:
        """Let every tree have room for so many nodes, and keep those in use."""
        top = int(self.used.max(initial=0))
        for name in ("nodes", "boxes"):
            known = vars(self)[name]
            vars(self)[name] = np.empty((self.trees, capacity, known.shape[2]))
            vars(self)[name][:, :top] = known[:, :top]

    def _play(self, X: Matrix, codes: Codes, weights: Vector, out: Matrix) -> None:
        if self.ranks is None:
            for t in range(len(X)):
                out[t] = self._before_the_trees(1)[0]
                self.sample[self.rows] = [*X[t], codes[t], weights[t]]
                self.rows += 1
            return
        self._play_ranked(X, self.ranks.of(X), codes, weights, out)

    def _play_ranked(self, X: Matrix, U: Matrix, codes: Codes, weights: Vector, out: Matrix) -> None:
        """Play rows of which U holds the ranks, and for which there is room."""
        play_rows(*self.given_to_play(X, U, codes, weights, out), self.rows)
        self.count_in(len(X))

    def count_in(self, rows: int) -> None:
        """Count rows that the trees have learned."""
        self.rows += rows
        self._spare = max(self._spare - rows, 0)  # a row takes two nodes of a tree at most

    def given_to_play(self, X: Matrix, U: Matrix, codes: Codes, weights: Vector, out: Matrix) -> Playing:
        """Return what `play_rows` takes, but for the number of rows before: U holds the ranks of X."""
        trees = self.nodes, self.boxes, self.used, self.log_rho, self.whole, self.scales, self.kind_of, len(KINDS)
        return *trees, X, U, codes, weights, self.sample, out

    def given_to_consult(self, U: Matrix, out: Matrix) -> Consulting:
        """Return what `consult_rows` takes, but for the number of rows before: U holds the ranks of the rows."""
        return self.nodes, self.used, self.log_rho, self.kind_of, len(KINDS), U, out

    def _before_the_trees(self, rows: int) -> Matrix:
        """Return the shares of the classes so far, for every member."""
        known = self.sample[: self.rows]
        counts = np.bincount(known[:, -2].astype(np.int64), known[:, -1], minlength=self.classes) + 0.5
        return np.broadcast_to(np.log(counts / counts.sum()), (rows, len(MEMBERS), self.classes))

    def _make_ranks(self) -> None:
        """Make the ranks anew from the sample, and the trees too while the sample holds every row: else carry over.

        The first splits of a tree decide most, and are made when least is known of the columns.
        """
        X, codes, weights = self._known()
        before, self.ranks = self.ranks, Ranks(X)
        self._inform(self.ranks.of(X), codes)
        if self.rows > SAMPLE:
            assert before is not None
            self._carry_over(before, self.ranks)
            return
        self._plant(X, codes, weights)

    def _known(self) -> tuple[Matrix, Codes, Vector]:
        """Return copies of the sample's rows, labels and weights."""
        known = self.sample[: min(self.rows, SAMPLE)]
        return known[:, : self.width].copy(), known[:, -2].astype(np.int64), known[:, -1].copy()

    def _plant_sample(self) -> None:
        """Make the trees from the sample alone, which stays as it is."""
        if self.ranks is not None:
            sample, rows = self.sample.copy(), self.rows
            self._plant(*self._known())
            self.sample, self.rows = sample, rows

    def _plant(self, X: Matrix, codes: Codes, weights: Vector) -> None:
        """Make the trees from these rows alone."""
        self.used[:] = 0
        self.rows = 0
        nothing = np.empty((0, len(MEMBERS), self.classes))
        first = 0
        while first < len(X):
            part = slice(first, min(len(X), first + self._room()))
            self._play(X[part], codes[part], weights[part], nothing)
            first = part.stop

    def _inform(self, U: Matrix, codes: Codes) -> None:
        """Let every tree prefer columns that speak of the label, as much as its kind does."""
        assert self.ranks is not None
        said = mutual_information(U, codes, self.classes)
        informed = np.array([KINDS[kind].informed for kind in self.kind_of.tolist()])
        if not said.sum() > 0.0:
            informed[:] = 0.0
            said[:] = 1.0
        self.silent[:] = 1.0 - informed
        self.scales[...] = self.silent[:, None] + informed[:, None] * (said * (self.ranks.varying / said.sum()))

    def _carry_over(self, before: Ranks, after: Ranks) -> None:
        """Rewrite boxes and thresholds in the new ranks."""
        for tree, used in enumerate(self.used.tolist()):
            records, boxes = self.nodes[tree, :used], self.boxes[tree, :used]
            for j in range(self.width):
                boxes[:, 2 * j : 2 * j + 2] = after.carried(before, j, boxes[:, 2 * j : 2 * j + 2])
                here = records[:, FEATURE] == j
                records[here, THRESHOLD] = after.carried(before, j, records[here, THRESHOLD])

    def grown(self, columns: int) -> Self:
        """Return the state with new columns, exactly as if they had been there, and 0, from the first row."""
        wider = type(self)(self.width + columns, self.classes, self.trees, self.whole)
        wider.rows, wider.used[...] = self.rows, self.used
        wider.sample[:, : self.width], wider.sample[:, -2:] = self.sample[:, : self.width], self.sample[:, -2:]
        wider.scales[:, : self.width] = self.scales
        wider.silent[:] = self.silent
        wider.scales[:, self.width :] = self.silent[:, None]
        wider.most = max(wider.most, int(self.used.max()))  # wider rows have fewer nodes; none is taken away
        if self.ranks is None:
            return wider
        wider.ranks = self.ranks.grown(columns)
        capacity = min(self.nodes.shape[1], wider.most)
        wider.nodes = self.nodes[:, :capacity].copy()
        wider.boxes = np.full((self.trees, capacity, 2 * wider.width), 0.5)
        wider.boxes[:, :, : 2 * self.width] = self.boxes[:, :capacity]
        return wider

    def with_class(self) -> Self:
        """Return the state with one further class, which no row has had. O(memory).

        Nodes keep their counts and what they have lost so far. Where so many classes leave no room for the nodes there
        are, the trees are made anew from the sample, with room for twice as many classes.
        """
        K = self.classes
        more = type(self)(self.width, K + 1, self.trees, self.whole)
        more.rows, more.ranks, more.sample[...] = self.rows, self.ranks, self.sample
        more.scales[...], more.silent[...] = self.scales, self.silent
        if self.used.max() > more.most:
            more.most = most_nodes(self.width, 2 * K, self.trees)
            more._set_capacity(min(64, more.most))
            more._plant_sample()
            return more
        more._set_capacity(min(self.nodes.shape[1], more.most))
        more.used[...] = self.used
        top = int(self.used.max(initial=0))
        more.nodes[:, :top] = with_class(self.nodes[:, :top], K)
        more.boxes[:, :top] = self.boxes[:, :top]
        return more

    def snapshot(self) -> Snapshot:
        """Return the counts, the sample, the ranks and the nodes in use."""
        values = {"width": self.width, "classes": self.classes, "trees": self.trees, "rows": self.rows}
        known = self.sample[: min(self.rows, SAMPLE)]
        arrays: dict[str, Array] = {"sample": known.copy(), "used": self.used.copy()}
        for name, numbers in (("records", self.nodes), ("boxes", self.boxes)):
            arrays[name] = np.concatenate([numbers[tree, :used] for tree, used in enumerate(self.used.tolist())])
        parts = {} if self.ranks is None else {"ranks": self.ranks.snapshot()}
        arrays |= {"scales": self.scales.copy(), "silent": self.silent.copy()}
        return Snapshot("ForestState", values | {"most": self.most}, arrays, parts)

    @classmethod
    def restore(cls, snapshot: Snapshot, whole: float = 0.0) -> Self:
        """Make an equal state of trees whose leaves stay whole so long."""
        given = snapshot.of("ForestState")
        width, classes, trees = given.whole("width"), given.whole("classes"), given.whole("trees", 1)
        rows, most = given.whole("rows", 0, MOST_ROWS), given.whole("most", 1)
        used = given.integers("used", (trees,))
        scales, silent = given.array("scales", (trees, width)), given.array("silent", (trees,))
        known = given.array("sample", (min(rows, SAMPLE), width + 2))
        codes = known[:, -2]
        if used.max() > most or (rows >= FIRST and "ranks" not in given.parts):
            raise SnapshotRefused("in a ForestState, the nodes are not as many as its trees say")
        if ((codes < 0) | (codes >= classes) | (codes % 1 != 0)).any():
            raise SnapshotRefused("in a ForestState, a label of the sample is no class")
        forgets = [KINDS[tree % len(KINDS)].forgetting < 1.0 for tree in range(trees)]
        read = read_trees(given, used.tolist(), width, classes, forgets, rows)
        state = cls(width, classes, trees, whole)  # only now: a file may claim sizes that no memory has
        state.rows, state.most = rows, most
        state.sample[: len(known)] = known
        state.scales[...], state.silent[...] = scales, silent
        if "ranks" in given.parts:
            state.ranks = Ranks.restore(given.part("ranks"), width)
        capacity = state.nodes.shape[1]
        while capacity < used.max():
            capacity = min(GROWTH * capacity, most)
        state._set_capacity(capacity)
        state.used[...] = used
        for tree, (records, boxes) in enumerate(read):
            state.nodes[tree, : len(records)], state.boxes[tree, : len(records)] = records, boxes
        return state


def most_nodes(width: int, classes: int, trees: int) -> int:
    """Return how many nodes a tree may have."""
    return int(max(3, min(MOST_NODES, ROOM // (8 * trees * (record_size(classes) + 2 * width)))))


def _log_odds(said: Matrix) -> Matrix:
    """Return the log-odds of the second of two classes."""
    Z = np.empty(said.shape[:2])
    write_odds(np.ascontiguousarray(said), Z)  # before there are trees, one line is broadcast to all
    return Z
