"""What every learner keeps: the protocol, the game, and that whatever is refused leaves no trace."""

import copy
import math
import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from aioli.learners.protocol import Capability, Learner
from aioli.numerics.compiling import Vector
from contracts.playing import as_dense, assert_same, contract, everybody, known, memory, one, online, teach
from contracts.subjects import Model, Subject, Table

__all__ = ["PROPERTIES"]

# ---- the protocol


def named(learner: Model, names: list[str]) -> None:
    assert learner.feature_names_ is None
    learner.feature_names_ = names
    assert learner.feature_names_ == names


ASKING: dict[Capability, Callable[[Any, Table], object]] = {
    Capability.CERTIFIES: lambda learner, _: learner.certificate(),
    Capability.GROWS: lambda learner, _: learner.grow(1),
    Capability.LEARNS_LATE: lambda learner, x: learner.learn(x, 1, announced=learner.announce(x)),
    Capability.MERGES: lambda learner, _: learner.merge(copy.deepcopy(learner)),
    Capability.MIXES: lambda learner, _: learner.weights_,
    Capability.NAMES_COLUMNS: lambda learner, x: named(learner, [f"column {j}" for j in range(x.shape[-1])]),
    Capability.SAVES: lambda learner, _: learner.snapshot(),
    Capability.SHARDS: lambda learner, _: copy.deepcopy(learner).merge(learner, since=learner),
    Capability.WEIGHS: lambda learner, x: learner.learn(x, 1, weight=2.0),
}


@contract(everybody)
def protocol(subject: Subject) -> None:
    """What a learner claims to do it does; what it does not claim is absent or refused."""
    if subject.is_online:
        assert isinstance(subject.make(), Learner)
    for capability, ask in ASKING.items():
        model, X, _ = known(subject)
        if capability in model.capabilities:
            ask(model, one(X, 0))
        else:
            with pytest.raises((AttributeError, TypeError, ValueError)):
                ask(model, one(X, 0))


# ---- the game


@contract(online)
def no_leak(subject: Subject) -> None:
    """No label and no later row changes a probability that was announced before it."""
    X, y = subject.stream()
    n = len(y)
    t = n // 2
    order = np.concatenate([np.arange(t + 1), np.arange(n - 1, t, -1)])
    others = np.where(np.arange(n) >= t, 1.0 - y[order], y[order])
    assert_array_equal(teach(subject.make(), X[order], others)[: t + 1], teach(subject.make(), X, y)[: t + 1])
    left, right = subject.make(), subject.make()
    for s in range(t + 1):
        assert left.learn(one(X, s), y[s]) == right.learn(one(X, s), others[s])


@contract(online)
def chunks(subject: Subject) -> None:
    """Rows in chunks of any size, and one by one, are the same game."""
    X, y = subject.stream()
    n = len(y)
    whole, pieces, single = (subject.make() for _ in range(3))
    announced = teach(whole, X, y)
    ends = [0, 1, 3, 10, n]
    said = [teach(pieces, X[a:b], y[a:b]) for a, b in pairwise(ends)]
    assert_same(subject, np.concatenate(said), announced)
    assert_same(subject, [single.learn(one(X, t), y[t]) for t in range(n)], announced)
    losses = -np.log(np.where(y == 1.0, announced, 1.0 - announced))
    for learner in (whole, pieces, single):
        assert learner.rounds == n
        assert_allclose(learner.loss, losses.sum(), rtol=1e-7)  # 1 - p has lost a few digits
        assert_same(subject, learner.predict_many(X), whole.predict_many(X))


@contract(everybody)
def predicting(subject: Subject) -> None:
    """A prediction changes nothing, comes singly or many at once, and is what learning announces next."""
    model, X, y = known(subject)
    before = memory(model)
    many = model.predict_many(X)
    assert_same(subject, [model.predict(one(X, t)) for t in range(len(y))], many)
    if subject.is_online:
        logits = model.predict_logit_many(X)
        assert_allclose(1.0 / (1.0 + np.exp(-logits)), many, rtol=1e-12)
        assert_same(subject, [model.predict_logit(one(X, t)) for t in range(len(y))], logits)
    assert memory(model) == before
    if subject.is_online and subject.foretells:
        for t in range(len(y)):
            said = model.predict(one(X, t))
            assert_same(subject, model.learn(one(X, t), y[t]), said)


