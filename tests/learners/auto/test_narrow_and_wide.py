"""Narrow and wide side by side: pairs of values, columns that become many, and what was learned before they did."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from aioli import Auto
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.codec import from_bytes, to_bytes
from aioli.states.sparse import pairs

ROWS = 300


@pytest.fixture(autouse=True)
def settled_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The columns are settled in the middle of the rows."""
    monkeypatch.setattr(pairs, "SETTLING", 100)


def mixed(rng: np.random.Generator, rows: int = ROWS) -> tuple[Matrix, Vector]:
    """Return rows of a number, mostly 0, and two one-hot categories; the label is what goes together in them."""
    first, second = rng.integers(4, size=rows), rng.integers(4, size=rows)
    amount = np.where(rng.random(rows) < 0.5, 0.0, rng.lognormal(3.0, 2.0, rows))
    X = np.column_stack([amount, np.eye(4)[first], np.eye(4)[second]])
    likely = (first == second) | (amount > 200.0)
    return X, (rng.random(rows) < np.where(likely, 0.95, 0.05)).astype(np.float64)


def loss(p: Vector, y: Vector) -> float:
    return float(-np.log(np.where(y == 1.0, p, 1.0 - p)).mean())


def test_pairs_of_values_are_learned_where_columns_alone_say_nothing(rng: np.random.Generator) -> None:
    first, second = rng.integers(10, size=3000), rng.integers(10, size=3000)
    likely = rng.random((10, 10)) < 0.5
    X = np.column_stack([np.eye(10)[first], np.eye(10)[second]])
    y = (rng.random(3000) < np.where(likely[first, second], 0.95, 0.05)).astype(np.float64)
    alone, paired = Auto(budget="fast"), Auto(budget="fast", pairs=True)
    assert loss(paired.learn_many(X, y)[1500:], y[1500:]) < 0.7 * loss(alone.learn_many(X, y)[1500:], y[1500:])
    assert repr(paired).startswith("Auto(budget='fast', pairs=True)")
    assert sum(paired.weights_.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_rows_at_once_and_one_by_one_are_the_same_game(kind: str, rng: np.random.Generator) -> None:
    X, y = mixed(rng)
    at_once, single = Auto(pairs=True), Auto(pairs=True)
    p = at_once.learn_many(X if kind == "dense" else sparse.csr_array(X), y)
    assert_allclose(
        [single.learn(x, label) for x, label in zip(X, y, strict=True)], p, atol=1e-9
    )  # sums in other orders
    assert_allclose(single.predict_many(X[:9]), [single.predict(x) for x in X[:9]], rtol=1e-12)


@pytest.mark.parametrize("stop", [50, 100, 220])
def test_a_snapshot_goes_on_bit_for_bit(stop: int, rng: np.random.Generator) -> None:
    X, y = mixed(rng)
    learner = Auto(pairs=True)
    learner.learn_many(X[:stop], y[:stop])
    again = Auto.restore(from_bytes(to_bytes(learner.snapshot())))
    assert_array_equal(again.learn_many(X[stop:], y[stop:]), learner.learn_many(X[stop:], y[stop:]))
    assert to_bytes(again.snapshot()) == to_bytes(learner.snapshot())


def test_columns_beyond_the_narrow_ones_are_learned_too(rng: np.random.Generator) -> None:
    users = rng.integers(600, size=4000)
    y = (rng.random(4000) < np.where(users % 2, 0.9, 0.1)).astype(np.float64)
    X = sparse.csr_array((np.ones(4000), users, np.arange(4001)), shape=(4000, 600))
    p = Auto(pairs=True).learn_many(X, y)
    assert loss(p[2000:], y[2000:]) < 0.5


def test_a_narrow_learner_that_becomes_wide_keeps_what_it_learned(rng: np.random.Generator) -> None:
    X = rng.normal(size=(600, 3))
    y = (X[:, 0] + rng.logistic(size=600) > 0.0).astype(np.float64)
    learner = Auto()
    learner.learn_many(X[:400], y[:400])
    late = learner.announce(X[400])
    before, proven = learner.predict_many(X[401:]), float(learner.certificate())
    learner.grow(4000)
    wider = sparse.csr_array(np.pad(X, ((0, 0), (0, 4000))))
    after = learner.predict_many(wider[401:])
    assert learner.rounds == 400
    assert loss(after, y[401:]) < loss(np.full(199, y[:400].mean()), y[401:])
    assert np.corrcoef(before, after)[0, 1] > 0.9
    assert float(learner.certificate()) == pytest.approx(proven)
    learner.learn(wider[[400]], y[400], announced=late)  # announced before the columns came
    p = learner.learn_many(wider[401:], y[401:])
    assert loss(p, y[401:]) < np.log(2.0)
    assert learner.rounds == 600


def test_labels_that_come_late_are_learned(rng: np.random.Generator) -> None:
    X, y = mixed(rng, 1200)
    learner = Auto(pairs=True)
    said = [learner.learn_batch(X[k : k + 60], y[k : k + 60]) for k in range(0, 1200, 60)]
    assert loss(np.concatenate(said)[600:], y[600:]) < 0.5
    assert np.isfinite(float(learner.certificate()))
