r"""The covariance of many classes as a lower triangle: downdated, and multiplied with a row, in passes over its rows.

P has one block of d × d a pair of contrasts and is symmetric; what is above its diagonal is neither read nor written.
r is the rank of the downdate, D the size of P.
Rows are taken two and four at a time: what they share is then read once, and a row of P waits for memory, not for sums.
"""

from aioli.numerics.compiling import Matrix, Vector, compiled

__all__ = ["downdate", "downdate_and_multiply", "multiply"]


@compiled("void(f8[:,::1],f8[:,::1],i8,f8,f8)", reassociate=True)
def downdate(P: Matrix, U: Matrix, rank: int, rho: float, back: float) -> None:
    r"""Set $P \leftarrow \rho(P - U^\top U) + \mathrm{back}\,I$, its lower triangle. O(rD²)."""
    for row in range(0, P.shape[0] - 1, 2):
        downdate_two_rows(P, U, rank, rho, back, row)
    if P.shape[0] % 2:
        downdate_row(P, U, rank, rho, back, P.shape[0] - 1)


@compiled("void(f8[:,::1],f8[:,::1],i8,f8,f8,i8)", reassociate=True)
def downdate_two_rows(P: Matrix, U: Matrix, rank: int, rho: float, back: float, row: int) -> None:
    """Downdate two rows of P up to their diagonals, as `downdate_row` does: both need the same of U. O(rD)."""
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
    if r + 2 < rank:
        first, second, third = U[r], U[r + 1], U[r + 2]
        a, b, e = first[row], second[row], third[row]
        i, j, k = first[width], second[width], third[width]
        for c in range(width):
            upper[c] -= a * first[c] + (b * second[c] + e * third[c])
            lower[c] -= i * first[c] + (j * second[c] + k * third[c])
        lower[width] -= i * i + (j * j + k * k)
        r += 3
    if r + 1 < rank:
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
    """Downdate one row of P up to its diagonal, four terms a pass while there are as many. O(rD)."""
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


@compiled("void(f8[:,::1],f8[::1],i8,i8,f8[:,::1])", reassociate=True)
def multiply_four_rows(P: Matrix, x: Vector, j: int, i: int, PX: Matrix) -> None:
    """Do what `multiply_row` does for four rows of contrast j, those of columns i to i + 3, in one pass. O(D)."""
    d = x.size
    row = j * d + i
    first, second, third, fourth = P[row], P[row + 1], P[row + 2], P[row + 3]
    a, b, e, f = x[i], x[i + 1], x[i + 2], x[i + 3]
    own = PX[j]
    for c in range(row + 1):
        own[c] += (a * first[c] + b * second[c]) + (e * third[c] + f * fourth[c])
    for o in range(j + 1):
        start, end = o * d, min(o * d + d, row)  # up to the square on the diagonal that the four rows end with
        one, two, three, four = first[start:end], second[start:end], third[start:end], fourth[start:end]
        s, t, u, v = 0.0, 0.0, 0.0, 0.0
        for c in range(one.size):
            s += one[c] * x[c]
            t += two[c] * x[c]
            u += three[c] * x[c]
            v += four[c] * x[c]
        PX[o, row] += s
        PX[o, row + 1] += t
        PX[o, row + 2] += u
        PX[o, row + 3] += v
    own[row + 1] += second[row] * a + (b * second[row + 1] + e * third[row + 1]) + f * fourth[row + 1]
    own[row + 2] += (third[row] * a + third[row + 1] * b) + (e * third[row + 2] + f * fourth[row + 2])
    own[row + 3] += (fourth[row] * a + fourth[row + 1] * b) + (fourth[row + 2] * e + f * fourth[row + 3])


@compiled("void(f8[:,::1],f8[:,::1],i8,f8,f8,f8[::1],f8[:,::1])", reassociate=True)
def downdate_and_multiply(P: Matrix, U: Matrix, rank: int, rho: float, back: float, x: Vector, PX: Matrix) -> None:
    """Downdate P, and compute its product with the next row in the same pass over memory. O(rD²)."""
    PX[:] = 0.0
    d = x.size
    for j in range(PX.shape[0]):
        i = 0
        while i + 3 < d:
            downdate_two_rows(P, U, rank, rho, back, j * d + i)
            downdate_two_rows(P, U, rank, rho, back, j * d + i + 2)
            multiply_four_rows(P, x, j, i, PX)
            i += 4
        while i < d:
            downdate_row(P, U, rank, rho, back, j * d + i)
            multiply_row(P, x, j * d + i, PX)
            i += 1


@compiled("void(f8[:,::1],f8[::1],f8[:,::1])", reassociate=True)
def multiply(P: Matrix, x: Vector, PX: Matrix) -> None:
    r"""Compute $(I\otimes x)^\top P$ from the lower triangle of P. O(D²)."""
    PX[:] = 0.0
    d = x.size
    for j in range(PX.shape[0]):
        i = 0
        while i + 3 < d:
            multiply_four_rows(P, x, j, i, PX)
            i += 4
        while i < d:
            multiply_row(P, x, j * d + i, PX)
            i += 1
