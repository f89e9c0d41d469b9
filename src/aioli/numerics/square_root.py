r"""The inverse of a matrix that grows by one row a round, kept as $A^{-1} = SS^\top$ (Potter's square root).

S has the square root of the condition number of A, so it keeps twice the digits, and $x^\top A^{-1}x = \|S^\top x\|^2$
cannot turn negative. These are products by BLAS, for learners that are formulas; `states.dense.factored` is the same
algebra as one compiled loop over rows, which adds up in another order, so neither can stand for the other.
"""

import math

import numpy as np

from aioli.numerics.compiling import Matrix, Vector

__all__ = ["add_row", "times_inverse"]


def times_inverse(S: Matrix, x: Vector) -> tuple[Vector, float]:
    r"""Return $k = A^{-1}x$ and $v = x^\top A^{-1}x$. O(d²)."""
    f = x @ S
    return S @ f, float(f @ f)


def add_row(S: Matrix, x: Vector, h: float) -> tuple[Vector, float]:
    r"""Update $A \leftarrow A + h\,xx^\top$, $h \ge 0$, in place; return k and v as they were before. O(d²).

    With $f = S^\top x$: $S \leftarrow S - a\,kf^\top$, where $2a - a^2v = h/(1 + hv)$ makes it Sherman and Morrison's
    $A^{-1} - \frac{h}{1+hv}kk^\top$. Afterwards $A^{-1}x$ is $k/(1 + hv)$.
    """
    f = x @ S
    v = float(f @ f)
    k = S @ f
    a = h / (1.0 + h * v + math.sqrt(1.0 + h * v))  # (1 - 1/√(1+hv))/v without the cancellation
    S -= np.outer(k, a * f)
    return k, v
