r"""Helmert contrasts: an orthonormal basis E of what K numbers say besides their mean, nested in K.

Column j of E is $(1, \dots, 1, -j, 0, \dots, 0)/\sqrt{j(j+1)}$ with j ones. A further class appends a row and a column,
and leaves the others as they are: what was learned in K - 1 contrasts stays, number by number.

>>> helmert(3).round(3)
array([[ 0.707,  0.408],
       [-0.707,  0.408],
       [ 0.   , -0.816]])
"""

import numpy as np

from aioli.numerics.compiling import Matrix

__all__ = ["helmert"]


def helmert(classes: int) -> Matrix:
    """Return the K × (K - 1) matrix of contrasts: orthonormal columns, each orthogonal to ones. O(K²)."""
    E = np.zeros((classes, max(classes - 1, 0)))
    for j in range(1, classes):
        E[:j, j - 1] = 1.0 / np.sqrt(j * (j + 1.0))
        E[j, j - 1] = -j / np.sqrt(j * (j + 1.0))
    return E
