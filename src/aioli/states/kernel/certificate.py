r"""Certificates of the kernel form, and how many dimensions the rows so far fill.

Everything happens in the span of the rows. The log-determinant stands where the paper's theorem has its dimension:
the proof bounds each round by $c(1+BR)\log(1 + \tfrac12 h_tv_t)$, and these add up to
$c(1+BR)\log\det(I + D^{-1}K)$ with $D = \mathrm{diag}(2\lambda/h_s)$, which is at most
$c\,d(1+BR)\log(1 + nR^2/(8d\lambda\kappa))$ wherever d is finite.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy import linalg

from aioli.numerics.ball import ball_multiplier
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.two_classes import Tally
from aioli.states.certificate import Certificate
from aioli.states.kernel.growing_cholesky import LEVERAGE, LOG_DET, NOISE, PANEL, GrowingCholesky

__all__ = ["dimension_at", "dimension_learned", "running_certificate", "tight_certificate"]


def running_certificate(state: GrowingCholesky) -> Certificate:
    r"""Return $\lambda B^2 + \sum \mathrm{inst}_t$. O(1)."""
    return _certificate(state, state.spec.ridge * state.spec.radius**2)


def tight_certificate(state: GrowingCholesky, K: Matrix) -> Certificate:
    r"""Return the least certificate that the run proves, by a trust-region problem in the span of the rows. O(t³).

    $\sum \mathrm{inst}_t + \max_{\|\theta\| \le B} \lambda\|\theta\|^2 - (\theta-w)^\top A(\theta-w)$.

    The eigenvalues ν of $RKR^\top$, $M = R^\top R$, are those of $I - \lambda P$, so $a = \lambda/(1-\nu)$ in the dual
    that the finite form's certificate explains: $\mu B^2 + \sum_i w_i^2(\lambda-\mu)/(\nu_i + (1-\nu_i)\mu/\lambda)$,
    in which a large a costs no digits. $w = \Phi^\top R^\top\beta$ has the coordinates $\sqrt{\nu_i}\,u_i^\top\beta$.
    Where the state forgets, R fades and β does not: then the coordinates are inner products with w, and what of w lies
    outside the fading span is one more coordinate, with ν = 0.
    """
    ridge, radius, rho = state.spec.ridge, state.spec.radius, state.spec.forgetting
    L, root = state.factor(), np.sqrt(state.decay())
    half = root[:, None] * linalg.solve_triangular(L, K, lower=True, check_finite=False)
    nu, U = np.linalg.eigh(root[:, None] * linalg.solve_triangular(L, half.T, lower=True, check_finite=False))
    nu = np.clip(nu, 0.0, 1.0 - np.finfo(np.float64).eps)
    if rho == 1.0:
        w = np.sqrt(nu) * (U.T @ state.beta)
    else:
        alpha = linalg.solve_triangular(L, state.beta, lower=True, trans="T", check_finite=False)
        remembered = nu > state.count * np.finfo(np.float64).eps
        nu, U = nu[remembered], U[:, remembered]
        w = (U.T @ (half @ alpha)) / np.sqrt(nu)
        outside = math.sqrt(max(float(alpha @ K @ alpha - w @ w), 0.0))
        nu, w = np.append(nu, 0.0), np.append(w, outside)
    a = ridge / (1.0 - nu)
    mu = ball_multiplier(a * nu, a * w, radius) or 1e-12 * ridge  # at 0, 0/0 would be the limit 0
    dual = mu * radius**2 + float(np.sum(w * w * (ridge - mu) / (nu + (1.0 - nu) * (mu / ridge))))
    rounding = 4.0 * state.count * np.finfo(np.float64).eps * float(a @ (w * w))
    return _certificate(state, min(dual + rounding, ridge * radius**2))


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
