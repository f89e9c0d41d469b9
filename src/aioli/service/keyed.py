"""Serves a fleet as a model, one learner a key: of an announced row its log-odds are kept until the label comes.

>>> fleet, x = make_fleet({"radius": 2.0, "pooling": "global"}), np.array([1.0, 2.0])
>>> announced = announce_keyed(fleet, ["ann"], x[None])
>>> announced[0].probability
0.5
>>> learn_keyed(fleet, ["ann"], x[None], [1.0], [1.0], announced)
>>> predict_keyed(fleet, "ben", x) > 0.5  # a new key begins with what all keys know
True
"""

from collections.abc import Mapping, Sequence

import numpy as np

from aioli.errors import KeyRefused, ParameterRefused, RowRefused
from aioli.evaluate.keyed_player import KeyedLearner
from aioli.fleet.fleet import Fleet
from aioli.learners.aioli import AIOLI
from aioli.learners.announcements import Announcement
from aioli.learners.by_name import make_learner
from aioli.learners.protocol import AnyLearner
from aioli.learners.registry import restore_any_learner
from aioli.numerics.logistic import sigmoid
from aioli.snapshots.tree import Snapshot
from aioli.store.row_codec import RowKey
from aioli.streams.files.table import Features

__all__ = [
    "FLEET",
    "LONGEST_KEY",
    "announce_keyed",
    "check_key",
    "key_in",
    "learn_keyed",
    "make_fleet",
    "predict_keyed",
    "require_room",
    "restore_served_learner",
]

FLEET = "Fleet"
OF_FLEET = ("pooling", "ridges", "storage", "form")  # its parameters that concern the game; memory is the machine's
LONGEST_KEY = 256
LARGEST_KEY = (1 << 63) - 1
LARGEST_FLEET = 1 << 29  # bytes: a snapshot of it must go into one value of the store, which takes a gigabyte
GIVE_KEY = 'send {"id": …, "key": "a text or a whole number", "row": …}'


def make_fleet(parameters: Mapping[str, object]) -> KeyedLearner:
    """Make a fleet from its own parameters and those of `AIOLI`, which every key's model has."""
    own = {name: value for name, value in parameters.items() if name in OF_FLEET}
    others = {name: value for name, value in parameters.items() if name not in OF_FLEET}
    learner = make_learner(AIOLI.__name__, others)
    if not isinstance(learner, AIOLI):
        raise ParameterRefused("a fleet is of two classes; leave out classes", parameter="classes", value=others)
    return KeyedLearner(Fleet(learner, **own))  # type: ignore[arg-type]  # `Fleet` checks them


def restore_served_learner(snapshot: Snapshot) -> AnyLearner:
    """Make the learner of a snapshot, a fleet among them."""
    return KeyedLearner.restore(snapshot) if snapshot.kind == FLEET else restore_any_learner(snapshot)


def key_in(given: object) -> RowKey | None:
    """Return the key of a request, None where it has none; what cannot be one is refused."""
    if given is None or (type(given) is int and -LARGEST_KEY <= given <= LARGEST_KEY):
        return given
    if type(given) is str and 0 < len(given) <= LONGEST_KEY and given.isprintable():
        return given
    remedy = f"give a text of 1 to {LONGEST_KEY} characters that can be printed, or a whole number of 64 bits"
    raise KeyRefused(f"has the key {str(given)[:40]!r}", value=given, remedy=remedy)


def check_key(learner: AnyLearner, key: RowKey | None) -> None:
    """Refuse a row of a fleet without a key, and a row with a key of any other learner."""
    if isinstance(learner, KeyedLearner):
        if key is None:
            raise KeyRefused("has no key, and this model is a fleet", remedy=GIVE_KEY)
    elif key is not None:
        raise RowRefused("has a key, and this model is no fleet", value=key, remedy="leave out the key")


def require_room(learner: AnyLearner, key: RowKey | None) -> None:
    """Refuse a key that is new, where the fleet is as large as a store can keep it."""
    if key is None or not isinstance(learner, KeyedLearner) or learner.fleet.nbytes < LARGEST_FLEET:
        return
    if key not in learner.fleet:
        message = f"has a new key, and the {len(learner.fleet):,} models of this fleet fill its {LARGEST_FLEET:,} bytes"
        raise KeyRefused(message, value=key, remedy="make another fleet, with keys of its own or storage float32")


def predict_keyed(learner: KeyedLearner, key: RowKey, x: Features) -> float:
    """Return the probability of the key's row; changes nothing. O(d²)."""
    if isinstance(x, np.ndarray):
        return sigmoid(learner.fleet.predict_logit(key, x))
    return sigmoid(learner.fleet.predict_logit_many([key], x).item(0))


def announce_keyed(learner: KeyedLearner, keys: Sequence[RowKey | None], X: Features) -> list[Announcement]:
    """Return the probabilities of rows of any keys, each with the log-odds that its label will need. O(d²) a row."""
    fleet = learner.fleet
    if len(keys) == 1 and isinstance(X, np.ndarray):  # a refusal then speaks of the row, and counts none
        return [Announcement(0, 0, fleet.rounds, fleet.predict_logit(keys[0], X[0]))]
    return [Announcement(0, 0, fleet.rounds, logit) for logit in fleet.predict_logit_many(keys, X).tolist()]


def learn_keyed(
    learner: KeyedLearner,
    keys: Sequence[RowKey | None],
    X: Features,
    labels: Sequence[float],
    weights: Sequence[float],
    announced: Sequence[Announcement],
) -> None:
    """Learn, in order, the labels of rows that were announced; the losses are counted there. O(d²) a row."""
    learner.fleet.learn_many(keys, X, labels, weights, [ticket.logit for ticket in announced])
