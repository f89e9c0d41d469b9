"""The growing factor against the definition, written down from the kernel matrix itself."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from support import curvatures, game, make_labels, make_rows

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid_many
from aioli.outcomes.two_classes import Tally
from aioli.snapshots.codec import to_bytes
from aioli.states.kernel.certificate import dimension_learned, running_certificate, tight_certificate
from aioli.states.kernel.growing_cholesky import BETA, NOISE, PANEL, STIFFEST, GrowingCholesky


def played(state: GrowingCholesky, X: Matrix, y: Vector, weights: Vector | None = None, pieces: int = PANEL) -> Vector:
    """Play the rows with the linear kernel, at most `pieces` at once; returns the log-odds announced."""
    announced = np.full(len(y), math.nan)
    stakes = np.ones(len(y)) if weights is None else weights
    t = state.count
    while t < len(y):
        part = slice(t, min(t + pieces, t + state.room, len(y)))
        own = X[part] @ X[part].T
        assert state.play(X[part] @ X[:t].T, own, y[part], stakes[part], announced[part]) == part.stop - t
        t = part.stop
    return announced


def no_kernel(count: int, start: int, stop: int) -> Matrix:
    raise AssertionError(f"the kernel of {count} rows with {start} to {stop} is not needed without forgetting")


@given(st.integers(1, 40), st.integers(1, 6), st.sampled_from([0.5, 1.0]), st.integers(0, 10**6))
def test_moments_are_those_of_regression_on_working_responses(n: int, d: int, regulariser: float, seed: int) -> None:
    rules = game(regulariser=regulariser)
    X = make_rows("random", n + 5, d, seed)
    y = make_labels(X, seed)
    state = GrowingCholesky(rules)
    z = played(state, X[:n], y[:n])
    h = curvatures(rules, X[:n], z)
    u, D = z + (y[:n] - sigmoid_many(z)) / h, 2.0 * rules.ridge / h
    K, cross = X[:n] @ X[:n].T, X[n:] @ X[:n].T
    solved = np.linalg.solve(K + np.diag(D), np.c_[u, cross.T])
    diagonal = np.einsum("ij,ij->i", X[n:], X[n:])
    m, left = state.moments(cross, diagonal)
    assert_allclose(m, cross @ solved[:, 0], atol=1e-9)  # K + D has a condition of at most 1e4 here
    assert_allclose(left, diagonal - np.einsum("ij,ji->i", cross, solved[:, 1:]), atol=1e-9)
    assert_allclose(state.ledger[:n, NOISE], D, rtol=1e-9)
    assert_allclose(dimension_learned(state, no_kernel), np.trace(K @ np.linalg.inv(K + np.diag(D))), atol=1e-9)
    _, information = np.linalg.slogdet(np.eye(n) + K / D[:, None])
    stretch = 1.0 + rules.radius * np.linalg.norm(X[:n], axis=1).max()
    theorem = rules.ridge * rules.radius**2 + rules.regulariser * stretch * information
    assert_allclose(running_certificate(state).theorem, theorem, rtol=1e-9)


@pytest.mark.parametrize("forgetting", [1.0, 0.97, 0.1])
@pytest.mark.parametrize("pieces", [1, 7, 100, PANEL])
def test_rows_may_be_played_in_any_pieces(forgetting: float, pieces: int) -> None:
    rules = game(forgetting=forgetting)
    X = make_rows("random", 400, 5, 0)
    y = make_labels(X, 0)
    one, other = GrowingCholesky(rules), GrowingCholesky(rules)
    assert_allclose(played(one, X, y, pieces=pieces), played(other, X, y, pieces=33), atol=1e-10)
    assert_allclose(one.tally, other.tally, rtol=1e-10)
    assert_allclose(one.factor(), other.factor(), atol=1e-10)


def test_the_factor_is_that_of_the_kernel_matrix_and_the_noise() -> None:
    X = make_rows("random", 300, 4, 0)
    state = GrowingCholesky(game())
    played(state, X, make_labels(X, 0))
    L = state.factor()
    assert_array_equal(L, np.tril(L))
    assert_allclose(L @ L.T, X @ X.T + np.diag(state.ledger[:300, NOISE]), rtol=1e-10, atol=1e-10)
    C = np.concatenate([np.pad(state.inverse_rows(t, t + 50), ((0, 0), (0, 250 - t))) for t in (0, 50)])
    assert_allclose(C @ L, np.eye(300)[:100], atol=1e-10)
    assert_allclose(state.inverse_rows(256, 300) @ L, np.eye(300)[256:], atol=1e-10)


def test_a_draft_that_is_dropped_was_never_there() -> None:
    X = make_rows("random", 300, 4, 0)
    y = make_labels(X, 0)
    state, twin = GrowingCholesky(game()), GrowingCholesky(game())
    played(state, X[:100], y[:100])
    played(twin, X[:100], y[:100])
    played(state.draft(), np.r_[X[:100], -5.0 * X[:200]], np.r_[y[:100], 1.0 - y[:200]])
    assert_array_equal(state.tally, twin.tally)
    assert_array_equal(played(state, X, y)[100:], played(twin, X, y)[100:])
    assert_array_equal(state.factor(), twin.factor())


def test_a_row_of_weight_0_and_one_of_no_curvature_teach_nothing_about_v() -> None:
    rules = game(regulariser=0.0)
    X = make_rows("random", 3, 3, 0)
    state = GrowingCholesky(rules)
    weightless = np.array([0.0])
    assert state.play(np.empty((1, 0)), X[:1] @ X[:1].T, np.ones(1), weightless, np.full(1, math.nan)) == 1
    k = float(X[1] @ X[0])
    state.ledger[0, BETA] = 800.0 * STIFFEST / k  # as if it were certain: p(1-p) underflows, and the label is the other
    assert state.play(np.array([[k]]), X[1:2] @ X[1:2].T, np.zeros(1), np.ones(1), np.full(1, math.nan)) == 1
    state.ledger[0, BETA] = 0.0
    assert state.ledger[0, NOISE] == STIFFEST**2
    m, left = state.moments(X[2:] @ X[:2].T, np.diagonal(X[2:] @ X[2:].T))
    assert_allclose(left, X[2] @ X[2], rtol=1e-2)
    step = -0.5 * X[1] / rules.ridge  # w moves by -½P x
    assert_allclose(m, X[2] @ step, rtol=1e-2)  # the tight curvature is not quite 0
    assert math.isfinite(tight_certificate(state, X[:2] @ X[:2].T))
    assert 0.0 <= dimension_learned(state, no_kernel) < 1e-2


def test_the_first_row_whose_v_is_negative_is_told_and_none_is_played() -> None:
    state = GrowingCholesky(game())
    own = np.array([[1.0, 3.0, 0.0], [3.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert state.play(np.empty((3, 0)), own, np.ones(3), np.full(3, 30.0), np.full(3, math.nan)) == 1
    assert state.count == 0
    assert state.tally[Tally.ROUNDS] == 0.0


def test_a_state_lives_on_from_what_is_saved_of_it() -> None:
    X = make_rows("random", 300, 4, 0)
    y = make_labels(X, 0)
    state = GrowingCholesky(game(forgetting=0.99))
    played(state, X[:200], y[:200])
    before = state.snapshot()
    restored = GrowingCholesky.restore(before)
    assert_array_equal(played(state, X, y)[200:], played(restored, X, y)[200:])
    assert to_bytes(GrowingCholesky.restore(before).snapshot()) == to_bytes(before)  # neither has written to it
    after = state.snapshot()
    assert to_bytes(after) == to_bytes(restored.snapshot())
    for name in after.arrays:
        lacking = {other: array for other, array in after.arrays.items() if other != name}
        with pytest.raises(SnapshotRefused, match=f"the array '{name}' is missing"):
            GrowingCholesky.restore(replace(after, arrays=lacking))
        with pytest.raises(SnapshotRefused, match=f"the array '{name}' has shape"):
            GrowingCholesky.restore(replace(after, arrays={**after.arrays, name: np.zeros((3, 1))}))
    with pytest.raises(SnapshotRefused, match="301 leverages are known of 300 rows"):
        GrowingCholesky.restore(replace(after, values={**after.values, "levers": 301}))
