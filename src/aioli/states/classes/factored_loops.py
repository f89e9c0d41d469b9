r"""The rounds of many classes over $P = SS^\top$ (Potter's square root): the same game where P would lose its digits.

Row j of $F = (I\otimes x)^\top S$ gives $V = FF^\top$, which cannot be indefinite. The curvature of a row is a sum of ρ
terms $R_rR_r^\top$, and each adds $f = F^\top R_r$ to S as of two classes: $S \leftarrow S - a\,(Sf)f^\top$ with
$a = \gamma/(1 + \sqrt{1-\gamma v})$, $\gamma = 1/(1+v)$, $v = f^\top f$. (2 + 2ρ)D² operations a row, and twice the
digits.
"""

import math

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.copying import copy_numbers
from aioli.outcomes.class_labels import Codes
from aioli.outcomes.many_classes import answer_label, settle_prediction
from aioli.outcomes.spec import Rule
from aioli.states.classes.full_loops import combine_rows, count_row, read_logits, read_squares

__all__ = ["play_rows"]


@compiled("void(f8[:,::1],f8[::1],f8[::1])", reassociate=True)
def multiply(S: Matrix, f: Vector, k: Vector) -> None:
    """Compute k = Sf. O(D²)."""
    for i in range(S.shape[0]):
        total = 0.0
        for c in range(f.size):
            total += S[i, c] * f[c]
        k[i] = total


@compiled("void(f8[:,::1],f8[::1],f8[::1],f8)", reassociate=True)
def subtract(S: Matrix, k: Vector, f: Vector, a: float) -> None:
    r"""Set $S \leftarrow S - a\,kf^\top$. O(D²)."""
    for i in range(S.shape[0]):
        scale = a * k[i]
        for c in range(f.size):
            S[i, c] -= scale * f[c]


@compiled("i8(f8[:,::1],f8[::1],f8[::1],f8[::1],f8[:,::1],f8[:,::1],i8[::1],f8[::1],f8[:,::1])", reassociate=True)
def play_rows(
    S: Matrix,
    w: Vector,
    tally: Vector,
    rules: Vector,
    E: Matrix,
    X: Matrix,
    codes: Codes,
    stakes: Vector,
    said: Matrix,
) -> int:
    """Play the rows in order, as `full_loops.play_rows` does; all of them are played."""
    K, q = E.shape
    D = w.size
    F, V, L, terms = np.empty((q, D)), np.empty((q, q)), np.empty((q, q)), np.empty((q, q))
    N, R, R_hat, chol = np.empty((K, q)), np.empty((q, q)), np.empty((q, q)), np.empty((q, q))
    m, u, step, p, log_p, weights = np.empty(q), np.empty(q), np.empty(q), np.empty(K), np.empty(K), np.empty(K)
    k, f, fs = np.empty(D), np.empty(D), np.empty((q, D))
    for t in range(len(X)):
        x = X[t]
        combine_rows(S, x, F)
        read_squares(F, V)
        norm = read_logits(w, x, m)
        C = rules[Rule.RADIUS] * norm
        rank, beyond = settle_prediction(E, V, m, C, L, N, u, p, log_p, R, R_hat, chol, weights)
        copy_numbers(log_p, said[t])
        stake = stakes[t]
        if stake < 0.0:
            continue
        loss, inst, rank = answer_label(E, m, C, codes[t], stake, N, u, p, log_p, R, R_hat, chol, weights, rank, step)
        for r in range(rank):  # the terms again, from C⁻¹R: those of a row of its weight
            for i in range(q):
                terms[r, i] = 0.0
                for s in range(r + 1):
                    terms[r, i] += chol[r, s] * R[s, i]
            fs[r, :] = 0.0
            for j in range(q):
                for c in range(D):
                    fs[r, c] += terms[r, j] * F[j, c]
        f[:] = 0.0
        for j in range(q):
            for c in range(D):
                f[c] += 0.5 * step[j] * F[j, c]
        multiply(S, f, k)
        for c in range(D):
            w[c] -= k[c]
        for r in range(rank):
            v = 0.0
            for c in range(D):
                v += fs[r, c] * fs[r, c]
            gamma = 1.0 / (1.0 + v)
            a = gamma / (1.0 + math.sqrt(gamma))  # 1 - γv is γ
            multiply(S, fs[r], k)
            subtract(S, k, fs[r], a)
            for s in range(r + 1, rank):
                along = 0.0
                for c in range(D):
                    along += fs[r, c] * fs[s, c]
                for c in range(D):
                    fs[s, c] -= a * along * fs[r, c]
        count_row(tally, stake, loss, inst, norm, beyond)
    return len(X)
