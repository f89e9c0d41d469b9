"""Two games become one: sums of surrogates add, and with them what both games prove."""

import numpy as np

from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.two_classes import Tally

__all__ = ["Quadratic", "merge_games"]

Quadratic = tuple[Matrix, Vector, Vector]  # A, w and the tally of a game


def merge_games(first: Quadratic, second: Quadratic, ridge: float) -> Quadratic:
    r"""Return S with $A^{-1} = SS^\top$, w and the tally of both games: $A = A_1 + A_2 - \lambda I$, $b = b_1 + b_2$.

    The certificate merges too. Each game's sum of surrogates is
    $F_i(\theta) = \min F_i + (\theta - w_i)^\top A_i (\theta - w_i)$; the merged one is
    $F = F_1 + F_2 - \lambda\|\theta\|^2$, whose minimum is read off at the merged w. O(d³).
    """
    from scipy import linalg  # loaded where it is needed: a process starts sooner without it

    (A1, w1, tally1), (A2, w2, tally2) = first, second
    identity = np.eye(len(w1))
    L = linalg.cholesky(A1 + A2 - ridge * identity, lower=True)
    w = linalg.cho_solve((L, True), A1 @ w1 + A2 @ w2)
    S = linalg.solve_triangular(L, identity, lower=True).T
    e1, e2 = w - w1, w - w2
    tally = tally1 + tally2
    tally[Tally.REGRET] -= e1 @ A1 @ e1 + e2 @ A2 @ e2 - ridge * (w @ w)
    size = np.trace(A1) * (e1 @ e1 + w1 @ w1) + np.trace(A2) * (e2 @ e2 + w2 @ w2)
    tally[Tally.REGRET] += 4.0 * len(w1) * np.finfo(np.float64).eps * size  # rounding must not prove too much
    tally[Tally.WIDEST] = max(tally1[Tally.WIDEST], tally2[Tally.WIDEST])
    tally[Tally.IRREGULAR] = tally[Tally.ROUNDS]
    return S, w, tally
