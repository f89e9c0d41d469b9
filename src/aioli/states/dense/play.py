"""The game over many rows, whichever form of the state plays it fastest; all forms play the same game."""

from contextlib import nullcontext

import numpy as np

from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.root import root_many
from aioli.numerics.threads import one_blas_thread
from aioli.states.dense import factored, fused
from aioli.states.dense.blocks import play_block
from aioli.states.dense.state import State

__all__ = ["centre_and_hedge", "logits_of_rows", "play"]

BLOCK = 128  # rows that share one product with P: enough to reach the speed of a matrix product
BLOCK_WIDTH = 256  # columns from which blocks beat the fused loop
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
    """Return the log-odds of each row, as if it came next. O(d²) each."""
    return root_many(*centre_and_hedge(state, X))


def centre_and_hedge(state: State, X: Matrix) -> tuple[Vector, Vector]:
    r"""Return $m = Xw$ and $cv/2$, $v = \mathrm{rowsum}((XP)\circ X)$, of which the log-odds are the root. O(d²)."""
    with one_blas_thread() if X.size >= LARGE_PRODUCT else nullcontext():
        K = X @ state.P
        v = np.sum(K * (K if state.factored else X), axis=1)
        m = X @ state.w
    return m, 0.5 * state.spec.regulariser * np.maximum(v, 0.0)
