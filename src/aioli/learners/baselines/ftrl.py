"""Follow the regularised leader, on the true losses: the classical proper learner that AIOLI is compared with."""

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.learners.baselines.ridge_base import RidgeBase
from aioli.learners.parameters import require_positive
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import softplus_many
from aioli.numerics.newton import minimise
from aioli.snapshots.tree import Array, Snapshot

__all__ = ["FTRL"]

LEAST_ROOM = 16  # distinct rows that there is room for at the beginning; doubled when it is full


class FTRL(RidgeBase):
    r"""Each round, the best θ for all rows so far under a ridge penalty, found anew by Newton's method.

    $$F_t(\theta) = \lambda\|\theta\|^2 + \sum_{s \le t} \ell_s(\theta), \qquad
      \theta_t = \arg\min_\theta F_{t-1}(\theta), \qquad z = \theta_t^\top x_t$$

    The minimum is found from the last one, to a Newton decrement of 1e-10. **Every distinct row is stored**, with how
    often it came with each label: a round is O(td²), t being the number of distinct rows so far, and memory O(td).

    For every fixed θ with ‖θ‖ ≤ B, on any stream,

    $$\sum_t \ell_t - \sum_t \ell_t(\theta) \le \lambda B^2 + \sum_t \ell_t - \min F_n
      \le \lambda B^2 + \frac{d}{2\kappa}\log\Bigl(1 + \frac{n\kappa R^2}{2d\lambda}\Bigr), \qquad
      \tfrac1\kappa = 2 + 2\cosh(R\max_t\|\theta_t\|)$$

    with R the largest ‖x‖. The middle is `regret_bound`: it holds as $F_n(\theta) \ge \min F_n$, and is known only from
    the run itself. It is also $\lambda B^2 + \sum_t F_t(\theta_t) - F_t(\theta_{t+1})$, each difference at most
    $\tfrac12 g_t^\top H_t^{-1}g_t$ with $H_t = 2\lambda I + \kappa\sum_{s\le t} x_sx_s^\top$, whence the right. Its
    constant is exponential in how far the iterates go, and no learner whose θ is chosen before x is seen can do much
    better: up to $n = O(e^B)$ some stream costs each of them $\Omega(B^{2/3}n^{1/3})$ (Hazan, Koren, Levy 2014).

    Parameters
    ----------
    ridge
        λ. Nothing else keeps θ bounded: there is no ball. A row longer than 1e6·√λ is refused.
    intercept
        Whether every row has a further column of ones. It is penalised like any other coordinate.

    Examples
    --------
    >>> from aioli.learners.baselines.ftrl import FTRL
    >>> learner = FTRL(intercept=False)
    >>> learner.learn_many([[1.2, -1.6], [-2.0, 0.0], [0.0, 2.0]], [1, 0, 1]).round(6)
    array([0.5     , 0.400136, 0.38757 ])
    >>> print(f"regret at most {learner.regret_bound(radius=1.0):.4f} nats against ‖θ‖ ≤ 1")
    regret at most 1.4843 nats against ‖θ‖ ≤ 1

    References
    ----------
    McMahan. Follow-the-regularized-leader and mirror descent: equivalence theorems and L1 regularization. AISTATS 2011.
    Hazan, Koren, Levy. Logistic regression: tight bounds for stochastic and online optimization. COLT 2014.
    """

    vectors = ("_theta",)
    reach = 1e6  # H has up to n‖x‖²/8λ for condition number, and 1e-10 is wanted of its solution

    def regret_bound(self, radius: float) -> float:
        r"""Return $\lambda B^2 + \sum_t \ell_t - \min F_n$: by how much no θ of the ball can be better. O(td)."""
        require_positive(radius=radius)
        least = 0.0
        if self.n_features_ is not None:
            z = self._X[: len(self._places)] @ self._theta
            zeros, ones = self._counts[: len(self._places)].T
            least = self.ridge * float(self._theta @ self._theta)
            least += float(zeros @ softplus_many(z) + ones @ softplus_many(-z))
        return self.ridge * radius**2 + self.loss - least

    def _begin(self, width: int) -> None:
        self._theta: Vector = np.zeros(width)
        self._places: dict[bytes, int] = {}  # of each distinct row in X
        self._X: Matrix = np.empty((LEAST_ROOM, width))
        self._counts: Matrix = np.zeros((LEAST_ROOM, 2))  # how often a row came with label 0, with label 1

    def _announce(self, x: Vector) -> float:
        return float(self._theta @ x)

    def _answer(self, x: Vector, y: float, _z: float) -> None:
        place = self._places.setdefault(x.tobytes(), len(self._places))
        if place == len(self._X):
            self._X = np.concatenate([self._X, np.empty_like(self._X)])
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)])
        self._X[place] = x
        self._counts[place, int(y)] += 1.0
        known = len(self._places)
        minimise(self._X[:known], self._counts[:known], self.ridge, self._theta)

    def _further(self) -> tuple[dict[str, Array], dict[str, Snapshot]]:
        known = len(self._places)
        return {"rows": self._X[:known].copy(), "counts": self._counts[:known].copy()}, {}

    def _recall(self, snapshot: Snapshot, width: int) -> None:
        rows = snapshot.array("rows", (None, width))
        counts = snapshot.array("counts", (len(rows), 2))
        self._places = {x.tobytes(): place for place, x in enumerate(rows)}
        if len(self._places) < len(rows):
            raise SnapshotRefused("in a FTRL, some distinct rows are equal")
        unused = max(0, LEAST_ROOM - len(rows))
        self._X = np.concatenate([rows, np.zeros((unused, width))])
        self._counts = np.concatenate([counts, np.zeros((unused, 2))])
