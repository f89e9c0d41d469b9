"""The round in NumPy, formula by formula: the readable definition that the compiled loops are tested against."""

import math

import numpy as np

from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.spec import Rule
from aioli.outcomes.two_classes import count_round, play_round
from aioli.states.dense.state import State

__all__ = ["play_rows"]


def play_rows(state: State, X: Matrix, y: Vector, weights: Vector, logits: Vector) -> int:
    r"""Play the rows in order, with P and w as they stand in the paper's mathematics. O(d²) a row.

    $k = Px,\ v = x^\top k,\ m = w^\top x$; then $P \leftarrow P - \gamma kk^\top$, $w \leftarrow w + \alpha k$; then,
    where the world drifts, $P \leftarrow \rho P + (1-\rho)/\lambda\, I$.
    """
    P, w, rules = state.P, state.w, state.rules
    rho, ridge = rules[Rule.FORGETTING], rules[Rule.RIDGE]
    for t, x in enumerate(X):
        k = P @ x
        norm = math.sqrt(x @ x)
        z, gamma, alpha, inst, loss, _ = play_round(rules, w @ x, x @ k, norm, y[t], weights[t], logits[t])
        P -= gamma * np.outer(k, k)
        w += alpha * k
        if rho < 1.0:
            P *= rho
            P[np.diag_indices_from(P)] += (1.0 - rho) / ridge
        count_round(state.tally, weights[t], loss, inst, norm, logits[t])
        logits[t] = z
    return len(X)
