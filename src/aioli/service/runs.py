"""Plays runs: rows that a learner announces, or labels that it learns, in one call.

A call for many rows costs a mixture much less than a call for each, and is the same game but for rounding. The log
tells which entries were of one run, so that a replay makes the same calls and comes to the same bits.
"""

from collections.abc import Iterable, Sequence
from itertools import repeat

import numpy as np

from aioli.evaluate.keyed_player import KeyedLearner
from aioli.learners.announcements import Announcement, Announcements
from aioli.learners.classes.announcements import ClassAnnouncements
from aioli.learners.protocol import AnyLearner, Capability, learns_late, plays_two_classes
from aioli.numerics.compiling import Vector
from aioli.outcomes.class_labels import Label
from aioli.service.keyed import announce_keyed, learn_keyed
from aioli.service.late_classes import LateClassLearner, learns_classes_late
from aioli.store.row_codec import AnnouncedRow, AnyAnnouncement, RowKey
from aioli.streams.files.table import Features

__all__ = ["announce_run", "are_alike", "learn_run", "longest_run"]

LONGEST = 512  # rows of a run: more cost no less each


def longest_run(learner: AnyLearner) -> int:
    """Return how many rows a call may have: one where the compiled way of a single row costs less than a call does."""
    mixes = not learner.capabilities.isdisjoint({Capability.MIXES, Capability.CLASSES})
    return LONGEST if mixes or isinstance(learner, KeyedLearner) else 1


def are_alike(one: Features, other: Features) -> bool:
    """Return whether rows can be of one run: both dense or both sparse, and of one width."""
    return one.shape[-1] == other.shape[-1] and isinstance(one, np.ndarray) == isinstance(other, np.ndarray)


def announce_run(
    learner: AnyLearner, rows: Sequence[Features], keys: Sequence[RowKey | None]
) -> Sequence[AnyAnnouncement]:
    """Return what the learner announces for rows that are alike, in one call."""
    x, single = rows[0], len(rows) == 1
    if isinstance(learner, KeyedLearner):
        return announce_keyed(learner, keys, _stacked(rows, x.shape[-1]))
    if plays_two_classes(learner):
        assert learns_late(learner)
        if single and isinstance(x, np.ndarray):
            return [learner.announce(x)]
        return _apart(learner.announce_many(_stacked(rows, x.shape[-1])))
    assert learns_classes_late(learner)
    if single and isinstance(x, np.ndarray):
        return [learner.announce(x)]
    return list(learner.announce_many(_stacked(rows, x.shape[-1])))


def learn_run(
    learner: AnyLearner, rows: Sequence[AnnouncedRow], width: int, labels: Sequence[Label], weights: Sequence[float]
) -> Sequence[tuple[Vector, Sequence[Label]]]:
    """Learn the labels of rows that were announced, in one call.

    Returns, where there may be many classes, the probabilities that were announced for each row, with the classes known
    once its label was.
    """
    if plays_two_classes(learner):
        _learn_two(learner, rows, width, [float(label) for label in labels], weights)
        return ()
    assert learns_classes_late(learner)
    return _learn_classes(learner, rows, width, labels, weights)


def _learn_two(
    learner: AnyLearner, rows: Sequence[AnnouncedRow], width: int, labels: Sequence[float], weights: Sequence[float]
) -> None:
    X = _stacked([row.x for row in rows], width)
    tickets = [row.announced for row in rows if isinstance(row.announced, Announcement)]
    if isinstance(learner, KeyedLearner):
        learn_keyed(learner, [row.key for row in rows], X, labels, weights, tickets)
        return
    assert learns_late(learner)
    if len(rows) == 1 and isinstance(X, np.ndarray):
        learner.learn(X[0], labels[0], weights[0], announced=tickets[0])
    else:
        learner.learn_many(X, labels, weights, announced=_together(tickets))


def _learn_classes(
    learner: LateClassLearner,
    rows: Sequence[AnnouncedRow],
    width: int,
    labels: Sequence[Label],
    weights: Sequence[float],
) -> Sequence[tuple[Vector, Sequence[Label]]]:
    X = _stacked([row.x for row in rows], width)
    tickets = [row.announced for row in rows if isinstance(row.announced, ClassAnnouncements)]
    if len(rows) == 1:
        P = learner.learn(X[0] if isinstance(X, np.ndarray) else X, labels[0], weights[0], announced=tickets[0])
        return [(P, learner.classes_)]
    known = len(learner.classes_)
    said = learner.learn_many(X, list(labels), list(weights), announced=ClassAnnouncements.joined(tickets))
    classes = learner.classes_
    told: list[tuple[Vector, Sequence[Label]]] = []
    for P, label in zip(said, labels, strict=True):
        known = max(known, classes.index(label) + 1)
        told.append((P[:known], classes[:known]))
    return told


def _apart(announced: Announcements) -> list[Announcement]:
    """Return the announcement of each row."""
    memories: Iterable[Vector | None] = announced.memory if announced.memory.shape[1] else repeat(None)
    each = announced.numbers.tolist(), announced.known.tolist(), announced.logits.tolist(), memories
    return [Announcement(announced.learner, *numbers) for numbers in zip(*each, strict=False)]


def _together(tickets: Sequence[Announcement]) -> Announcements:
    """Return announcements as those of one call."""
    learners, numbers, known, logits, memories = zip(*tickets, strict=True)
    shapes = {None if memory is None else memory.shape for memory in memories}
    if len(shapes) > 1 or len(set(learners)) > 1:
        return Announcements.joined(tickets)
    memory = np.empty((len(tickets), 0)) if memories[0] is None else np.array(memories)
    return Announcements(learners[0], np.array(numbers), np.array(known), np.array(logits), memory)


def _stacked(rows: Sequence[Features], width: int) -> Features:
    """Return rows that are all dense or all sparse as one matrix; features that came since were 0 in them."""
    dense = [row for row in rows if isinstance(row, np.ndarray)]
    if dense:
        if all(len(row) == width for row in dense):
            return dense[0][None] if len(dense) == 1 else np.array(dense)
        X = np.zeros((len(dense), width))
        for row, x in zip(X, dense, strict=True):
            row[: len(x)] = x
        return X
    from scipy import sparse  # loaded where it is needed: a process starts sooner without it

    parts = [row for row in rows if not isinstance(row, np.ndarray)]
    starts = np.cumsum([0, *(len(part.data) for part in parts)])
    values, places = np.concatenate([part.data for part in parts]), np.concatenate([part.indices for part in parts])
    return sparse.csr_array((values, places, starts), shape=(len(parts), width))
