"""What learners promise whose labels may come late: a label is learned once, from what was announced for its row."""

import copy
import math
import pickle
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aioli.errors import AnnouncementRefused
from aioli.evaluate.hindsight import best_in_ball
from aioli.learners.announcements import Announcement, Announcements
from aioli.learners.protocol import Capability
from aioli.numerics.compiling import Vector
from aioli.snapshots.codec import from_bytes, to_bytes
from contracts.capabilities import again
from contracts.playing import as_dense, assert_same, claiming, contract, known, memory, one
from contracts.subjects import LOOPS, Model, Subject, Table

__all__ = ["PROPERTIES", "delayed_game"]

late = claiming(Capability.LEARNS_LATE)

Order = list[tuple[str, int]]  # "row" or "label", and the number of the row


def random_order(n: int, longest: int, seed: int, lost: float = 0.1) -> Order:
    """Return rows in order, and each label at a random time after its row; some labels never come."""
    rng = np.random.default_rng(seed)
    comes = np.arange(n) + rng.integers(0, longest + 1, size=n) + 0.5 * rng.random(n)
    events = [(float(t), "row", t) for t in range(n)]
    events += [(float(comes[t]), "label", t) for t in range(n) if rng.random() >= lost]
    return [(what, t) for _, what, t in sorted(events, key=lambda event: event[0])]


def delayed_game(model: Model, X: Table, y: Vector, order: Order) -> tuple[dict[int, Announcement], list[int]]:
    """Play rows and labels in this order; return the tickets, and the rows whose labels came, in order."""
    tickets: dict[int, Announcement] = {}
    learned = []
    for what, t in order:
        if what == "row":
            tickets[t] = model.announce(one(X, t))
        else:
            said = model.learn(one(X, t), y[t], announced=tickets[t])
            assert_allclose(said, tickets[t].probability, rtol=1e-12)
            learned.append(t)
    return tickets, learned


def loss_of(tickets: dict[int, Announcement], y: Vector, rows: list[int]) -> float:
    return float(sum(np.logaddexp(0.0, -tickets[t].logit if y[t] == 1.0 else tickets[t].logit) for t in rows))


@contract(late)
def delays(subject: Subject) -> None:
    """A delayed label is learned from what was announced, in any order; its loss and certificate speak of that."""
    X, y = subject.stream()
    for seed, longest in enumerate((1, 7, len(y))):
        model = subject.make()
        tickets, learned = delayed_game(model, X, y, random_order(len(y), longest, seed))
        assert model.rounds == len(learned) < len(y)
        assert_allclose(model.loss, loss_of(tickets, y, learned), rtol=1e-9)  # sums in other orders
        if subject.seen is not None:
            for proven in (model.certificate(), model.certificate(tight=True)):
                rows = subject.seen(proven, as_dense(X)[learned])
                best = best_in_ball(rows, y[learned], proven.radius, intercept=False)
                assert model.loss - best.loss <= proven + 1e-6 * (1.0 + abs(proven))


@contract(late)
def announcing(subject: Subject) -> None:
    """Announcing says what predicting says, before the first row, in time and after late labels, and learns nothing."""
    X, y = subject.stream()
    half = len(y) // 2
    model, quiet = subject.make(), subject.make()
    waiting = []
    for t in range(len(y)):
        said = model.predict(one(X, t))
        ticket = model.announce(one(X, t))
        assert ticket.probability == said == model.predict(one(X, t))
        assert_same(subject, ticket.logit, model.predict_logit(one(X, t)))
        many = model.predict_logit_many(X)
        assert_array_equal(model.announce_many(X).logits, many)
        assert_array_equal(model.predict_logit_many(X), many)
        if t < half:  # in time, though rows were announced: the game is that of a learner that announced none
            # the loop that keeps an eye on announcements is compiled apart, and rounds apart
            learned = model.learn(one(X, t), y[t])
            assert_allclose(learned, quiet.learn(one(X, t), y[t]), rtol=0.0, atol=max(LOOPS, subject.same))
            assert (model.rounds, model.n_features_) == (quiet.rounds, quiet.n_features_)
        else:
            waiting.append((t, ticket))
            if len(waiting) == 5:
                for s, old in reversed(waiting):
                    model.learn(one(X, s), y[s], announced=old)
                waiting = []


