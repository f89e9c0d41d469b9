r"""Laws of rows and labels, each a formula, to draw streams from.

A law and a seed give the same stream for ever (on one version of NumPy), whatever the size of the blocks it is
read in, and its first n rows do not depend on n: rows are drawn in chunks of a fixed size, the k-th from a
generator of its own, seeded by (seed, k). Memory is one block and one chunk, however long the stream.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid_many

__all__ = [
    "Law",
    "hazan_koren_levy",
    "hazan_koren_levy_shrinking",
    "logistic",
    "separable",
    "turned_once",
    "turning",
]

CHUNK = 256  # rows drawn at a time: part of what a seed means, so never to be changed

Draw = Callable[[np.random.Generator, Vector], tuple[Matrix, Vector]]  # a generator, numbers of rows -> rows, labels


@dataclass(frozen=True)
class Law:
    """Draws rows and labels by a law.

    Attributes
    ----------
    name, formula
        What it is called, and what it is.
    width
        How many columns a row has.
    radius
        B: the ball of comparators that the law speaks of; None where it names none.
    draw, truth
        How chunks are drawn, and the θ of a row; `blocks`, `take` and `theta` are the ways to use them.

    Examples
    --------
    >>> stream = logistic(width=2, radius=3.0)
    >>> for X, y in stream.blocks(1000, seed=7, size=400):
    ...     print(X.shape, y[:6])
    (400, 2) [0. 0. 1. 1. 1. 0.]
    (400, 2) [0. 0. 0. 0. 0. 0.]
    (200, 2) [1. 0. 0. 1. 1. 1.]
    """

    name: str
    width: int
    radius: float | None
    formula: str
    draw: Draw = field(repr=False)
    truth: Callable[[int], Vector] | None = field(default=None, repr=False)

    def blocks(self, n: int, seed: int, size: int = 4096) -> Iterator[tuple[Matrix, Vector]]:
        """Yield the first n rows, `size` at a time: float64 rows, and labels 0.0 or 1.0."""
        for what, value, least in (("n", n, 1), ("seed", seed, 0), ("size", size, 1)):
            require(value >= least, f"{what} is {value}; it must be at least {least}")
        return self._blocks(n, seed, size)

    def take(self, n: int, seed: int) -> tuple[Matrix, Vector]:
        """Return the first n rows and labels at once."""
        return next(self.blocks(n, seed, size=n))

    def theta(self, t: int = 0) -> Vector:
        """Return the θ behind the label of row t, counted from 0."""
        if self.truth is None:
            raise ValueError(f"no θ is behind the labels of stream {self.name!r}: {self.formula}")
        return self.truth(t)

    def _blocks(self, n: int, seed: int, size: int) -> Iterator[tuple[Matrix, Vector]]:
        held, chunk = -1, (np.empty((0, self.width)), np.empty(0))
        for start in range(0, n, size):
            X, y = np.empty((min(size, n - start), self.width)), np.empty(min(size, n - start))
            filled = 0
            while filled < len(y):
                k, offset = divmod(start + filled, CHUNK)
                if k != held:
                    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(k,)))
                    held, chunk = k, self.draw(rng, np.arange(k * CHUNK, (k + 1) * CHUNK, dtype=np.float64))
                count = min(CHUNK - offset, len(y) - filled)
                X[filled : filled + count] = chunk[0][offset : offset + count]
                y[filled : filled + count] = chunk[1][offset : offset + count]
                filled += count
            yield X, y


# ---- laws


def hazan_koren_levy(horizon: int = 10_000, chi: int = 1, epsilon: float = 0.01) -> Law:
    r"""Return the law on which no proper learner can do well, as the paper's simulations have it. One column, B = ln n.

    $$(x, y) = \begin{cases}\bigl(1 - \tfrac{\sqrt\epsilon}{2B},\; 1\bigr) & \text{with probability }
      \tfrac{\sqrt\epsilon}{2B} + \chi\tfrac{\epsilon}{B}\\
      \bigl(\tfrac{\sqrt\epsilon}{B},\; 0\bigr) & \text{otherwise}\end{cases}$$

    A positive row is rare and far out, a negative one common and near 0. To tell χ takes about $B\epsilon^{-3/2}$ rows,
    and until then a proper learner, which must settle for one θ, is far from the best for χ = 1 or for χ = -1.

    Parameters
    ----------
    horizon
        n: only B depends on it; any number of rows may be drawn.
    chi
        χ: -1 or 1.
    epsilon
        ε: the paper's is 0.01.

    Examples
    --------
    >>> X, y = hazan_koren_levy(horizon=1000).take(100_000, seed=0)
    >>> print(X[y == 1].max(), X[y == 0].max(), y.mean())  # the probability of a positive row is 0.008686
    0.9927617586... 0.0144764827... 0.00888

    References
    ----------
    Hazan, Koren, Levy. Logistic regression: tight bounds for stochastic and online optimization. COLT 2014.
    Jézéquel, Gaillard, Rudi. Efficient improper learning for online logistic regression. COLT 2020, Simulations.
    """
    require(horizon >= 2, f"horizon is {horizon}; it must be at least 2, so that B = ln n is above 0")
    require(chi in (-1, 1), f"chi is {chi}; it must be -1 or 1")
    require(0 < epsilon < math.inf, f"epsilon is {epsilon}; it must be above 0")
    B, root = math.log(horizon), math.sqrt(epsilon)
    probability = root / (2 * B) + chi * epsilon / B
    advice = "take a smaller epsilon or a larger horizon"
    require(0 < probability < 1, f"a positive row would have probability {probability:.3g}; {advice}")
    positive, negative = 1 - root / (2 * B), root / B

    def draw(rng: np.random.Generator, t: Vector) -> tuple[Matrix, Vector]:
        y = rng.random(t.size) < probability
        return np.where(y, positive, negative)[:, None], y.astype(np.float64)

    formula = f"({positive:.6g}, 1) with probability {probability:.6g}, else ({negative:.6g}, 0)"
    return Law("hkl", 1, B, formula, draw)


def hazan_koren_levy_shrinking(horizon: int = 10_000, chi: int = 1, constant: float = 1.0) -> Law:
    r"""Return Hazan, Koren and Levy's law with $\epsilon_n = \kappa n^{-2/3}$: the lower bound's regime at every n.

    The n rows together tell χ = 1 from χ = -1 by $n\,\mathrm{KL} \approx 4\kappa^{3/2}/B$ nats, so that χ is never
    learned; with a fixed ε it is, in the end. With κ = 1, ε is the paper's 0.01 at n = 1000, and every probability
    lies in (0, 1) from n = 9 on: for χ = -1 that asks for ε < ¼.

    Parameters
    ----------
    horizon, chi
        n and χ, as in `hazan_koren_levy`.
    constant
        κ.

    Examples
    --------
    >>> print(hazan_koren_levy_shrinking(horizon=1000).formula)
    (0.992762, 1) with probability 0.00868589, else (0.0144765, 0)
    """
    require(horizon >= 2, f"horizon is {horizon}; it must be at least 2, so that B = ln n is above 0")
    return replace(hazan_koren_levy(horizon, chi, constant * horizon ** (-2 / 3)), name="hkl_shrinking")


def logistic(width: int = 8, radius: float = 4.0, world: int = 0) -> Law:
    r"""Return a well-specified law: $x \sim N(0, I)$, $P(y = 1 \mid x) = \sigma(\theta^{*\top}x)$, $\|\theta^*\| = B$.

    Parameters
    ----------
    width, radius
        d and B.
    world
        Seeds the direction of θ*, which `theta()` gives: other seeds draw other rows of the same law.

    Examples
    --------
    >>> stream = logistic(width=3, radius=2.0)
    >>> print(stream.theta().round(4), np.linalg.norm(stream.theta()).round(12))
    [ 0.3776 -0.3968  1.9235] 2.0
    """
    return _logistic("logistic", "θ = Bu", width, radius, world, np.zeros_like)


def turning(width: int = 8, radius: float = 4.0, world: int = 0, period: float = 20_000.0) -> Law:
    r"""Return a law that drifts: $\theta_t = B(\cos\varphi_t\,u + \sin\varphi_t\,v)$, $\varphi_t = 2\pi t/$`period`.

    u and v are orthonormal. Otherwise as `logistic`; t counts from 0.

    >>> stream = turning(period=1000)
    >>> bool(np.allclose(stream.theta(500), -stream.theta(0)))
    True
    """
    require(width >= 2, f"width is {width}; to turn takes at least 2 columns")
    require(period > 0, f"period is {period}; it must be above 0")
    formula = f"θ_t = B(cos φ u + sin φ v), φ = 2πt/{period:g}"
    return _logistic("rotating", formula, width, radius, world, lambda t: (2 * math.pi / period) * t)


def turned_once(width: int = 8, radius: float = 4.0, world: int = 0, at: int = 10_000, angle: float = math.pi) -> Law:
    r"""Return a law that changes once: $\theta_t = Bu$ for t < `at`, from that row on turned by `angle` towards v.

    Otherwise as `logistic`; t counts from 0. The default angle turns every label's odds round.

    >>> stream = turned_once(at=300)
    >>> bool(np.allclose(stream.theta(300), -stream.theta(299)))
    True
    """
    require(width >= 2, f"width is {width}; to turn takes at least 2 columns")
    formula = f"θ_t = B(cos φ u + sin φ v), φ = {angle:g} from row {at} on, 0 before"
    return _logistic("abrupt", formula, width, radius, world, lambda t: np.where(t >= at, angle, 0.0))


def separable(width: int = 8, margin: float = 0.1, world: int = 0) -> Law:
    r"""Return a law whose labels a hyperplane gives: $y = [u^\top x > 0]$, $\|u\| = 1$, no row nearer than μ.

    $x = g + \mu\,\mathrm{sign}(u^\top g)\,u$ with $g \sim N(0, I)$; so $|u^\top x| \ge \mu$. u is `theta()`; the
    loss of su falls to 0 as s grows, so that no ball holds a best θ.

    >>> stream = separable(width=3, margin=0.25)
    >>> X, y = stream.take(10_000, seed=0)
    >>> print(f"{((2 * y - 1) * (X @ stream.theta())).min():.3f}")
    0.250
    """
    require(0 <= margin < math.inf, f"margin is {margin}; it must be finite and at least 0")
    u, _ = _plane(width, world)

    def draw(rng: np.random.Generator, t: Vector) -> tuple[Matrix, Vector]:
        g = rng.standard_normal((t.size, width))
        y = g @ u > 0
        return g + np.where(y, margin, -margin)[:, None] * u, y.astype(np.float64)

    formula = f"x ~ N(0, I) moved {margin:g} away from uᵀx = 0, y = [uᵀx > 0]"
    return Law("separable", width, None, formula, draw, lambda _: u.copy())


def _logistic(name: str, formula: str, width: int, radius: float, world: int, angle: Callable[[Vector], Vector]) -> Law:
    require(0 <= radius < math.inf, f"radius is {radius}; it must be finite and at least 0")
    u, v = _plane(width, world)

    def truth(t: int) -> Vector:
        (phi,) = angle(np.array([float(t)]))
        return radius * (math.cos(phi) * u + math.sin(phi) * v)

    def draw(rng: np.random.Generator, t: Vector) -> tuple[Matrix, Vector]:
        X, phi = rng.standard_normal((t.size, width)), angle(t)
        p = sigmoid_many(radius * (np.cos(phi) * (X @ u) + np.sin(phi) * (X @ v)))
        return X, (rng.random(t.size) < p).astype(np.float64)

    return Law(name, width, radius, f"x ~ N(0, I), P(y = 1) = σ(θᵀx), {formula}, B = {radius:g}", draw, truth)


def _plane(width: int, world: int) -> tuple[Vector, Vector]:
    """Return two orthonormal directions; of a single column there is only one, and the second is 0."""
    require(width >= 1, f"width is {width}; it must be at least 1")
    require(world >= 0, f"world is {world}; it must be at least 0")
    g, h = np.random.default_rng(world).standard_normal((2, width))
    u = g / np.linalg.norm(g)
    if width == 1:
        return u, np.zeros(1)
    h = h - (u @ h) * u
    return u, h / np.linalg.norm(h)


def require(holds: bool, otherwise: str) -> None:
    """Refuse a parameter with this sentence unless the condition holds."""
    if not holds:
        raise ValueError(otherwise)
