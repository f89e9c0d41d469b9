r"""The sequential part of a block of rows of many classes that share one precision matrix.

$H = XPX^\top$ and $M = XW^\top$ are all that b rows need of the state, as of two classes (`states.dense.squares`).
Row j is announced and answered as in `shared_loops`, and told to the rows behind it: $H_{i\cdot} \leftarrow H_{i\cdot}
- s_j H_{ij} H_{j\cdot}$ and $M_i \leftarrow M_i - H_{ij}\alpha_j$.
"""

import math

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.outcomes.class_labels import Codes
from aioli.outcomes.two_classes import keeps_its_digits
from aioli.states.classes.shared_loops import answer, settle
from aioli.states.dense.squares import rows_at_their_turns

__all__ = ["announce_centres", "class_square_effect", "play_class_square"]


@compiled(
    "i8(f8[:,::1],f8[:,::1],f8[::1],f8[::1],f8[::1],i8[::1],f8[::1],f8[:,::1],f8[::1],f8[:,::1])", reassociate=True
)
def play_class_square(
    H: Matrix,
    M: Matrix,
    rules: Vector,
    norms: Vector,
    spreads: Vector,
    codes: Codes,
    stakes: Vector,
    out: Matrix,
    s: Vector,
    A: Matrix,
) -> int:
    """Play b rows knowing only their inner products; column j of H keeps its values of turn j. O(b² + bK) a row.

    `out` receives the logarithms of the probabilities before each label. A row that would cost P its digits is
    announced and not learned; returns how many were so.
    """
    unlearned = 0
    b, K = M.shape
    z, p, step, pi = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    for j in range(b):
        v = max(H[j, j], 0.0)
        settle(M[j], 0.5 * v, z, p, out[j], step)
        s[j] = answer(rules, p, out[j], v, norms[j], stakes[j], codes[j], 1.0 / K, pi, A[j])
        if not keeps_its_digits(max(spreads[j], v), v * (1.0 - s[j] * v)):
            s[j], A[j, :] = 0.0, 0.0
            unlearned += 1
        for i in range(j + 1, b):
            along = H[i, j]
            for k in range(K):
                M[i, k] -= along * A[j, k]
            for q in range(j + 1, i + 1):
                H[i, q] -= s[j] * along * H[q, j]
    return unlearned


@compiled("void(f8[:,::1],f8[::1],f8[:,::1],f8[:,::1])", reassociate=True)
def class_square_effect(H: Matrix, s: Vector, A: Matrix, effect: Matrix) -> None:
    r"""Compute $[\sqrt S\,T; -A^\top T]$ of a square that was played, T of `rows_at_their_turns`. O(b² + bK) a row."""
    b, K = A.shape
    rows_at_their_turns(H, s, effect)
    for k in range(K):
        for i in range(b):
            for q in range(i + 1):
                effect[b + k, q] -= A[i, k] * effect[i, q]
    for i in range(b):
        root = math.sqrt(s[i])
        for q in range(i + 1):
            effect[i, q] *= root


@compiled("void(f8[:,::1],f8[::1],f8[:,::1])")
def announce_centres(M: Matrix, v: Vector, out: Matrix) -> None:
    """Write the logarithm of each class's probability for rows of these centres and spreads v. O(K) a row."""
    K = M.shape[1]
    z, p, step = np.empty(K), np.empty(K), np.empty(K)
    for t in range(len(M)):
        settle(M[t], 0.5 * max(v[t], 0.0), z, p, out[t], step)
