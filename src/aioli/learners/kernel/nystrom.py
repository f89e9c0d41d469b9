"""Nyström: a kernel seen through a dictionary of the stream's own rows, which grows as the stream shows new ones."""

from collections.abc import Sequence
from typing import Self

import numpy as np

from aioli.errors import ParameterRefused
from aioli.learners.kernel.bandwidth import BandwidthMixture
from aioli.learners.kernel.feature_map_learner import FeatureMapLearner
from aioli.learners.kernel.nystrom_map import NystromMap, NystromMaps
from aioli.learners.parameters import require_whole
from aioli.learners.protocol import Capability, Learner, grows
from aioli.outcomes.class_labels import Classes
from aioli.snapshots.tree import Plain

__all__ = ["Nystrom"]


class Nystrom(FeatureMapLearner):
    r"""A learner of functions that bend as a kernel lets them, on a dictionary of m rows. O(m² + md) a row.

    $$\varphi(x) = L^{-1} k_D(x), \qquad LL^\top = K_{DD}, \qquad
      \text{x joins D where}\quad k(x,x) - \|\varphi(x)\|^2 > \text{accuracy}$$

    φ(x) are the coordinates of x among the functions that the dictionary spans, so $\|\theta\|$ is the norm of
    $\theta^\top\varphi$ in the kernel's space. A new point appends one coordinate, as if older rows had been 0 there,
    where they were below the accuracy. With accuracy 0 and room for all rows this is the kernel learner itself.

    When the budget is spent the dictionary stays, as long as rows come from where it is. Once the running mean of
    residuals is half again above its least, and above 0.1, a row takes the place of the point that the others say best,
    if it tells four times as much as that one: each exchange multiplies $\det K_{DD} \le 1$ by four, so there are at
    most $m\log_4(1/\text{accuracy})$ of them. The base learner is restricted to what is left, exactly as if its
    rows had been seen so from the beginning, and its certificate stays true (`learners.kernel.dictionary`).

    Parameters
    ----------
    learner
        `AIOLI` or `Auto`, which can grow; None is `AIOLI(radius=8, regulariser=0.5)`. With `Auto` a full dictionary
        stays as it is.
    points
        The budget: the most points that the dictionary may hold.
    accuracy
        The residual from which a row is new, between 0 and 1; k(x, x) is 1.
    bandwidth
        s, in the units of the columns as they come; or "auto" as in `RandomFeatures`, each with its own dictionary.
    kernel
        "rbf", $e^{-\|x-y\|^2/2s^2}$, or "laplacian", $e^{-\|x-y\|_1/s}$.
    classes
        None is the game of two classes, 0 and 1, with one probability a row. A list of labels, or "any", makes a
        `OneVsRest` of this learner, with one probability a class.

    Notes
    -----
    The certificate is against every function that the dictionary spans now, with ‖θ‖ ≤ B, each row seen through the
    dictionary of its time.

    Examples
    --------
    >>> import numpy as np
    >>> from aioli import AIOLI, Nystrom
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> y = np.sin(3 * X[:, 0]) * np.cos(2 * X[:, 1]) > 0
    >>> kernel, linear = Nystrom(points=128), AIOLI()
    >>> p, q = kernel.learn_many(X, y), linear.learn_many(X, y)
    >>> print(f"{kernel.loss / 2000:.2f} nats a row, {linear.loss / 2000:.2f} for a linear learner")
    0.15 nats a row, 0.70 for a linear learner

    References
    ----------
    Williams and Seeger 2001, Using the Nyström method to speed up kernel machines. Engel, Mannor, Meir 2004, The kernel
    recursive least-squares algorithm.
    """

    capabilities = FeatureMapLearner.capabilities | {Capability.GROWS}

    def __init__(
        self,
        learner: Learner | None = None,
        points: int = 256,
        accuracy: float = 0.01,
        bandwidth: float | str = "auto",
        kernel: str = "rbf",
        *,
        classes: Classes | None = None,  # noqa: ARG002  (None here: `__new__` has made a `OneVsRest` of others)
    ) -> None:
        super().__init__(learner, bandwidth, kernel)
        self.points = points
        self.accuracy = accuracy
        self._points = require_whole("points", points, 1)
        if not isinstance(accuracy, (int, float, np.number)) or not 0.0 <= accuracy < 1.0:
            raise ParameterRefused.unlike("accuracy", accuracy, "a number from 0 to 1, 1 left out")
        if not grows(self._base.learner):
            raise ParameterRefused.unlike("learner", learner, "able to grow with the dictionary: AIOLI or Auto")

    def grow(self, columns: int, names: Sequence[str] | None = None) -> Self:
        """Make room for new columns, exactly as if they had been there, and 0: in its points, too, they are 0."""
        self._grow(columns, names, self._maps().grown)
        return self

    @property
    def dictionary_sizes_(self) -> list[int]:
        """Return how many points the dictionary of each bandwidth holds."""
        known = self._forecaster
        maps = known.maps if isinstance(known, BandwidthMixture) else [known]
        return [len(each.dictionary) for each in maps if isinstance(each, NystromMap)]

    def _maps(self) -> NystromMaps:
        return NystromMaps(self._base, self.kernel, self._points, float(self.accuracy))

    def _parameters(self) -> dict[str, Plain]:
        return {
            "points": self._points,
            "accuracy": float(self.accuracy),
            "bandwidth": "auto" if self._fixed is None else self._fixed,
            "kernel": self.kernel,
        }
