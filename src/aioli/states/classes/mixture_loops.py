"""The compiled loops of a mixture of probabilities of many classes: rows announced, and answered label by label.

What each formula is for is told in `states.classes.mixture`, whose arrays these are.
"""

import math

import numpy as np

from aioli.numerics.compiling import Cube, Matrix, Vector, compiled
from aioli.numerics.copying import copy_numbers
from aioli.outcomes.class_labels import Codes
from aioli.outcomes.two_classes import HEAVY
from aioli.states.mixture.mixture_loops import (
    BOLD,
    CERTAIN,
    DEVIANT,
    FORGETTING,
    LEAST,
    RETURN_START,
    RUN,
    UPPER_RETURN,
)

__all__ = ["BESIDE", "MEMORIES", "NOBODY", "STACKERS", "announce_rows", "combine_rows"]


STACKERS = 2
BESIDE = 4  # features of a stacker that are no expert's
MEMORIES = 3
TIME, LAST_LABEL, WEIGHT = range(MEMORIES)
NOBODY = -1.0  # the last label, before there is one
NEGLIGIBLE = 1e-6  # a probability whose part of the curvature is left out


@compiled(
    "void(f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[::1])",
    reassociate=True,
    uncounted=True,
)
def announce(
    shares: Vector,
    upper: Vector,
    memory: Vector,
    counts: Vector,
    recent: Vector,
    u: Matrix,
    bias: Matrix,
    Z: Matrix,
    Phi: Matrix,
    said: Matrix,
    out: Vector,
) -> None:
    """Write the whole's probabilities, those of mixture and stackers, and the stackers' features. O(EK).

    Z has a line an expert; the last is that of the class shares, which is written here.
    """
    E, K = Z.shape
    even = memory[WEIGHT] + 0.5 * K
    for k in range(K):
        Z[E - 1, k] = math.log((counts[k] + 0.5) / even)
        said[0, k] = 0.0
    for e in range(E):
        if shares[e] > 0.0:
            for k in range(K):
                said[0, k] += shares[e] * math.exp(Z[e, k])
    for k in range(K):
        said[0, k] = max(said[0, k], LEAST)
        mixed = math.log(said[0, k])
        Phi[k, 0] = max(mixed, -BOLD)
        for e in range(E):
            Phi[k, 1 + e] = min(max(Z[e, k] - mixed, -DEVIANT), DEVIANT)
        Phi[k, E + 1] = 2.0 * said[0, k]
        Phi[k, E + 2] = 1.0 if k == int(memory[LAST_LABEL]) else 0.0
        Phi[k, E + 3] = recent[k]
        for s in range(STACKERS):
            total = mixed + bias[s, k]
            for f in range(E + BESIDE):
                total += u[s, f] * Phi[k, f]
            said[1 + s, k] = total
    for s in range(1, 1 + STACKERS):
        top = said[s, 0]
        for k in range(1, K):
            top = max(top, said[s, k])
        total = 0.0
        for k in range(K):
            said[s, k] = math.exp(max(said[s, k] - top, -CERTAIN))
            total += said[s, k]
        for k in range(K):
            said[s, k] /= total
    for k in range(K):
        out[k] = 0.0
        for s in range(1 + STACKERS):
            out[k] += upper[s] * said[s, k]


@compiled("void(f8[:,::1],f8[:,::1],f8[::1],f8[::1])", reassociate=True, uncounted=True)
def solve(A: Matrix, L: Matrix, b: Vector, x: Vector) -> None:
    """Write the x of Ax = b; A is positive definite and read below its diagonal, L is workspace. O(F³).

    The last unknown is eliminated first. What is left of a line then begins at its first number, and no step waits for
    the one before: twice as fast as Cholesky's order where there are a dozen or two unknowns.
    """
    n = b.size
    for i in range(n):
        copy_numbers(A[i, : i + 1], L[i, : i + 1])
        x[i] = b[i]
    for j in range(n - 1, -1, -1):
        row = L[j]
        row[j] = max(row[j], LEAST)
        by = 1.0 / row[j]
        for i in range(j):
            line, part = L[i], row[i] * by
            for q in range(i + 1):
                line[q] -= part * row[q]
            x[i] -= part * x[j]
    for i in range(n):
        row, total = L[i], x[i]
        for q in range(i):
            total -= row[q] * x[q]
        x[i] = total / row[i]


