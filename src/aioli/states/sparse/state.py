"""The state of a wide learner: what it remembers, and how rows, columns, snapshots and certificates go with it."""

import math
from typing import Self

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.tree import Array, Snapshot
from aioli.states.certificate import Certificate
from aioli.states.mixture.late import LateMixture
from aioli.states.mixture.late_loops import MEMORY
from aioli.states.mixture.mixture import Mixture
from aioli.states.sparse.diagonal import FORGETTING, RIDGE, TOTALS, fresh_totals
from aioli.states.sparse.loops import (
    GRADIENT,
    Known,
    LateLayer,
    WideTally,
    announce_rows_wide,
    play_rows,
    play_rows_late,
    predict_rows,
    record_size,
)
from aioli.states.sparse.views import FREQUENCY, VIEWS
from aioli.streams.sparse_rows import Indices, SparseChunk

__all__ = ["WideState"]


class WideState:
    """Hold the records (what is known of each column), the experts' totals, the mixture and the running totals.

    O(K) numbers a column, K experts. Columns that have not been met are zeros.
    """

    def __init__(self, kinds: Indices, ridge: Vector, forgetting: Vector) -> None:
        self.kinds = kinds  # which view each expert sees
        self.totals: Matrix = fresh_totals(ridge, forgetting)
        self.mixture = Mixture(np.ones(kinds.size + 1))  # naive Bayes comes last
        self.late: LateMixture | None = None  # from the first announcement on
        self.tally: Vector = np.zeros(len(WideTally))
        self.records: Matrix = np.zeros((0, record_size(kinds.size)))  # may have more rows than there are columns
        self.width: int | None = None  # until the first row

    @property
    def shares(self) -> Vector:
        """How much of the mixture each expert holds."""
        return self.late.shares if self.late is not None and self.late.awake else self.mixture.shares

    @property
    def bytes(self) -> int:
        """The size of all that it keeps."""
        return self.records.nbytes + self.totals.nbytes + self.mixture.buffer.nbytes + self.tally.nbytes

    def has_experts_of(self, other: "WideState") -> bool:
        """Return whether both have experts of the same views, λ and ρ, in the same order."""
        constants = [RIDGE, FORGETTING]
        return np.array_equal(self.kinds, other.kinds) and np.array_equal(
            self.totals[:, constants], other.totals[:, constants]
        )

    def make_room(self, width: int) -> None:
        """Make room for this many columns in all. Room is doubled: growing column by column costs O(K) a column."""
        if width > len(self.records):
            room = width if self.width is None else max(width, 2 * len(self.records))
            records = np.zeros((room, self.records.shape[1]))  # zeros that are not written take no memory
            records[: len(self.records)] = self.records
            self.records = records
        self.width = width

    def predict(self, rows: SparseChunk) -> Vector:
        """Return the log-odds of rows, each as if it came next. O(K nnz + K²) a row."""
        if self.late is not None:
            return self.announce(rows)[0]
        out = np.empty(rows.norms.size)
        predict_rows(self._known, rows.entries, out)
        return out

    def announce(self, rows: SparseChunk) -> tuple[Vector, Matrix]:
        """Return each row's log-odds, as if it came next, and its announcement's memory. O(K nnz + K²) a row."""
        layer = self._hear_announcements()
        count, K = rows.norms.size, self.kinds.size + 1
        if self.width is None:
            return layer.announce(self.mixture, np.zeros((count, K)))
        logits, kept = np.empty(count), np.empty((count, K + MEMORY))
        announce_rows_wide(self._known, _arrays(layer), rows.entries, kept, logits)
        return logits, kept

    def play(
        self,
        rows: SparseChunk,
        labels: Vector,
        weights: Vector,
        logits: Vector,
        kept: Matrix | None = None,
        late: Vector | None = None,
    ) -> None:
        """Announce and learn, row after row; `logits` receives what was announced, where it is not late.

        Where rows were announced earlier, `kept` is their announcements' memory, and `late` each label's delay in rows.
        """
        if self.late is None and kept is None:
            play_rows(self._known, rows.entries, rows.norms, labels, weights, logits)
            return
        if kept is None or late is None:
            kept, late = np.full((labels.size, self.kinds.size + 1 + MEMORY), math.nan), np.zeros(labels.size)
        layer = _arrays(self._hear_announcements())
        play_rows_late(self._known, layer, rows.entries, rows.norms, labels, weights, logits, kept, late)

    @property
    def _known(self) -> Known:
        return self.records, self.totals, self.kinds, self.mixture.buffer, self.tally

    def _hear_announcements(self) -> LateMixture:
        """Return what learns from announcements, which comes to life with the first of them."""
        if self.late is None:
            self.late = LateMixture(self.mixture.prior, self.mixture.shares)
        return self.late

    def certificate(self, radius: float) -> Certificate:
        r"""Return $\sum g_t z_t + B\|\sum g_t\bar x_t\|$ (`loops`), and what rounding may have taken from it. O(d)."""
        tally = self.tally
        gradient = math.hypot(float(np.linalg.norm(self.records[:, GRADIENT])), float(tally[WideTally.GRADIENT]))
        sizes = float(tally[WideTally.LINEAR_SIZE]) + 2.0 * radius * float(tally[WideTally.GRADIENT_SIZE])
        rounds = int(tally[WideTally.ROUNDS])
        rounding = np.finfo(np.float64).eps * (rounds + 8.0) * sizes
        nats = float(tally[WideTally.LINEAR]) + radius * gradient + rounding
        return Certificate(nats, radius, rounds, math.inf, against="rows of unit length")

    def snapshot(self) -> Snapshot:
        """Return all that it keeps, without the columns that have not been met."""
        met = np.flatnonzero(self.records[:, FREQUENCY])
        arrays: dict[str, Array] = {
            "kinds": self.kinds.copy(),
            "totals": self.totals.copy(),
            "tally": self.tally.copy(),
            "columns": met,
            "records": self.records[met],
        }
        parts = {"mixture": self.mixture.snapshot()}
        if self.late is not None:
            parts["late"] = self.late.snapshot()
        return Snapshot("WideState", {"width": self.width}, arrays, parts)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal state."""
        given = snapshot.of("WideState")
        kinds, width = given.integers("kinds", (None,)), given.optional_whole("width")
        if not ((kinds >= 0) & (kinds < len(VIEWS))).all():
            raise SnapshotRefused(
                f"in a WideState, the experts read the views {kinds.tolist()}; there are {len(VIEWS)}"
            )
        totals = given.array("totals", (kinds.size, TOTALS))
        met = given.integers("columns", (None,))
        if met.size and not (width is not None and met[0] >= 0 and met[-1] < width and (np.diff(met) > 0).all()):
            raise SnapshotRefused(f"in a WideState, the columns are no increasing whole numbers below {width}")
        state = cls(kinds, totals[:, RIDGE], totals[:, FORGETTING])
        records, tally = (
            given.array("records", (met.size, state.records.shape[1])),
            given.totals("tally", state.tally.shape, [WideTally.GRADIENT, WideTally.LINEAR]),
        )
        mixture = Mixture.restore(given.part("mixture"))
        if mixture.prior.size != kinds.size + 1:
            raise SnapshotRefused(
                f"in a WideState, {kinds.size} experts and naive Bayes have {mixture.prior.size} shares"
            )
        if "late" in given.parts:
            state.late = LateMixture.restore(given.part("late"))
            if state.late.shares.size != kinds.size + 1:
                raise SnapshotRefused(f"in a WideState, late labels have {state.late.shares.size} shares")
        if width is not None:
            state.make_room(width)
        state.records[met], state.totals[...], state.tally[...], state.mixture = records, totals, tally, mixture
        return state

    def __reduce__(self) -> tuple[object, ...]:
        return type(self).restore, (self.snapshot(),)


def _arrays(layer: LateMixture) -> LateLayer:
    return layer.numbers, layer.experts, layer.stacker
