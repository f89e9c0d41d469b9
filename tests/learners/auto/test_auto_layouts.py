"""The experts on squares and ramps follow their views, which grow when columns show a third value."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from aioli import Auto
from aioli.learners.auto.dense_ensemble import DenseEnsemble
from aioli.learners.auto.experts import EXPERTS
from aioli.numerics.compiling import Matrix, Vector
from aioli.states.mixture.ramps import RAMPS
from aioli.states.mixture.survey import ColumnSurvey
from aioli.states.mixture.views import Views

ALL = len(EXPERTS)  # of the linear experts, and no companions


def late_numbers(rows: int = 300) -> tuple[Matrix, Vector]:
    """Return rows of switches, and behind them numbers, of which one is 0 in the first 50 rows; and labels."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random((rows, 6)) < 0.3, rng.normal(size=(rows, 3))])
    X[:50, 8] = 0.0
    return X, (X[:, 0] + X[:, 7] ** 2 + X[:, 8] + rng.normal(size=rows) > 1.0).astype(np.float64)


def views(learner: Auto) -> Views:
    """Return the views that the experts read."""
    player = learner._player
    assert isinstance(player, DenseEnsemble)
    assert player.views is not None
    return player.views


def widths(learner: Auto) -> dict[str, int]:
    """Return how many features the experts on squares and on ramps have beside their columns."""
    player = learner._player
    assert isinstance(player, DenseEnsemble)
    assert player.n_features_ is not None
    playing = zip(player.playing, player.states, strict=True)
    return {e.view: state.width - 1 - player.n_features_ for e, state in playing if e.view in ("square", "ramp")}


def test_squares_and_ramps_are_of_the_columns_of_three_values_wherever_they_stand() -> None:
    X, y = late_numbers()
    order = np.random.default_rng(1).permutation(X.shape[1])
    for rows in (X, np.ascontiguousarray(X[:, order])):
        learner = Auto(experts=ALL)
        learner.learn_many(rows, y)
        assert widths(learner) == {"square": 3, "ramp": 3 * RAMPS}


def test_columns_of_two_values_have_no_features_that_say_nothing() -> None:
    X, y = late_numbers()
    learner = Auto(experts=ALL)
    learner.learn_many(np.ascontiguousarray(X[:, :6]), y)
    assert widths(learner) == {"square": 0, "ramp": 0}


@pytest.mark.parametrize("rows", [1, 2, 5, 18, 64, 128])
def test_rows_are_the_same_game_however_they_are_cut(rows: int) -> None:
    X, y = late_numbers()
    whole, parts = Auto(experts=ALL), Auto(experts=ALL)
    expected = whole.learn_many(X, y)
    for first in range(0, len(X), rows):
        part = slice(first, first + rows)
        # the last step of a call is taken at its end, and rounds otherwise than one within it
        assert_allclose(parts.learn_many(X[part], y[part]), expected[part], rtol=1e-12)
    assert np.array_equal(views(parts).basis, views(whole).basis)
    assert np.array_equal(views(parts).statistics, views(whole).statistics)
    assert widths(parts) == widths(whole)


def test_rows_one_by_one_follow_the_views_too() -> None:
    X, y = late_numbers()
    whole, single, late = (Auto(experts=ALL) for _ in range(3))
    expected = whole.learn_many(X, y)
    # sums in another order: 300 rows, a few ulp each
    assert_allclose([single.learn(x, label) for x, label in zip(X, y, strict=True)], expected, rtol=1e-9)
    for x, label in zip(X, y, strict=True):
        late.learn(x, label, announced=late.announce(x))
    assert widths(single) == widths(late) == widths(whole)


@pytest.mark.parametrize("at", [2, 3, 4, 7, 18, 19, 35, 66, 67, 68])
def test_a_learner_goes_on_bit_for_bit_from_before_and_after_features_come(at: int) -> None:
    X, y = late_numbers()
    learner = Auto(experts=ALL)
    learner.learn_many(X[:at], y[:at])
    again = Auto.restore(learner.snapshot())
    assert np.array_equal(again.learn_many(X[at:], y[at:]), learner.learn_many(X[at:], y[at:]))
    assert widths(again) == widths(learner)


@pytest.mark.parametrize("at", [3, 5, 19, 40])
def test_columns_that_come_later_are_as_if_they_had_been_there(at: int) -> None:
    X, y = late_numbers()
    wide, narrow = Auto(experts=ALL), Auto(experts=ALL)
    wide.learn_many(X[:at], y[:at])
    narrow.learn_many(np.ascontiguousarray(X[:at, :8]), y[:at])
    narrow.grow(1)
    # features in another order: 300 rows, a few ulp each
    assert_allclose(narrow.learn_many(X[at:], y[at:]), wide.learn_many(X[at:], y[at:]), rtol=1e-9)
    assert widths(narrow) == widths(wide)


def test_shards_read_the_squares_and_ramps_of_their_common_survey() -> None:
    X, y = late_numbers()
    left, right = (ColumnSurvey(X[:3]) for _ in range(2))
    X[3:150, 6] = X[0, 6]  # a third value that only the second shard has seen
    survey = left.count(X[3:150]).merge(right.count(X[150:]))
    first, second = (Auto(experts=ALL).fix_columns(survey) for _ in range(2))
    first.learn_many(X[:150], y[:150])
    second.learn_many(X[150:], y[150:])
    assert widths(first.merge(second)) == {"square": 3, "ramp": 3 * RAMPS}