@compiled(
    "void(f8[::1],f8[::1],f8[:,::1],f8[::1],f8[:,::1],f8[::1],i8,f8,f8,f8[:,::1],f8[::1],f8[::1],f8[::1])",
    reassociate=True,
    uncounted=True,
)
def correct(
    u: Vector,
    bias: Vector,
    A: Matrix,
    certain: Vector,
    Phi: Matrix,
    p: Vector,
    y: int,
    stake: float,
    rho: float,
    L: Matrix,
    g: Vector,
    step: Vector,
    mean: Vector,
) -> None:
    r"""Take one step of online Bayes. O(KF² + F³).

    $$A \leftarrow A + \tfrac12\Phi^\top(\mathrm{diag}\,p - pp^\top)\Phi, \qquad
      u \leftarrow u - \tfrac12A^{-1}\Phi^\top(p - e_y).$$

    Where A has places for the classes' biases behind those of u, they are learned together; else each bias has a
    precision of its own, `certain`.
    """
    K, F = Phi.shape
    joint = len(A) > F
    size = len(A)
    if rho < 1.0:
        for i in range(size):
            for j in range(i + 1):
                A[i, j] *= rho
            A[i, i] += 1.0 - rho
        for k in range(K):
            certain[k] = rho * certain[k] + 1.0 - rho
    for f in range(F):
        mean[f] = 0.0
        g[f] = 0.0
    for k in range(K):
        short = p[k] - (1.0 if k == y else 0.0)
        for f in range(F):
            mean[f] += p[k] * Phi[k, f]
            g[f] += short * Phi[k, f]
        if joint:
            g[F + k] = short
    for k in range(K):
        if p[k] < NEGLIGIBLE:
            continue
        half = 0.5 * stake * p[k]
        for i in range(F):
            away = half * (Phi[k, i] - mean[i])
            for j in range(i + 1):
                A[i, j] += away * (Phi[k, j] - mean[j])
        if joint:
            for j in range(F):
                A[F + k, j] += half * (Phi[k, j] - mean[j])
            A[F + k, F + k] += half
            for q in range(k + 1):
                A[F + k, F + q] -= half * p[q]
    solve(A, L, g, step)
    for f in range(F):
        u[f] -= 0.5 * stake * step[f]
    for k in range(K):
        if joint:
            bias[k] -= 0.5 * stake * step[F + k]
        else:
            certain[k] += 0.5 * stake * p[k] * (1.0 - p[k])
            bias[k] -= 0.5 * stake * (p[k] - (1.0 if k == y else 0.0)) / certain[k]


@compiled("void(f8[::1],f8[::1],f8[::1],f8,f8)", reassociate=True, uncounted=True)
def update_shares(shares: Vector, prior: Vector, likely: Vector, rate: float, returned: float) -> None:
    r"""Set $w_i \leftarrow w_i\,p_i(y)^\omega$, normalised, and give a part of it back to the prior. O(E)."""
    total = 0.0
    for i in range(shares.size):
        shares[i] *= likely[i] ** rate
        total += shares[i]
    if not total > 0.0:  # every expert was certain, and wrong: begin again
        copy_numbers(prior, shares)
        total = 1.0
    for i in range(shares.size):
        shares[i] = (1.0 - returned) * (shares[i] / total) + returned * prior[i]


@compiled(
    "void(f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[:,::1],f8[:,::1],f8[:,:,::1],f8[:,::1],"
    "f8[:,:,::1],i8[::1],f8[::1],f8[:,::1])",
    reassociate=True,
)
def combine_rows(
    prior: Vector,
    shares: Vector,
    upper_prior: Vector,
    upper: Vector,
    memory: Vector,
    counts: Vector,
    recent: Vector,
    u: Matrix,
    bias: Matrix,
    A: Cube,
    certain: Matrix,
    Z: Cube,
    codes: Codes,
    weights: Vector,
    out: Matrix,
) -> None:
    """Announce and answer row after row, given what each expert announced: by expert, row and class."""
    E, K = Z.shape[0] + 1, Z.shape[2]
    F = E + BESIDE
    Phi, said, z = np.empty((K, F)), np.empty((1 + STACKERS, K)), np.empty((E, K))
    L, g, step, mean = np.zeros(A.shape[1:]), np.empty(A.shape[1]), np.empty(A.shape[1]), np.empty(F)
    likely, upper_likely = np.empty(E), np.empty(1 + STACKERS)
    for t in range(len(out)):
        y, weight = codes[t], weights[t]
        for e in range(E - 1):
            copy_numbers(Z[e, t], z[e])
        announce(shares, upper, memory, counts, recent, u, bias, z, Phi, said, out[t])
        stake = min(weight, HEAVY)  # a stacker may be led, not thrown
        for s in range(STACKERS):
            rho = 1.0 if s == 0 else FORGETTING
            correct(u[s], bias[s], A[s], certain[s], Phi, said[1 + s], y, stake, rho, L, g, step, mean)
        rate = min(weight, 1.0)  # p^ω is mixable for ω ≤ 1 only
        returned = 1.0 / (memory[TIME] + RETURN_START)
        for e in range(E):
            likely[e] = math.exp(z[e, y])
        for s in range(1 + STACKERS):
            upper_likely[s] = said[s, y]
        update_shares(shares, prior, likely, rate, returned)
        update_shares(upper, upper_prior, upper_likely, rate, UPPER_RETURN * returned)
        memory[TIME] += 1.0
        memory[WEIGHT] += weight
        counts[y] += weight
        if weight > 0.0:
            memory[LAST_LABEL] = y
        for k in range(K):
            recent[k] += rate * (1.0 - RUN) * ((1.0 if k == y else 0.0) - recent[k])


@compiled(
    "void(f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[:,::1],f8[:,::1],f8[:,:,::1],f8[:,::1])",
    reassociate=True,
)
def announce_rows(
    shares: Vector,
    upper: Vector,
    memory: Vector,
    counts: Vector,
    recent: Vector,
    u: Matrix,
    bias: Matrix,
    Z: Cube,
    out: Matrix,
) -> None:
    """Announce rows, each as if it came next, given what each expert announces; touches nothing."""
    E, K = Z.shape[0] + 1, Z.shape[2]
    Phi, said, z = np.empty((K, E + BESIDE)), np.empty((1 + STACKERS, K)), np.empty((E, K))
    for t in range(len(out)):
        for e in range(E - 1):
            copy_numbers(Z[e, t], z[e])
        announce(shares, upper, memory, counts, recent, u, bias, z, Phi, said, out[t])
