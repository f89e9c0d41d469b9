r"""The bandwidth of a kernel without labels and without tuning: the median distance, and a mixture around it.

Each column is divided by its standard deviation, and all of them by the median distance between rows, so that 1 is a
typical distance. Around it, bandwidths of ¼, ½, 1 and 2 play side by side and `states.mixture.mixture` follows the
best: over the rows that were played on one map, for every bandwidth i that has not retired, however wrong the median
may be,

$$\sum_t \ell_t \le \sum_t \ell_{t,i} + \ln 4 + \ln\tfrac1{0.4} + 1.11\ln\tfrac{n+9}{9}.$$

Scales come from a sample of evenly spaced rows. While it holds all rows that came (the first 512), the map may be made
anew at 4, 8, 16, … rows, and the rows are learned again on it. From then on it is fixed: only where typical distances
have moved by half again does a new epoch begin, at 1024, 2048, … rows, with a fresh learner, so that there are at most
log₂ n of them. A certificate is a sum over epochs.

Where labels come late, each bandwidth learns them when they come, and the mixture learns from what each bandwidth
announced (`states.mixture.late`). That layer begins anew with the maps, and what an older map announced counts for its
bandwidth.
"""

import math
import threading
from collections.abc import Callable, Sequence
from typing import Protocol, Self

import numpy as np

from aioli.errors import AnnouncementRefused, ParameterRefused, SnapshotRefused
from aioli.learners.announcements import Delayed
from aioli.learners.kernel.base_learner import Forecaster
from aioli.learners.kernel.few_rows import FEW, FewRows
from aioli.learners.kernel.prepared_row import LOSS, PAST_LOSS, PAST_REGRET, ROUNDS, PreparedRow
from aioli.learners.kernel.scales import METRICS, Sample, Scaling
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import finite_logit_many, log_loss_many, sigmoid_many
from aioli.snapshots.tree import Snapshot
from aioli.states.certificate import Certificate
from aioli.states.mixture.combination import Combination
from aioli.states.mixture.late import LateMixture
from aioli.states.mixture.mixture import Mixture

__all__ = ["BandwidthMixture", "FeatureMaps", "require_bandwidth"]

# of states that move once, though several threads may predict; one of a learner is not copied
MOVING = threading.Lock()

RATIOS = (0.25, 0.5, 1.0, 2.0)  # bandwidths beside the median distance
SETTLED = 64  # rows up to which every new map is better than the last
UNPROVEN = 1e300  # stands for infinity, which no file keeps
RETIRING = 1024  # rows from which a bandwidth that nobody heeds may retire


class FeatureMaps(Protocol):
    """Makes the feature maps of one learner."""

    def fresh(self, width: int, bandwidth: float, number: int) -> Forecaster:
        """Return a map of rows of this width that has learned nothing; `number` tells several of them apart."""
        ...

    def restore(self, snapshot: Snapshot) -> Forecaster:
        """Make the map of a snapshot."""
        ...

    def few_rows(self, scaling: Scaling, maps: Sequence[Forecaster]) -> FewRows | None:
        """Return what plays few rows through all of these maps at once; None where nothing does."""
        ...


def require_bandwidth(bandwidth: object) -> float | None:
    """Return the bandwidth as a number, or None for "auto"; anything else is refused."""
    if isinstance(bandwidth, str) and bandwidth == "auto":
        return None
    if isinstance(bandwidth, (int, float, np.number)) and 1e-100 <= float(bandwidth) <= 1e100:
        return float(bandwidth)
    raise ParameterRefused.unlike("bandwidth", bandwidth, 'a finite number above 0, or "auto"')


