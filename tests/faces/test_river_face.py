"""River's face: its own checks, the learner's own probabilities, keys that come and go, and every kind of frame."""

import copy
import importlib
import pickle
import random
import sys
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from face_streams import LABELS, LEARNERS, SAME, columns_of, probabilities_of, stream
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from river_frames import as_frame, dictionaries, pandas, polars

from aioli import AIOLI, Auto
from aioli.learners.baselines.ogd import OGD
from aioli.learners.protocol import names_columns
from aioli.numerics.compiling import Matrix, Vector
from aioli.river import AIOLIClassifier

checks: Any = importlib.import_module("river.checks")
compose: Any = importlib.import_module("river.compose")
datasets: Any = importlib.import_module("river.datasets")
evaluate: Any = importlib.import_module("river.evaluate")
metrics: Any = importlib.import_module("river.metrics")
multiclass: Any = importlib.import_module("river.multiclass")


preprocessing: Any = importlib.import_module("river.preprocessing")


MODELS = {"Auto": AIOLIClassifier(), "AIOLI": AIOLIClassifier(AIOLI())}
CHECKS = [(model, check) for model in MODELS.values() for check in checks.yield_checks(model)]


@pytest.mark.parametrize(
    ("model", "check"), CHECKS, ids=[f"{check.__name__}-{i}" for i, (_, check) in enumerate(CHECKS)]
)
def test_rivers_own_checks(model: AIOLIClassifier, check: Any) -> None:
    random.seed(0)  # River's checks shuffle and drop keys with it
    assert model._unit_test_skips() == set()
    check(model.clone())


@pytest.mark.parametrize("name", LEARNERS)
def test_the_face_says_what_its_learner_says_row_by_row_and_in_batches(name: str) -> None:
    X, y = stream()
    announced = probabilities_of(LEARNERS[name](), X, y)
    single, batched = AIOLIClassifier(LEARNERS[name]()), AIOLIClassifier(LEARNERS[name]())
    said = []
    for x, label in zip(dictionaries(X), y == 1.0, strict=True):
        said.append(single.predict_proba_one(x)[True])
        single.learn_one(x, label)
    assert_allclose(said, announced, rtol=SAME)
    for part in np.array_split(np.arange(len(X)), 7):
        batched.learn_many(as_frame("pandas", X[part]), pandas.Series(y[part] == 1.0))
    expected = [single.predict_proba_one(x)[True] for x in dictionaries(X)]
    assert_allclose(batched.predict_proba_many(as_frame("pandas", X))[True], expected, rtol=SAME)
    assert batched._game.learner.rounds == single._game.learner.rounds == len(X)
    assert names_columns(batched._game.learner)
    assert batched._game.learner.feature_names_ == columns_of(X)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("kind", LABELS)
def test_any_two_labels_give_the_same_rows_that_sum_to_one(name: str, kind: str) -> None:
    X, y = stream()
    zero, one = LABELS[kind]
    model, plain = AIOLIClassifier(LEARNERS[name]()), AIOLIClassifier(LEARNERS[name]())
    for t, (x, label) in enumerate(zip(dictionaries(X), y == 1.0, strict=True)):
        p = model.predict_proba_one(x)
        assert len(p) == 2
        assert sum(p.values()) == 1.0
        assert list(p.values()) == list(plain.predict_proba_one(x).values())
        assert t == 0 or model.predict_one(x) == max(p, key=lambda key: p[key])
        model.learn_one(x, one if label else zero)
        plain.learn_one(x, label)
    assert list(model.predict_proba_one({})) == [zero, one]
    assert [type(label) for label in model.predict_proba_one({})] == [type(zero), type(one)]


@pytest.mark.parametrize(
    ("first", "called"),
    [
        (True, [False, True]),
        (np.bool_(False), [False, True]),
        (0, [0, 1]),
        (1, [0, 1]),
        (-1, [-1, 1]),
        (1.0, [0.0, 1.0]),
        ("spam", ["spam", None]),
        (7, [7, None]),
    ],
)
def test_a_label_that_has_not_come_is_called_by_what_it_must_be(first: Any, called: list[Any]) -> None:
    model = AIOLIClassifier(AIOLI())
    assert model.predict_proba_one({"a": 1.0}) == {False: 0.5, True: 0.5}
    model.learn_one({"a": 1.0}, first)
    said = model.predict_proba_one({"a": 1.0})
    assert list(said) == called
    assert [type(label) for label in said] == [type(label) for label in called]
    assert said[first] > 0.5


