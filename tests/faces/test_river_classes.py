"""River's face on more than two labels, which may come at any time."""

import gc
import importlib
import pickle
import random
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from aioli import AIOLI, ClassAuto
from aioli.learners.baselines.ogd import OGD

pytest.importorskip("river")
AIOLIClassifier: Any = importlib.import_module("aioli.river").AIOLIClassifier
checks: Any = importlib.import_module("river.checks")
pandas: Any = importlib.import_module("pandas")

MANY = AIOLIClassifier(AIOLI(classes="any"))
SOME = ("check_learn_one", "check_pickling", "check_predict_proba_one", "check_classifier_tracks_seen_labels")
CHECKS = [check for check in checks.yield_checks(MANY) if check.__name__ in SOME]  # all: test_river_face, by the turn
LABELS = ["rose", "lily", "iris", "aster"]
SKIPPED = (type, ModuleType, FunctionType)  # as River does


def test_before_the_first_label_a_batch_has_no_likeliest_one_and_an_empty_batch_is_answered() -> None:
    model, frame = AIOLIClassifier(AIOLI(classes="any")), pandas.DataFrame({"a": [1.0, 2.0]})
    assert model.predict_many(frame).tolist() == [None, None]
    for label in ("rose", "lily", "iris"):
        model.learn_one({"a": 1.0}, label)
    assert model.predict_many(frame[:0]).tolist() == []
    assert model.predict_proba_many(frame[:0]).shape == (0, 3)


def flowers(rows: int = 120) -> tuple[list[dict[str, float]], list[str]]:
    """Four labels; the third comes after thirty rows, with a column of its own, and the fourth after sixty."""
    rng = np.random.default_rng(1)
    X, y = [], []
    for t in range(rows):
        k = int(rng.integers(2 if t < 30 else 3 if t < 60 else 4))
        x = {"a": float(rng.normal(k % 2)), "b": float(rng.normal(k // 2))}
        X.append({**x, "c": float(rng.normal(k))} if t >= 30 else x)
        y.append(LABELS[k])
    return X, y


@pytest.mark.parametrize("check", CHECKS, ids=[f"{check.__name__}-{i}" for i, check in enumerate(CHECKS)])
def test_rivers_own_checks_of_many_classes(check: Any) -> None:
    random.seed(0)  # River's checks shuffle and drop keys with it
    assert MANY._multiclass
    check(MANY.clone())


@pytest.mark.parametrize("learner", [AIOLI(classes="any"), AIOLI()], ids=["from the first row", "from the third label"])
def test_labels_and_keys_come_at_any_time_and_batches_are_the_same_game(learner: AIOLI) -> None:
    X, y = flowers()
    single, batched = AIOLIClassifier(learner), AIOLIClassifier(learner)
    said: dict[Any, float] = {}
    for x, label in zip(X, y, strict=True):
        said = single.predict_proba_one(x)
        assert sum(said.values()) == pytest.approx(1.0) or not said
        single.learn_one(x, label)
    assert set(said) == set(LABELS)
    batched.learn_many(pandas.DataFrame(X[:30]), pandas.Series(y[:30]))
    batched.learn_many(pandas.DataFrame(X[30:]), pandas.Series(y[30:]))
    for x in X[-10:]:
        one, many = single.predict_proba_one(x), batched.predict_proba_one(x)
        assert_allclose([one[label] for label in LABELS], [many[label] for label in LABELS], rtol=1e-6)
    table = single.predict_proba_many(pandas.DataFrame(X[-10:]))
    assert_allclose(table[y[-1]].iloc[-1], single.predict_proba_one(X[-1])[y[-1]], rtol=1e-9)
    likeliest = single.predict_many(pandas.DataFrame(X[-10:])).tolist()
    assert likeliest == [single.predict_one(x) for x in X[-10:]]
    copied = pickle.loads(pickle.dumps(single))
    assert copied.predict_proba_one(X[0]) == single.predict_proba_one(X[0])


def test_a_learner_of_two_labels_says_who_knows_more() -> None:
    X, y = flowers()
    two = AIOLIClassifier(OGD())
    for x, label in zip(X[:10], y[:10], strict=True):
        two.learn_one(x, label)
    with pytest.raises(ValueError, match=r"a third label, 'iris', came after .*; this classifier knows two: use Auto"):
        two.learn_one(X[0], "iris")


def test_what_two_labels_taught_is_kept_when_the_third_comes() -> None:
    X, y = flowers()
    face = AIOLIClassifier(AIOLI())
    for x, label in zip(X[:30], y[:30], strict=True):
        face.learn_one(x, label)
    before = face.predict_proba_one(X[0])
    third = next(t for t, label in enumerate(y) if label == "iris")
    face.learn_one({**X[third], "c": 0.0}, "iris")
    after = face.predict_proba_one(X[0])
    assert (after["rose"] > after["lily"]) == (before["rose"] > before["lily"])
    assert abs(np.log(after["rose"] / after["lily"]) - np.log(before["rose"] / before["lily"])) < 1.0


def test_what_is_refused_when_the_third_label_comes_leaves_no_trace() -> None:
    X, y = flowers()
    face = AIOLIClassifier(AIOLI())
    for x, label in zip(X[:30], y[:30], strict=True):
        face.learn_one(x, label)
    before = pickle.dumps(face)
    bad = pandas.DataFrame([{"a": 1.0, "b": 0.0}, {"a": 1.0, "b": 0.0}, {"a": np.nan, "b": 0.0}])
    with pytest.raises(ValueError, match="is nan"):
        face.learn_many(bad, pandas.Series(["rose", "iris", "rose"]))
    assert pickle.dumps(face) == before


def test_the_memory_that_river_tells_is_the_models_own() -> None:
    """River goes from object to object: a model that held compiled code would be as large as all of Numba."""
    model = AIOLIClassifier()
    for x, label in zip(*flowers(70), strict=True):
        model.learn_one(x, label)
    reached: dict[int, object] = {id(model): model}
    pending = [model]
    while pending:
        found = {id(each): each for each in gc.get_referents(*pending)}
        pending = [each for at, each in found.items() if at not in reached and not issubclass(type(each), SKIPPED)]
        reached |= found
        assert not [each for each in pending if type(each).__module__.startswith("numba")]
    assert any(isinstance(each, ClassAuto) for each in reached.values())
