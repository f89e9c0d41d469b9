"""A learner over features of its rows: columns through the border, a map, and any learner of the package on it."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Self

import numpy as np

from aioli.errors import AioliError, CapabilityMissing, ParameterRefused
from aioli.learners.aioli import AIOLI
from aioli.learners.announcements import Delayed
from aioli.learners.base import RowsLearner
from aioli.learners.classes.one_vs_rest import TakesClasses
from aioli.learners.kernel.bandwidth import RATIOS, BandwidthMixture, FeatureMaps, require_bandwidth
from aioli.learners.kernel.base_learner import BaseLearner, Forecaster
from aioli.learners.kernel.scales import FARTHEST, METRICS
from aioli.learners.parameters import with_parameters
from aioli.learners.parametrised import Parametrised
from aioli.learners.protocol import Capability, Learner, learns_late
from aioli.learners.registry import is_restorable, restore_learner
from aioli.learners.remembering import RemembersParts
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.tree import Plain, Snapshot
from aioli.states.certificate import Certificate
from aioli.streams.rows import Rows, as_logits, as_weights

__all__ = ["FeatureMap", "FeatureMapLearner"]

OF_THE_BASE = {Capability.LEARNS_LATE, Capability.WEIGHS}  # what only some base learners can do

LONGEST = 1e100  # a row whose distances are still finite when squared
TOGETHER = 1024  # rows whose features are made at a time: they stay in the cache, and memory stays flat

RADIUS, REGULARISER = 8.0, 0.5  # of the base learner: log-odds of eight are as good as certain


def default_learner() -> AIOLI:
    """Return the base learner where none is given: features have length 1 whatever the columns were."""
    return AIOLI(radius=RADIUS, regulariser=REGULARISER)


class FeatureMap(Forecaster):
    """One map of features, of one bandwidth, and the base learner that plays on them."""

    def __init__(self, base: BaseLearner, bandwidth: float) -> None:
        self.base = base
        self.bandwidth = bandwidth

    @property
    def rounds(self) -> int:
        """Return how many rows it has learned from."""
        return self.base.learner.rounds

    @property
    def loss(self) -> float:
        """Return the sum of its losses so far, in nats."""
        return self.base.learner.loss

    def certificate(self, tight: bool) -> Certificate:
        """Return the base learner's certificate, against the functions that its features span."""
        own = self.base.certificate(tight)
        return Certificate(own, own.radius, own.rounds, own.theorem, f"bandwidth {self.bandwidth:g}")

    def forget_announcing(self) -> None:
        """Drop what the base learner brought to life with the first announcement, which was taken back."""
        self.base.forget_announcing()

    def scaled(self, X: Matrix) -> Matrix:
        """Return the rows in units of the bandwidth; beyond `FARTHEST` all are equally far."""
        scaled: Matrix = np.clip(X / self.bandwidth, -FARTHEST, FARTHEST)
        return scaled