@contract(claiming(Capability.LEARNS_LATE, Capability.SAVES))
def tickets_survive(subject: Subject) -> None:
    """Tickets and their learner go through bytes, pickles and files, and labels are learned as if neither had."""
    X, y = subject.stream()
    third = len(y) // 3
    model = subject.make()
    model.learn_batch(X[:third], y[:third])
    tickets = model.announce_many(X[third : 2 * third])
    single = model.announce(one(X, 2 * third))
    before = memory(model)
    moved = [
        (Announcements.restore(from_bytes(to_bytes(tickets.snapshot()))), Announcement.restore(single.snapshot())),
        (pickle.loads(pickle.dumps(tickets)), pickle.loads(pickle.dumps(single))),
        (copy.deepcopy(tickets), copy.deepcopy(single)),
    ]
    copies = list(again(model))

    def finish(learner: Model, many: Announcements, last: Announcement) -> bytes:
        learner.learn(one(X, 2 * third), y[2 * third], announced=last)
        order = np.random.default_rng(0).permutation(third)
        learner.learn_many(X[third : 2 * third][order], y[third : 2 * third][order], announced=many.of(order))
        learner.learn_batch(X[2 * third :], y[2 * third :])
        return memory(learner)

    after = finish(model, tickets, single)
    for i, twin in enumerate(copies):
        assert memory(twin) == before
        assert finish(twin, *moved[i % len(moved)]) == after


