"""Naive Bayes with Student's law, against SciPy's density."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.stats import t as student

from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.class_labels import Codes
from aioli.states.classes.naive_bayes import KAPPA, NU, NaiveBayesState


def stream(n: int = 60) -> tuple[Matrix, Codes]:
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=n)
    return rng.normal(size=(n, 4)) * (1.0 + codes)[:, None] + codes[:, None], codes


def played(X: Matrix, codes: Codes, weights: Vector | None = None, classes: int = 3) -> tuple[NaiveBayesState, Matrix]:
    state, said = NaiveBayesState(X.shape[1], classes), np.empty((len(X), classes))
    state.play(X, codes, np.ones(len(X)) if weights is None else weights, said)
    return state, said


def test_it_is_the_definition() -> None:
    X, codes = stream()
    said = played(X, codes)[1]
    t = len(X) - 1
    own = [X[:t][codes[:t] == k] for k in range(3)]
    spread = X.var(axis=0)  # of all rows, the one to be announced too
    squares = np.array([((rows - rows.mean(axis=0)) ** 2).sum(axis=0) for rows in own])
    within = (squares.sum(axis=0) + NU * spread) / (t + NU)
    log_p = np.empty(3)
    for k, rows in enumerate(own):
        n = len(rows)
        centre = (rows.sum(axis=0) + KAPPA * X.mean(axis=0)) / (n + KAPPA)
        scale = (squares[k] + NU * within) / (n + NU) * (1.0 + 1.0 / (n + KAPPA))
        log_p[k] = np.log(n + 0.5) + student.logpdf(X[t], n + NU, centre, np.sqrt(scale)).sum()
    assert_allclose(said[t], log_p - np.logaddexp.reduce(log_p), rtol=1e-9)


def test_units_and_origins_do_not_matter_and_constant_columns_say_nothing() -> None:
    X, codes = stream()
    moved = np.column_stack([X * [2.0**40, 2.0**-40, 1.0, 1.0] + [0.0, 0.0, 0.0, 64.0], np.full(len(X), 7.0)])
    assert_allclose(played(moved, codes)[1], played(X, codes)[1], atol=1e-9)


def test_a_weight_of_two_is_the_row_twice_and_of_0_no_label() -> None:
    X, codes = stream()
    weights = np.where(np.arange(len(X)) < 30, 2.0, 0.0)
    heavy = played(X, codes, weights)[0]
    twice = played(np.repeat(X[:30], 2, axis=0), np.repeat(codes[:30], 2))[0]
    for found, expected in ((heavy.counts, twice.counts), (heavy.means, twice.means), (heavy.squares, twice.squares)):
        assert_allclose(found, expected, rtol=1e-12)


def test_a_class_that_comes_late_is_as_if_it_had_been_there_and_a_copy_goes_on_the_same() -> None:
    X, codes = stream()
    codes[:40] %= 2
    late = played(X[:40], codes[:40], classes=2)[0]
    late.add_class()
    late = NaiveBayesState.restore(late.snapshot())
    said, expected = np.empty((20, 3)), played(X, codes)[1][40:]
    asked = np.empty((1, 3))
    late.consult(X[40:41], asked)
    late.play(X[40:], codes[40:], np.ones(20), said)
    assert_allclose(said, expected, rtol=1e-12)
    assert_allclose(asked[0], said[0], rtol=1e-12)
