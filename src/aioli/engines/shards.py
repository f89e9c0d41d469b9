"""Learns one model over shards: each shard's copy learns its own rows, and by a schedule all become one.

What moves are snapshots as bytes, so that a shard may be a thread, a process or a partition of a cluster: a round takes
the learner out to every shard (`learn_shard`), and brings what they have become home into one (`merge_by_tree`).

>>> import numpy as np
>>> from aioli import AIOLI
>>> rng = np.random.default_rng(0)
>>> X = rng.normal(size=(4000, 3))
>>> y = X @ [1.0, -2.0, 0.5] + rng.logistic(size=4000) > 0
>>> parts = list(zip(np.split(X, 8), np.split(y, 8), strict=True))
>>> apart = learn_in_shards(AIOLI(), parts, schedule=[500])
>>> often = learn_in_shards(AIOLI(), parts)
>>> print(f"{apart.learner.loss:.0f} nats merged once, {often.learner.loss:.0f} nats merged {often.merges} times")
1794 nats merged once, 1738 nats merged 16 times
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aioli.errors import CapabilityMissing, ParameterRefused
from aioli.learners.protocol import Learner, Shards, require_learner, shards
from aioli.learners.registry import restore_learner
from aioli.numerics.compiling import Vector
from aioli.snapshots.codec import from_bytes, to_bytes

__all__ = [
    "FAN_IN",
    "Part",
    "ShardedRun",
    "Taught",
    "as_schedule",
    "geometric_schedule",
    "learn_in_shards",
    "learn_shard",
    "merge_by_tree",
    "merge_shards",
    "require_shards",
]

FIRST, FACTOR = 8, 4 / 3  # rows of a shard before the first merge, and by how much they grow until the next
FAN_IN = 16  # learners that one merge takes in; more are merged in groups first, side by side where there are cores
Part: TypeAlias = tuple[NDArray[Any], NDArray[Any]]  # rows and labels
Taught: TypeAlias = tuple[bytes, Vector]  # the snapshot of a learner that went on, and what it announced
Map: TypeAlias = Callable[[Callable[[Part], Taught], Sequence[Part]], Iterable[Taught]]


@dataclass(frozen=True)
class ShardedRun:
    """What came of shards: the learner that all became, and what each announced before its labels.

    Attributes
    ----------
    learner
        The learner of all rows.
    announced
        Of every shard, each row's probability before its label.
    merges
        How often all became one.
    bytes
        What moved: the learner out to every shard and home again, at every merge.
    """

    learner: Learner
    announced: list[Vector]
    merges: int
    bytes: int


def geometric_schedule(rows: int, first: int = FIRST, factor: float = FACTOR) -> list[int]:
    """Return the rows of a shard after which to merge: `first`, then each time `factor` times as many, up to all.

    However long the stream, merges are as many as the logarithm of its rows. Rows should not grow by much more than a
    third between merges: shards that learn more than that apart all move from where they stood together, and their sum
    goes too far (docs/shards.md).
    """
    if first < 1:
        raise ParameterRefused.unlike("first", first, "a whole number from 1 on")
    if not factor > 1.0:
        raise ParameterRefused.unlike("factor", factor, "above 1")
    ends: list[int] = []
    end = float(first)
    while end < rows:
        ends.append(int(end))
        end = max(end * factor, int(end) + 1.0)
    return [*ends, rows] if rows else []


def as_schedule(schedule: Sequence[int]) -> list[int]:
    """Return the numbers of rows of a schedule in rising order, or refuse what are none."""
    ends = sorted(set(schedule))
    if ends and not 0 < ends[0] <= ends[-1]:
        raise ParameterRefused.unlike("schedule", schedule, "numbers of rows, from 1 on")
    return ends


def learn_in_shards(
    learner: Learner, parts: Sequence[Part], schedule: Sequence[int] | None = None, mapped: Map = map
) -> ShardedRun:
    """Let copies of a learner learn a part of the rows each, merged by a schedule; the learner itself stays as it was.

    Parameters
    ----------
    learner
        Whom all go on from; it may have learned already. `AIOLI` can, and `Auto` on columns that are fixed.
    parts
        The rows and labels of each shard, in its own order. Parts may differ in length.
    schedule
        After how many rows of a shard all become one; `geometric_schedule` of the longest part by default.
    mapped
        Who lets the shards learn, such as the `map` of a pool of processes; one after the other by default.
    """
    longest = max((len(y) for _, y in parts), default=0)
    ends = geometric_schedule(longest) if schedule is None else as_schedule(schedule)
    if longest > (ends[-1] if ends else 0):
        ends = [*ends, longest]
    since = to_bytes(require_shards(learner).snapshot())
    announced: list[list[Vector]] = [[] for _ in parts]
    moved = 0
    for start, end in itertools.pairwise([0, *ends]):
        waiting = [i for i, (_, y) in enumerate(parts) if len(y) > start]
        pieces = [(parts[i][0][start:end], parts[i][1][start:end]) for i in waiting]
        taught = list(mapped(partial(learn_shard, since), pieces))
        for i, (home, p) in zip(waiting, taught, strict=True):
            announced[i].append(p)
            moved += len(since) + len(home)
        since = merge_by_tree([home for home, _ in taught], since)
    said = [np.concatenate(pieces) if pieces else np.empty(0) for pieces in announced]
    return ShardedRun(restore_learner(from_bytes(since)), said, len(ends), moved)


def learn_shard(since: bytes, part: Part) -> Taught:
    """Let a copy of the learner of a snapshot learn some rows; return its snapshot, and what it announced."""
    learner = require_shards(restore_learner(from_bytes(since)))
    X, y = part
    p = learner.learn_many(X, y)
    return to_bytes(learner.snapshot()), p


def merge_shards(homes: Iterable[bytes], since: bytes) -> bytes:
    """Return the snapshot of all shards' learners as one, each of which went on from `since`.

    In whatever order they come, and also in groups whose snapshots are merged later, the result is the same but for
    rounding. Without a shard it is `since` itself.
    """
    ancestor = require_shards(restore_learner(from_bytes(since)))
    merged: Shards | None = None
    for home in homes:
        learner = require_shards(restore_learner(from_bytes(home)))
        merged = learner if merged is None else merged.merge(learner, since=ancestor)
    return since if merged is None else to_bytes(merged.snapshot())


def merge_by_tree(homes: Sequence[bytes], since: bytes) -> bytes:
    """Return the snapshot of all shards' learners as one: groups of `FAN_IN` are merged, then groups of what they gave.

    With as many shards or fewer, that is `merge_shards`. A cluster that merges the same groups elsewhere has the same
    bits.
    """
    while len(homes) > FAN_IN:
        homes = [merge_shards(homes[i : i + FAN_IN], since) for i in range(0, len(homes), FAN_IN)]
    return merge_shards(homes, since)


def require_shards(learner: object) -> Shards:
    """Return the learner, or refuse one whose copies cannot become one again."""
    given = require_learner(learner)
    if not shards(given):
        raise CapabilityMissing(
            f"{type(given).__name__} cannot learn in shards; use AIOLI, or Auto(budget='fast').fix_columns(…)"
        )
    return given
