"""The forms of the state against each other: blocks, fused loop, factored form, and a bare matrix product."""

import numpy as np

from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.spec import GameSpec
from aioli.states.dense import factored
from aioli.states.dense import fused as kernels
from aioli.states.dense.blocks import play_block
from aioli.states.dense.play import BLOCK
from aioli.states.dense.state import State
from benchmarks.streams import normal_stream
from benchmarks.table import Comparison, compare
from benchmarks.timing import Prepare, Run, side_by_side

__all__ = ["compare_blocks", "compare_factored", "played_state", "run_blocks"]


def compare_blocks(width: int, repeats: int, faster: float, share: float | None) -> list[Comparison]:
    r"""A block against the fused loop, and against a $d \times d$ matrix product: all three take turns.

    The share of the product's rate counts $4d^2$ flops a row, those of $k = Px$ and $P - \gamma kk^\top$; the peer's
    time a row is what the product would need for as many.
    """
    state = played_state(width)
    data = normal_stream(BLOCK, width)
    M = np.random.default_rng(0).normal(size=(width, width))
    product = np.empty_like(M)
    contenders: dict[str, Prepare] = {
        "block": lambda: run_blocks(state.copy(), *data),
        "fused": lambda: _run_fused(state.copy(), *data),
    }
    if share is not None:
        contenders["product"] = lambda: lambda: np.matmul(M, M, out=product)
    times = side_by_side(contenders, repeats)
    block, fused = times["block"] / BLOCK, times["fused"] / BLOCK
    found = [compare("block form", width, block, "fused loop", fused, faster)]
    if share is not None:
        at_its_rate = times["product"] * 4 * width**2 / (2 * width**3)
        found.append(compare("block form, 4d² flops", width, block, "matrix product (GEMM)", at_its_rate, share))
    return found


def compare_factored(width: int, repeats: int) -> Comparison:
    """The fused loop over P (ours) against the factored loop over S (the peer: it keeps twice the digits)."""
    rows = max(64, 20_000_000 // width**2)
    state = played_state(width)
    turned = state.copy()
    turned.factor()
    data = normal_stream(rows, width)
    times = side_by_side(
        {"P": lambda: _run_fused(state.copy(), *data), "S": lambda: _run_factored(turned.copy(), *data)},
        repeats,
    )
    return compare("fused loop on P", width, times["P"] / rows, "factored form", times["S"] / rows)


def played_state(width: int) -> State:
    """A state by AIOLI's defaults, less the intercept, that has played one block: its memory is in use."""
    game = GameSpec(radius=8.0, ridge=8.0**-2, regulariser=0.5, curvature="tight", forgetting=1.0, intercept=False)
    state = State(game, width)
    _run_fused(state, *normal_stream(BLOCK, width))()
    return state


def run_blocks(state: State, X: Matrix, y: Vector) -> Run:
    """Play the rows block by block, as `learn_many` does where rows are wide."""
    weights, logits = np.ones(len(X)), np.full(len(X), np.nan)

    def run() -> None:
        for t in range(0, len(X), BLOCK):
            part = slice(t, t + BLOCK)
            if not play_block(
                state.P, state.w, state.tally, state.rules, X[part], y[part], weights[part], logits[part]
            ):
                raise RuntimeError("a block was refused, so that there is nothing to time")

    return run


def _run_fused(state: State, X: Matrix, y: Vector) -> Run:
    weights, logits = np.ones(len(X)), np.full(len(X), np.nan)

    def run() -> None:
        if kernels.play_rows(state.P, state.w, state.tally, state.rules, state.workspace, X, y, weights, logits) < len(
            X
        ):
            raise RuntimeError("the fused loop stopped early, so that there is nothing to time")

    return run


def _run_factored(state: State, X: Matrix, y: Vector) -> Run:
    weights, logits = np.ones(len(X)), np.full(len(X), np.nan)
    return lambda: factored.play_rows(
        state.P, state.w, state.tally, state.rules, state.workspace, X, y, weights, logits
    )
