r"""Teaches learners of streams a batch whose order means nothing: the same rows give the same model, bit for bit.

Rows are first brought into an order that depends on what they hold alone, then shuffled by a fixed seed: a stream that
is sorted by its label, or came group by group, teaches a learner of streams something that is not so. `Auto`, which
takes nothing from its user, plays several shuffles, and its probabilities are averaged: measured beside
cross-validated maximum likelihood (`python -m benchmarks.batch_call`, docs/batch.md).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aioli.errors import RowRefused
from aioli.learners.auto.auto import Auto
from aioli.learners.classes.class_auto import ClassAuto
from aioli.learners.cloning import learn_rows
from aioli.learners.parameters import require_whole
from aioli.learners.protocol import AnyLearner
from aioli.numerics.compiling import Vector
from aioli.streams.matrices import Values

__all__ = ["Plan", "canonical_order", "learn_in_any_order", "plan_for"]

Places = NDArray[np.int64]
Words = NDArray[np.uint64]

ORDERS = 4  # shuffles that are averaged, where rows are few and one shuffle differs from another
SHUFFLED_ROWS = 20_000  # that all shuffles together may have, beyond one shuffle
BLOCK = 4096  # rows that are hashed at once


class Plan(NamedTuple):
    """How many shuffles of the rows are learned, by a learner each, and how many times."""

    orders: int
    passes: int


def plan_for(learner: AnyLearner, shape: tuple[int, int], orders: int | None = None, passes: int | None = None) -> Plan:
    """Return the shuffles and passes of a learner on rows of this shape: one of either, but for `Auto`, if not given.

    >>> plan_for(Auto(), (500, 20)), plan_for(Auto(), (500, 2000)), plan_for(Auto(), (1_000_000, 20))
    (Plan(orders=4, passes=1), Plan(orders=4, passes=1), Plan(orders=1, passes=1))
    """
    # One pass: trees and random features know rows by heart that they meet again, and are heard for it.
    usual = Plan(1, 1)
    if isinstance(learner, (Auto, ClassAuto)):
        usual = Plan(min(ORDERS, max(1, SHUFFLED_ROWS // max(shape[0], 1))), 1)
    return Plan(
        usual.orders if orders is None else require_whole("orders", orders, least=1),
        usual.passes if passes is None else require_whole("passes", passes, least=1),
    )


def learn_in_any_order(
    learners: Sequence[AnyLearner],
    X: Values,
    labels: Vector,
    weights: Vector | None,
    passes: int = 1,
    told: NDArray[np.generic] | None = None,
) -> tuple[Places, Vector]:
    """Teach each learner all rows of weight above 0, in shuffles of its own; refusals number rows as the call does.

    `told` are the labels that the learners are given, where those of many classes are not numbers. Return the rows in
    their canonical order, and the probability that each one's label had before it came: the mean over the shuffles in
    which it came in the second half, NaN where it came so in none.
    """
    first = canonical_order(X, labels, weights)
    if weights is not None:
        first = first[weights[first] != 0.0]
    said, times = np.zeros(len(first)), np.zeros(len(first))
    for seed, learner in enumerate(learners):
        rng = np.random.Generator(np.random.PCG64(seed))
        for again in range(passes):
            shuffle = rng.permutation(len(first))
            order = first[shuffle]
            try:
                announced = learn_rows(
                    learner,
                    X[order],
                    (labels if told is None else told)[order],
                    None if weights is None else weights[order],
                )
            except RowRefused as error:
                if error.row is None:
                    raise
                raise error.numbered(int(order[error.row])) from None
            if not again:
                late = slice(len(order) // 2, None)
                said[shuffle[late]] += _of_labels(announced, labels[order])[late]
                times[shuffle[late]] += 1.0
    return first, np.divide(said, times, out=np.full(len(first), np.nan), where=times > 0.0)


def _of_labels(announced: Vector, labels: Vector) -> Vector:
    """Return the probability of each label, of those of 1, or of all classes in the order of their codes."""
    if announced.ndim == 1:
        return np.where(labels > 0.5, announced, 1.0 - announced)
    return np.asarray(announced[np.arange(len(labels)), labels.astype(np.intp)])


def canonical_order(X: Values, labels: Vector, weights: Vector | None) -> Places:
    r"""Return the places of the rows in the order of a hash of what they hold, dense or sparse alike. O(nd + n log n).

    The hash is $\sum_j k_j\,m(x_j) \bmod 2^{64}$: m mixes the bits of a number and leaves those of 0 as they are, so an
    entry that is not there changes nothing; $k_j$ are odd constants of the columns. Equal rows come by their weights.
    """
    keys = np.random.Generator(np.random.PCG64(0)).integers(1 << 63, size=X.shape[1] + 1, dtype=np.uint64)
    keys = keys * np.uint64(2) + np.uint64(1)
    hashes = _mixed(labels) * keys[-1]
    if isinstance(X, np.ndarray):
        for start in range(0, len(X), BLOCK):
            part = slice(start, start + BLOCK)
            hashes[part] += (_mixed(X[part]) * keys[:-1]).sum(axis=1, dtype=np.uint64)
    else:
        sums = np.zeros(len(X.data) + 1, dtype=np.uint64)
        np.cumsum(_mixed(X.data) * keys[X.indices], out=sums[1:])
        hashes += sums[X.indptr[1:]] - sums[X.indptr[:-1]]
    return np.lexsort([hashes] if weights is None else [weights, hashes])


def _mixed(values: Vector) -> Words:
    """Return the bits of the numbers, mixed (the finalizer of SplitMix64); 0 and -0 both become 0."""
    words = (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    return words ^ (words >> np.uint64(31))
