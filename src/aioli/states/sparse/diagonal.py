r"""What a wide learner keeps of the matrix: a diagonal, and one direction more, the mean row.

AIOLI's $A = \Lambda + \sum_s \hat h_s x_s x_s^\top$, $\hat h = \tfrac12 h$, has d² entries. By Cauchy and Schwarz

$$\sum_s \hat h_s x_s x_s^\top \succeq \frac{qq^\top}{H}, \qquad q = \sum_s \hat h_s x_s, \quad H = \sum_s \hat h_s,$$

so the mean row $q/H$ is a direction of A that can be kept in d numbers, that never claims more than A has, and that a
row changes only where it is not 0. What it leaves of A's diagonal is the spread of each column about its mean:

$$A \approx D + \frac{qq^\top}{H}, \qquad D_j = \lambda + \sum_s \hat h_s x_{sj}^2 - \frac{q_j^2}{H} \ge \lambda.$$

$P = A^{-1}$ follows from Woodbury: $Px = D^{-1}(x - sq)$, $s = q^\top D^{-1}x/(H + R)$, $R = q^\top D^{-1}q$. A step
$w \leftarrow w + \alpha Px$ moves every column, in proportion to $D^{-1}q$; the sum c of all $\alpha s$ says by how
much, and what is stored of a column is $\tilde w_j = w_j + c\,q_j/D_j$. D of a column is renewed when the column is
met. The intercept's column of ones has q = H and D = 1, its prior precision: it enters in closed form. O(nnz) a row.

Where the world drifts, both sums of a column fade by a factor ρ each time that it is met: D stays at least λ, and a
column that has not come again is remembered as it was.
"""

import math

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.root import root
from aioli.streams.sparse_rows import Indices

__all__ = ["FORGETTING", "RIDGE", "SLOTS", "TOTALS", "fresh_totals", "learn_row", "measure_row"]

SLOTS = 4  # numbers that an expert keeps of a column: w̃, Σĥx², q, and D - λ
WEIGHT, SQUARES, SUM, SPREAD = range(SLOTS)
TOTALS = 6  # numbers that it keeps of the whole: λ, ρ, H, R, c and the intercept's weight
RIDGE, FORGETTING, CURVATURE, MEAN_NORM, SHIFT, INTERCEPT = range(TOTALS)


def fresh_totals(ridge: Vector, forgetting: Vector) -> Matrix:
    """Return the totals of experts with these λ and ρ before the first row."""
    totals = np.zeros((ridge.size, TOTALS))
    totals[:, RIDGE], totals[:, FORGETTING] = ridge, forgetting
    return totals


@compiled("UniTuple(f8,3)(f8[:,::1],i8,f8[::1],i8[::1],f8[::1])", reassociate=True)
def measure_row(records: Matrix, first: int, totals: Vector, columns: Indices, x: Vector) -> tuple[float, float, float]:
    r"""Return $m = w^\top x$, $v = x^\top Px$ and $r = q^\top D^{-1}x$ without the intercept's part. O(nnz).

    The numbers of column j lie at `records[j, first:first + SLOTS]`. With the intercept, $r + H$ stands for r and
    $C = H + R + H^2$ for H + R, and v gains $1 - (r + H)^2/C$, here without the cancellation.
    """
    ridge, H, R = totals[RIDGE], totals[CURVATURE], totals[MEAN_NORM]
    m, v, r = 0.0, 0.0, 0.0
    for i in range(x.size):
        j = columns[i]
        e = x[i] / (ridge + records[j, first + SPREAD])
        m += x[i] * records[j, first + WEIGHT]
        v += x[i] * e
        r += records[j, first + SUM] * e
    v += (H + R - r * (r + 2.0 * H)) / (H + R + H * H) if H > 0.0 else 1.0
    return totals[INTERCEPT] + m - totals[SHIFT] * r, max(v, 0.0), r


@compiled("void(f8[:,::1],i8,f8[::1],i8[::1],f8[::1],f8,f8,f8,f8,f8)", reassociate=True)
def learn_row(
    records: Matrix,
    first: int,
    totals: Vector,
    columns: Indices,
    x: Vector,
    m: float,
    v: float,
    r: float,
    y: float,
    weight: float,
) -> None:
    r"""Learn from the label of a row that `measure_row` was just asked about. O(nnz).

    A diagonal takes correlated columns for so many witnesses, and a step from where it stands would go too far. The
    surrogate may touch the loss at any point: it does where the step ends, $u + \tfrac{\omega v}2(\sigma(u) - y) = m$,
    and the step is $\alpha = \tfrac\omega2(y - \sigma(u))$, which no v can make too long.
    """
    half = 0.25 * weight * v
    u = root(m + half if y > 0.5 else m - half, half)
    e = math.exp(-abs(u))
    right = 1.0 / (1.0 + e)
    off = e * right if (u >= 0.0) == (y > 0.5) else right  # the probability of the other label
    alpha = 0.5 * weight * off if y > 0.5 else -0.5 * weight * off
    h = 0.5 * weight * e * right * right
    ridge, rho = totals[RIDGE], totals[FORGETTING]
    H, R, c = totals[CURVATURE], totals[MEAN_NORM], totals[SHIFT]
    s = (r + H) / (H + R + H * H) if H > 0.0 else 0.0
    totals[INTERCEPT] += alpha * (1.0 - H * s)
    c += alpha * s
    H += h
    for i in range(x.size):
        j = columns[i]
        D, q = ridge + records[j, first + SPREAD], records[j, first + SUM]
        a = rho * records[j, first + SQUARES] + h * x[i] * x[i]
        after = rho * q + h * x[i]
        spread = max(a - after * after / H, 0.0) if H > 0.0 else 0.0
        lean, leaned = q / D, after / (ridge + spread)
        records[j, first + WEIGHT] += alpha * x[i] / D + c * (leaned - lean)
        records[j, first + SQUARES] = a
        records[j, first + SUM] = after
        records[j, first + SPREAD] = spread
        R += after * leaned - q * lean
    totals[CURVATURE], totals[MEAN_NORM], totals[SHIFT] = H, max(R, 0.0), c
