"""A learner of two classes that goes on with a third: what it has learned is not lost, and its certificate stays."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aioli import Auto, ClassAuto
from aioli.learners.protocol import TurnsToClasses
from aioli.numerics.compiling import Matrix
from aioli.outcomes.class_labels import Codes

NAMES = np.array(["no", "yes", "perhaps"])


def ring(n: int, seed: int, classes: int = 2) -> tuple[Matrix, Codes]:
    """Return rows whose class is how far out they are: no linear model sees it."""
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return X, np.digitize(np.hypot(*X.T), [1.2, 2.0][: classes - 1])


@pytest.fixture(scope="module")
def two() -> Auto:
    X, y = ring(1500, seed=0)
    learner = Auto()
    learner.learn_many(X, y)
    return learner


def test_what_was_learned_of_two_classes_is_said_among_many(two: Auto) -> None:
    assert isinstance(two, TurnsToClasses)
    many = two.with_classes("no", "yes")
    assert (many.classes_, many.rounds, many.loss) == (["no", "yes"], two.rounds, two.loss)
    X, y = ring(300, seed=1)
    said = many.predict_many(X)[:, 1] / (1.0 - many.escape_many(X))
    assert np.mean((said > 0.5) == y) > 0.93
    fresh = ClassAuto(classes="any")
    fresh.learn_many(X, NAMES[y])
    many.learn_many(X, NAMES[y])
    assert many.loss - two.loss < 0.7 * fresh.loss


def test_the_third_class_is_learned_and_the_learner_of_two_stays_as_it_is(two: Auto) -> None:
    before = repr(two.snapshot())
    many = two.with_classes("no", "yes")
    X, y = ring(600, seed=2, classes=3)
    p = many.learn_many(X, NAMES[y])
    assert repr(two.snapshot()) == before
    assert sorted(map(str, many.classes_)) == ["no", "perhaps", "yes"]
    assert np.mean(p[300:].argmax(axis=1) == y[300:]) > 0.85
    assert "Auto of the first two classes" in many.weights_


def test_rows_in_chunks_and_one_by_one_are_the_same_game_and_a_snapshot_goes_on(two: Auto) -> None:
    X, y = ring(60, seed=3, classes=3)
    whole, single = two.with_classes("no", "yes"), two.with_classes("no", "yes")
    announced = whole.learn_many(X, NAMES[y])
    own = announced[np.arange(60), y]
    for t in range(60):
        assert_allclose(single.learn(X[t], str(NAMES[y[t]]))[y[t]], own[t], rtol=1e-7)
    again = ClassAuto.restore(whole.snapshot())
    assert_array_equal(again.learn_many(X, NAMES[y]), whole.learn_many(X, NAMES[y]))
    assert again.certificate() == whole.certificate()


def test_columns_may_be_added_after_the_turn(two: Auto) -> None:
    many = two.with_classes("no", "yes")
    X, y = ring(40, seed=4, classes=3)
    many.learn_many(X, NAMES[y])
    before = many.predict_many(X)
    many.grow(2)
    assert_allclose(many.predict_many(np.column_stack([X, np.zeros((40, 2))])), before, atol=1e-9)


def test_the_certificate_goes_on_from_that_of_two_classes(two: Auto) -> None:
    many = two.with_classes("no", "yes")
    proven = float(two.certificate())
    assert many.certificate() >= proven
    X, y = ring(100, seed=5, classes=3)
    many.learn_many(X, NAMES[y])
    assert many._ensemble is not None
    expert = many._ensemble.proven()
    assert expert is not None
    since = expert[0] + (many.loss - two.loss) - expert[1]
    assert_allclose(float(many.certificate()), proven + since)
    assert "two classes before" in many.certificate().against


def test_before_the_first_row_there_is_nothing_to_keep() -> None:
    assert Auto().with_classes().classes_ == []


@pytest.mark.parametrize(("pairs", "columns"), [(False, 3), (True, 3), (True, 150)])
def test_auto_goes_on_whoever_plays_beside_its_linear_experts(pairs: bool, columns: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, columns))
    two = Auto(pairs=pairs)
    two.learn_many(X, X[:, 0] > 0.0)
    many = two.with_classes("no", "yes")
    assert (many.rounds, many.loss, many.n_features_) == (60, two.loss, columns)
    P = many.learn_many(X[:5], ["no", "yes", "maybe", "no", "yes"])
    assert (P > 0.0).all(axis=1).tolist() == [False, False, True, True, True]  # nobody knew the third class before
