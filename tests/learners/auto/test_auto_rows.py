"""A single row of any layout is played by Auto as the same row of its own would be."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from aioli import Auto
from aioli.numerics.compiling import Vector
from aioli.streams import rows


def read_only(x: Vector) -> Vector:
    row = x.copy()
    row.flags.writeable = False
    return row


def strided(x: Vector) -> Vector:
    return np.repeat(x, 2)[::2]


@pytest.mark.parametrize("layout", [read_only, strided])
def test_rows_that_compiled_code_cannot_take_are_played_all_the_same(layout: object) -> None:
    assert callable(layout)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X[:, 0] > 0
    plain, other = Auto(), Auto()
    for learner in (plain, other):
        learner.learn_many(X[:30], y[:30])
    for x, label in zip(X[30:], y[30:], strict=True):
        # a row of another layout goes the way of many rows, whose sums are in another order
        assert other.predict(layout(x)) == pytest.approx(plain.predict(x), rel=1e-12)
        assert other.learn(layout(x), label) == pytest.approx(plain.learn(x, label), rel=1e-12)
    assert other.rounds == plain.rounds
    assert other.loss == pytest.approx(plain.loss, rel=1e-12)


def test_predictions_do_not_depend_on_how_rows_are_cut_into_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(700, 4))
    learner = Auto(budget="fast")
    learner.learn_many(X[:200], X[:200, 0] > 0)
    expected = learner.predict_many(X)
    monkeypatch.setattr(rows, "CHUNK_BYTES", 8 * 5 * 300)  # 300 rows, then 300, then 100
    assert_allclose(learner.predict_many(X), expected, atol=1e-12)
