"""Auto on rows of every shape: it plays Wide's experts where rows are wide, and its own where they are not."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from aioli import Auto, Wide
from aioli.learners.auto.dense_ensemble import DenseEnsemble
from aioli.numerics.compiling import Vector


def words(n: int = 120, width: int = 3000, seed: int = 0) -> tuple[Any, Vector]:
    rng = np.random.default_rng(seed)
    X: Any = sparse.random_array((n, width), density=0.01, format="csr", rng=rng)
    return X, (X @ rng.normal(size=width) + rng.logistic(size=n) > 0).astype(np.float64)


def test_words_are_played_as_wide_plays_them() -> None:
    X, y = words()
    auto, wide = Auto(), Wide()
    assert_array_equal(auto.learn_many(X[:100], y[:100]), wide.learn_many(X[:100], y[:100]))
    assert_array_equal(auto.predict_many(X[100:]), wide.predict_many(X[100:]))
    assert [auto.learn(X[[t]], y[t]) for t in range(100, 120)] == [wide.learn(X[[t]], y[t]) for t in range(100, 120)]
    assert (auto.rounds, auto.loss, auto.n_features_) == (wide.rounds, wide.loss, wide.n_features_)
    assert auto.certificate() == wide.certificate()
    assert auto.weights_ == wide.weights_


@pytest.mark.parametrize("width", [5, 150, 600])
def test_dense_rows_and_narrow_ones_are_played_as_before(width: int) -> None:
    X = np.random.default_rng(1).normal(size=(40, width))
    y = (X[:, 0] > 0).astype(np.float64)
    auto, dense = Auto(budget="fast"), DenseEnsemble(budget="fast")
    assert_array_equal(auto.learn_many(X, y), dense.learn_many(X, y))
    assert auto._linear_experts is not None


def test_the_choice_does_not_depend_on_how_many_rows_come_at_once() -> None:
    X, y = words()
    single, many = Auto(), Auto()
    assert [single.learn(X[[t]], y[t]) for t in range(60)] == many.learn_many(X[:60], y[:60]).tolist()


def test_predicting_chooses_nothing() -> None:
    X, _ = words()
    learner = Auto()
    assert_array_equal(learner.predict_many(X), np.full(120, 0.5))
    assert learner.predict(np.zeros(3)) == 0.5
    assert learner.learn(np.ones(3), 1) == 0.5
    assert learner.n_features_ == 3


def test_what_is_refused_leaves_the_choice_open() -> None:
    X, y = words()
    learner = Auto()
    broken = X.copy()
    broken.data[7] = np.nan
    with pytest.raises(ValueError, match="is nan"):
        learner.learn_many(broken, y)
    assert learner.rounds == 0
    assert learner.n_features_ is None
    learner.learn_many(np.ones((2, 3)), [0, 1])
    assert learner.n_features_ == 3


@pytest.mark.parametrize("again", [copy.deepcopy, lambda learner: pickle.loads(pickle.dumps(learner))])
def test_a_copy_goes_on_the_same(again: Any) -> None:
    X, y = words()
    learner = Auto()
    learner.learn_many(X[:80], y[:80])
    twin = again(learner)
    assert_array_equal(twin.learn_many(X[80:], y[80:]), learner.learn_many(X[80:], y[80:]))


def test_a_saved_one_goes_on_the_same(tmp_path: Path) -> None:
    X, y = words()
    learner = Auto(experts=4)
    learner.feature_names_ = [f"word {j}" for j in range(X.shape[1])]
    learner.learn_many(X[:80], y[:80])
    learner.save(tmp_path / "model.aioli")
    loaded = Auto.load(tmp_path / "model.aioli")
    assert loaded.feature_names_ == learner.feature_names_
    assert repr(loaded) == repr(learner)
    assert_array_equal(loaded.learn_many(X[80:], y[80:]), learner.learn_many(X[80:], y[80:]))


def test_wide_rows_grow_and_narrow_ones_become_wide() -> None:
    X, y = words()
    wide = Auto()
    wide.learn_many(X, y)
    assert wide.grow(500).n_features_ == 3500
    narrow = Auto()
    narrow.learn_many(np.ones((2, 3)), [0, 1])
    assert narrow.grow(5000).n_features_ == 5003