class FeatureMapLearner(TakesClasses, Parametrised, RemembersParts, RowsLearner[Rows]):
    """A kernel approximation over any learner. A subclass writes `_maps`, which makes its maps, and `_parameters`."""

    def __init__(self, learner: Learner | None, bandwidth: float | str, kernel: str) -> None:
        super().__init__()
        if kernel not in METRICS:
            raise ParameterRefused.unlike("kernel", kernel, " or ".join(map(repr, METRICS)))
        self.learner = learner
        self.bandwidth = bandwidth
        self.kernel = kernel
        self._fixed = require_bandwidth(bandwidth)
        self._base = BaseLearner.fresh(default_learner() if learner is None else learner)
        if self._base.heaviest < 1.0:
            raise ParameterRefused(
                f"learner is {learner!r}, which takes no rows of length 1; give a larger ridge or radius",
                parameter="learner",
                value=learner,
            )
        base = self._base.learner
        self.capabilities -= OF_THE_BASE - base.capabilities
        if not is_restorable(base):
            self.capabilities -= {Capability.SAVES}
        self._forecaster: Forecaster | None = None

    @abstractmethod
    def _maps(self) -> FeatureMaps:
        """Return the factory of the learner's feature maps."""

    def _grow(
        self, columns: int, names: Sequence[str] | None, grown: Callable[[Forecaster, int, int], Forecaster]
    ) -> None:
        """Make room for new columns that have been 0 so far; `grown` makes that of a map, given its number."""
        names_after = self._names_after_growing(columns, names)
        if self._forecaster is not None and columns:
            if isinstance(self._forecaster, BandwidthMixture):
                self._forecaster.grow(columns, grown)
            else:
                self._forecaster = grown(self._forecaster, columns, 0)
        self._names = names_after

    @abstractmethod
    def _parameters(self) -> dict[str, Plain]:
        """Return the constructor's parameters, without the base learner."""

    # ---- what it knows

    def certificate(self, tight: bool = False) -> Certificate:
        """Return proven nats of regret against every function that the features span with ‖θ‖ ≤ `radius`.

        `against` names the bandwidth. With "auto" it is the certificate of the best bandwidth, plus all that the whole
        lost more than it.
        """
        return self._base.certificate(tight) if self._forecaster is None else self._forecaster.certificate(tight)

    @property
    def rounds(self) -> int:
        """Return how many rows it has learned from."""
        return 0 if self._forecaster is None else self._forecaster.rounds

    @property
    def loss(self) -> float:
        """Return the sum of its losses so far, in nats."""
        return 0.0 if self._forecaster is None else self._forecaster.loss

    @property
    def n_features_(self) -> int | None:
        """Return how many columns a row has; None before the first row."""
        return None if self._forecaster is None else self._forecaster.width

    @property
    def bandwidths_(self) -> dict[float, float]:
        """Return how much of the mixture each bandwidth holds now: multiples of the median distance where "auto"."""
        if self._fixed is not None:
            return {self._fixed: 1.0}
        if not isinstance(self._forecaster, BandwidthMixture):
            return dict.fromkeys(RATIOS, 1.0 / len(RATIOS))
        return dict(zip(RATIOS, self._forecaster.shares.tolist(), strict=True))

    # ---- its life

    def snapshot(self) -> Snapshot:
        """Return the parameters, the base learner where one was given, and what has been learned."""
        parts = self._ledger_part | ({} if self.learner is None else {"learner": self._base.snapshot()})
        if self._forecaster is not None:
            parts["forecaster"] = self._forecaster.snapshot()
        return Snapshot(type(self).__name__, {"parameters": self._parameters(), "names": self._names}, parts=parts)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal learner from a snapshot; it goes on bit for bit the same."""
        given = snapshot.of(cls.__name__).parts.get("learner")
        learner = with_parameters(partial(cls, None if given is None else restore_learner(given)), snapshot)
        if "forecaster" in snapshot.parts:
            learned, maps = snapshot.part("forecaster"), learner._maps()
            fixed = learner._fixed is not None
            learner._forecaster = maps.restore(learned) if fixed else BandwidthMixture.restore(learned, maps)
        learner._take_names(snapshot)
        return learner

    def __repr__(self) -> str:
        given = [] if self.learner is None else [f"learner={self.learner!r}"]
        given += [f"{name}={value!r}" for name, value in self._parameters().items()]
        return f"{type(self).__name__}({', '.join(given)}){self._repr_suffix()}"

    # ---- within

    def _rows(self, X: object, single: bool = False) -> Rows:
        rows = Rows(X, intercept=False, widest=LONGEST, names=self._names, single=single)
        width = self.n_features_
        if width is not None and rows.width != width:
            what = "the row has" if single else "rows have"
            raise AioliError(
                f"{what} {rows.width} columns; this learner knows {width}: its map of features has no place for "
                "others, so begin a new one (nothing was learned)"
            )
        return rows

    def _logits(self, rows: Rows) -> Vector:
        return np.concatenate([self.logits_of_checked(X) for _, X in rows])

    def logits_of_checked(self, X: Matrix) -> Vector:
        """Return the log-odds of rows that have passed the border, each as if it came next; changes nothing."""
        known = self._forecaster
        if known is None:
            return np.zeros(len(X))
        if len(X) <= TOGETHER:
            return known.logits(X)
        return np.concatenate([known.logits(part) for _, part in _together([(0, X)])])

    def play_checked(self, X: Matrix, y: Vector, weights: Vector) -> Vector:
        """Learn rows that have passed the border; return the probabilities announced, as `learn_many` does."""
        self._forecaster = known = self._forecaster or self._begin(X.shape[1])
        if len(X) <= TOGETHER:
            return known.play(X, y, weights, None)
        said = [
            known.play(part, y[start : start + len(part)], weights[start : start + len(part)], None)
            for start, part in _together([(0, X)])
        ]
        return np.concatenate(said)

    def play_row_checked(self, X: Matrix, y: Vector, weights: Vector) -> float | None:
        """Learn the only row of X, as `play_checked` does; return its log-odds, or None where that one must."""
        known = self._forecaster
        return known.play_row(X, y, weights) if isinstance(known, BandwidthMixture) else None

    def logit_of_row_checked(self, X: Matrix) -> float | None:
        """Return the log-odds of the only row of X, as `logits_of_checked` does, or None where that one must."""
        known = self._forecaster
        return known.logit_of_row(X) if isinstance(known, BandwidthMixture) else None

    def plays_at_once(self, X: Matrix) -> bool:
        """Return whether these rows are so few that one compiled call plays them, and no matrix product."""
        return isinstance(self._forecaster, BandwidthMixture) and self._forecaster.plays_at_once(X)

    def _announce(self, rows: Rows) -> tuple[Vector, Matrix]:
        self._require_late_labels()
        known = self._forecaster or self._begin(rows.width)  # a new one is dropped: nothing is learned yet
        parts = [known.announce(X) for _, X in _together(rows)]
        return np.concatenate([logits for logits, _ in parts]), np.concatenate([kept for _, kept in parts])

    def _forget_announcing(self) -> None:
        if self._forecaster is not None:
            self._forecaster.forget_announcing()

    def _learn(self, rows: Rows, labels: Vector, weights: object, logits: object) -> Vector:
        delayed = None if logits is None else Delayed.by_logits(as_logits(logits, len(rows)))
        return self._learn_rows(rows, labels, weights, delayed)

    def _answer(self, rows: Rows, labels: Vector, weights: object, delayed: Delayed) -> None:
        self._learn_rows(rows, labels, weights, delayed)

    def _require_late_labels(self) -> None:
        if not learns_late(self._base.learner):
            raise CapabilityMissing(
                f"{self._base.learner!r} takes neither weights nor late labels (nothing was learned)"
            )

    def _learn_rows(self, rows: Rows, labels: Vector, weights: object, delayed: Delayed | None) -> Vector:
        stakes: Vector | None = as_weights(weights, rows, LONGEST, self._base.heaviest)
        if stakes is not None and (stakes == 1.0).all():
            stakes = None
        if stakes is not None or delayed is not None:
            self._require_late_labels()
        self._forecaster = known = self._forecaster or self._begin(rows.width)
        said = [
            known.play(
                X,
                labels[start : start + len(X)],
                None if stakes is None else stakes[start : start + len(X)],
                None if delayed is None else delayed.of(slice(start, start + len(X))),
            )
            for start, X in _together(rows)
        ]
        return np.concatenate(said)

    def _begin(self, width: int) -> Forecaster:
        if self._fixed is None:
            return BandwidthMixture(width, self.kernel, self._maps())
        return self._maps().fresh(width, self._fixed, 0)


def _together(rows: Iterable[tuple[int, Matrix]]) -> list[tuple[int, Matrix]]:
    """Return the rows, a few at a time, each few with the number of its first."""
    return [
        (start + first, chunk[first : first + TOGETHER])
        for start, chunk in rows
        for first in range(0, len(chunk), TOGETHER)
    ]
