"""The softmax of logits: probabilities, the curvature below its loss, and a strictly convex equation with it."""

import math

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.curvature import tight_curvature

__all__ = ["SQRT2", "curvature_weights", "factor_semidefinite", "minimise_softmax", "softmax"]

SQRT2 = math.sqrt(2.0)
SERIES = tuple((-1.0) ** k / math.factorial(k + 2) for k in range(18))  # |t| < 1: the next term is below 1e-18
STEPS = 200  # of Newton's; two to five are usual
NEAR = 1e-6  # a step of the logits whose square, which is what the next one is like, is below what matters


@compiled("f8(f8[::1],f8[::1],f8[::1])")
def softmax(logits: Vector, p: Vector, log_p: Vector) -> float:
    r"""Compute $p_k \propto e^{a_k}$ and $\log p_k$; returns $\log\sum_k e^{a_k}$. O(K)."""
    most = -math.inf
    for k in range(logits.size):
        most = max(most, logits[k])
    total = 0.0
    for k in range(logits.size):
        p[k] = math.exp(logits[k] - most)
        total += p[k]
    log_total = math.log(total)
    for k in range(logits.size):
        p[k] /= total
        log_p[k] = (logits[k] - most) - log_total
    return most + log_total


@compiled("f8(f8[::1],f8[::1],f8,f8[::1])")
def curvature_weights(p: Vector, log_p: Vector, C: float, weights: Vector) -> float:
    r"""Compute $\pi_k = p_k\psi(\log p_k + L)$, $\psi(t) = (e^{-t} + t - 1)/t^2$; returns their sum. O(K).

    $L = \log(1 + (K-1)e^{\sqrt2 C})$ bounds $-\log p_k$ in the ball. The surrogate of curvature
    $\operatorname{diag}\pi - \pi\pi^\top/\sum\pi$ stays below the loss there (docs/classes.md). Of two classes the
    largest curvature that there is is known, h of `numerics.curvature`, and $\pi_k = h$ gives it.
    """
    K = p.size
    if K == 2:
        h = tight_curvature(log_p[0] - log_p[1], SQRT2 * C)
        weights[0] = h
        weights[1] = h
        return 2.0 * h
    far = SQRT2 * C
    L = far + math.log(K - 1.0 + math.exp(-far))
    end = math.exp(-L)
    total = 0.0
    for k in range(K):
        t = log_p[k] + L
        if abs(t) < 1.0:
            psi = 0.0
            for i in range(17, -1, -1):
                psi = psi * t + SERIES[i]
            weights[k] = p[k] * psi
        else:  # p e^-t is e^-L, which does not overflow where p is tiny
            weights[k] = (end + p[k] * (t - 1.0)) / (t * t)
        total += weights[k]
    return total


@compiled("void(f8[:,::1],f8[:,::1])", reassociate=True)
def factor_semidefinite(V: Matrix, L: Matrix) -> None:
    r"""Compute the lower triangular L with $V = LL^\top$; a direction below rounding is 0. O(K³)."""
    n = V.shape[0]
    for j in range(n):
        pivot = V[j, j]
        for k in range(j):
            pivot -= L[j, k] * L[j, k]
        kept = pivot > 1e-14 * V[j, j]
        root = math.sqrt(pivot) if kept else 0.0
        for i in range(n):
            if i < j:
                L[i, j] = 0.0
            elif i == j:
                L[i, j] = root
            elif kept:
                total = V[i, j]
                for k in range(j):
                    total -= L[i, k] * L[j, k]
                L[i, j] = total / root
            else:
                L[i, j] = 0.0


@compiled("f8(f8[:,::1],f8[::1],f8[::1],f8,f8[::1],f8[::1],f8[::1])", reassociate=True)
def minimise_softmax(N: Matrix, start: Vector, t: Vector, stake: float, u: Vector, p: Vector, log_p: Vector) -> float:
    r"""Move u to $\arg\min |u-t|^2 + \omega\log\sum_k e^{a_k}$, $a = \mathrm{start} + Nu$, p its softmax. O(K³) a step.

    That is $u = t - \tfrac\omega2 N^\top p$. The Hessian is at least 2I, so Newton's step is well defined; it is halved
    until the function has fallen. Returns the last step's decrement, squared.
    """
    K, q = N.shape
    a, step = np.empty(K), np.empty(K)
    g, delta, mean = np.empty(q), np.empty(q), np.empty(q)
    H = np.empty((q, q))
    for k in range(K):
        total = start[k]
        for i in range(q):
            total += N[k, i] * u[i]
        a[k] = total
    value = stake * softmax(a, p, log_p)
    for i in range(q):
        value += (u[i] - t[i]) * (u[i] - t[i])
    decrement = math.inf
    for _ in range(STEPS):
        for i in range(q):
            mean[i] = 0.0
            for j in range(i + 1):
                H[i, j] = 0.0
        for k in range(K):
            if p[k] > 1e-18:
                for i in range(q):
                    scaled = p[k] * N[k, i]
                    mean[i] += scaled
                    for j in range(i + 1):
                        H[i, j] += scaled * N[k, j]
        for i in range(q):
            g[i] = 2.0 * (u[i] - t[i]) + stake * mean[i]
            for j in range(i + 1):
                H[i, j] = stake * (H[i, j] - mean[i] * mean[j])
            H[i, i] += 2.0
        for i in range(q):  # Cholesky, and the two triangular solves of H delta = -g
            for j in range(i + 1):
                total = H[i, j]
                for k in range(j):
                    total -= H[i, k] * H[j, k]
                H[i, j] = math.sqrt(max(total, 1.0)) if i == j else total / H[j, j]
        decrement = 0.0
        for i in range(q):
            total = -g[i]
            for k in range(i):
                total -= H[i, k] * delta[k]
            delta[i] = total / H[i, i]
            decrement += delta[i] * delta[i]
        for i in range(q - 1, -1, -1):
            delta[i] /= H[i, i]
            for k in range(i):
                delta[k] -= H[i, k] * delta[i]
        if decrement <= 1e-300:
            break
        lowest, highest = math.inf, -math.inf
        for k in range(K):
            total = 0.0
            for i in range(q):
                total += N[k, i] * delta[i]
            step[k] = total
            lowest, highest = min(lowest, total), max(highest, total)
        slack = 1e-14 * (1.0 + abs(value))
        tau = 1.0
        while True:
            moved = 0.0
            for i in range(q):
                u[i] += tau * delta[i]
                moved += (u[i] - t[i]) * (u[i] - t[i])
            for k in range(K):
                a[k] += tau * step[k]
            new = moved + stake * softmax(a, p, log_p)
            if new <= value - 0.1 * tau * decrement + slack or tau < 1e-12:
                break
            for i in range(q):
                u[i] -= tau * delta[i]
            for k in range(K):
                a[k] -= tau * step[k]
            tau *= 0.5
        value = new
        if tau == 1.0 and highest - lowest <= NEAR:
            break
    return decrement