@contract(online)
def beginning(subject: Subject) -> None:
    """Before the first row a learner says one half to any row, and stays fresh."""
    X, _ = subject.stream()
    learner = subject.make()
    before = memory(learner)
    assert learner.predict(one(X, 0)) == 0.5
    assert_array_equal(learner.predict_many(X), 0.5)
    assert (learner.rounds, learner.loss, learner.n_features_) == (0, 0.0, None)
    assert memory(learner) == before


@contract(everybody)
def threads(subject: Subject) -> None:
    """Threads that only predict say what one thread says, and change nothing."""
    model, X, y = known(subject)
    before = memory(model)
    places = list(range(len(y))) * 4
    expected = [model.predict(one(X, t)) for t in places]
    switching = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # threads take turns often, so that they do meet
    try:
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(lambda t: model.predict(one(X, t)), places)) == expected
    finally:
        sys.setswitchinterval(switching)
    assert memory(model) == before


@contract(online)
def sparse_rows(subject: Subject) -> None:
    """Sparse rows and dense ones are the same rows."""
    X, y = subject.stream()
    left, right = subject.make(), subject.make()
    assert_same(subject, teach(left, sparse.csr_array(X), y), teach(right, as_dense(X), y))
    assert_same(subject, left.predict(sparse.csr_array(X)[[0]]), right.predict(as_dense(X)[0]))


# ---- refusals


Refused = tuple[str, Callable[[], object]]  # what the message must say, and the call


def refused_rows(subject: Subject, model: Model, X: Table, y: Vector) -> Iterator[Refused]:
    """Yield calls with rows that are none; the fault is in the middle of a block."""
    learn = model.learn_many if subject.is_online else model.fit
    middle = len(y) // 2
    for bad in (math.nan, math.inf, -math.inf, 1e300):
        broken = as_dense(X).copy()
        broken[middle, 0] = bad
        for rows in (broken, sparse.csr_array(broken)):
            yield f"row {middle}: column 0 is {bad}", partial(learn, rows, y)
        if subject.is_online:
            yield f"the row: column 0 is {bad}", partial(model.learn, broken[middle], 1)
    yield "values of type <U1 came", partial(learn, [["a"] * X.shape[1]], [1])
    if subject.is_online and model.n_features_ is not None and not subject.any_width:
        wider = np.column_stack([as_dense(X), y])
        yield f"this learner knows {X.shape[1]}", partial(learn, wider, y)
        yield f"this learner knows {X.shape[1]}", partial(model.learn, wider[0], 1)


def refused_labels(subject: Subject, model: Model, X: Table, y: Vector) -> Iterator[Refused]:
    """Yield calls with labels, weights and announcements that are none; the fault is in the middle of a block."""
    learn = model.learn_many if subject.is_online else model.fit
    middle = len(y) // 2
    yield "give one a row", partial(learn, X, y[1:])
    for label in (2, "yes", None, math.nan):
        labels: list[object] = list(y)
        labels[middle] = label
        yield "label", partial(learn, X, labels)
        if subject.is_online:
            yield f"the label is {label!r}", partial(model.learn, one(X, 0), label)
    if subject.promises(Capability.WEIGHS):
        for weight in (-1.0, math.nan, math.inf):
            weights = np.where(np.arange(len(y)) == middle, weight, 1.0)
            yield f"row {middle}: weight is {weight}", partial(learn, X, y, weights=weights)
            yield f"weight is {weight}", partial(model.learn, one(X, 0), 1, weight=weight)
    if subject.promises(Capability.LEARNS_LATE):
        yield "logit is inf", partial(model.learn, one(X, 0), 1, logit=math.inf)


@contract(everybody)
def refusals(subject: Subject) -> None:
    """A call that is refused says why and changes no bit, wherever in a block the fault is."""
    X, y = subject.stream()
    for model in (subject.make(), known(subject)[0]):
        before = memory(model)
        for of in (refused_rows, refused_labels):
            for message, call in of(subject, model, X, y):
                with pytest.raises(ValueError, match=f"{re.escape(message)}.*nothing was learned"):
                    call()
                assert memory(model) == before, f"{message}: it was refused, but left a trace"


PROPERTIES = [protocol, no_leak, chunks, predicting, beginning, threads, sparse_rows, refusals]
