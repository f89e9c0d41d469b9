"""Foster et al.'s learner: Bayes's mixture of every model in the ball, the least regret known and the highest price."""

import math
from typing import Literal, get_args

import numpy as np

from aioli.errors import ParameterRefused, SnapshotRefused
from aioli.learners.baselines.row_by_row import RowByRow
from aioli.learners.foster.quadrature import Quadrature
from aioli.learners.foster.smc import Particles
from aioli.learners.parameters import require_positive, require_whole
from aioli.numerics.compiling import Vector
from aioli.numerics.logistic import sigmoid_many, softplus_many
from aioli.snapshots.tree import Array, Snapshot
from aioli.streams.rows import Rows

__all__ = ["Foster"]

Method = Literal["auto", "quadrature", "smc"]

STEEPEST = 1e9  # B‖x‖: of a σ(θᵀx) steeper than that over the ball, float64 leaves fewer than seven digits


class Foster(RowByRow):
    r"""Vovk's aggregating algorithm over the ball, which for the log loss is Bayes's mixture (Foster et al. 2018).

    $$p_t = \int \sigma(\theta^\top x_t)\,d\pi_{t-1}(\theta), \qquad
      d\pi_t(\theta) \propto \exp\Bigl(-\sum_{s \le t}\ell_s(\theta)\Bigr)\,[\|\theta\| \le B]\,d\theta$$

    For every fixed θ with ‖θ‖ ≤ B, on any stream, with $\Delta = \tfrac B2\sum_t\|x_t\|$ (at most ½nBR):

    $$\sum_t \ell_t - \sum_t \ell_t(\theta) \le d\,\Bigl(1 + \log\frac\Delta d\Bigr), \qquad\text{and} \le \Delta
      \text{ where } \Delta \le d.$$

    *Proof.* The losses telescope: with u uniform in the ball and $L = \sum_t\ell_t(\cdot)$, their sum is
    $-\log\mathrm{E}\,e^{-L(u)}$. The points $(1-\alpha)\theta + \alpha u$ are a part $\alpha^d$ of the ball, and both L
    and exp are convex: the regret is at most $d\log\tfrac1\alpha + \alpha\,(\mathrm{E}L(u) - L(\theta))$. Since u is as
    likely as -u, $\mathrm{E}\,\ell_t(u) = \mathrm{E}\log 2\cosh\tfrac12u^\top x_t \le \log 2\cosh\tfrac12B\|x_t\|$;
    and $\ell_t(\theta) \ge \log(1 + e^{-B\|x_t\|})$, which is exactly $\tfrac12B\|x_t\|$ less. Take
    $\alpha = \min(1, d/\Delta)$. ∎ Theorem 3 of Foster et al. has the same form, $5d\log(BRn/d + e)$; it is never less.

    Parameters
    ----------
    radius
        B. Both the mixture and the bound are over this ball.
    method
        "quadrature" sums over a mesh, for d ≤ 2 (an intercept counts). At d = 1 the whole loss is right to 1e-6 nats,
        whatever the rows, and a round is about 100 nodes. At d = 2 it is right to 1e-5 where B‖x‖ ≤ 100, and to 1e-2
        beyond; a round is 4,000 nodes, or 65,000 while the posterior is wide for its steepest row. "smc" is sequential
        Monte Carlo with Langevin moves, usable to d = 20 or so. "auto" is the former where it can be had. **Both store
        every distinct row**, with how often it came, and read them all again as the posterior narrows.
    particles
        N: the loss of "smc" strays by about $\sqrt{d\log(n)/N}$ nats; a round is O(Nd), and O(Nnd) now and then.
    seed
        Of the particles. The same seed and rows give the same predictions.
    intercept
        Whether every row has a further column of ones. It is a coordinate of θ like any other.

    Examples
    --------
    >>> from aioli.learners.foster.foster import Foster
    >>> learner = Foster(radius=2.0, intercept=False)
    >>> learner.learn_many([[1.2, -1.6], [-2.0, 0.0], [0.0, 2.0]], [1, 0, 1]).round(6)
    array([0.5     , 0.373117, 0.362671])
    >>> print(f"{learner.loss:.4f} nats, regret at most {learner.regret_bound():.4f}")
    2.1744 nats, regret at most 4.1972

    References
    ----------
    Foster, Kale, Luo, Mohri, Sridharan. Logistic regression: the importance of being improper. COLT 2018.
    Vovk. A game of prediction with expert advice. Journal of Computer and System Sciences 56, 1998.
    """

    numbers = ("_lengths",)

    def __init__(
        self,
        radius: float = 8.0,
        method: Method = "auto",
        particles: int = 1000,
        seed: int = 0,
        intercept: bool = True,
    ) -> None:
        super().__init__(intercept=intercept)
        require_positive(radius=radius)
        if method not in get_args(Method):
            raise ParameterRefused.unlike("method", method, '"auto", "quadrature" or "smc"')
        require_whole("particles", particles, least=2)
        require_whole("seed", seed, least=0)
        self.radius = radius
        self.method = method
        self.particles = particles
        self.seed = seed
        self._lengths = 0.0

    def regret_bound(self) -> float:
        r"""Return $d(1 + \log\tfrac\Delta d)$, or Δ where Δ ≤ d: nats by which no θ can be better so far. O(1).

        It is the mixture's own: true of "quadrature", and of "smc" up to the error of its particles.
        """
        if self.n_features_ is None:
            return 0.0
        d, Delta = self.n_features_ + self.intercept, 0.5 * self.radius * self._lengths
        return d * (1.0 + math.log(Delta / d)) if Delta > d else Delta

    def _widest(self) -> float:
        return STEEPEST / self.radius

    def _begin(self, width: int) -> None:
        if self.method == "quadrature" and width > 2:
            raise ParameterRefused(
                f'rows of {width} coefficients, the intercept counted, came for method="quadrature", which sums over '
                'one or two; use method="smc" (nothing was learned)',
                parameter="method",
                value=self.method,
            )
        self._engine: Quadrature | Particles
        if width <= 2 and self.method != "smc":
            self._engine = Quadrature(width, float(self.radius))
            return
        if self.particles < 4 * width:
            raise ParameterRefused(
                f"particles is {self.particles}, too few to tell the shape of a posterior over {width} coefficients; "
                f"give at least {4 * width} (nothing was learned)",
                parameter="particles",
                value=self.particles,
            )
        self._engine = Particles(width, float(self.radius), int(self.particles), int(self.seed))

    def _announce(self, x: Vector) -> float:
        return self._engine.announce(x)

    def _answer(self, x: Vector, y: float, _z: float) -> None:
        self._engine.play(x[None, :], np.array([y]))

    def _play(self, rows: Rows, labels: Vector) -> Vector:
        announced = np.empty(len(rows))
        for start, chunk in rows:
            part = slice(start, start + len(chunk))
            z = self._engine.play(chunk, labels[part])
            if self.rounds == 0:
                z[0] = 0.0  # the ball is symmetric, whatever the engine's rounding or chance
            self.loss += float(softplus_many(np.where(labels[part] > 0.5, -z, z)).sum())
            self._lengths += float(np.linalg.norm(chunk, axis=1).sum())
            self.rounds += len(chunk)
            announced[part] = sigmoid_many(z)
        return announced

    def _further(self) -> tuple[dict[str, Array], dict[str, Snapshot]]:
        return {}, {"engine": self._engine.snapshot()}

    def _recall(self, snapshot: Snapshot, width: int) -> None:
        engine = snapshot.part("engine")
        self._engine = Quadrature.restore(engine) if engine.kind == "Quadrature" else Particles.restore(engine)
        if self._engine.history.width != width:
            raise SnapshotRefused(f"in a Foster, the engine is of width {self._engine.history.width}, not {width}")
