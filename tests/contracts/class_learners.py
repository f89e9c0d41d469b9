"""What every learner of many classes keeps: the game, its certificate, and that whatever is refused leaves no trace."""

import copy
import math
import pickle
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aioli.learners.protocol import Capability, ClassLearner
from aioli.learners.registry import restore_any_learner
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.codec import from_bytes, to_bytes
from contracts.class_subjects import ClassSubject, Labels
from contracts.playing import memory
from contracts.subjects import Model

__all__ = ["CLASS_PROPERTIES", "ClassProperty"]

Check = Callable[[ClassSubject], None]


@dataclass(frozen=True)
class ClassProperty:
    """A named property of learners of many classes."""

    name: str
    says: str
    needs: tuple[Capability, ...]
    check: Check


def contract(*needs: Capability) -> Callable[[Check], ClassProperty]:
    """Make a property of a check, for the subjects that claim these capabilities."""
    return lambda check: ClassProperty(check.__name__, (check.__doc__ or "").splitlines()[0], needs, check)


def own(learner: Model, p: Matrix, labels: Labels) -> Vector:
    """Return what was announced for the labels that came."""
    return np.array([p[t, learner.classes_.index(label)] for t, label in enumerate(labels)])


def padded(rows: list[Vector], classes: int) -> Matrix:
    return np.array([np.pad(row, (0, classes - len(row))) for row in rows])


def known(subject: ClassSubject) -> tuple[Model, Matrix, Labels]:
    X, labels = subject.stream()
    learner, half = subject.make(), subject.n // 2
    learner.learn_many(X[:half], labels[:half])
    return learner, X[half:], labels[half:]


@contract()
def protocol(subject: ClassSubject) -> None:
    """It is a learner of many classes, and before the first row says what it will announce for it."""
    learner = subject.make()
    assert isinstance(learner, ClassLearner)
    before = memory(learner)
    X, labels = subject.stream()
    said = learner.predict_many(X)
    assert said.shape == (subject.n, len(learner.classes_))
    assert_allclose(said[0], subject.make().learn(X[0], labels[0])[: said.shape[1]], atol=1e-15)
    assert (learner.rounds, learner.loss, learner.n_features_) == (0, 0.0, None)
    assert memory(learner) == before


@contract()
def game(subject: ClassSubject) -> None:
    """Rows in chunks of any size, and one by one, are the same game, whose losses are those announced."""
    X, labels = subject.stream()
    whole, pieces, single = (subject.make() for _ in range(3))
    announced = whole.learn_many(X, labels)
    K = announced.shape[1]
    said = [pieces.learn_many(X[a:b], labels[a:b]) for a, b in pairwise([0, 1, 3, 17, subject.n])]
    assert_allclose(padded([r for part in said for r in part], K), announced, rtol=0.0, atol=subject.same)
    singly = padded([single.learn(X[t], labels[t]) for t in range(subject.n)], K)
    assert_allclose(singly, announced, rtol=0.0, atol=subject.same)
    for learner in (whole, pieces, single):
        assert learner.rounds == subject.n
        assert learner.classes_ == whole.classes_
        assert_allclose(learner.loss, -np.log(own(whole, announced, labels)).sum(), rtol=1e-9)


@contract()
def probabilities(subject: ClassSubject) -> None:
    """Probabilities are positive and add up to 1 less that of a new class, which the class's first row has instead."""
    X, labels = subject.stream()
    learner = subject.make()
    met: set[str] = set(learner.classes_)
    for t, label in enumerate(labels):
        escape, before = learner.escape_many(X[t : t + 1])[0], learner.predict(X[t])
        assert_allclose(before.sum(), 1.0 - escape, atol=1e-12)
        p = learner.learn(X[t], label)
        if subject.foretells:
            assert_allclose(p[: len(before)], before, rtol=0.0, atol=subject.same)
            if label not in met:
                assert_allclose(p[-1], escape, rtol=1e-12)
        assert (p > 0.0).all() or t == 0
        met.add(label)
    assert subject.is_open == (learner.escape > 0.0)


