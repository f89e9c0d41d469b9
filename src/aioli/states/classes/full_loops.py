r"""The rounds of many classes over P and w, in compiled loops. One pass over P a row, of (1 + 2ρ)D² operations.

P has one block of d × d a pair of contrasts: entry $jd + i$ is column i in contrast j. `E` are the contrasts of the
classes (`numerics.helmert`). P is symmetric, so $(PX)^\top$ is a sum of its rows: long vectors whatever d is.
"""

import math

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.outcomes.class_labels import Codes
from aioli.outcomes.many_classes import answer_label, settle_prediction
from aioli.outcomes.spec import Rule
from aioli.outcomes.two_classes import Tally

__all__ = ["play_rows", "predict_rows"]


@compiled("void(f8[:,::1],f8[:,::1],i8,f8,f8,f8[::1],f8[:,::1])", reassociate=True)
def downdate_and_multiply(P: Matrix, U: Matrix, rank: int, rho: float, back: float, x: Vector, PX: Matrix) -> None:
    r"""Set $P \leftarrow \rho(P - U^\top U) + \mathrm{back}\,I$, and $PX = (P(I\otimes x))^\top$."""
    D, d = P.shape[0], x.size
    for j in range(PX.shape[0]):
        PX[j, :] = 0.0
        for i in range(d):
            row = j * d + i
            entries = P[row]
            r = 0
            while r + 1 < rank:
                a, b = U[r, row], U[r + 1, row]
                for c in range(D):
                    entries[c] -= a * U[r, c] + b * U[r + 1, c]
                r += 2
            if r < rank:
                a = U[r, row]
                for c in range(D):
                    entries[c] -= a * U[r, c]
            if rho < 1.0:
                for c in range(D):
                    entries[c] *= rho
                entries[row] += back
            scale = x[i]
            for c in range(D):
                PX[j, c] += scale * entries[c]


@compiled("f8(f8[:,::1],f8[::1],f8[::1],f8[:,::1],f8[::1])", reassociate=True)
def read_row(PX: Matrix, w: Vector, x: Vector, V: Matrix, m: Vector) -> float:
    r"""Compute $V = (I\otimes x)^\top PX$ and the centre's logits m; returns ‖x‖. O(K²d)."""
    q, d = V.shape[0], x.size
    norm2 = 0.0
    for i in range(d):
        norm2 += x[i] * x[i]
    for j in range(q):
        for o in range(j + 1):
            total = 0.0
            for i in range(d):
                total += PX[j, o * d + i] * x[i]
            V[j, o] = total
            V[o, j] = total
        total = 0.0
        for i in range(d):
            total += w[j * d + i] * x[i]
        m[j] = total
    return math.sqrt(norm2)


@compiled(
    "void(f8[:,::1],f8[::1],f8[::1],f8[::1],f8[:,::1],f8[:,::1],i8[::1],f8[::1],f8[:,::1])",
    reassociate=True,
)
def play_rows(
    P: Matrix,
    w: Vector,
    tally: Vector,
    rules: Vector,
    E: Matrix,
    X: Matrix,
    codes: Codes,
    stakes: Vector,
    said: Matrix,
) -> None:
    r"""Play the rows in order; row t of `said` becomes the logarithms of the probabilities announced for it.

    The loss and the certificate are counted where the row is learned, which is where it was announced unless its
    weight is large.
    """
    K, q = E.shape
    D = w.size
    rho = rules[Rule.FORGETTING]
    back = (1.0 - rho) / rules[Rule.RIDGE]
    PX, U, V, L = np.empty((q, D)), np.empty((q, D)), np.empty((q, q)), np.empty((q, q))
    N, R, R_hat, chol = np.empty((K, q)), np.empty((q, q)), np.empty((q, q)), np.empty((q, q))
    m, u, step, p, log_p, weights = np.empty(q), np.empty(q), np.empty(q), np.empty(K), np.empty(K), np.empty(K)
    rank, drift, shift = 0, 1.0, 0.0  # nothing is pending before the first row
    for t in range(len(X)):
        x = X[t]
        downdate_and_multiply(P, U, rank, drift, shift, x, PX)
        norm = read_row(PX, w, x, V, m)
        C = rules[Rule.RADIUS] * norm
        rank = settle_prediction(E, V, m, C, L, N, u, p, log_p, R, R_hat, chol, weights)
        said[t, :] = log_p
        stake = stakes[t]
        loss, inst = 0.0, 0.0
        if stake > 0.0:
            loss, inst, rank = answer_label(
                E, m, C, codes[t], stake, N, u, p, log_p, R, R_hat, chol, weights, rank, step
            )
            for r in range(rank):
                U[r, :] = 0.0
                for j in range(q):
                    scale = R[r, j]
                    for c in range(D):
                        U[r, c] += scale * PX[j, c]
            for j in range(q):
                scale = 0.5 * step[j]
                for c in range(D):
                    w[c] -= scale * PX[j, c]
        else:
            rank = 0
        drift, shift = rho, back
        tally[Tally.ROUNDS] += 1.0
        tally[Tally.WEIGHT] += stake
        tally[Tally.LOSS] += loss
        tally[Tally.REGRET] += inst
        tally[Tally.WIDEST] = max(tally[Tally.WIDEST], norm)
        if stake != 1.0:
            tally[Tally.IRREGULAR] += 1.0
    downdate(P, U, rank, drift, shift)


@compiled("void(f8[:,::1],f8[:,::1],i8,f8,f8)", reassociate=True)
def downdate(P: Matrix, U: Matrix, rank: int, rho: float, back: float) -> None:
    r"""Set $P \leftarrow \rho(P - U^\top U) + \mathrm{back}\,I$. O(ρD²)."""
    D = P.shape[0]
    for row in range(D):
        entries = P[row]
        r = 0
        while r + 1 < rank:
            a, b = U[r, row], U[r + 1, row]
            for c in range(D):
                entries[c] -= a * U[r, c] + b * U[r + 1, c]
            r += 2
        if r < rank:
            a = U[r, row]
            for c in range(D):
                entries[c] -= a * U[r, c]
        if rho < 1.0:
            for c in range(D):
                entries[c] *= rho
            entries[row] += back


@compiled("void(f8[:,::1],f8[::1],f8[::1],f8[:,::1],f8[:,::1],f8[:,::1])", reassociate=True)
def predict_rows(P: Matrix, w: Vector, rules: Vector, E: Matrix, X: Matrix, said: Matrix) -> None:
    """Compute the logarithms of each row's probabilities, as if it came next; touches nothing else."""
    K, q = E.shape
    PX, V, L = np.empty((q, w.size)), np.empty((q, q)), np.empty((q, q))
    N, R, R_hat, chol = np.empty((K, q)), np.empty((q, q)), np.empty((q, q)), np.empty((q, q))
    m, u, p, log_p, weights = np.empty(q), np.empty(q), np.empty(K), np.empty(K), np.empty(K)
    for t in range(len(X)):
        x = X[t]
        d = x.size
        for j in range(q):
            PX[j, :] = 0.0
            for i in range(d):
                scale = x[i]
                for c in range(w.size):
                    PX[j, c] += scale * P[j * d + i, c]
        norm = read_row(PX, w, x, V, m)
        settle_prediction(E, V, m, rules[Rule.RADIUS] * norm, L, N, u, p, log_p, R, R_hat, chol, weights)
        said[t, :] = log_p
