"""Random Fourier features: a kernel of many columns as cosines and sines of random directions."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from aioli.errors import CapabilityMissing, SnapshotRefused
from aioli.learners.announcements import Delayed
from aioli.learners.kernel.base_learner import BaseLearner, Forecaster
from aioli.learners.kernel.feature_map_learner import FeatureMap, FeatureMapLearner
from aioli.learners.kernel.few_rows import FewRows
from aioli.learners.kernel.scales import Scaling
from aioli.learners.parameters import require_whole
from aioli.learners.protocol import Capability, Learner
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.class_labels import Classes
from aioli.snapshots.tree import Plain, Snapshot
from aioli.states.kernel.fourier_rows import write_waves_of_rows

__all__ = ["RandomFeatures", "random_directions"]


class RandomFeatures(FeatureMapLearner):
    r"""A learner of functions that bend as a kernel lets them, on D random features. O(D² + Dd) a row.

    $$\varphi(x) = \sqrt{\tfrac2D}\,\bigl(\cos\omega_1^\top x, …, \cos\omega_{D/2}^\top x,
      \sin\omega_1^\top x, …, \sin\omega_{D/2}^\top x\bigr), \qquad \mathbb E\,\varphi(x)^\top\varphi(y) = k(x, y)$$

    with $\omega \sim N(0, I/s^2)$ for $k = e^{-\|x-y\|^2/2s^2}$, and Cauchy for $k = e^{-\|x-y\|_1/s}$: the error of
    the kernel falls like $1/\sqrt D$. Cosine and sine of one direction together have length 1 for every x, and less
    variance than cosines of random phase. The base learner plays on φ(x), and its bounds are against every
    function $\theta^\top\varphi$ of the ball.

    Parameters
    ----------
    learner
        Which learner plays on the features; None is `AIOLI(radius=8, regulariser=0.5)`. Any of the package
        will do; those that do not know weights refuse them.
    features
        D, an even number. Cost grows with its square, what the features cannot express falls with its root.
    bandwidth
        s, in the units of the columns as they come; or "auto": columns are scaled, and four bandwidths around the
        median distance of the rows play side by side (`learners.kernel.bandwidth`), for four times the cost at first.
    orthogonal
        Whether directions come in orthogonal groups of d, which lowers the kernel's error. For "rbf" only: Cauchy
        directions have no such form.
    kernel
        "rbf" or "laplacian".
    seed
        Of the directions.
    classes
        None is the game of two classes, 0 and 1, with one probability a row. A list of labels, or "any", makes a
        `OneVsRest` of this learner, with one probability a class.

    Examples
    --------
    >>> import numpy as np
    >>> from aioli import RandomFeatures
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> y = np.sin(3 * X[:, 0]) * np.cos(2 * X[:, 1]) > 0
    >>> learner = RandomFeatures(features=128)
    >>> p = learner.learn_many(X, y)
    >>> print(f"{learner.loss / 2000:.2f} nats a row; a linear learner has 0.70")
    0.17 nats a row; a linear learner has 0.70

    References
    ----------
    Rahimi and Recht 2007, Random features for large-scale kernel machines. Yu, Suresh, Choromanski, Holtmann-Rice,
    Kumar 2016, Orthogonal random features.
    """

    def __init__(
        self,
        learner: Learner | None = None,
        features: int = 256,
        bandwidth: float | str = "auto",
        orthogonal: bool = True,
        kernel: str = "rbf",
        seed: int = 0,
        *,
        classes: Classes | None = None,  # noqa: ARG002  (None here: `__new__` has made a `OneVsRest` of others)
    ) -> None:
        super().__init__(learner, bandwidth, kernel)
        self.features = features
        self.orthogonal = orthogonal
        self.seed = seed
        self._features = require_whole("features", features, 2, multiple=2)
        self._seed = require_whole("seed", seed, 0)
        if not orthogonal or kernel == "laplacian":
            self.capabilities |= {Capability.GROWS}

    def grow(self, columns: int, names: Sequence[str] | None = None) -> Self:
        """Make room for new columns, exactly as if they had been there, and 0; with `orthogonal=False` alone."""
        if self._forecaster is not None and columns:
            self._require_growing()
        self._grow(columns, names, self._maps().grown)
        return self

    def _require_growing(self) -> None:
        if Capability.GROWS not in self.capabilities:
            raise CapabilityMissing(
                "orthogonal directions have no place for new columns; give RandomFeatures(orthogonal=False) from the "
                "first row on"
            )

    def _maps(self) -> "FourierMaps":
        return FourierMaps(self._base, self.kernel, self._features // 2, bool(self.orthogonal), self._seed)

    def _parameters(self) -> dict[str, Plain]:
        return {
            "features": self._features,
            "bandwidth": "auto" if self._fixed is None else self._fixed,
            "orthogonal": bool(self.orthogonal),
            "kernel": self.kernel,
            "seed": self._seed,
        }


def random_directions(count: int, width: int, kernel: str, orthogonal: bool, rng: np.random.Generator) -> Matrix:
    r"""Draw ω of unit bandwidth: rows of $N(0, I)$, or Cauchy; orthogonal ones are $SQ$, S drawn apart. O(Dd²).

    Every row of SQ alone is N(0, I), so the kernel's mean is the same; rows of one group never point the same way.
    Those that are not orthogonal are drawn column by column: more columns leave the first as they are.
    """
    if kernel == "laplacian":
        return rng.standard_cauchy(size=(width, count)).T
    if not orthogonal:
        return rng.normal(size=(width, count)).T
    groups: list[Matrix] = []
    for first in range(0, count, width):
        size = min(width, count - first)
        Q, R = np.linalg.qr(rng.normal(size=(width, size)))
        lengths = np.sqrt(rng.chisquare(width, size=size))
        groups.append(lengths[:, None] * (Q * np.sign(np.diag(R))).T)  # the signs make Q uniform over rotations
    return np.concatenate(groups)


class FourierMap(FeatureMap):
    """Cosines and sines of fixed directions."""

    def __init__(self, base: BaseLearner, bandwidth: float, directions: Matrix) -> None:
        super().__init__(base, bandwidth)
        self.directions = directions

    @property
    def width(self) -> int:
        """Return how many columns a row has."""
        return int(self.directions.shape[1])

    def map(self, X: Matrix) -> Matrix:
        r"""Return $\varphi(x)$ of each row. O(Dd)."""
        F = np.empty((len(X), 2 * len(self.directions)))
        write_waves_of_rows(self.scaled(X) @ self.directions.T, F)
        return F

    def logits(self, X: Matrix) -> Vector:
        """Return each row's log-odds, as if it came next; changes nothing."""
        return self.base.logits(self.map(X))

    def announce(self, X: Matrix) -> tuple[Vector, Matrix]:
        """Return each row's log-odds, as if it came next, and the memory of its announcement."""
        return self.base.announce(self.map(X))

    def play(self, X: Matrix, y: Vector, weights: Vector | None, delayed: Delayed | None) -> Vector:
        """Learn from the rows in order; return each row's probability before its label."""
        return self.base.play(self.map(X), y, weights, delayed)

    def snapshot(self) -> Snapshot:
        """Return the base learner, and the directions too: another version of NumPy may draw others."""
        by_rows = self.directions.flags.c_contiguous  # a product of one row adds up in the order of the memory
        values: dict[str, Plain] = {"bandwidth": self.bandwidth, "by_rows": by_rows}
        return Snapshot("FourierMap", values, {"directions": self.directions.copy()}, {"base": self.base.snapshot()})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal map from a snapshot."""
        directions = snapshot.of("FourierMap").array("directions", (None, None))
        base = BaseLearner.restore(snapshot.part("base"), 2 * len(directions))
        return cls(base, snapshot.positive("bandwidth"), directions.copy("C" if snapshot.flag("by_rows") else "F"))


@dataclass(frozen=True)
class FourierMaps:
    """Makes the maps of one `RandomFeatures`, each with directions of its own."""

    base: BaseLearner
    kernel: str
    count: int
    orthogonal: bool
    seed: int
    drawn: dict[tuple[int, int], Matrix] = field(default_factory=dict, compare=False, repr=False)

    def fresh(self, width: int, bandwidth: float, number: int) -> FourierMap:
        """Return a map of rows of this width that has learned nothing."""
        if (width, number) not in self.drawn:  # maps are made anew five times in the first 64 rows
            if any(known != width for known, _ in self.drawn):
                self.drawn.clear()
            rng = np.random.default_rng([self.seed, number])
            drawn = random_directions(self.count, width, self.kernel, self.orthogonal, rng)
            self.drawn[width, number] = drawn
        return FourierMap(self.base.another(2 * self.count), bandwidth, self.drawn[width, number])

    def grown(self, known: Forecaster, columns: int, number: int) -> FourierMap:
        """Return a map with new columns, which have been 0 so far; its directions are not orthogonal."""
        assert isinstance(known, FourierMap)
        wider = self.fresh(known.width + columns, known.bandwidth, number).directions
        return FourierMap(known.base, known.bandwidth, wider)

    def restore(self, snapshot: Snapshot) -> FourierMap:
        """Make the map of a snapshot, of as many directions as all have."""
        restored = FourierMap.restore(snapshot)
        if len(restored.directions) != self.count:
            raise SnapshotRefused(f"in a FourierMap, {len(restored.directions)} directions came, not {self.count}")
        return restored

    def few_rows(self, scaling: Scaling, maps: Sequence[Forecaster]) -> FewRows | None:
        """Return what plays few rows through all of these maps at once; None where base learners are no `AIOLI`."""
        known = [one for one in maps if isinstance(one, FourierMap)]
        bandwidths = [one.bandwidth for one in known]
        return FewRows.of(scaling, [one.directions for one in known], bandwidths, [one.base for one in known])
