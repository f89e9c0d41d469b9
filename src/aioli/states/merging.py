"""Two games become one: sums of surrogates add, and with them what both games prove."""

import numpy as np

from aioli.errors import ParameterRefused
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.two_classes import Tally

__all__ = ["Quadratic", "check_descent", "merge_games", "merge_games_since", "rows_since"]

Quadratic = tuple[Matrix, Vector, Vector]  # A, w and the tally of a game
COUNTED = [Tally.ROUNDS, Tally.WEIGHT, Tally.LOSS]  # what never falls as rows are learned
SLACK = 1e-6  # of A, that a descendant may know less than its ancestor: rounding


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


def merge_games_since(first: Quadratic, second: Quadratic, since: Quadratic, forgets: bool) -> Quadratic:
    r"""Return S, w and the tally of two games that both went on from a third, which is counted once. O(d³).

    Each game's sum of surrogates is $F_i = F_0 + G_i$, and the merged one
    $F = F_0 + G_1 + G_2 = F_1 + F_2 - F_0$, so that $A = A_1 + A_2 - A_0$ and $Aw = A_1w_1 + A_2w_2 - A_0w_0$. With
    several shards the order of merging does not matter: $A = A_0 + \sum_i (A_i - A_0)$.

    A game that forgets has forgotten of its ancestor too, so that $A_i - A_0$ need not be positive. There
    $F = \alpha_1F_1 + \alpha_2F_2$, α being each game's part of the rows since the ancestor: losses are not negative,
    so $F_i \le F_0 + \sum\ell$ over the rows of game i, and F is at most $F_0 + \sum\ell$ over those of both. It
    remembers as many rows as one that has seen all of them, and in any order of merging the same.

    Either way $F(\theta) \le \lambda\|\theta\|^2 + \sum_t\ell_t(\theta)$ on the ball, over every row of the three games
    once: what the certificate needs. Its sum is the losses minus min F, which is read off at the merged w.
    """
    from scipy import linalg  # loaded where it is needed: a process starts sooner without it

    games = first, second, since
    parts = _parts(rows_since(first[2], since[2]), rows_since(second[2], since[2])) if forgets else (1.0, 1.0, -1.0)
    A = sum((c * A_i for c, (A_i, _, _) in zip(parts, games, strict=True)), np.zeros_like(first[0]))
    b = sum((c * (A_i @ w_i) for c, (A_i, w_i, _) in zip(parts, games, strict=True)), np.zeros_like(first[1]))
    L = linalg.cholesky(A, lower=True)
    w = linalg.cho_solve((L, True), b)
    S = linalg.solve_triangular(L, np.eye(len(w)), lower=True).T
    tally = first[2] + second[2] - since[2]
    least, size = 0.0, 0.0
    for c, (A_i, w_i, tally_i) in zip(parts, games, strict=True):
        e = w - w_i
        least += c * (tally_i[Tally.LOSS] - tally_i[Tally.REGRET] + e @ A_i @ e)
        size += abs(c) * np.trace(A_i) * (e @ e + w_i @ w_i)
    tally[Tally.REGRET] = tally[Tally.LOSS] - least
    tally[Tally.REGRET] += 4.0 * len(w) * np.finfo(np.float64).eps * (size + tally[Tally.LOSS])
    tally[Tally.WIDEST] = max(first[2][Tally.WIDEST], second[2][Tally.WIDEST])
    tally[Tally.IRREGULAR] = tally[Tally.ROUNDS]
    return S, w, tally


def rows_since(tally: Vector, since: Vector) -> float:
    """Return how many rows a game has learned since its ancestor."""
    return float(tally[Tally.ROUNDS] - since[Tally.ROUNDS])


def check_descent(game: Quadratic, since: Quadratic, forgets: bool) -> None:
    """Refuse an ancestor that a game cannot have gone on from: it counts more, or knows what the game does not. O(d³).

    A game that forgets may know less than its ancestor; of it the counts alone are checked.
    """
    (A, _, tally), (A0, _, tally0) = game, since
    fits = all(tally[place] >= tally0[place] for place in COUNTED) and tally[Tally.WIDEST] >= tally0[Tally.WIDEST]
    if fits and not forgets:
        inverse = np.linalg.inv(np.linalg.cholesky(A0))
        fits = bool(np.linalg.eigvalsh(inverse @ A @ inverse.T)[0] >= 1.0 - SLACK)
    if not fits:
        raise ParameterRefused(
            "since is not what both learners went on from; give the learner whose copies they began as",
            parameter="since",
        )


def _parts(first: float, second: float) -> tuple[float, float, float]:
    """Return each game's part of the rows of both, and 0 for their ancestor's."""
    part = first / (first + second) if first + second > 0.0 else 0.5
    return part, 1.0 - part, 0.0
