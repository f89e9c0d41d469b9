"""The mixture of late labels: its bound in any order of labels, the game in time, retirement, and the test for runs."""

import math
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.codec import from_bytes, to_bytes
from aioli.states.mixture import late_loops
from aioli.states.mixture.late import LateMixture
from aioli.states.mixture.late_loops import HEDGE, MEMORY, PROMPT, SHARES, WHOLE
from aioli.states.mixture.mixture import Mixture

Numbers = NDArray[np.int64]

GAP, RATE, EVIDENCE, LONGEST = late_loops.GAP, late_loops.RATE, late_loops.EVIDENCE, late_loops.LONGEST


def losses(z: Vector, y: Vector) -> Vector:
    return np.asarray(np.logaddexp(0.0, np.where(y == 1.0, -z, z)))


def some_experts(n: int, K: int, seed: int) -> tuple[Matrix, Vector]:
    """Return log-odds of experts, of which the best changes in the middle, and labels."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n) * 2.0
    skill = np.where(np.arange(n)[:, None] < n // 2, rng.uniform(-1.0, 1.5, K), rng.uniform(-1.0, 1.5, K))
    Z = truth[:, None] * skill + rng.normal(size=(n, K)) * rng.uniform(0.0, 3.0)
    return Z, (truth + rng.logistic(size=n) > 0).astype(float)


def answering_times(n: int, seed: int, how: str) -> Iterator[tuple[Numbers, Numbers]]:
    """Yield the rows that are announced, then the rows whose labels come, step after step."""
    rng = np.random.default_rng(seed)
    delay = int(rng.integers(1, 80))
    rows = np.arange(n)
    if how == "batches":
        for first in range(0, n, delay):
            yield rows[first : first + delay], rows[first : first + delay]
    elif how == "sliding":
        for t in range(n + delay):
            yield rows[t : t + 1], rows[max(t - delay, 0) : t - delay + 1] if t >= delay else rows[:0]
    else:
        comes = rows + rng.integers(0, delay + 1, size=n)
        for t in range(n + delay + 1):
            yield rows[t : t + 1], rng.permutation(np.flatnonzero(comes == t))


def play(
    layer: LateMixture, mixture: Mixture, Z: Matrix, y: Vector, weights: Vector, seed: int, how: str
) -> tuple[Vector, Matrix]:
    """Play a game with delays; return the log-odds of the whole that each row was weighed by, and what tickets kept."""
    n, K = Z.shape
    kept, number = np.full((n, K + MEMORY), math.nan), np.zeros(n)
    issued = 0
    for announced, answered in answering_times(n, seed, how):
        if announced.size:
            kept[announced] = layer.announce(mixture, Z[announced])[1]
            number[announced] = np.arange(issued, issued + announced.size)
            issued += announced.size
        if answered.size:
            late = issued - 1.0 - number[answered]
            layer.answer(mixture, Z[answered], y[answered], weights[answered], kept[answered].copy(), late)
    return kept[:, K + WHOLE], kept


@pytest.mark.parametrize("how", ["batches", "sliding", "shuffled"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_whole_loses_no_more_than_its_cost_over_any_expert(how: str, weighted: bool) -> None:
    tightest = math.inf
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, K = int(rng.integers(30, 400)), int(rng.integers(1, 6))
        Z, y = some_experts(n, K, seed)
        weights = rng.uniform(0.0, 1.0, n) if weighted else np.ones(n)
        mixture = Mixture(rng.uniform(0.1, 1.0, K))
        layer = LateMixture(mixture.prior, mixture.shares)
        prior = layer.experts[0].copy()
        whole, _ = play(layer, mixture, Z, y, weights, seed, how)
        lost = weights @ losses(whole, y)
        for i in range(K):
            excess = lost - weights @ losses(Z[:, i], y)
            cost = layer.cost(n, float(prior[i]))
            assert excess <= cost + 1e-9 * (1.0 + abs(cost))
            tightest = min(tightest, float(cost - excess))
    assert tightest < 60.0  # the bound is no mere formality


def test_without_delay_the_gap_stays_zero_at_the_full_rate() -> None:
    Z, y = some_experts(500, 4, 0)
    mixture = Mixture(np.ones(4))
    layer = LateMixture(mixture.prior, mixture.shares)
    for t in range(500):
        one = slice(t, t + 1)
        kept = layer.announce(mixture, Z[one])[1]
        layer.answer(mixture, Z[one], y[one], np.ones(1), kept, np.zeros(1))
    for level in (0, HEDGE):
        assert layer.numbers[level + RATE] == 1.0
        assert abs(layer.numbers[level + GAP]) < 1e-9
    assert not layer.awake


def test_rows_that_come_in_time_are_announced_when_they_are_learned() -> None:
    Z, y = some_experts(200, 3, 1)
    players = [(LateMixture(m.prior, m.shares), m) for m in (Mixture(np.ones(3)), Mixture(np.ones(3)))]
    (told, first), (asked, second) = players
    kept = np.full((200, 3 + MEMORY), math.nan)
    told.answer(first, Z, y, np.ones(200), kept, np.zeros(200))
    for t in range(200):
        one = slice(t, t + 1)
        said, mine = asked.announce(second, Z[one])
        assert said[0] == mine[0, 3 + PROMPT]
        assert_allclose(kept[t], mine[0], rtol=1e-9, atol=1e-12)
        asked.answer(second, Z[one], y[one], np.ones(1), mine, np.zeros(1))
    assert_allclose(told.experts, asked.experts, rtol=1e-9)


def test_an_expert_that_retires_leaves_its_share_to_the_others() -> None:
    Z, y = some_experts(300, 4, 2)
    mixture = Mixture(np.ones(4))
    layer = LateMixture(mixture.prior, mixture.shares)
    play(layer, mixture, Z, y, np.ones(300), 2, "batches")
    smaller, staying = layer.without([1]), [0, 2, 3]
    assert_allclose(smaller.experts.sum(axis=1), 1.0)
    assert_allclose(smaller.shares, layer.shares[staying] / layer.shares[staying].sum())
    assert_array_equal(smaller.numbers, layer.numbers)
    features = [0, 1, 2, 4, 5, 6, 7, 8]
    assert_array_equal(smaller.stacker[0], layer.stacker[0][features])
    assert_array_equal(smaller.stacker[1:], layer.stacker[1:][np.ix_(features, features)])
    # tickets from before are learned after it: the columns of those who stay are all that it needs
    few = mixture.without([1])
    kept = layer.announce(mixture, Z[:50])[1]
    fewer = np.ascontiguousarray(Z[:, staying])
    smaller.answer(few, fewer[:50], y[:50], np.ones(50), np.delete(kept, 1, axis=1), np.arange(50.0))
    assert np.isfinite(smaller.announce(few, fewer)[0]).all()
    # in its place: the same, with a share of 0
    layer.retire(1)
    assert layer.shares[1] == 0.0
    assert_allclose(layer.experts.sum(axis=1), 1.0)
    mixture.retire(1)
    noise = Z.copy()
    noise[:, 1] = 30.0
    layer.answer(mixture, noise[:50], y[:50], np.ones(50), kept, np.arange(50.0))
    said = layer.announce(mixture, noise)[0]
    noise[:, 1] = -30.0
    assert_allclose(layer.announce(mixture, noise)[0], said, rtol=1e-9)


def test_the_bound_outlives_a_retirement_between_rows_and_their_labels() -> None:
    for seed in range(60):
        Z, y = some_experts(240, 4, seed)
        mixture = Mixture(np.ones(4))
        layer = LateMixture(mixture.prior, mixture.shares)
        kept = np.empty((240, 4 + MEMORY))
        for first in range(0, 120, 40):
            rows = slice(first, first + 40)
            kept[rows] = layer.announce(mixture, Z[rows])[1]
            layer.answer(mixture, Z[rows], y[rows], np.ones(40), kept[rows].copy(), np.full(40, 39.0))
        rows = slice(120, 160)
        kept[rows] = layer.announce(mixture, Z[rows])[1]  # announced by four, learned by three
        layer, mixture, three = layer.without([2]), mixture.without([2]), np.ascontiguousarray(np.delete(Z, 2, axis=1))
        layer.answer(mixture, three[rows], y[rows], np.ones(40), np.delete(kept[rows], 2, axis=1), np.full(40, 39.0))
        whole = list(kept[:160, 4 + WHOLE])
        for first in (160, 200):
            rows = slice(first, first + 40)
            fewer = layer.announce(mixture, three[rows])[1]
            whole += list(fewer[:, 3 + WHOLE])
            layer.answer(mixture, three[rows], y[rows], np.ones(40), fewer, np.full(40, 39.0))
        lost = losses(np.array(whole), y).sum()
        for i in range(3):
            assert lost - losses(three[:, i], y).sum() <= layer.cost(240, 0.25) + 1e-9


def evidence_for_runs(y: Vector) -> LateMixture:
    mixture = Mixture(np.ones(1))
    layer = LateMixture(mixture.prior, mixture.shares)
    play(layer, mixture, np.zeros((len(y), 1)), y, np.ones(len(y)), 0, "batches")
    return layer


def test_labels_in_runs_take_the_prior_share_of_what_is_trained_in_time() -> None:
    rng = np.random.default_rng(0)
    runs = np.repeat((np.arange(100) % 2).astype(float), rng.integers(5, 20, size=100))
    layer = evidence_for_runs(runs)
    assert layer.numbers[EVIDENCE] > 100.0
    prior = layer.numbers[late_loops.PRIOR : SHARES]
    assert_allclose(prior.sum(), 1.0)
    odds = prior[PROMPT] / (1.0 - prior[PROMPT])
    first = late_loops.MEMBER_PRIOR[PROMPT]
    assert_allclose(odds, first / (1.0 - first) / (1.0 + layer.numbers[LONGEST]), rtol=1e-9)


def test_labels_that_are_plainly_independent_raise_the_odds_of_what_is_trained_in_time_up_to_e_times() -> None:
    first = late_loops.MEMBER_PRIOR[PROMPT]
    raised = []
    for seed in range(20):
        y = (np.random.default_rng(seed).random(1000) < 0.3).astype(float)
        layer = evidence_for_runs(y)
        assert layer.numbers[EVIDENCE] < 5.0
        prior = layer.numbers[late_loops.PRIOR : SHARES]
        assert_allclose(prior.sum(), 1.0)
        raised.append(prior[PROMPT] / (1.0 - prior[PROMPT]) / (first / (1.0 - first)))
    assert 1.0 - 1e-9 <= min(raised) <= max(raised) <= math.e + 1e-9
    assert np.median(raised) > 2.5  # of 1,000 independent labels most streams are sure


def test_one_label_alone_is_a_base_rate_and_says_nothing_of_runs() -> None:
    layer = evidence_for_runs(np.ones(500))
    assert_allclose(layer.numbers[late_loops.PRIOR : SHARES], late_loops.MEMBER_PRIOR, rtol=1e-12)


def after(y: Vector, in_time: Vector) -> LateMixture:
    """Return a layer that has learned late labels of one expert, which would have said these log-odds in time."""
    mixture = Mixture(np.ones(1))
    layer = LateMixture(mixture.prior, mixture.shares)
    kept = layer.announce(mixture, np.zeros((len(y), 1)))[1]
    layer.answer(mixture, in_time[:, None], y, np.ones(len(y)), kept, np.full(len(y), len(y) - 1.0))
    return layer


def test_the_base_rate_is_heard_more_where_few_labels_speak_for_the_experts(rng: np.random.Generator) -> None:
    shuffled = (rng.random(400) < 0.7).astype(float)
    in_runs = np.sort(shuffled)
    heard = {}
    games = ("shuffled", shuffled, 0.1), ("told by columns", in_runs, 9.0), ("told by order", in_runs, 1.0)
    for name, y, sure in games:
        layer, mixture = after(y, sure * (2.0 * y - 1.0)), Mixture(np.ones(1))
        assert (late_loops.independent_labels(layer.numbers) < 4.0) == (name != "shuffled")
        layer.numbers[SHARES : late_loops.COUNTS] = 0.2
        kept = layer.announce(mixture, np.array([[-3.0]]))[1][0, 1:]
        heard[name] = kept[WHOLE]
        layer.numbers[late_loops.AWAKE] = 0.0  # where labels come in time nothing is changed
        again = layer.announce(mixture, np.array([[-3.0]]))[1][0, 1:]
        assert_allclose(again[WHOLE], late_loops.mixed_odds(np.full(5, 0.2), again[: late_loops.MEMBERS]), rtol=1e-12)
    assert abs(heard["told by columns"] - heard["shuffled"]) < 0.1
    assert heard["told by order"] > heard["shuffled"] + 0.5  # nearer to the log-odds of seven in ten


def test_log_odds_are_pooled_by_the_experts_prior_shares() -> None:
    mixture = Mixture(np.array([1.0, 3.0]))
    layer = LateMixture(mixture.prior, mixture.shares)
    layer.shares[:] = [0.9, 0.1]  # whatever the mixture has learned
    kept = layer.announce(mixture, np.array([[2.0, -1.0], [40.0, -40.0]]))[1][:, 2:]
    assert_allclose(kept[:, late_loops.POOLED], [0.25 * 2.0 - 0.75, 0.25 * 12.0 - 0.75 * 12.0])


def test_an_expert_is_not_negligible_while_the_pool_that_it_is_in_is_heard() -> None:
    layer = LateMixture(np.ones(3), np.ones(3))
    layer.shares[:] = [0.999, 0.001, 0.0]
    layer.experts[0] = [0.5, 0.499, 0.001]
    assert layer.negligible().tolist() == [False, False, True]
    layer.numbers[late_loops.SHARES + late_loops.POOLED] = 0.01
    assert layer.negligible().tolist() == [False, True, True]


def test_a_snapshot_is_the_same_layer() -> None:
    Z, y = some_experts(120, 3, 3)
    mixture = Mixture(np.ones(3))
    layer = LateMixture(mixture.prior, mixture.shares)
    play(layer, mixture, Z, y, np.ones(120), 3, "shuffled")
    again = LateMixture.restore(from_bytes(to_bytes(layer.snapshot())))
    assert_array_equal(again.announce(mixture, Z)[0], layer.announce(mixture, Z)[0])
    assert to_bytes(again.snapshot()) == to_bytes(layer.snapshot())
    broken = layer.snapshot()
    broken.arrays["experts"][0, 0] = -1.0
    with pytest.raises(SnapshotRefused, match="a share is negative"):
        LateMixture.restore(broken)


@pytest.mark.parametrize(
    ("place", "value"),
    [(late_loops.FROM, 5.0), (late_loops.FROM, 0.5), (late_loops.ONES, -1.0), (late_loops.RUNS, 0.0)],
)
def test_counts_of_labels_that_cannot_be_are_refused(place: int, value: float) -> None:
    layer = evidence_for_runs(np.array([0.0, 1.0, 1.0, 0.0]))
    snapshot = layer.snapshot()
    snapshot.arrays["numbers"][place] = value
    with pytest.raises(SnapshotRefused):
        LateMixture.restore(snapshot)
