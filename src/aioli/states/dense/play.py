"""The game over many rows, whichever form of the state plays it fastest; all forms play the same game."""

from contextlib import nullcontext

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.root import root, root_many
from aioli.numerics.threads import one_blas_thread
from aioli.states.dense import factored, fused
from aioli.states.dense.blocks import play_block
from aioli.states.dense.state import State

__all__ = ["centre_and_hedge", "logits_of_rows", "play"]

BLOCK = 128  # rows that share one product with P: enough to reach the speed of a matrix product
BLOCK_WIDTH = 256  # columns from which blocks beat the fused loop
MANY = 256  # rows from which predictions go in pieces of so many
LARGE_PRODUCT = 4096  # numbers of X from which BLAS would share a product out among threads that may be busy


def play(state: State, X: Matrix, y: Vector, weights: Vector, logits: Vector) -> None:
    """Play all rows of X in order; `logits` holds NaN where the learner is asked, or what it announced earlier."""
    blocks = state.width >= BLOCK_WIDTH and len(X) >= BLOCK and state.spec.forgetting == 1.0
    with one_blas_thread() if blocks else nullcontext():
        t = 0
        while t < len(X):
            rows = slice(t, t + BLOCK) if blocks and not state.factored else slice(t, None)
            part = X[rows], y[rows], weights[rows], logits[rows]
            if state.factored:
                t += factored.play_rows(state.P, state.w, state.tally, state.rules, state.workspace, *part)
            elif blocks and play_block(state.P, state.w, state.tally, state.rules, *part):
                t += len(part[0])
            else:
                played = fused.play_rows(state.P, state.w, state.tally, state.rules, state.workspace, *part)
                t += played
                if played < len(part[0]):
                    state.factor()


def logits_of_rows(state: State, X: Matrix) -> Vector:
    """Return the log-odds of each row, as if it came next. O(d²) each.

    Many rows go in pieces whose products with P are still in the cache when v, m and the root are made of them.
    """
    if len(X) < MANY:
        return root_many(*centre_and_hedge(state, X))
    out, K = np.empty(len(X)), np.empty((MANY, state.width))
    with one_blas_thread() if K.size >= LARGE_PRODUCT else nullcontext():
        for first in range(0, len(X), MANY):
            rows = X[first : first + MANY]
            products = np.matmul(rows, state.P, out=K[: len(rows)])
            finish_rows(products, rows, state.w, state.spec.regulariser, state.factored, out[first : first + MANY])
    return out


@compiled("void(f8[:,::1],f8[:,::1],f8[::1],f8,b1,f8[::1])", reassociate=True)
def finish_rows(K: Matrix, X: Matrix, w: Vector, regulariser: float, factored: bool, out: Vector) -> None:
    r"""Write the log-odds of rows, given $K = XP$, or $XS$ where $P = SS^\top$. O(d) a row."""
    for t in range(len(X)):
        m, v = 0.0, 0.0
        for j in range(w.size):
            m += X[t, j] * w[j]
            v += K[t, j] * (K[t, j] if factored else X[t, j])
        out[t] = root(m, 0.5 * regulariser * max(v, 0.0))


def centre_and_hedge(state: State, X: Matrix) -> tuple[Vector, Vector]:
    r"""Return $m = Xw$ and $cv/2$, $v = \mathrm{rowsum}((XP)\circ X)$, of which the log-odds are the root. O(d²)."""
    with one_blas_thread() if X.size >= LARGE_PRODUCT else nullcontext():
        K = X @ state.P
        v = np.sum(K * (K if state.factored else X), axis=1)
        m = X @ state.w
    return m, 0.5 * state.spec.regulariser * np.maximum(v, 0.0)
