"""A learner over features of its rows: columns through the border, a map, and any learner of the package underneath."""

import os
from abc import abstractmethod
from typing import Any, Self

import numpy as np

from aioli.learners.aioli import AIOLI
from aioli.learners.base import RowsLearner
from aioli.learners.kernel.bandwidth import RATIOS, BandwidthMixture, require_bandwidth
from aioli.learners.kernel.base_learner import BaseLearner, Player
from aioli.learners.kernel.scales import FARTHEST, METRICS
from aioli.learners.protocol import Learner
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid
from aioli.snapshots.legacy_files import read_file, write_file
from aioli.states.certificate import Certificate
from aioli.streams.rows import Rows, as_logits, as_weights

__all__ = ["Expert", "FeatureMapLearner"]

LONGEST = 1e100  # a row whose distances are still finite when squared
TOGETHER = 1024  # rows whose features are made at a time: they stay in the cache, and memory stays flat

RADIUS, REGULARISER = 8.0, 0.5  # of the learner underneath: log-odds of eight are as good as certain


def default_learner() -> AIOLI:
    """The learner underneath, where none is given: features have length 1 whatever the columns were."""
    return AIOLI(radius=RADIUS, regulariser=REGULARISER)


class Expert(Player):
    """One map of features, of one bandwidth, and the learner that plays on them."""

    def __init__(self, inner: BaseLearner, bandwidth: float) -> None:
        self.inner = inner
        self.bandwidth = bandwidth

    @property
    def rounds(self) -> int:
        """How many rows it has learned from."""
        return self.inner.rounds

    @property
    def loss(self) -> float:
        """The sum of its losses so far, in nats."""
        return self.inner.loss

    def certificate(self, tight: bool) -> Certificate:
        """That of the learner underneath, against the functions that its features span."""
        own = self.inner.certificate(tight)
        return Certificate(own, own.radius, own.rounds, own.theorem, f"bandwidth {self.bandwidth:g}")

    def scaled(self, X: Matrix) -> Matrix:
        """The rows in units of the bandwidth; beyond `FARTHEST` all are equally far."""
        scaled: Matrix = np.clip(X / self.bandwidth, -FARTHEST, FARTHEST)
        return scaled


