r"""The rounds of many classes over P and w, in compiled loops. One pass over P a row, of (1 + 2ρ)D² operations.

P has one block of d × d a pair of contrasts: entry $jd + i$ is column i in contrast j. `E` are the contrasts of the
classes (`numerics.helmert`). P is symmetric, and only its lower triangle is read and written: half of the memory, which
is what a row waits for. A row of negative weight is only predicted. Each loop returns how many rows it played: fewer
than came means that the next one would cost P too many digits, and that the state stands exactly before that row.
"""

import math

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.copying import copy_numbers
from aioli.outcomes.class_labels import Codes
from aioli.outcomes.many_classes import answer_label, settle_prediction
from aioli.outcomes.spec import Rule
from aioli.outcomes.two_classes import Tally, keeps_its_digits
from aioli.states.classes.triangle import downdate, downdate_and_multiply, multiply

__all__ = ["combine_rows", "count_row", "play_rows", "predict_rows", "read_logits", "read_squares"]


@compiled("void(f8[:,::1],f8[::1],f8[:,::1])", reassociate=True)
def combine_rows(S: Matrix, x: Vector, F: Matrix) -> None:
    r"""Compute $(I\otimes x)^\top S$: a sum of the rows of S for each contrast. O(D²)."""
    d = x.size
    for j in range(F.shape[0]):
        F[j, :] = 0.0
        for i in range(d):
            scale, entries = x[i], S[j * d + i]
            for c in range(F.shape[1]):
                F[j, c] += scale * entries[c]


@compiled("void(f8[:,::1],f8[::1],f8[:,::1])", reassociate=True)
def read_variance(PX: Matrix, x: Vector, V: Matrix) -> None:
    r"""Compute $V = (I\otimes x)^\top P(I\otimes x)$ from $(I\otimes x)^\top P$. O(K²d)."""
    d = x.size
    for j in range(V.shape[0]):
        for o in range(j + 1):
            total = 0.0
            block = PX[j, o * d : o * d + d]
            for i in range(d):
                total += block[i] * x[i]
            V[j, o] = total
            V[o, j] = total


@compiled("f8(f8[::1],f8[::1],f8[::1])", reassociate=True)
def read_logits(w: Vector, x: Vector, m: Vector) -> float:
    """Compute the centre's logits, one a contrast; returns ‖x‖. O(D)."""
    norm2 = 0.0
    for i in range(x.size):
        norm2 += x[i] * x[i]
    for j in range(m.size):
        total = 0.0
        block = w[j * x.size : (j + 1) * x.size]
        for i in range(x.size):
            total += block[i] * x[i]
        m[j] = total
    return math.sqrt(norm2)


@compiled("b1(f8[:,::1],f8[::1],f8[:,::1],f8[:,::1],i8)", reassociate=True)
def stays_exact(P: Matrix, x: Vector, V: Matrix, R: Matrix, rank: int) -> bool:
    """Return whether P keeps digits enough in every contrast once this row is learned, as of two classes. O(D)."""
    for j in range(V.shape[0]):
        spread = 0.0
        for i in range(x.size):
            spread += x[i] * x[i] * P[j * x.size + i, j * x.size + i]
        left = V[j, j]
        for r in range(rank):
            along = 0.0
            for o in range(V.shape[0]):
                along += V[j, o] * R[r, o]
            left -= along * along
        if not keeps_its_digits(spread, max(left, 0.0)):
            return False
    return True


@compiled("void(f8[::1],f8,f8,f8,f8,i8)")
def count_row(tally: Vector, stake: float, loss: float, inst: float, norm: float, beyond: int) -> None:
    """Add a row to the running totals; `beyond` is 1 where the theorem does not speak of it."""
    tally[Tally.ROUNDS] += 1.0
    tally[Tally.WEIGHT] += stake
    tally[Tally.LOSS] += loss
    tally[Tally.REGRET] += inst
    tally[Tally.WIDEST] = max(tally[Tally.WIDEST], norm)
    if stake != 1.0 or beyond:
        tally[Tally.IRREGULAR] += 1.0


@compiled("i8(f8[:,::1],f8[::1],f8[::1],f8[::1],f8[:,::1],f8[:,::1],i8[::1],f8[::1],f8[:,::1])", reassociate=True)
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
) -> int:
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
    rank, pending = 0, False
    played = len(X)
    for t in range(len(X)):
        x = X[t]
        if pending:
            downdate_and_multiply(P, U, rank, rho, back, x, PX)
        else:
            multiply(P, x, PX)
        pending = False
        read_variance(PX, x, V)
        norm = read_logits(w, x, m)
        C = rules[Rule.RADIUS] * norm
        rank, beyond = settle_prediction(E, V, m, C, L, N, u, p, log_p, R, R_hat, chol, weights)
        copy_numbers(log_p, said[t])
        stake = stakes[t]
        if stake < 0.0:
            continue
        loss, inst, rank = answer_label(E, m, C, codes[t], stake, N, u, p, log_p, R, R_hat, chol, weights, rank, step)
        # forgetting gives back at least (1-ρ)‖x‖²/λ before V is read again, as of two classes
        if rho == 1.0 and not stays_exact(P, x, V, R, rank):
            played = t
            break
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
        pending = rank > 0 or rho < 1.0
        count_row(tally, stake, loss, inst, norm, beyond)
    if pending:
        downdate(P, U, rank, rho, back)
    return played


@compiled("void(f8[:,::1],f8[::1],f8[::1],b1,f8[:,::1],f8[:,::1],f8[:,::1])", reassociate=True)
def predict_rows(P: Matrix, w: Vector, rules: Vector, factored: bool, E: Matrix, X: Matrix, said: Matrix) -> None:
    """Compute the logarithms of each row's probabilities, as if it came next; touches nothing else. O(D²) each."""
    K, q = E.shape
    PX, V, L = np.empty((q, w.size)), np.empty((q, q)), np.empty((q, q))
    N, R, R_hat, chol = np.empty((K, q)), np.empty((q, q)), np.empty((q, q)), np.empty((q, q))
    m, u, p, log_p, weights = np.empty(q), np.empty(q), np.empty(K), np.empty(K), np.empty(K)
    for t in range(len(X)):
        x = X[t]
        if factored:
            combine_rows(P, x, PX)
            read_squares(PX, V)
        else:
            multiply(P, x, PX)
            read_variance(PX, x, V)
        norm = read_logits(w, x, m)
        settle_prediction(E, V, m, rules[Rule.RADIUS] * norm, L, N, u, p, log_p, R, R_hat, chol, weights)
        copy_numbers(log_p, said[t])


@compiled("void(f8[:,::1],f8[:,::1])", reassociate=True)
def read_squares(F: Matrix, V: Matrix) -> None:
    r"""Compute $V = FF^\top$, where row j of F is $S^\top(e_j\otimes x)$ and $P = SS^\top$. O(K²d)."""
    for j in range(V.shape[0]):
        for o in range(j + 1):
            total = 0.0
            for c in range(F.shape[1]):
                total += F[j, c] * F[o, c]
            V[j, o] = total
            V[o, j] = total
