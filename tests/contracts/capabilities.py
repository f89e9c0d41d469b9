"""What some learners promise besides: to go on after a stop, a certificate, growth, merging, weights, late labels."""

import copy
import math
import pickle
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from aioli import MaximumLikelihood
from aioli.evaluate.hindsight import best_in_ball
from aioli.learners.protocol import Capability
from aioli.learners.registry import restore_learner
from aioli.snapshots.codec import from_bytes, to_bytes
from contracts.playing import as_dense, assert_same, claiming, contract, memory, one, teach
from contracts.subjects import Model, Subject

__all__ = ["PROPERTIES"]

# ---- stopping and going on


def again(model: Model) -> Iterator[Model]:
    """Yield copies made in every way that there is."""
    taken = model.snapshot()
    yield type(model).restore(taken)
    yield type(model).restore(from_bytes(to_bytes(taken)))
    if not isinstance(model, MaximumLikelihood):
        yield restore_learner(taken)
    yield pickle.loads(pickle.dumps(model))
    yield copy.copy(model)
    yield copy.deepcopy(model)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        yield type(model).load(Path(folder) / "model")


def shown(model: Model) -> dict[str, str]:
    """Return all that the model shows of itself: its public attributes that are no methods."""
    values = {name: getattr(model, name) for name in dir(model) if not name.startswith("_") and name != "capabilities"}
    return {name: repr(value) for name, value in values.items() if not callable(value)}