class FeatureMapLearner(RowsLearner[Rows]):
    """What kernel approximations share. A subclass writes `_expert`, its map, and `_parameters`."""

    def __init__(self, learner: Learner | None, bandwidth: float | str, kernel: str) -> None:
        super().__init__()
        if kernel not in METRICS:
            raise ValueError(f"kernel is {kernel!r}; it must be {' or '.join(map(repr, METRICS))}")
        self.learner = learner
        self.bandwidth = bandwidth
        self.kernel = kernel
        self._fixed = require_bandwidth(bandwidth)
        self._fresh = BaseLearner(default_learner() if learner is None else learner)
        if self._fresh.heaviest < 1.0:
            raise ValueError(f"learner is {learner!r}, which takes no rows of length 1; give a larger ridge or radius")
        self._width: int | None = None
        self._player: Player | None = None

    @abstractmethod
    def _expert(self, width: int, bandwidth: float, number: int) -> Expert:
        """A fresh map of rows of this width; `number` tells several of them apart."""

    @abstractmethod
    def _parameters(self) -> dict[str, Any]:
        """What it was made with, but for the learner."""

    # ---- one row

    def predict(self, x: object) -> float:
        """The probability that the row's label is 1; changes nothing."""
        return sigmoid(self.predict_logit(x))

    def predict_logit(self, x: object) -> float:
        """The log-odds of `predict`: what to remember, with the row, until a late label comes."""
        return float(self._logits(self._rows(x, single=True))[0])

    def learn(self, x: object, y: object, weight: float = 1.0, logit: float | None = None) -> float:
        """Learn from one row and its label; returns the probability announced before the label.

        `weight` and `logit` as in `AIOLI.learn`.
        """
        return self._learn_one(x, y, weight, logit)

    # ---- what it knows

    def certificate(self, tight: bool = False) -> Certificate:
        """Nats of regret, against every function that the features span with ‖θ‖ ≤ `radius`, proven not exceeded.

        `against` names the bandwidth. With "auto" it is the certificate of the best bandwidth, plus all that the whole
        lost more than it.
        """
        return self._fresh.certificate(tight) if self._player is None else self._player.certificate(tight)

    @property
    def rounds(self) -> int:
        """How many rows it has learned from."""
        return 0 if self._player is None else self._player.rounds

    @property
    def loss(self) -> float:
        """The sum of its losses so far, in nats."""
        return 0.0 if self._player is None else self._player.loss

    @property
    def n_features_(self) -> int | None:
        """How many columns a row has; None before the first row."""
        return self._width

    @property
    def bandwidths_(self) -> dict[float, float]:
        """How much of the mixture each bandwidth holds now: of multiples of the median distance where "auto"."""
        if self._fixed is not None:
            return {self._fixed: 1.0}
        if not isinstance(self._player, BandwidthMixture):
            return dict.fromkeys(RATIOS, 1.0 / len(RATIOS))
        return dict(zip(RATIOS, self._player.weights.tolist(), strict=True))

    # ---- its life

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner to a file, whole or not at all; a learner loaded from it goes on bit for bit the same."""
        header = {
            "learner": type(self).__name__,
            "parameters": self._parameters(),
            "underneath": None if self.learner is None else self._fresh.description(),
            "features": self._width,
            "names": self._names,
        }
        write_file(path, header, {} if self._player is None else self._player.arrays())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a learner that `save` wrote. Runs no code from the file; a file that is not right is a `ValueError`."""
        header, arrays = read_file(path, cls.__name__)
        try:
            underneath = header["underneath"]
            learner = cls(None if underneath is None else BaseLearner.described(underneath), **header["parameters"])
            if header["features"] is not None:
                learner._begin(int(header["features"])).restore(arrays)
            learner.feature_names_ = header["names"]
        except (KeyError, TypeError, ValueError, OverflowError, IndexError) as error:
            raise ValueError(f"{path}: is not a complete learner ({error}); save it again") from error
        return learner

    def __repr__(self) -> str:
        given = [] if self.learner is None else [f"learner={self.learner!r}"]
        given += [f"{name}={value!r}" for name, value in self._parameters().items()]
        return f"{type(self).__name__}({', '.join(given)}){self._repr_suffix()}"

    # ---- within

    def _rows(self, X: object, single: bool = False) -> Rows:
        rows = Rows(X, intercept=False, widest=LONGEST, names=self._names, single=single)
        if self._width is not None and rows.width != self._width:
            what = "the row has" if single else "rows have"
            raise ValueError(
                f"{what} {rows.width} columns; this learner knows {self._width}: its map of features has no place for "
                "others, so begin a new one (nothing was learned)"
            )
        return rows

    def _logits(self, rows: Rows) -> Vector:
        if self._player is None:
            return np.zeros(len(rows))
        player = self._player
        return np.concatenate([player.logits(X) for _, X in _together(rows)])

    def _learn(self, rows: Rows, labels: Vector, weights: object, logits: object) -> Vector:
        stakes: Vector | None = as_weights(weights, rows, LONGEST, self._fresh.heaviest)
        late = None if logits is None else as_logits(logits, len(rows))
        if stakes is not None and (stakes == 1.0).all():
            stakes = None
        if not self._fresh.weighs and (stakes is not None or late is not None):
            raise ValueError(f"{self._fresh.learner!r} takes neither weights nor late labels (nothing was learned)")
        player = self._player or self._begin(rows.width)
        said = [
            player.play(
                X,
                labels[start : start + len(X)],
                None if stakes is None else stakes[start : start + len(X)],
                None if late is None else late[start : start + len(X)],
            )
            for start, X in _together(rows)
        ]
        return np.concatenate(said)

    def _begin(self, width: int) -> Player:
        self._width = width
        self._player = (
            self._expert(width, self._fixed, 0)
            if self._fixed is not None
            else BandwidthMixture(width, self.kernel, self._expert)
        )
        return self._player


def _together(rows: Rows) -> list[tuple[int, Matrix]]:
    """The rows, a few at a time, each few with the number of its first."""
    return [
        (start + first, chunk[first : first + TOGETHER])
        for start, chunk in rows
        for first in range(0, len(chunk), TOGETHER)
    ]
