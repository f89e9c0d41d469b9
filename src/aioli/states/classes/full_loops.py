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

__all__ = ["combine_rows", "count_row", "play_rows", "predict_rows", "read_logits", "read_squares"]


@compiled("void(f8[:,::1],f8[:,::1],i8,f8,f8)", reassociate=True)
def downdate(P: Matrix, U: Matrix, rank: int, rho: float, back: float) -> None:
    r"""Set $P \leftarrow \rho(P - U^\top U) + \mathrm{back}\,I$, its lower triangle. O(ρD²)."""
    for row in range(0, P.shape[0] - 1, 2):
        downdate_two_rows(P, U, rank, rho, back, row)
    if P.shape[0] % 2:
        downdate_row(P, U, rank, rho, back, P.shape[0] - 1)


@compiled("void(f8[:,::1],f8[:,::1],i8,f8,f8,i8)", reassociate=True)
def downdate_two_rows(P: Matrix, U: Matrix, rank: int, rho: float, back: float, row: int) -> None:
    """Downdate two rows of P up to their diagonals, as `downdate_row` does: both need the same of U. O(ρD)."""
    upper, lower, width = P[row], P[row + 1], row + 1
    r = 0
    while r + 3 < rank:
        first, second, third, fourth = U[r], U[r + 1], U[r + 2], U[r + 3]
        a, b, e, f = first[row], second[row], third[row], fourth[row]
        i, j, k, m = first[width], second[width], third[width], fourth[width]
        for c in range(width):
            upper[c] -= (a * first[c] + b * second[c]) + (e * third[c] + f * fourth[c])
            lower[c] -= (i * first[c] + j * second[c]) + (k * third[c] + m * fourth[c])
        lower[width] -= (i * i + j * j) + (k * k + m * m)
        r += 4
    while r + 1 < rank:
        first, second = U[r], U[r + 1]
        a, b, i, j = first[row], second[row], first[width], second[width]
        for c in range(width):
            upper[c] -= a * first[c] + b * second[c]
            lower[c] -= i * first[c] + j * second[c]
        lower[width] -= i * i + j * j
        r += 2
    if r < rank:
        first = U[r]
        a, i = first[row], first[width]
        for c in range(width):
            upper[c] -= a * first[c]
            lower[c] -= i * first[c]
        lower[width] -= i * i
    if rho < 1.0:
        for c in range(width):
            upper[c] *= rho
            lower[c] *= rho
        lower[width] *= rho
        upper[row] += back
        lower[width] += back


@compiled("void(f8[:,::1],f8[:,::1],i8,f8,f8,i8)", reassociate=True)
def downdate_row(P: Matrix, U: Matrix, rank: int, rho: float, back: float, row: int) -> None:
    """Downdate one row of P up to its diagonal, four terms a pass while there are as many. O(ρD)."""
    entries, width = P[row], row + 1
    r = 0
    while r + 3 < rank:
        a, b, e, f = U[r, row], U[r + 1, row], U[r + 2, row], U[r + 3, row]
        first, second, third, fourth = U[r], U[r + 1], U[r + 2], U[r + 3]
        for c in range(width):
            entries[c] -= (a * first[c] + b * second[c]) + (e * third[c] + f * fourth[c])
        r += 4
    while r + 1 < rank:
        a, b = U[r, row], U[r + 1, row]
        first, second = U[r], U[r + 1]
        for c in range(width):
            entries[c] -= a * first[c] + b * second[c]
        r += 2
    if r < rank:
        a, first = U[r, row], U[r]
        for c in range(width):
            entries[c] -= a * first[c]
    if rho < 1.0:
        for c in range(width):
            entries[c] *= rho
        entries[row] += back


@compiled("void(f8[:,::1],f8[::1],i8,f8[:,::1])", reassociate=True)
def multiply_row(P: Matrix, x: Vector, row: int, PX: Matrix) -> None:
    r"""Add to $(I\otimes x)^\top P$ what one row of P, up to its diagonal, and the column that equals it give. O(D)."""
    d = x.size
    entries = P[row]
    j = row // d
    scale, out = x[row - j * d], PX[j]
    for c in range(row + 1):
        out[c] += scale * entries[c]
    for o in range(j + 1):
        block = entries[o * d : min(o * d + d, row)]  # a slice: an index that might be negative is not vectorised
        total = 0.0
        for i in range(block.size):
            total += block[i] * x[i]
        PX[o, row] += total


@compiled("void(f8[:,::1],f8[:,::1],i8,f8,f8,f8[::1],f8[:,::1])", reassociate=True)
def downdate_and_multiply(P: Matrix, U: Matrix, rank: int, rho: float, back: float, x: Vector, PX: Matrix) -> None:
    """Downdate P, and compute its product with the next row in the same pass over memory. O(ρD²)."""
    PX[:] = 0.0
    for row in range(0, P.shape[0] - 1, 2):
        downdate_two_rows(P, U, rank, rho, back, row)
        multiply_row(P, x, row, PX)
        multiply_row(P, x, row + 1, PX)
    if P.shape[0] % 2:
        downdate_row(P, U, rank, rho, back, P.shape[0] - 1)
        multiply_row(P, x, P.shape[0] - 1, PX)


@compiled("void(f8[:,::1],f8[::1],f8[:,::1])", reassociate=True)
def multiply(P: Matrix, x: Vector, PX: Matrix) -> None:
    r"""Compute $(I\otimes x)^\top P$ from the lower triangle of P. O(D²)."""
    PX[:] = 0.0
    for row in range(P.shape[0]):
        multiply_row(P, x, row, PX)


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
