r"""Certificates of the kernel form, and how many dimensions the rows so far fill.

Everything happens in the span of the rows. The log-determinant stands where the paper's theorem has its dimension:
the proof bounds each round by $c(1+BR)\log(1 + \tfrac12 h_tv_t)$, and these add up to
$c(1+BR)\log\det(I + D^{-1}K)$ with $D = \mathrm{diag}(2\lambda/h_s)$, which is at most
$c\,d(1+BR)\log(1 + nR^2/(8d\lambda\kappa))$ wherever d is finite.
"""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.two_classes import Tally
from aioli.states.certificate import Certificate
from aioli.states.kernel.growing_cholesky import LEVERAGE, LOG_DET, NOISE, PANEL, GrowingCholesky
from aioli.states.kernel.surrogates import losses_at

__all__ = ["dimension_at", "dimension_learned", "length_by_kernel", "running_certificate", "tight_certificate"]

EPSILON = 2.0**-52
SAFE = 1.0 - 1e-12  # of h: a smaller one is below the loss too, and rounding in the curvature is less than that
GRID = 40  # multipliers tried before the search


def running_certificate(state: GrowingCholesky) -> Certificate:
    r"""Return $\lambda B^2 + \sum \mathrm{inst}_t$. O(1)."""
    return _certificate(state, state.spec.ridge * state.spec.radius**2)


def tight_certificate(
    state: GrowingCholesky, K: Matrix, length: Callable[[Vector], float] | None = None
) -> Certificate:
    r"""Return the least certificate that the run proves, by a trust-region problem in the span of the rows. O(t³).

    The regret is at most $\sum_s \ell_s - \min_{\|f\| \le B} \sum_s \hat\ell_s(f)$, over the surrogates as they were
    learned. For any numbers $e_s$, with $q_s = g_s + h_se_s$, Fenchel's inequality bounds that minimum from below:

    $$\sum_s \hat\ell_s(f) \ge \sum_s \bigl(L_s - q_sz_s - \tfrac12h_se_s^2\bigr) - B\,\|\Phi^\top q\|$$

    with equality at $e_s = f^*(x_s) - z_s$. The e come from an eigendecomposition, where rounding may do what it likes;
    the bound is a few sums, to which their own rounding is added. So rounding makes it larger, never wrong. Where the
    state forgets, surrogates do not fade: this is then less than what P and w alone would prove.

    `length` gives an upper bound on $\|\Phi^\top q\|$; None takes it from K.
    """
    spec, prior = state.spec, state.spec.ridge * state.spec.radius**2
    if state.surrogates is None or not state.count or spec.curvature == "full":
        return _certificate(state, prior)
    z, g = state.surrogates[: state.count].T
    h = SAFE * 2.0 * spec.ridge / state.ledger[: state.count, NOISE]
    s = np.sqrt(h)
    eigenvalues, U = np.linalg.eigh(s[:, None] * K * s)
    toward = U.T @ (s * (K @ (h * z - g)))
    upper = length or partial(length_by_kernel, K, np.sqrt(state.diagonal), 0.0)

    def regret(log_mu: float) -> float:
        """Return the bound with f the minimiser where the multiplier of the ball is μ."""
        t = U @ (toward / (2.0 * math.exp(log_mu) + np.maximum(eigenvalues, 0.0)))  # √h f
        q = g + s * (t - s * z)
        terms = q * z + 0.5 * np.square(t - s * z)
        rounding = (state.count + 16.0) * EPSILON * float(np.abs(terms).sum() + np.abs(q * z).sum())
        return float(terms.sum()) + rounding + spec.radius * upper(q)

    with np.errstate(over="ignore", invalid="ignore"):
        largest = max(spec.ridge, upper(h * z - g) / spec.radius)  # beyond, f is well within the ball
        least = _least(regret, math.log(1e-14 * spec.ridge), math.log(2.0 * largest))
    loss = float(state.tally[Tally.LOSS])
    late = loss - float(losses_at(z, g).sum()) + (state.count + 16.0) * EPSILON * loss  # of labels that came late
    running = _certificate(state, prior)
    return (
        running if not least + late < running else _certificate(state, least + late - float(state.tally[Tally.REGRET]))
    )


