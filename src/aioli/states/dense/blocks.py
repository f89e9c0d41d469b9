r"""The exact block form: the same sequential game at the speed of matrix products; `device` has that of GPUs.

Within a block P is read once, $K = XP$, and written once, $P \leftarrow P - K^\top\Gamma K$. What is sequential about
the game needs only inner products of the rows, $H = KX^\top$, and runs on the CPU over a small square of numbers: row j
answers its label and takes its rank-one downdate out of the rows behind it, $H_{i\cdot} \leftarrow H_{i\cdot} -
\gamma_j H_{ij} H_{j\cdot}$. All rows of a block share one product with P; `inner` rows at a time share one square.
"""

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.states.dense.squares import play_square

__all__ = ["play_block"]


def play_block(
    P: Matrix,
    w: Vector,
    tally: Vector,
    rules: Vector,
    X: Matrix,
    y: Vector,
    weights: Vector,
    logits: Vector,
    *,
    inner: int = 32,
) -> bool:
    r"""Play all rows of X and return True, or touch nothing and return False: a row would cost P its digits.

    Costs $3d^2$ multiply-adds a row, all in matrix products, and memory for a few blocks. Forgetting is not for blocks:
    it would mix X itself into P.
    """
    from scipy import linalg  # loaded where it is needed: a process starts sooner without it

    K = X @ P
    squares = X * X
    norms = np.sqrt(np.sum(squares, axis=1))
    spreads = squares @ np.diagonal(P)
    count = int(X.shape[0])
    tally_after, logits_after = tally.copy(), logits.copy()
    w_after = w + 0.0
    gamma, alpha = np.empty(count), np.empty(count)
    for first in range(0, count, inner):
        rows = slice(first, min(first + inner, count))
        XJ, KJ = X[rows, :], K[rows, :]
        if first:  # what the rows of this block that came before have already taken out of P
            before = K[:first, :]
            KJ = KJ - (XJ @ before.T) @ before
        H = np.ascontiguousarray(KJ @ XJ.T)
        m = XJ @ w_after
        if not play_square(
            H,
            m,
            rules,
            norms[rows],
            spreads[rows],
            y[rows],
            weights[rows],
            logits_after[rows],
            gamma[rows],
            alpha[rows],
            tally_after,
        ):
            return False
        # Row i of K at its own turn is k_i - Σ_{j<i} γ_j H_ij k_j: a unit triangular system.
        taken = np.tril(H * gamma[rows], -1)
        solve = linalg.solve_triangular(taken, np.eye(len(m)), lower=True, unit_diagonal=True)
        KJ = solve @ KJ
        w_after = w_after + alpha[rows] @ KJ
        K[rows, :] = np.sqrt(gamma[rows])[:, None] * KJ  # from here on √γ k: P ← P - KᵀK
    _downdate(P, K)
    w[:] = w_after
    tally[...], logits[...] = tally_after, logits_after
    return True


def _downdate(P: Matrix, K: Matrix) -> None:
    r"""Set $P \leftarrow P - K^\top K$, half of it computed and mirrored: P stays bitwise symmetric. O(bd²)."""
    from scipy import linalg

    linalg.blas.dsyrk(-1.0, K.T, beta=1.0, c=P.T, lower=1, overwrite_c=1)  # P.T: BLAS counts by columns
    mirror(P)


@compiled("void(f8[:,::1])")
def mirror(P: Matrix) -> None:
    """Copy the upper triangle onto the lower one, tile by tile: both tiles stay in the cache. O(d²)."""
    width, tile = P.shape[0], 32
    for top in range(0, width, tile):
        for left in range(0, top + 1, tile):
            for i in range(top, min(top + tile, width)):
                for j in range(left, min(left + tile, i)):
                    P[i, j] = P[j, i]