def test_the_second_label_takes_the_side_that_is_left() -> None:
    for first, second, order in [(1, -1, [-1, 1]), (True, "other", ["other", True]), ("b", "a", ["b", "a"])]:
        model = AIOLIClassifier(AIOLI())
        model.learn_one({"a": 1.0}, first)
        model.learn_one({"a": -1.0}, second)
        assert list(model.predict_proba_one({"a": 1.0})) == order
        assert model.predict_one({"a": 1.0}) == first
        assert model.predict_one({"a": -1.0}) == second


def assert_keys_are_columns_of_zeros_from_the_start(
    make: Callable[[], Any], X: Matrix, y: Vector, subsets: list[frozenset[int]]
) -> None:
    keys = columns_of(X)
    came = list(dict.fromkeys(j for subset in subsets for j in sorted(subset))) or [0]
    full = np.array([[X[t, j] * (j in subset) for j in came] for t, subset in enumerate(subsets)])
    model, direct = AIOLIClassifier(make()), make()
    known: frozenset[int] = frozenset()
    for t, subset in enumerate(subsets):
        x = {keys[j]: X[t, j] for j in sorted(subset, reverse=True)}
        p = model.predict_proba_one({**x, "never learned": 3.0})[True]
        assert p == pytest.approx(direct.predict(full[t] * [j in known for j in came]), rel=SAME)
        model.learn_one(x, bool(y[t]))
        direct.learn(full[t], y[t])
        known |= subset
        asked = copy.deepcopy(model)  # since the model itself would take the question for a row whose label is to come
        assert asked.predict_proba_one(x)[True] == pytest.approx(direct.predict(full[t]), rel=SAME)


@given(subsets=st.lists(st.frozensets(st.integers(0, 4)), min_size=1, max_size=25))
def test_keys_that_come_and_go_are_columns_of_zeros_from_the_start(subsets: list[frozenset[int]]) -> None:
    X, y = stream(n=len(subsets), d=5)
    assert_keys_are_columns_of_zeros_from_the_start(AIOLI, X, y, subsets)


def test_keys_that_come_and_go_are_columns_of_zeros_from_the_start_to_auto_too(rng: np.random.Generator) -> None:
    X, y = stream()
    subsets = [frozenset(np.flatnonzero(rng.random(4) < 0.4).tolist()) for _ in X]
    late = [subset & frozenset(range(2 + (t >= 40) + (t >= 80))) for t, subset in enumerate(subsets)]
    assert_keys_are_columns_of_zeros_from_the_start(Auto, X, y, late)


def test_keys_of_any_kind_and_order_and_numbers_of_any_kind() -> None:
    model, other = AIOLIClassifier(), AIOLIClassifier()
    for t in range(20):
        x: dict[Any, Any] = {1: t % 3, "a": Fraction(t, 7), (2, "b"): np.float32(t % 5), None: t % 2 == 0}
        model.learn_one(x, t % 4 == 0)
        other.learn_one(dict(reversed({key: float(value) for key, value in x.items()}.items())), t % 4 == 0)
        assert model.predict_proba_one(x) == other.predict_proba_one(x)


@pytest.mark.parametrize("name", LEARNERS)
def test_weights_reach_the_learner(name: str) -> None:
    X, y = stream()
    weights = np.random.default_rng(3).uniform(0.0, 3.0, size=len(X))
    direct = LEARNERS[name]()
    direct.learn_many(X, y, weights)
    single, batched, plain = (AIOLIClassifier(LEARNERS[name]()) for _ in range(3))
    for x, label, w in zip(dictionaries(X), y == 1.0, weights, strict=True):
        single.learn_one(x, label, w=w)
        plain.learn_one(x, label)
    batched.learn_many(as_frame("pandas", X), pandas.Series(y == 1.0), w=pandas.Series(weights))

    def said(model: AIOLIClassifier) -> Vector:
        return np.array([model.predict_proba_one(x)[True] for x in dictionaries(X)])

    assert_allclose(said(single), direct.predict_many(X), rtol=SAME)
    assert_allclose(said(batched), direct.predict_many(X), rtol=SAME)
    assert np.abs(said(plain) - said(single)).max() > 1e-3
    constant = AIOLIClassifier(LEARNERS[name]())
    constant.learn_many(as_frame("polars", X), polars.Series(y == 1.0), w=2)
    assert np.abs(said(plain) - said(constant)).max() > 1e-3


