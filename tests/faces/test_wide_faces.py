"""Wide behind both faces: rows stay sparse, words come and go, and what is refused leaves no trace."""

import importlib
import math
import random
from typing import Any

import numpy as np
import pytest
from face_streams import as_fit_plays
from numpy.testing import assert_array_equal
from scipy import sparse
from thoroughness import in_full_or_quickly

from aioli import Wide
from aioli.learners.dictionary_rows import LEAST_ROOM
from aioli.numerics.compiling import Vector
from aioli.river import AIOLIClassifier as RiverClassifier
from aioli.sklearn import AIOLIClassifier as SklearnClassifier

checks: Any = importlib.import_module("river.checks")
pandas: Any = importlib.import_module("pandas")

WIDTH = 3000  # beyond the room that the face begins with


def words() -> tuple[Any, Vector]:
    """Bags of words whose columns are in the order in which the words come."""
    rng = np.random.default_rng(0)
    rows, met = [], 0
    for _ in range(400):
        fresh = np.arange(met, min(met + 9, WIDTH))
        met = fresh[-1] + 1 if fresh.size else met
        rows.append(np.unique(np.append(fresh, rng.integers(0, met, size=6))))
    ends = np.cumsum([0] + [row.size for row in rows])
    X = sparse.csr_array((rng.integers(1, 4, ends[-1]).astype(float), np.concatenate(rows), ends), shape=(400, WIDTH))
    return X, (X @ rng.normal(size=WIDTH) + rng.logistic(size=400) > 0.0).astype(float)


def dictionary(X: Any, t: int) -> dict[str, float]:
    """The row as words, last word first: their order must not matter."""
    part = slice(X.indptr[t], X.indptr[t + 1])
    pairs = [(f"word{j:05}", v) for j, v in zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True)]
    return dict(reversed(pairs))


@pytest.mark.parametrize("check", [*checks.yield_checks(RiverClassifier(Wide()))], ids=lambda check: check.__name__)
def test_rivers_own_checks_of_wide(check: Any) -> None:
    random.seed(0)  # River's checks shuffle and drop keys with it
    check(RiverClassifier(Wide()).clone())


@pytest.mark.parametrize("hashing", [None, 12])
def test_dictionaries_of_words_play_the_game_of_their_rows(hashing: int | None) -> None:
    X, y = words()
    learner, model = Wide(hashing=hashing), RiverClassifier(Wide(hashing=hashing))
    learner.learn_many(X, y)
    for t, label in enumerate(y):
        model.learn_one(dictionary(X, t), bool(label))
    assert (model._game.learner.rounds, model._game.learner.loss) == (len(y), learner.loss)
    said = [model.predict_proba_one(dictionary(X, t))[True] for t in range(len(y))]
    assert_array_equal(said, learner.predict_many(X))
    assert model.predict_proba_one({"never": 1.0, "met": 2.0}) == model.predict_proba_one({})


def test_room_for_words_is_doubled_and_no_more() -> None:
    X, y = words()
    model = RiverClassifier(Wide())
    learners = {}
    for t, label in enumerate(y):
        model.learn_one(dictionary(X, t), bool(label))
        learners[id(model._game.learner)] = model._game.learner  # kept, so that no address is used twice
    assert model._game.learner.n_features_ == 4096
    assert len(learners) == 1 + math.log2(4096 / LEAST_ROOM)


def test_a_bag_of_words_goes_from_narrow_to_wide_by_itself() -> None:
    """Words come and come: beyond 2,000 of them, no state of d² numbers could hold all."""
    extraction: Any = importlib.import_module("river.feature_extraction")
    model = extraction.BagOfWords() | RiverClassifier()
    rows, words = 40, in_full_or_quickly(60, 6)
    lost = []
    for t in range(rows):
        text = " ".join([f"w{t}x{j}" for j in range(words)] + ["good" if t % 2 else "bad"])
        p = model.predict_proba_one(text).get(True, 0.5)
        lost.append(-math.log(p if t % 2 else 1.0 - p))
        model.learn_one(text, t % 2 == 1)
    assert np.mean(lost[rows // 2 :]) < 0.5 * np.mean(lost[: rows // 4])


def test_frames_and_weights_reach_wide() -> None:
    X, y = words()
    frame = pandas.DataFrame(X.toarray()[:50, :80], columns=[f"word{j:05}" for j in range(80)])
    weights = np.linspace(0.5, 2.0, 50)
    model, learner = RiverClassifier(Wide()), Wide()
    model.learn_many(frame, pandas.Series(y[:50] == 1.0), pandas.Series(weights))
    learner.learn_many(X[:50, :80], y[:50], weights)
    assert_array_equal(model.predict_proba_many(frame)[True], learner.predict_many(X[:50, :80]))


def test_what_rivers_face_refuses_leaves_no_trace_in_wide() -> None:
    X, y = words()
    model, twin = RiverClassifier(Wide()), RiverClassifier(Wide())
    for t in range(100):
        model.learn_one(dictionary(X, t), bool(y[t]))
        twin.learn_one(dictionary(X, t), bool(y[t]))
    for row, label, weight, message in (
        ({"new": math.nan}, True, 1.0, "'new' is nan"),
        ({"new": math.inf, "newer": 1.0}, True, 1.0, "'new' is inf"),
        ({"new": [1]}, True, 1.0, r"'new' is \[1\]"),
        ({"new": 1e200}, True, 1.0, "nothing was learned"),
        ({"new": 1.0}, "maybe", 1.0, "a third label"),
        ({"new": 1.0}, True, -1.0, "weight"),
        ({f"new{j}": 1.0 for j in range(2000)}, True, math.nan, "weight"),
    ):
        with pytest.raises(ValueError, match=message):
            model.learn_one(row, label, weight)
    assert "new" not in model._game.columns
    assert model._game.learner.n_features_ == twin._game.learner.n_features_
    for t in range(100, 200):
        assert model.predict_proba_one(dictionary(X, t)) == twin.predict_proba_one(dictionary(X, t))
        model.learn_one(dictionary(X, t), bool(y[t]))
        twin.learn_one(dictionary(X, t), bool(y[t]))


def test_sparse_matrices_go_through_scikit_learns_face_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = words()

    def refuse(_: object) -> None:
        raise AssertionError("a sparse matrix was made dense")

    monkeypatch.setattr(sparse.csr_array, "toarray", refuse)
    learner = Wide()
    learner.learn_many(*as_fit_plays(X, y))
    model = SklearnClassifier(Wide()).fit(X, y)
    assert_array_equal(model.predict_proba(X)[:, 1], learner.predict_many(X))