class BandwidthMixture(Forecaster):
    """Feature maps of several bandwidths on scaled rows, and the mixture of what they announce."""

    def __init__(self, width: int, kernel: str, source: FeatureMaps) -> None:
        self.kernel, self.source = kernel, source
        self.sample = Sample(width)
        self.tally: Vector = np.zeros(4)
        self.unheard: Vector = np.zeros(len(RATIOS))
        self.scaling: Scaling | None = None
        self.maps: list[Forecaster] = []
        self.combination = Combination(np.ones(len(RATIOS)))
        self._few: FewRows | None = None  # of these maps and this scaling, once there are few rows
        self._row: PreparedRow | None = None  # of these maps, once rows come one by one

    @property
    def width(self) -> int:
        """Return how many columns a row has."""
        return self.sample.width

    @property
    def rounds(self) -> int:
        """Return how many rows it has learned from."""
        return int(self.tally[ROUNDS])

    @property
    def loss(self) -> float:
        """Return the sum of its losses so far, in nats."""
        return float(self.tally[LOSS])

    @property
    def shares(self) -> Vector:
        """Return how much of the mixture each bandwidth holds now."""
        return self.combination.shares

    def logits(self, X: Matrix) -> Vector:
        """Return each row's log-odds, as if it came next; 0 before there is a map."""
        return np.zeros(len(X)) if self.scaling is None else self.combination.logits(self._asked(X))

    def logit_of_row(self, X: Matrix) -> float | None:
        """Return the log-odds of the only row of X, by one compiled call for all maps, or None: `logits` must."""
        few = self._few_rows(X)
        return None if few is None else self.combination.logits(few.consult(self.combination.mixture.prior, X)).item()

    def announce(self, X: Matrix) -> tuple[Vector, Matrix]:
        """Return each row's log-odds, as if it came next, and the memory of its announcement: each bandwidth's too."""
        return self.combination.announce(self._asked(X))

    def forget_announcing(self) -> None:
        """Drop what came to life with the first announcement, which was taken back."""
        self.combination.forget_announcing()

    def plays_at_once(self, X: Matrix) -> bool:
        """Return whether these rows are so few that one compiled call plays them through all maps."""
        return self._few_rows(X) is not None

    def play(self, X: Matrix, y: Vector, weights: Vector | None, delayed: Delayed | None) -> Vector:
        """Learn from the rows in order; return each row's probability before its label."""
        if delayed is not None and delayed.memory.shape[1] not in (0, self.combination.memory_width):
            raise AnnouncementRefused("the announcements are of another kind of learner (nothing was learned)")
        stakes = np.ones(len(X)) if weights is None else weights
        said = np.empty(len(X))
        first = 0
        while first < len(X):
            due = self.sample.until_due
            part = slice(first, first + due)
            said[part] = self._play(X[part], y[part], stakes[part], None if delayed is None else delayed.of(part))
            self.sample.keep(X[part], y[part], stakes[part])
            if len(X) - first >= due:
                self._review()
            first += due
        return sigmoid_many(said)

    def play_row(self, X: Matrix, y: Vector, weights: Vector) -> float | None:
        """Learn from the only row of X; return its log-odds before its label, as `play` does, or None: `play` must.

        All calls are made ready once for the arrays given: rows that come one by one are to come in the same arrays.
        """
        if self.combination.late is not None:
            return None
        if self._row is None or self._row.X is not X:
            few = self._few_rows(X)
            if few is None:
                return None
            self._row = PreparedRow(few, self.combination, self.tally, X, y, weights)
        said = self._row.play()
        if self.sample.keep_row(X, y, weights):
            self._review()
        return said

    def grow(self, columns: int, grown: Callable[[Forecaster, int, int], Forecaster]) -> None:
        """Make room for new columns that have been 0 so far; `grown` makes that of a map, given its number."""
        self.sample.grow(columns)
        if self.scaling is not None:
            self.scaling = self.scaling.grown(columns)
            self.maps = [grown(feature_map, columns, i) for i, feature_map in enumerate(self.maps)]
            self._few = self._row = None

    def certificate(self, tight: bool) -> Certificate:
        """Return the certificate of the bandwidth of most share plus the mixture's excess loss, summed over epochs.

        Nothing is assumed of the mixture, so weights, late labels and the first rows, which had no map, are covered.
        """
        heard = self._heard()
        if not heard:
            return Certificate(math.inf, math.inf, self.rounds, math.inf)
        i = max(heard, key=lambda i: float(self.shares[i]))
        own = self.maps[i].certificate(tight)
        excess = self.loss - float(self.tally[PAST_LOSS]) - self.maps[i].loss
        nats = float(self.tally[PAST_REGRET]) + own + excess
        return Certificate(nats, own.radius, self.rounds, math.inf, f"bandwidth {RATIOS[i]:g} × the median distance")

    def snapshot(self) -> Snapshot:
        """Return the sample of rows and the sums, and once there is a scaling, the mixture and every feature map."""
        parts = {"sample": self.sample.snapshot()}
        if self.scaling is not None:
            parts |= {"scaling": self.scaling.snapshot(), "mixture": self.combination.mixture.snapshot()}
            parts |= {f"map {i}": feature_map.snapshot() for i, feature_map in enumerate(self.maps)}
        if self.combination.late is not None:
            parts["late"] = self.combination.late.snapshot()
        arrays = {"tally": self.tally.copy(), "unheard": self.unheard.copy()}
        return Snapshot("BandwidthMixture", {"kernel": self.kernel}, arrays, parts)

    @classmethod
    def restore(cls, snapshot: Snapshot, source: FeatureMaps) -> Self:
        """Make an equal mixture from a snapshot; later epochs take their maps from the source."""
        sample = Sample.restore(snapshot.of("BandwidthMixture").part("sample"))
        whole = cls(sample.width, snapshot.text("kernel"), source)
        if whole.kernel not in METRICS:
            raise SnapshotRefused(f"in a BandwidthMixture, 'kernel' is {whole.kernel!r}")
        whole.sample = sample
        whole.tally[...] = snapshot.totals("tally", whole.tally.shape, [PAST_REGRET])
        whole.unheard[...] = snapshot.array("unheard", whole.unheard.shape)
        if "scaling" in snapshot.parts:
            whole.scaling = Scaling.restore(snapshot.part("scaling"))
            whole.combination.mixture = Mixture.restore(snapshot.part("mixture"))
            whole.maps = [source.restore(snapshot.part(f"map {i}")) for i in range(len(RATIOS))]
            widths = {whole.scaling.unit.size, *(feature_map.width for feature_map in whole.maps)}
            if widths != {whole.width} or whole.combination.members != len(RATIOS):
                raise SnapshotRefused(f"in a BandwidthMixture, parts of {sorted(widths)} columns came together")
        if "late" in snapshot.parts:
            whole.combination.late = late = LateMixture.restore(snapshot.part("late"))
            if late.shares.size != len(RATIOS):
                raise SnapshotRefused(f"in a BandwidthMixture, late labels have {late.shares.size} shares")
        return whole

    # ---- within

    def _heard(self) -> list[int]:
        return [i for i in range(len(self.maps)) if self.combination.mixture.prior[i] > 0.0]

    def _few_rows(self, X: Matrix) -> FewRows | None:
        """Return what plays these rows through all maps at once; None where they are many, or nothing does."""
        if len(X) >= FEW or self.scaling is None:
            return None
        if self._few is None:
            with MOVING:
                if self._few is None:
                    self._few = self.source.few_rows(self.scaling, self.maps)
        return self._few

    def _asked(self, X: Matrix) -> Matrix:
        """Return each bandwidth's log-odds of each row, as if it came next; 0 before there is a map."""
        few = self._few_rows(X)
        if few is not None:
            return few.consult(self.combination.mixture.prior, X)
        Z = np.zeros((len(X), len(RATIOS)))
        if self.scaling is not None:
            U = self.scaling(X)
            for i in self._heard():
                Z[:, i] = self.maps[i].logits(U)
        return Z

    def _announced(self, X: Matrix, y: Vector, stakes: Vector, delayed: Delayed | None = None) -> Vector:
        """Let each map play the rows by itself; return the log-odds of the mixture of what they announced.

        A map plays late rows as if they came now: the difference to what it announced is in the mixture's excess loss.
        """
        few = self._few_rows(X)
        Z = self._played(X, y, stakes) if few is None else few.play(self.combination.mixture.prior, X, y, stakes)
        if delayed is None or delayed.memory.shape[1] == 0:
            return self.combination.answer(Z, y, stakes)
        return self.combination.answer(Z, y, stakes, delayed.memory, delayed.late)

    def _played(self, X: Matrix, y: Vector, stakes: Vector) -> Matrix:
        """Let each map play the rows, by matrix products; return the log-odds of each map before each label."""
        assert self.scaling is not None
        U, Z = self.scaling(X), np.zeros((len(X), len(RATIOS)))
        plain = None if (stakes == 1.0).all() else stakes
        for i in self._heard():
            Z[:, i] = finite_logit_many(self.maps[i].play(U, y, plain, None))
        return Z

    def _play(self, X: Matrix, y: Vector, stakes: Vector, delayed: Delayed | None) -> Vector:
        said = np.zeros(len(X)) if self.scaling is None else self._announced(X, y, stakes, delayed)
        if delayed is not None:
            said = np.where(np.isnan(delayed.logits), said, delayed.logits)
        self.tally[ROUNDS] += len(X)
        self.tally[LOSS] += stakes @ log_loss_many(said, y)
        return said

    def _review(self) -> None:
        """Start new maps early on, or where the scale has moved; else retire bandwidths without influence."""
        self._row = None
        rows, y, stakes = self.sample.kept
        now = Scaling.of(rows, self.kernel)
        old = self.scaling
        if old is None or self.rounds <= SETTLED or old.has_moved(now, rows, self.kernel):
            whole = self.sample.whole
            if not whole:  # an epoch ends: what it proved stays proven
                self.tally[PAST_REGRET] = min(self.certificate(tight=False), UNPROVEN)
                self.tally[PAST_LOSS] = self.tally[LOSS]
            self._begin(now)
            if whole:
                self._announced(rows, y, stakes)
        elif self.rounds >= RETIRING:
            unheard = self.combination.negligible()
            for i in np.flatnonzero(unheard * self.unheard):
                self.combination.retire(int(i))
            self.unheard[:] = unheard
        self.sample.thin()

    def _begin(self, scaling: Scaling) -> None:
        self.scaling = scaling
        self.maps = [self.source.fresh(self.width, ratio, i) for i, ratio in enumerate(RATIOS)]
        self.combination = self.combination.begun_anew()
        self._few = None
        self.unheard[:] = 0.0