@contract()
def no_leak(subject: ClassSubject) -> None:
    """No label and no later row changes a probability that was announced before it."""
    X, labels = subject.stream()
    t = subject.n // 2
    others = labels[:t] + labels[t:][::-1]
    left, right = subject.make().learn_many(X, labels), subject.make().learn_many(X, others)
    K = len(set(labels[:t])) if subject.is_open else left.shape[1]
    assert_allclose(left[: t + 1, :K], right[: t + 1, :K], rtol=0.0, atol=1e-15)


@contract(Capability.SAVES)
def going_on(subject: ClassSubject) -> None:
    """A copy in memory, in bytes or in a pickle goes on as if it had never stopped, bit for bit."""
    X, labels = subject.stream()
    for stop in (0, 1, subject.n // 2):
        learner = subject.make()
        if stop:
            learner.learn_many(X[:stop], labels[:stop])
            learner.feature_names_ = ["a", "b", "c"]
        taken = learner.snapshot()
        before = to_bytes(taken)
        copies = [
            type(learner).restore(from_bytes(before)),
            restore_any_learner(taken),
            pickle.loads(pickle.dumps(learner)),
            copy.deepcopy(learner),
        ]
        announced = learner.learn_many(X[stop:], labels[stop:])
        assert to_bytes(taken) == before
        for twin in copies:
            assert memory(twin) == before
            assert_array_equal(twin.learn_many(X[stop:], labels[stop:]), announced)
            assert memory(twin) == memory(learner)


@contract()
def refusals(subject: ClassSubject) -> None:
    """A call that is refused says why and changes no bit, wherever in a block the fault is."""
    X, labels = subject.stream()
    broken = X.copy()
    broken[7, 1] = math.nan
    missing: list[object] = [*labels[:9], None, *labels[10:]]
    weights = np.where(np.arange(subject.n) == 3, -1.0, 1.0)
    for learner in (subject.make(), known(subject)[0]):
        before = memory(learner)
        calls: list[tuple[str, Callable[[], object]]] = [
            ("row 7: column 1 is nan", partial(learner.learn_many, broken, labels)),
            ("the row: column 1 is nan", partial(learner.learn, broken[7], labels[7])),
            ("row 9: the label is missing", partial(learner.learn_many, X, missing)),
            ("the row: the label is [1, 2]", partial(learner.learn, X[0], [1, 2])),
            ("give one a row", partial(learner.learn_many, X, labels[1:])),
            ("row 3: weight is -1.0", partial(learner.learn_many, X, labels, weights=weights)),
        ]
        if not subject.is_open:
            calls.append(("none of the classes", partial(learner.learn_many, X, ["nobody", *labels[1:]])))
        for message, call in calls:
            with pytest.raises(ValueError, match=f"{re.escape(message)}.*nothing was learned"):
                call()
            assert memory(learner) == before, message


@contract(Capability.CERTIFIES)
def certificate(subject: ClassSubject) -> None:
    """The certificate is at least the regret against the best of its models, and the tight one is no larger."""
    X, labels = subject.stream()
    for adversarial in (False, True):
        learner, played = subject.make(), list(labels)
        for t in range(subject.n):
            if adversarial and t % 4:
                p = learner.predict(X[t])
                played[t] = learner.classes_[int(np.argmin(p))]
            learner.learn(X[t], played[t])
        codes = np.array([learner.classes_.index(label) for label in played])
        proven, tight = learner.certificate(), learner.certificate(tight=True)
        assert proven.rounds == subject.n
        assert tight <= proven + 1e-9
        assert proven <= proven.theorem + 1e-9
        if subject.best is not None:
            for each in (proven, tight):
                least = subject.best(learner, each, X, codes)
                assert learner.loss - least <= each + 1e-6 * (1.0 + abs(each))


@contract(Capability.GROWS)
def growth(subject: ClassSubject) -> None:
    """A new column is as if it had been there, and 0, from the first row."""
    X, labels = subject.stream()
    half = subject.n // 2
    X[:half, 2] = 0.0
    grown, whole = subject.make(), subject.make()
    grown.learn_many(X[:half, :2], labels[:half])
    whole.learn_many(X[:half], labels[:half])
    assert grown.grow(1) is grown
    said = grown.learn_many(X[half:], labels[half:]), whole.learn_many(X[half:], labels[half:])
    assert_allclose(*said, rtol=0.0, atol=subject.same)


@contract(Capability.MERGES)
def merging(subject: ClassSubject) -> None:
    """Two learners merged know both games, and the certificate is for both."""
    X, labels = subject.stream()
    half = subject.n // 2
    left, right = subject.make(), subject.make()
    left.learn_many(X[:half], labels[:half])
    right.learn_many(X[half:], labels[half:])
    losses, other = left.loss + right.loss, memory(right)
    if "tree" in subject.name and subject.is_open:  # classes came in another order, so the trees differ
        with pytest.raises(ValueError, match="different trees"):
            left.merge(right)
        return
    assert left.merge(right) is left
    assert memory(right) == other
    assert_allclose(left.loss, losses, rtol=1e-12)
    assert left.rounds == subject.n
    assert set(left.classes_) == set(labels)
    if subject.best is not None and not subject.is_open:
        codes = np.array([left.classes_.index(label) for label in labels])
        proven = left.certificate()
        assert left.loss - subject.best(left, proven, X, codes) <= proven + 1e-6 * (1.0 + abs(proven))


@contract(Capability.WEIGHS)
def weights(subject: ClassSubject) -> None:
    """A weight of 1 is no weight; another multiplies the row's loss, and changes nothing that was announced before."""
    X, labels = subject.stream()
    plain, ones, heavy = (subject.make() for _ in range(3))
    announced = plain.learn_many(X, labels)
    assert_array_equal(ones.learn_many(X, labels, weights=np.ones(subject.n)), announced)
    assert memory(ones) == memory(plain)
    stakes = np.where(np.arange(subject.n) % 3 == 1, 2.0, 0.5)
    said = heavy.learn_many(X, labels, weights=stakes)
    assert_allclose(said[0], announced[0], rtol=0.0, atol=1e-15)
    assert_allclose(heavy.loss, -stakes @ np.log(own(heavy, said, labels)), rtol=1e-9)


@contract(Capability.LEARNS_LATE)
def late_labels(subject: ClassSubject) -> None:
    """A late label is counted where it was announced; with nothing in between, it is the game on time."""
    X, labels = subject.stream()
    late, by_logits, on_time = (subject.make() for _ in range(3))
    for t, label in enumerate(labels):
        p = on_time.learn(X[t], label)
        assert_allclose(late.learn(X[t], label, announced=late.announce(X[t])), p, rtol=0.0, atol=subject.same)
        said = by_logits.learn(X[t], label, logits=by_logits.predict_logits(X[t]))
        assert_allclose(said, p, rtol=0.0, atol=subject.same)
    assert_allclose([late.loss, by_logits.loss], on_time.loss, rtol=1e-9)
    batch = subject.make()
    batch.learn_many(X[:10], labels[:10])
    expected = batch.predict_many(X[10:])
    announced = batch.learn_batch(X[10:], labels[10:])
    assert_allclose(announced[:, : expected.shape[1]][announced[:, : expected.shape[1]] > 0], expected.ravel())
    assert not subject.promises(Capability.CERTIFIES) or math.isfinite(batch.certificate())
    assert batch.rounds == subject.n


CLASS_PROPERTIES = [
    protocol,
    game,
    probabilities,
    no_leak,
    going_on,
    refusals,
    certificate,
    growth,
    merging,
    weights,
    late_labels,
]
