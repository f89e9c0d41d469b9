"""Synthetic streams are the same for a seed, whatever the blocks; what is done to them holds; the adversary hurts."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from aioli import AIOLI, Algorithm2
from aioli.streams.synthetic import STREAMS, Opponent, against, collinear, flipped, ill_scaled, named

SIGMAS = 5.0  # one fair draw in 1.7 million lies further out; the seeds are fixed besides
EVERY = pytest.mark.parametrize("name", list(STREAMS))


def within_binomial(count: float, n: int, probability: float) -> bool:
    return abs(count - n * probability) <= SIGMAS * math.sqrt(n * probability * (1.0 - probability))


# ---- every stream


@EVERY
def test_rows_are_finite_and_of_the_width_said_and_labels_are_zero_or_one(name: str) -> None:
    stream = named(name)
    X, y = stream.take(3000, seed=1)
    assert X.shape == (3000, stream.width)
    assert y.shape == (3000,)
    assert X.dtype == y.dtype == np.float64
    assert np.isfinite(X).all()
    assert set(np.unique(y)) == {0.0, 1.0}
    assert stream.name == name


@EVERY
def test_a_seed_gives_the_same_stream_and_another_seed_another(name: str) -> None:
    X, y = named(name).take(1500, seed=3)
    again_X, again_y = named(name).take(1500, seed=3)
    other_X, _ = named(name).take(1500, seed=4)
    assert_array_equal(X, again_X)
    assert_array_equal(y, again_y)
    assert not np.array_equal(X, other_X)


@EVERY
@settings(max_examples=20, deadline=None, derandomize=True)
@given(n=st.integers(1, 1200), size=st.integers(1, 700))
def test_the_size_of_blocks_and_the_number_of_rows_do_not_change_the_rows(name: str, n: int, size: int) -> None:
    stream = named(name)
    X, y = stream.take(1200, seed=5)
    blocks = list(stream.blocks(n, seed=5, size=size))
    assert [len(labels) for _, labels in blocks[:-1]] == [size] * (len(blocks) - 1)
    assert_array_equal(np.concatenate([rows for rows, _ in blocks]), X[:n])
    assert_array_equal(np.concatenate([labels for _, labels in blocks]), y[:n])


@EVERY
def test_a_block_is_drawn_only_when_it_is_asked_for(name: str) -> None:
    X, y = next(named(name).blocks(10**15, seed=0, size=100))
    assert len(X) == len(y) == 100


def test_memory_does_not_grow_with_the_length() -> None:
    stream = named("logistic", width=20)

    def peak(n: int) -> int:
        tracemalloc.start()
        for _ in stream.blocks(n, seed=0, size=1024):
            pass
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    assert peak(40_000) < 1.5 * peak(4_000)  # ten times the rows


def test_blocks_can_be_written_to_without_changing_what_comes() -> None:
    changed = []
    for X, y in named("noisy").blocks(1000, seed=0, size=100):
        changed.append(X.copy())
        X[:], y[:] = 0.0, 0.0
    assert_array_equal(np.concatenate(changed), named("noisy").take(1000, seed=0)[0])


# ---- noise, scales and collinear columns


@pytest.mark.parametrize("name", ["separable", "logistic"])
@pytest.mark.parametrize("fraction", [0.02, 0.3])
def test_noise_flips_its_fraction_of_labels_independently_of_them_and_no_row(name: str, fraction: float) -> None:
    n = 60_000
    X, y = named(name).take(n, seed=32)
    noisy_X, noisy_y = named(name, flips=fraction).take(n, seed=32)
    assert_array_equal(noisy_X, X)
    turned = noisy_y != y
    assert within_binomial(turned.sum(), n, fraction)
    assert within_binomial(turned[y == 1.0].sum(), int(y.sum()), fraction)


def test_the_noisy_names_are_ten_per_cent_noise_unless_told_otherwise() -> None:
    for noisy, base in (("noisy", "separable"), ("noisy_logistic", "logistic")):
        assert_array_equal(named(noisy).take(1000, seed=0)[1], named(base, flips=0.1).take(1000, seed=0)[1])
        assert_array_equal(named(noisy, flips=0.0).take(1000, seed=0)[1], named(base).take(1000, seed=0)[1])


@pytest.mark.parametrize("name", ["logistic", "separable", "rotating"])
def test_scales_and_copies_leave_the_labels_and_theta_times_x_as_they_were(name: str) -> None:
    plain, altered = named(name), named(name, decades=6.0, copies=3)
    X, y = plain.take(2000, seed=41)
    altered_X, altered_y = altered.take(2000, seed=41)
    assert_array_equal(altered_y, y)
    for t in (0, 1999):
        assert_allclose(altered_X[t] @ altered.theta(t), X[t] @ plain.theta(t), rtol=1e-12)
    assert altered_X.shape[1] == altered.width == plain.width + 3


def test_scales_span_their_decades_and_the_radius_is_in_the_new_units() -> None:
    stream = ill_scaled(named("logistic", width=5), decades=8.0)
    spread = stream.take(20_000, seed=42)[0].std(axis=0)
    assert_allclose(spread, [1e-4, 1e-2, 1.0, 1e2, 1e4], rtol=5 * math.sqrt(0.5 / 20_000))  # 5 sigma of a deviation
    assert stream.radius == np.linalg.norm(stream.theta())


def test_collinear_columns_add_no_rank() -> None:
    stream = collinear(named("logistic", width=4), copies=6)
    X, _ = stream.take(500, seed=43)
    assert X.shape[1] == 10
    assert np.linalg.matrix_rank(X) == 4
    assert_array_equal(X[:, 4:], np.column_stack([X[:, k % 4] + X[:, (k + 1) % 4] for k in range(6)]))


# ---- names and refusals


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("agrawal", {}, "no stream is called 'agrawal'; there are hkl, .*ill_scaled"),
        ("logistic", {"margin": 1.0}, "no parameter margin; it has width, radius, world, flips, copies, decades"),
        ("logistic", {"width": 0}, "width is 0"),
        ("logistic", {"radius": math.inf}, "radius is inf"),
        ("logistic", {"world": -1}, "world is -1"),
        ("logistic", {"flips": 1.5}, "flips is 1.5"),
        ("logistic", {"copies": -1}, "-1 further columns"),
        ("logistic", {"decades": 1000.0}, "1000.0 decades"),
        ("separable", {"margin": -0.1}, "margin is -0.1"),
        ("rotating", {"period": 0}, "period is 0"),
        ("rotating", {"width": 1}, "at least 2 columns"),
        ("abrupt", {"width": 1}, "at least 2 columns"),
        ("hkl", {"chi": 0}, "chi is 0"),
        ("hkl", {"horizon": 1}, "horizon is 1"),
        ("hkl_shrinking", {"horizon": 1}, "horizon is 1"),
        ("hkl", {"epsilon": 0.0}, "epsilon is 0.0"),
        ("hkl", {"epsilon": 0.3, "chi": -1}, "probability"),
    ],
)
def test_what_is_not_a_stream_is_refused_with_a_sentence(
    name: str, parameters: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        named(name, **parameters)


@pytest.mark.parametrize(
    ("n", "seed", "size", "message"), [(0, 0, 1, "n is 0"), (1, -1, 1, "seed is -1"), (1, 0, 0, "size is 0")]
)
def test_what_is_not_a_number_of_rows_is_refused_at_the_call(n: int, seed: int, size: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        named("logistic").blocks(n, seed, size)


def test_a_stream_without_a_theta_says_so() -> None:
    with pytest.raises(ValueError, match="no θ is behind the labels of stream 'hkl'"):
        flipped(named("hkl"), 0.1).theta()


# ---- the adversary


class Stubborn:
    """Says the same whatever it sees."""

    def __init__(self, p: float) -> None:
        self.p = p
        self.labels: list[object] = []

    def predict(self, x: object) -> float:  # noqa: ARG002  (a learner's signature)
        return self.p

    def learn(self, x: object, y: object) -> float:  # noqa: ARG002  (a learner's signature)
        self.labels.append(y)
        return self.p


@pytest.mark.parametrize("learner", [AIOLI(radius=3.0), Algorithm2(radius=3.0, widest=6.0, steps=20), Stubborn(0.7)])
def test_against_the_adversary_every_round_costs_at_least_ln_2(learner: Opponent) -> None:
    X, _ = named("separable", width=3).take(150, seed=51)
    rounds = list(against(learner, X, seed=1))
    assert len(rounds) == 150
    for _, y, p in rounds:
        assert -math.log(p if y else 1.0 - p) >= math.log(2.0)


def test_the_probability_that_the_adversary_reports_is_the_learners_before_the_label() -> None:
    X, _ = named("logistic", width=3).take(100, seed=52)
    rounds = list(against(AIOLI(), X))
    twin = AIOLI()
    for x, (row, y, p) in zip(X, rounds, strict=True):
        assert_array_equal(row, x)
        assert twin.learn(x, y) == p


def test_ties_are_settled_by_a_fair_coin_of_the_seed() -> None:
    rows = [np.ones(1)] * 10_000
    learner = Stubborn(0.5)
    labels = [y for _, y, _ in against(learner, rows, seed=2)]
    assert learner.labels == labels
    assert within_binomial(sum(labels), len(labels), 0.5)
    assert labels == [y for _, y, _ in against(Stubborn(0.5), rows, seed=2)]
    assert labels != [y for _, y, _ in against(Stubborn(0.5), rows, seed=3)]


def test_the_adversary_is_as_lazy_as_its_rows() -> None:
    endless = itertools.repeat(np.ones(2))
    learner = AIOLI()
    assert len(list(itertools.islice(against(learner, endless), 5))) == learner.rounds == 5
