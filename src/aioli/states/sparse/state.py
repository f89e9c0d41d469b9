"""The state of a wide learner: all that it remembers, and how it is played, grown, saved and certified."""

import math
from typing import Self

import numpy as np

from aioli.numerics.compiling import Matrix, Vector
from aioli.states.certificate import Certificate
from aioli.states.mixture.mixture import Mixture, unpack
from aioli.states.sparse.diagonal import FORGETTING, RIDGE, fresh_totals
from aioli.states.sparse.loops import GRADIENT, WideTally, play_rows, predict_rows, record_size
from aioli.states.sparse.views import FREQUENCY
from aioli.streams.sparse_rows import Indices, SparseChunk

__all__ = ["WideState"]


class WideState:
    """The records (what is known of each column), the experts' totals, the mixture's buffer and the tally.

    O(K) numbers a column, K experts. Columns that have not been met are zeros.
    """

    def __init__(self, kinds: Indices, ridge: Vector, forgetting: Vector) -> None:
        self.kinds = kinds  # which view each expert sees
        self.totals: Matrix = fresh_totals(ridge, forgetting)
        self.mixture_buffer: Vector = Mixture(np.ones(kinds.size + 1)).buffer  # naive Bayes comes last
        self.tally: Vector = np.zeros(len(WideTally))
        self.records: Matrix = np.zeros((0, record_size(kinds.size)))  # may have more rows than there are columns
        self.width: int | None = None  # until the first row

    @property
    def weights(self) -> Vector:
        """How much of the mixture each expert holds."""
        return unpack(self.mixture_buffer, self.kinds.size + 1)[1]

    @property
    def bytes(self) -> int:
        """The size of all of it."""
        return self.records.nbytes + self.totals.nbytes + self.mixture_buffer.nbytes + self.tally.nbytes

    def make_room(self, width: int) -> None:
        """Have this many columns. Room is doubled, so that growing column by column costs O(K) a column."""
        if width > len(self.records):
            room = width if self.width is None else max(width, 2 * len(self.records))
            records = np.zeros((room, self.records.shape[1]))  # zeros that are not written take no memory
            records[: len(self.records)] = self.records
            self.records = records
        self.width = width

    def predict(self, rows: SparseChunk) -> Vector:
        """The log-odds of rows, each as if it came next. O(K nnz + K²) a row."""
        out = np.empty(rows.norms.size)
        state = self.records, self.totals, self.kinds, self.mixture_buffer, self.tally
        predict_rows(*state, rows.indptr, rows.indices, rows.data, out)
        return out

    def play(self, rows: SparseChunk, labels: Vector, stakes: Vector, logits: Vector) -> None:
        """Announce and learn, row after row; `logits` receives what was announced, where it is not late."""
        state = self.records, self.totals, self.kinds, self.mixture_buffer, self.tally
        play_rows(*state, rows.indptr, rows.indices, rows.data, rows.norms, labels, stakes, logits)

    def certificate(self, radius: float) -> Certificate:
        r"""$\sum g_t z_t + B\|\sum g_t\bar x_t\|$ (`wide_kernels`), and what rounding may have taken from it. O(d)."""
        tally = self.tally
        gradient = math.hypot(float(np.linalg.norm(self.records[:, GRADIENT])), float(tally[WideTally.GRADIENT]))
        sizes = float(tally[WideTally.LINEAR_SIZE]) + 2.0 * radius * float(tally[WideTally.GRADIENT_SIZE])
        rounds = int(tally[WideTally.ROUNDS])
        rounding = np.finfo(np.float64).eps * (rounds + 8.0) * sizes
        nats = float(tally[WideTally.LINEAR]) + radius * gradient + rounding
        return Certificate(nats, radius, rounds, math.inf, against="rows of unit length")

    def arrays(self) -> dict[str, Vector]:
        """All of it, without the columns that have not been met."""
        met = np.flatnonzero(self.records[:, FREQUENCY])
        own = {"totals": self.totals, "mixture_buffer": self.mixture_buffer, "tally": self.tally}
        return {"columns": met.astype(np.float64), "records": self.records[met], **own}

    def holding(self, width: int | None, arrays: dict[str, Vector]) -> Self:
        """The same state with contents that `arrays` gave; ValueError where they are not such contents."""
        met = arrays["columns"].astype(np.int64)
        expected = {name: array.shape for name, array in self.arrays().items()}
        expected |= {"columns": (met.size,), "records": (met.size, self.records.shape[1])}
        shapes = {name: array.shape for name, array in arrays.items()}
        if shapes != expected:
            raise ValueError(f"its arrays have shapes {shapes}")
        within = width is not None and (met.size == 0 or (met[0] >= 0 and met[-1] < width))
        if (met != arrays["columns"]).any() or (np.diff(met) <= 0).any() or not (within or met.size == 0):
            raise ValueError(f"its columns are no increasing whole numbers below {width}")
        if width is not None:
            self.make_room(width)
        self.records[met] = arrays["records"]
        for name, array in (("totals", self.totals), ("mixture_buffer", self.mixture_buffer), ("tally", self.tally)):
            array[...] = arrays[name]
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return _revive, (self.kinds, self.totals, self.width, self.arrays())


def _revive(kinds: Indices, totals: Matrix, width: int | None, arrays: dict[str, Vector]) -> WideState:
    """Lay a pickled state out anew."""
    return WideState(kinds, totals[:, RIDGE], totals[:, FORGETTING]).holding(width, arrays)
