"""Plays blocks of rows through views, experts and the mixture, on several threads where that pays.

None of the three stages reads from a later one. So while the experts play a block, each on a thread, the views of the
next block and the mixture of the last are computed beside them. The results do not depend on which thread ends first.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from aioli.learners.auto.experts import Expert
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.threads import do_all
from aioli.states.dense.play import play
from aioli.states.dense.state import State
from aioli.states.mixture.views import Views

__all__ = ["Combine", "play_blocks"]

BLOCK = 1024  # rows whose views stay in the cache while expert after expert reads them
Combine = Callable[[Matrix, slice], None]  # receives the experts' log-odds of a slice of the rows

WORTHWHILE = 512  # rows from which a second thread earns more than it costs


def play_blocks(
    experts: Sequence[Expert],
    states: Sequence[State],
    views: Views,
    X: Matrix,
    labels: Vector,
    weights: Vector,
    combine: Combine,
) -> None:
    """Let the experts learn the rows in order; `combine` receives their log-odds before each label. O(K d²) a row."""
    blocks = [slice(first, first + BLOCK) for first in range(0, len(X), BLOCK)]
    viewed: dict[int, list[Matrix]] = {}
    logits: dict[int, Matrix] = {}
    read = {expert.kind for expert in experts}

    def make_views(b: int) -> None:
        viewed[b] = views.of_rows(X[blocks[b]], read)
        logits[b] = np.full((len(experts), len(viewed[b][0])), math.nan)

    def play_expert(i: int, b: int) -> None:
        play(states[i], viewed[b][experts[i].kind], labels[blocks[b]], weights[blocks[b]], logits[b][i])

    def combine_block(b: int) -> None:
        combine(np.ascontiguousarray(logits.pop(b).T), blocks[b])

    widest_first = sorted(range(len(experts)), key=lambda i: -states[i].width)
    make_views(0)
    for b in range(len(blocks)):
        tasks: list[Callable[[], None]] = [partial(play_expert, i, b) for i in widest_first]
        if b > 0:
            tasks.append(partial(combine_block, b - 1))
        if b + 1 < len(blocks):
            tasks.append(partial(make_views, b + 1))
        do_all(tasks, side_by_side=len(logits[b][0]) >= WORTHWHILE)
        del viewed[b]
    combine_block(len(blocks) - 1)
