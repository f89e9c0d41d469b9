"""The sums behind the scores of K classes: they grow with the classes, merge by label, and move as a snapshot."""

from collections.abc import Sequence
from typing import Self

import numpy as np

from aioli.errors import LabelRefused, ParameterRefused, RowRefused, SnapshotRefused
from aioli.evaluate import class_sums as sums
from aioli.evaluate.class_sums import Whole
from aioli.evaluate.sums import Scores
from aioli.numerics.compiling import Cube, Matrix, Vector
from aioli.outcomes.class_labels import Label
from aioli.snapshots.tree import Plain, Snapshot

__all__ = ["ClassTally"]

PER_CLASS = {"counts": (0,), "confusion": (0, 1), "bins": (0,), "periods": (2,)}  # the axes that classes have
SLACK = 1e-9  # by which rounding may take a row's probabilities beyond 1


class ClassTally:
    """Counts rows of announced probabilities and labels, for classes that may come at any time."""

    def __init__(self, classes: Sequence[Label] = (), declared: bool = False) -> None:
        self.declared = declared
        self.classes: list[Label] = []
        self._period = 1  # rows of a part of the stream
        self._totals: Vector = np.zeros(sums.TOTALS)
        self._confidence: Matrix = np.zeros((3, sums.COARSE))
        self._arrays = _arrays_for(0)
        self._know(classes)

    def update(self, P: object, labels: Sequence[Label], classes: Sequence[Label] | None = None) -> None:
        """Take in the probabilities announced for some rows, a column a class, and their labels; all rows or none.

        `classes` are the labels of the columns, such as a learner's `classes_`; without them, those of the call before.
        """
        columns = list(self.classes if classes is None else classes)
        announced = np.ascontiguousarray(np.atleast_2d(np.asarray(P, dtype=np.float64)))
        if announced.ndim != 2 or announced.shape != (len(labels), len(columns)):
            raise RowRefused(
                f"probabilities of shape {announced.shape} came for {len(labels)} labels and {len(columns)} classes",
                remedy="give a row a label, and a column a class",
            )
        wrong = ~((announced >= 0.0) & (announced <= 1.0 + SLACK)).all(axis=1) | (announced.sum(axis=1) > 1.0 + SLACK)
        if wrong.any():
            t = int(np.argmax(wrong))
            raise RowRefused(
                f"the probabilities are {announced[t].tolist()}",
                row=t,
                remedy="give some from 0 to 1, in sum at most 1",
            )
        place = {label: k for k, label in enumerate(columns)}
        codes = [place.get(label, -1) for label in labels]
        if -1 in codes:
            t = codes.index(-1)
            raise LabelRefused(
                f"the label is {labels[t]!r}, which is no column of the probabilities",
                row=t,
                value=labels[t],
                remedy=f"give a column for each of the classes; they are {columns}",
            )
        self.count(announced, np.array(codes, dtype=np.float64), classes=columns)

    def count(self, P: Matrix, y: Vector, base: Vector | None = None, classes: Sequence[Label] | None = None) -> None:
        """Take in what a learner announced and the numbers of the classes that came, all of it trusted.

        `base` is what the base rate gave to the label, where labels are late; None where it is to be counted here.
        """
        P, codes = np.ascontiguousarray(P), y.astype(np.int64)
        if classes and list(classes) != self.classes:
            P, codes = self._in_own_order(P, codes, classes)
        P = _padded(P, len(self.classes))
        counted = self._totals[sums.BASE]
        begun = 0
        while begun < len(codes):
            rows = self.rows
            if rows == sums.PERIODS * self._period:
                self._fold()
            room = min(len(codes), begun + sums.PERIODS * self._period - rows)
            self._add(P[begun:room], codes[begun:room])
            begun = room
        if base is not None:
            self._totals[sums.BASE] = counted - float(np.log(base).sum())

    def _add(self, P: Matrix, codes: Whole) -> None:
        arrays = self._arrays
        sums.add_class_rows(
            P,
            codes,
            self.declared,
            self._period,
            self._totals,
            arrays["counts"],
            arrays["confusion"],
            arrays["bins"],
            self._confidence,
            arrays["periods"],
        )

    def _in_own_order(self, P: Matrix, codes: Whole, classes: Sequence[Label]) -> tuple[Matrix, Whole]:
        """Return probabilities and codes in the order of `self.classes`, to which new ones are added."""
        self._know([label for label in classes if label not in self.classes])
        places = np.array([self.classes.index(label) for label in classes], dtype=np.int64)
        ordered = np.zeros((len(P), len(self.classes)))
        ordered[:, places] = P
        return ordered, places[codes]

    def _know(self, new: Sequence[Label]) -> None:
        """Make room for classes; of one that comes later, all rows so far were rows without it."""
        known = len(self.classes)
        self.classes += list(new)
        room = len(self._arrays["counts"])
        if len(self.classes) > room:
            self._arrays = _widened(self._arrays, max(len(self.classes), 2 * room if known else 0))
        self._arrays["bins"][known : len(self.classes), sums.MISSES, 0] = self._totals[sums.ROWS]

    @property
    def rows(self) -> int:
        """How many rows have come."""
        return int(self._totals[sums.ROWS])

    def _parts(self) -> int:
        """Return how many parts of the stream have rows."""
        return -(-self.rows // self._period)

    def _fold(self) -> None:
        """Join neighbouring parts of the stream in pairs."""
        periods = self._arrays["periods"]
        half = sums.PERIODS // 2
        periods[:half] = periods[0::2] + periods[1::2]
        periods[half:] = 0.0
        self._period *= 2

    @classmethod
    def of_two_classes(cls, scores: Scores, classes: Sequence[Label]) -> Self:
        """Make the sums of a game of two classes, the negative first, that goes on with more.

        What two classes do not count, the parts of the stream, begins now.
        """
        made = cls(classes)
        zeros, ones, said = sums.coarsened(scores.bins)
        rows, half = zeros + ones, sums.COARSE // 2
        made._totals[sums.ROWS] = scores.rows
        made._totals[sums.NATS] = scores.nats
        made._totals[sums.SQUARES] = 2.0 * scores.brier * scores.rows if scores.rows else 0.0
        made._totals[sums.CLIPPED] = scores.clipped
        made._totals[sums.TOP] = scores.rows
        made._totals[sums.BASE] = scores.base_rate * scores.rows if scores.rows else 0.0
        arrays = made._arrays
        arrays["counts"][:2] = zeros.sum(), ones.sum()
        for label, came in enumerate((zeros, ones)):
            tied = 0.5 * came[half]
            arrays["confusion"][label, :2] = came[:half].sum() + tied, came[half + 1 :].sum() + tied
        arrays["bins"][0] = ones[::-1], zeros[::-1], (rows - said)[::-1]
        arrays["bins"][1] = zeros, ones, said
        made._confidence[:, half:] = arrays["bins"][1][:, half:] + arrays["bins"][0][:, half:]
        made._confidence[:, half] = 0.5 * rows[half]
        while made.rows > sums.PERIODS * made._period:
            made._fold()
        return made

    def merge(self, other: "ClassTally") -> Self:
        """Take in what another has counted of other rows; its classes are found by their labels.

        The parts of the stream are those of both, one after the other. The base rate's loss is that of both streams,
        each with its own shares.
        """
        if not isinstance(other, ClassTally) or other.declared != self.declared:
            raise ParameterRefused(
                "other scores cannot merge into these; give ClassScores with the same `declared`",
                parameter="other",
                value=other,
            )
        other = type(other).restore(other.snapshot())  # which is changed below
        other._in_own_order(np.empty((0, len(self.classes))), np.empty(0, np.int64), self.classes)
        self._in_own_order(np.empty((0, len(other.classes))), np.empty(0, np.int64), other.classes)
        places = np.array([other.classes.index(label) for label in self.classes], dtype=np.int64)
        size = len(places)
        while other._period > self._period or self._parts() + -(-other.rows // self._period) > sums.PERIODS:
            self._fold()
        while other._period < self._period:
            other._fold()
        mine, yours, end = self._arrays, other._arrays, self._parts()
        mine["periods"][end:, :, :size] += yours["periods"][: sums.PERIODS - end, :, places]
        mine["counts"][:size] += yours["counts"][places]
        mine["confusion"][:size, :size] += yours["confusion"][np.ix_(places, places)]
        mine["bins"][:size] += yours["bins"][places]
        self._confidence += other._confidence
        self._totals += other._totals
        return self

    def snapshot(self) -> Snapshot:
        """Return the classes and the sums."""
        size = len(self.classes)
        arrays = {name: _trimmed(array, PER_CLASS[name], size) for name, array in self._arrays.items()}
        values: dict[str, Plain] = {"classes": list(self.classes), "declared": self.declared, "period": self._period}
        arrays |= {"totals": self._totals.copy(), "confidence": self._confidence.copy()}
        return Snapshot(type(self).__name__, values, arrays)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make equal scores, which go on from what was counted."""
        scores = cls(_labels_in(snapshot.of(cls.__name__)), snapshot.flag("declared"))
        scores._period = snapshot.whole("period", least=1)
        for name, array in scores._arrays.items():
            array[...] = snapshot.array(name, array.shape)
        scores._totals[...] = snapshot.array("totals", scores._totals.shape)
        scores._confidence[...] = snapshot.array("confidence", scores._confidence.shape)
        return scores


def _labels_in(snapshot: Snapshot) -> list[Label]:
    labels = snapshot.values.get("classes")
    if isinstance(labels, str) or not isinstance(labels, Sequence):
        raise SnapshotRefused(f"in a {snapshot.kind}, 'classes' is {labels!r}, not a list")
    known = [label for label in labels if isinstance(label, (bool, int, float, str))]
    if len(known) < len(labels):
        raise SnapshotRefused(f"in a {snapshot.kind}, 'classes' holds what is no label: {labels!r}")
    return known


def _arrays_for(room: int) -> dict[str, Cube]:
    return {
        "counts": np.zeros(room),
        "confusion": np.zeros((room, room)),
        "bins": np.zeros((room, 3, sums.COARSE)),
        "periods": np.zeros((sums.PERIODS, 3, room)),
    }


def _widened(arrays: dict[str, Cube], room: int) -> dict[str, Cube]:
    wide = _arrays_for(room)
    for name, array in arrays.items():
        wide[name][tuple(slice(size) for size in array.shape)] = array
    return wide


def _trimmed(array: Cube, axes: tuple[int, ...], size: int) -> Cube:
    return array[tuple(slice(size) if axis in axes else slice(None) for axis in range(array.ndim))].copy()


def _padded(P: Matrix, classes: int) -> Matrix:
    """Return the rows with a column for every class."""
    return P if P.shape[1] == classes else np.pad(P, ((0, 0), (0, classes - P.shape[1])))