def test_pipelines_evaluation_and_one_against_the_rest_take_it() -> None:
    rows = list(datasets.Phishing().take(300))
    model = preprocessing.StandardScaler() | AIOLIClassifier(AIOLI())
    assert evaluate.progressive_val_score(rows, model, metrics.LogLoss()).get() < 0.4
    words = [({"word": "good" if label else "bad", "size": 1.0}, label) for _, label in rows]
    encoded = (compose.Select("word") | preprocessing.OneHotEncoder()) + compose.Select("size") | AIOLIClassifier()
    assert evaluate.progressive_val_score(words, encoded, metrics.Accuracy()).get() > 0.95
    batch = pandas.DataFrame({"word": [x["word"] for x, _ in words]})
    many = preprocessing.OneHotEncoder() | AIOLIClassifier()
    many.learn_many(batch, pandas.Series([label for _, label in words]))
    assert_array_equal(many.predict_many(batch), [label for _, label in words])
    flowers = [
        (dict(zip("ab", row, strict=True)), "abc"[t % 3]) for t, row in enumerate(np.eye(3)[:, :2].tolist() * 40)
    ]
    rest = multiclass.OneVsRestClassifier(AIOLIClassifier(AIOLI()))
    assert evaluate.progressive_val_score(flowers, rest, metrics.Accuracy()).get() > 0.9


def test_a_pickled_model_goes_on_equal_and_a_clone_starts_afresh() -> None:
    rows = list(datasets.Phishing().take(200))
    model = AIOLIClassifier()
    for x, y in rows[:100]:
        model.learn_one(x, y)
    copied, cloned = pickle.loads(pickle.dumps(model)), model.clone()
    assert cloned.predict_proba_one(rows[0][0]) == {False: 0.5, True: 0.5}
    for x, y in rows[100:]:
        assert copied.predict_proba_one(x) == model.predict_proba_one(x)
        copied.learn_one(x, y)
        model.learn_one(x, y)


def test_what_is_refused_says_why_and_leaves_no_trace() -> None:
    model = AIOLIClassifier(AIOLI())
    for _ in range(2):  # before anything was learned, and after
        before = pickle.dumps(model)
        bad_rows: list[tuple[dict[str, Any], Any, str]] = [
            ({"a": "1.5", "b": [1.0]}, True, "is a list"),
            ({"a": [1.0, 2.0]}, True, r"'a' is \[1.0, 2.0\]"),
            ({"a": 1.0, "b": [1.0, 2.0]}, True, r"'b' is \[1.0, 2.0\]"),
            ({"a": 10**400}, True, "'a' is 1000"),
            ({"new": np.nan, "a": 1.0}, True, "column 'new' is nan"),
            ({"a": 1e200}, True, "column 'a' is 1e"),
            ({"a": 1.0}, None, "the label is None"),
            ({"a": 1.0}, np.nan, "the label is nan"),
            ({"a": 1.0}, [True], "not a single value"),
        ]
        for x, y, message in bad_rows:
            with pytest.raises(ValueError, match=message):
                model.learn_one(x, y)
            assert pickle.dumps(model) == before
        model.learn_one({"a": 1.0}, True)
        model.learn_one({"a": -1.0}, False)
    two = AIOLIClassifier(OGD())
    two.learn_one({"a": 1.0}, True)
    two.learn_one({"a": -1.0}, False)
    with pytest.raises(ValueError, match="third label, 'maybe', came after True and False"):
        two.learn_one({"a": 1.0}, "maybe")
    with pytest.raises(ValueError, match="weight is -1"):
        model.learn_one({"a": 1.0}, True, w=-1.0)
    with pytest.raises(ValueError, match="column 'a' is nan"):
        model.predict_proba_one({"a": np.nan})


def test_learners_without_weights_or_growth_say_so() -> None:
    model = AIOLIClassifier(OGD())
    model.learn_one({"a": 1.0, "b": 0.5}, True)
    assert model.predict_one({"b": 0.5}) is True
    with pytest.raises(ValueError, match=r"new keys came, \['c'\], but OGD cannot make new columns"):
        model.learn_one({"c": 1.0}, True)
    with pytest.raises(ValueError, match="OGD takes none"):
        model.learn_one({"a": 1.0}, True, w=2.0)
    trained: Any = AIOLI()
    trained.learn([1.0], 1)
    no_learners: list[Any] = [trained, AIOLI, 3]
    for nothing in no_learners:
        with pytest.raises(ValueError, match=r"give a (fresh one|learner)"):
            AIOLIClassifier(nothing)


def test_without_river_the_import_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "river.base", None)
    monkeypatch.delitem(sys.modules, "aioli.river")
    with pytest.raises(ImportError, match=r"pip install 'aioli-online\[river\]'"):
        importlib.import_module("aioli.river")


def test_a_dictionary_that_makes_values_up_is_not_asked_to() -> None:
    model = AIOLIClassifier(AIOLI())
    for t in range(20):
        model.learn_one({"a": float(t % 3), "b": 1.0}, t % 2 == 0)
    made_up: defaultdict[str, float] = defaultdict(lambda: 100.0, {"a": 1.0, "c": 2.0})
    assert model.predict_proba_one(made_up) == model.predict_proba_one({"a": 1.0, "c": 2.0})
    assert dict(made_up) == {"a": 1.0, "c": 2.0}