def length_by_kernel(K: Matrix, norms: Vector, accuracy: float, q: Vector) -> float:
    r"""Return an upper bound on $\|\Phi^\top q\|$ given K to `accuracy` of k(x,x), and each row's √k(x,x). O(t²)."""
    rounding = (accuracy + 2.0 * (len(q) + 2.0) * EPSILON) * float(np.abs(q) @ norms) ** 2
    return math.sqrt(max(float(q @ (K @ q)), 0.0) + rounding)


def _least(function: Callable[[float], float], lower: float, upper: float) -> float:
    """Return about the least value between the two: the best of a grid, and of a search around it."""
    from scipy.optimize import minimize_scalar  # 0.15 s, where learning never needs it

    grid = np.linspace(lower, upper, GRID)
    values = [function(x) for x in grid.tolist()]
    best = int(np.argmin(values))
    around = grid[max(best - 1, 0)], grid[min(best + 1, GRID - 1)]
    found = minimize_scalar(function, bounds=around, method="bounded", options={"xatol": 1e-9})
    return min(float(found.fun), values[best])


def dimension_learned(state: GrowingCholesky, kernel: Callable[[int, int, int], Matrix]) -> float:
    r"""Return $\mathrm{Tr}\,K(K+D)^{-1} = \mathrm{Tr}(I - \lambda P)$, $D = \mathrm{diag}(2\lambda/h_s)$. O(t²) a row.

    Round s adds $c_s^\top Kc_s = 1 - c_s^\top Dc_s$, $c_s$ being row s of $L^{-1}$, which no later row changes: each is
    computed once, when it is first asked for. Where the state forgets, what was added fades with the row, K takes the
    place of D, and `kernel(t, start, stop)` gives the rows so far with those from start to stop.
    """
    while state.levers < state.count:
        start = state.levers
        stop = min((start // PANEL + 1) * PANEL, state.count)
        C = state.inverse_rows(start, stop)
        if state.spec.forgetting == 1.0:
            added = 1.0 - (C * C) @ state.ledger[:stop, NOISE]
        else:
            added = np.zeros(stop - start)
            for first in range(0, stop, PANEL):
                last = min(first + PANEL, stop)
                added += np.sum((C @ kernel(stop, first, last)) * C[:, first:last], axis=1)
        state.ledger[start:stop, LEVERAGE] = np.clip(added, 0.0, 1.0)
        state.levers = stop
    return float(state.ledger[: state.count, LEVERAGE] @ state.decay())


def dimension_at(K: Matrix, ridge: float) -> float:
    r"""Return $d_\mathrm{eff}(\lambda) = \mathrm{Tr}\,K(K + \lambda I)^{-1}$. O(t³)."""
    eigenvalues: Vector = np.maximum(np.linalg.eigvalsh(K), 0.0)
    return float(np.sum(eigenvalues / (eigenvalues + ridge)))


def _certificate(state: GrowingCholesky, prior: float) -> Certificate:
    spec, tally = state.spec, state.tally
    full = spec.curvature == "full"
    promised = not full and spec.forgetting == 1.0 and tally[Tally.IRREGULAR] == 0.0 and spec.regulariser >= 0.5
    stretch = 1.0 + spec.radius * float(tally[Tally.WIDEST])
    theorem = spec.ridge * spec.radius**2 + spec.regulariser * stretch * float(tally[LOG_DET])
    nats = math.inf if full else prior + float(tally[Tally.REGRET])
    return Certificate(nats, spec.radius, int(tally[Tally.ROUNDS]), theorem if promised else math.inf)