@contract(claiming(Capability.SAVES))
def going_on(subject: Subject) -> None:
    """A copy in memory, in bytes, in a pickle or in a file goes on as if it had never stopped, bit for bit."""
    X, y = subject.stream()
    for stop in (0, 1, len(y) // 2):
        model = subject.make()
        teach(model, X[:stop], y[:stop])
        if subject.promises(Capability.NAMES_COLUMNS) and model.n_features_:
            model.feature_names_ = [f"column {j}" for j in range(model.n_features_)]
        taken = model.snapshot()
        before = to_bytes(taken)
        copies = list(again(model))
        announced, after = teach(model, X[stop:], y[stop:]), memory(model)
        assert to_bytes(taken) == before, "learning on has changed a snapshot"
        for twin in copies:
            assert memory(twin) == before
            assert not subject.is_online or repr(twin) == repr(type(model).restore(taken))
            assert_array_equal(teach(twin, X[stop:], y[stop:]), announced)
            assert memory(twin) == after
            assert shown(twin) == shown(model)


# ---- what some promise


@contract(lambda subject: subject.seen is not None)
def certificate(subject: Subject) -> None:
    """The certificate is at least the regret against the best of the ball, on the rows that its models see."""
    X, y = subject.stream()
    for adversarial in (False, True):
        learner, labels = subject.make(), y.copy()
        for t in range(len(y)):
            if adversarial:
                labels[t] = float(learner.predict(one(X, t)) <= 0.5)
            learner.learn(one(X, t), labels[t])
        for proven in (learner.certificate(), learner.certificate(tight=True)):
            assert subject.seen is not None
            rows = subject.seen(proven, as_dense(X))
            best = best_in_ball(rows, labels, proven.radius, intercept=False)
            assert learner.loss - best.loss <= proven + 1e-6 * (1.0 + abs(proven))
            assert proven.rounds == len(y)
        assert learner.certificate(tight=True) <= learner.certificate() + 1e-9


@contract(lambda subject: subject.units is not None)
def units(subject: Subject) -> None:
    """The unit of a column does not matter."""
    X, y = subject.stream()
    assert subject.units is not None
    scale = 10.0 ** np.random.default_rng(0).uniform(-6.0, 6.0, X.shape[1])
    scaled = sparse.csr_array(as_dense(X) * scale) if sparse.issparse(X) else X * scale
    assert_allclose(teach(subject.make(), scaled, y), teach(subject.make(), X, y), rtol=0.0, atol=subject.units)


@contract(lambda subject: subject.origins is not None)
def origins(subject: Subject) -> None:
    """The origin of a column does not matter."""
    X, y = subject.stream()
    assert subject.origins is not None
    moved = X + 10.0 * np.random.default_rng(0).uniform(-1.0, 1.0, X.shape[1])
    assert_allclose(teach(subject.make(), moved, y), teach(subject.make(), X, y), rtol=0.0, atol=subject.origins)


@contract(claiming(Capability.GROWS))
def growth(subject: Subject) -> None:
    """A new column is as if it had been there, and 0, from the first row."""
    X, y = subject.stream()
    half, kind = len(y) // 2, sparse.csr_array if sparse.issparse(X) else np.asarray
    rows = as_dense(X).copy()
    rows[:half, -1] = 0.0
    grown, whole = subject.make(), subject.make()
    assert_same(subject, teach(grown, kind(rows[:half, :-1]), y[:half]), teach(whole, kind(rows[:half]), y[:half]))
    assert grown.grow(1) is grown
    assert_same(subject, teach(grown, kind(rows[half:]), y[half:]), teach(whole, kind(rows[half:]), y[half:]))
    assert grown.n_features_ == whole.n_features_


@contract(claiming(Capability.MERGES))
def merging(subject: Subject) -> None:
    """Two learners merged know both games, whichever takes the other in, and the certificate is for both."""
    X, y = subject.stream()
    half = len(y) // 2
    left, right = subject.make(), subject.make()
    teach(left, X[:half], y[:half])
    teach(right, X[half:], y[half:])
    losses, other, reverse = left.loss + right.loss, memory(right), copy.deepcopy(right).merge(copy.deepcopy(left))
    assert left.merge(right) is left
    assert memory(right) == other
    for merged in (left, reverse):
        assert_allclose(merged.loss, losses, rtol=1e-12)
        assert merged.rounds == len(y)
    assert_allclose(left.predict_many(X), reverse.predict_many(X), atol=1e-7)  # P is inverted
    if subject.seen is not None:
        proven = left.certificate()
        best = best_in_ball(subject.seen(proven, as_dense(X)), y, proven.radius, intercept=False)
        assert left.loss - best.loss <= proven + 1e-6 * (1.0 + abs(proven))


@contract(claiming(Capability.SHARDS))
def sharding(subject: Subject) -> None:
    """Copies that learned parts of the rows become one that knows each row once, whichever takes the other in."""
    X, y = subject.stream()
    third, n = len(y) // 3, len(y)
    since = subject.make()
    teach(since, X[:third], y[:third])
    left, right = copy.deepcopy(since), copy.deepcopy(since)
    teach(left, X[third : 2 * third], y[third : 2 * third])
    teach(right, X[2 * third :], y[2 * third :])
    before, losses = memory(since), left.loss + right.loss - since.loss
    reverse = copy.deepcopy(right).merge(left, since=since)
    for merged in (left.merge(right, since=since), reverse):
        assert_allclose(merged.loss, losses, rtol=1e-12)
        assert merged.rounds == n
    assert memory(since) == before
    assert_allclose(left.predict_many(X), reverse.predict_many(X), atol=1e-7)  # P is inverted


@contract(claiming(Capability.WEIGHS))
def weights(subject: Subject) -> None:
    """A weight of 1 is no weight; another multiplies the row's loss, and changes nothing that was announced before."""
    X, y = subject.stream()
    plain, ones, heavy, single = (subject.make() for _ in range(4))
    announced = teach(plain, X, y)
    assert_array_equal(ones.learn_many(X, y, weights=np.ones(len(y))), announced)
    assert memory(ones) == memory(plain)
    stakes = np.where(np.arange(len(y)) % 3 == 1, 2.0, 0.5)
    said = heavy.learn_many(X, y, weights=stakes)
    assert said[0] == announced[0]
    losses = -np.log(np.where(y == 1.0, said, 1.0 - said))
    assert_allclose(heavy.loss, stakes @ losses, rtol=1e-7)  # 1 - p has lost a few digits
    assert_same(subject, [single.learn(one(X, t), y[t], weight=stakes[t]) for t in range(len(y))], said)


@contract(claiming(Capability.LEARNS_LATE))
def late_labels(subject: Subject) -> None:
    """A late label is learned where it was announced: with nothing in between, it is the game on time."""
    X, y = subject.stream()
    late, on_time = subject.make(), subject.make()
    for t in range(len(y)):
        z = late.predict_logit(one(X, t))
        assert_same(subject, late.learn(one(X, t), y[t], logit=z), on_time.learn(one(X, t), y[t]))
    assert_allclose(late.loss, on_time.loss, rtol=1e-9)
    before = late.loss
    learned = late.learn(one(X, 0), 1, logit=0.25)
    assert_allclose(learned, 1.0 / (1.0 + math.exp(-0.25)), rtol=1e-12)
    assert_allclose(late.loss - before, math.log1p(math.exp(-0.25)), rtol=1e-6)  # a difference of sums


PROPERTIES = [going_on, certificate, units, origins, growth, merging, sharding, weights, late_labels]