@contract(claiming(Capability.LEARNS_LATE, Capability.GROWS))
def tickets_and_growth(subject: Subject) -> None:
    """Columns that come between a row and its label are as if they had been there, and 0, from the first row."""
    X, y = subject.stream()
    half = len(y) // 2
    rows = as_dense(X).copy()
    rows[:half, -1] = 0.0
    grown, whole = subject.make(), subject.make()
    grown.learn_batch(rows[: half // 2, :-1], y[: half // 2])
    whole.learn_batch(rows[: half // 2], y[: half // 2])
    tickets = [m.announce_many(r[half // 2 : half]) for m, r in ((grown, rows[:, :-1]), (whole, rows))]
    assert_allclose(tickets[0].logits, tickets[1].logits, rtol=1e-9, atol=subject.same)
    grown.grow(1)
    for model, announced in zip((grown, whole), tickets, strict=True):
        model.learn_many(rows[half // 2 : half], y[half // 2 : half], announced=announced)
    assert_allclose(grown.predict_many(rows), whole.predict_many(rows), rtol=0.0, atol=max(subject.same, 1e-12))


def refused_tickets(subject: Subject, model: Model, X: Table, y: Vector) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield calls with announcements that do not stand; the model's own are spent or for other rows."""
    used, fresh = model.announce(one(X, 0)), model.announce(one(X, 1))
    other = subject.make()
    stranger = other.announce(one(X, 1))
    many = model.announce_many(X[:3])
    earlier = copy.deepcopy(model)
    future = model.announce(one(X, 2))
    model.learn(one(X, 0), y[0], announced=used)
    yield "has had its label", partial(model.learn, one(X, 0), y[0], announced=used)
    yield "another learner's", partial(model.learn, one(X, 1), y[1], announced=stranger)
    yield "another learner's", partial(model.learn_many, X[:3], y[:3], announced=other.announce_many(X[:3]))
    yield "give one a row", partial(model.learn_many, X[:2], y[:2], announced=many)
    yield "twice in one call", partial(model.learn_many, X[:2], y[:2], announced=Announcements.joined([fresh, fresh]))
    yield "has had its label", partial(model.learn_many, X[:2], y[:2], announced=Announcements.joined([fresh, used]))
    before = memory(earlier)
    with pytest.raises(AnnouncementRefused, match="still to come"):
        earlier.learn(one(X, 2), y[2], announced=future)
    assert memory(earlier) == before


@contract(late)
def tickets_once(subject: Subject) -> None:
    """A ticket is used once, by the learner that made it; whatever is refused changes no bit."""
    for model, X, y in ((subject.make(), *subject.stream()), known(subject)):
        for message, call in refused_tickets(subject, model, X, y):
            before = memory(model)
            with pytest.raises(AnnouncementRefused, match=f"{message}.*nothing was learned"):
                call()
            assert memory(model) == before, f"{message}: it was refused, but left a trace"
        ticket, tickets = model.announce(one(X, 1)), model.announce_many(X)
        before, broken = memory(model), np.array(y, dtype=float)
        broken[-1] = 0.5
        bad = as_dense(X).copy()
        bad[-1, 0] = math.nan
        calls: list[Callable[[], object]] = [
            partial(model.learn, one(X, 1), "yes", announced=ticket),
            partial(model.learn, one(X, 1), 1, announced=ticket, weight=-1.0),
            partial(model.learn, one(X, 1), 1, announced=ticket, logit=0.5),
            partial(model.learn, bad[-1], 1, announced=ticket),
            partial(model.learn_many, X, broken, announced=tickets),
            partial(model.learn_many, bad, y, announced=tickets),
            partial(model.learn_batch, X, broken),
            partial(model.learn_batch, bad, y),
            partial(model.learn_batch, X, y, weights=-np.ones(len(y))),
            partial(model.announce, bad[-1]),
            partial(model.announce_many, bad),
        ]
        for call in calls:
            with pytest.raises(ValueError, match="nothing was learned"):
                call()
            assert memory(model) == before
        model.learn(one(X, 1), y[1], announced=ticket)  # a refusal has not spent it
    fresh = subject.make()
    before = memory(fresh)
    with pytest.raises(ValueError, match="nothing was learned"):
        fresh.learn_batch(X, broken)
    assert memory(fresh) == before


@contract(late)
def tickets_in_time(subject: Subject) -> None:
    """Labels that come in time, with tickets, are the game in time."""
    X, y = subject.stream()
    ticketed, plain = subject.make(), subject.make()
    for t in range(len(y)):
        said = ticketed.learn(one(X, t), y[t], announced=ticketed.announce(one(X, t)))
        # prediction and learning are compiled apart, and round apart
        assert_allclose(said, plain.learn(one(X, t), y[t]), rtol=0.0, atol=max(1e-9, subject.same))
    assert_allclose(ticketed.loss, plain.loss, rtol=1e-9, atol=10.0 * subject.same)


@contract(late)
def batches(subject: Subject) -> None:
    """A batch is announced before its first label: it is announce_many, then learn_many with the tickets."""
    X, y = subject.stream()
    size = len(y) // 4
    batch, apart, single = (subject.make() for _ in range(3))
    for first in range(0, len(y), size):
        rows = slice(first, first + size)
        expected = batch.predict_many(X[rows])
        assert_array_equal(batch.learn_batch(X[rows], y[rows]), expected)
        tickets = apart.announce_many(X[rows])
        assert_array_equal(apart.learn_many(X[rows], y[rows], announced=tickets), expected)
        assert_array_equal(batch.predict_many(X), apart.predict_many(X))
        numbers = list(range(len(y)))[rows]
        one_by_one = [single.announce(one(X, t)) for t in numbers]
        for t, ticket in zip(numbers, one_by_one, strict=True):
            single.learn(one(X, t), y[t], announced=ticket)
        assert_same(subject, [ticket.probability for ticket in one_by_one], expected)
    assert batch.loss == apart.loss
    assert batch.rounds == single.rounds == len(y)


PROPERTIES = [delays, announcing, tickets_survive, tickets_and_growth, tickets_once, tickets_in_time, batches]
