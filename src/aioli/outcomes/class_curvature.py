"""The curvature of a round of many classes as a sum of few terms, and what it leaves of a variance."""

import math

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.copying import copy_numbers

__all__ = ["DROPPED", "decompose_curvature", "project"]

DROPPED = 1e-2  # the share of a round's curvature that may be dropped: the theorem's bound grows by as much


@compiled("i8(f8[:,::1],f8[:,::1],f8[::1],f8,f8[:,::1],f8[:,::1],f8[:,::1])", reassociate=True)
def decompose_curvature(
    E: Matrix, N: Matrix, weights: Vector, stake: float, R: Matrix, R_hat: Matrix, chol: Matrix
) -> int:
    r"""Write $\omega\Pi = \sum_j \omega_j c_jc_j^\top$; returns how many terms are kept, others being small. O(K²).

    A weighted variance taken class by class (Welford): with classes in falling order of π and $s_j$ their running sum,
    $c_j = e_j - \sum_{i<j}\pi_ie_i/s_{j-1}$ and $\omega_j = \omega\pi_js_{j-1}/s_j$. Row j of R is
    $\sqrt{\omega_j}E^\top c_j$, of R̂ it is $\sqrt{\omega_j}N^\top c_j$, and chol is the Cholesky factor of
    $I + \hat R\hat R^\top$. Whatever is left out makes the surrogate smaller, so it stays below the loss.
    """
    K, q = N.shape
    order = np.argsort(-weights, kind="mergesort")  # stable: equal classes in the order of their codes
    size = np.empty(K)
    mean, mean_hat = np.empty(q), np.empty(q)
    first = order[0]
    for i in range(q):
        mean[i] = E[first, i]
        mean_hat[i] = N[first, i]
    running = weights[first]
    largest = 0.0
    for j in range(1, K):
        k = order[j]
        after = running + weights[k]
        share = weights[k] / after if after > 0.0 else 0.0
        root = math.sqrt(stake * share * running)
        total = 0.0
        for i in range(q):
            away = E[k, i] - mean[i]
            away_hat = N[k, i] - mean_hat[i]
            R[j - 1, i] = root * away
            R_hat[j - 1, i] = root * away_hat
            total += root * away_hat * (root * away_hat)
            mean[i] += share * away
            mean_hat[i] += share * away_hat
        size[j - 1] = total
        largest = max(largest, total)
        running = after
    allowed = DROPPED * largest / (1.0 + largest)
    for j in range(K - 2, -1, -1):
        if size[j] <= allowed:
            allowed -= size[j]
            size[j] = -1.0
    rank = 0
    for j in range(K - 1):
        if size[j] > 0.0:
            if rank < j:
                copy_numbers(R[j], R[rank])
                copy_numbers(R_hat[j], R_hat[rank])
            rank += 1
    for a in range(rank):
        for b in range(a + 1):
            total = 1.0 if a == b else 0.0
            for i in range(q):
                total += R_hat[a, i] * R_hat[b, i]
            for i in range(b):
                total -= chol[a, i] * chol[b, i]
            chol[a, b] = math.sqrt(max(total, 1.0)) if a == b else total / chol[b, b]
    return rank


@compiled("void(f8[:,::1],f8[:,::1],i8,f8[::1],f8[::1])", reassociate=True)
def project(R_hat: Matrix, chol: Matrix, rank: int, a: Vector, out: Vector) -> None:
    r"""Compute $C^{-1}\hat Ra$, so that $a^\top M^{-1}a = |a|^2 - |\mathrm{out}|^2$. O(ρK)."""
    for r in range(rank):
        total = 0.0
        for i in range(a.size):
            total += R_hat[r, i] * a[i]
        for s in range(r):
            total -= chol[r, s] * out[s]
        out[r] = total / chol[r, r]
