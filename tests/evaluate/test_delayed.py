"""Labels that come late: a player of the loop plays the very game of announcements, whatever the pieces."""

import copy
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from support import make_labels, make_rows
from thoroughness import in_full_or_quickly

from aioli import AIOLI, Auto
from aioli.errors import ParameterRefused, RowRefused, SnapshotRefused
from aioli.evaluate.delay import Delay
from aioli.evaluate.delayed import DelayedPlayer
from aioli.evaluate.loop import Announced, Loop, Observer
from aioli.evaluate.progressive import progressive
from aioli.evaluate.sums import LateScores
from aioli.evaluate.waiting_rows import WaitingRows
from aioli.learners.baselines.ogd import OGD
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.tree import Snapshot
from aioli.streams.protocol import Batch

N = 200
X = make_rows("random", N, 4, 3)
Y = make_labels(X, 3)
TIMES = np.cumsum(np.random.default_rng(0).integers(0, 4, N)).astype(np.float64)


class Place:
    path = "rows"

    def __call__(self, row: int) -> str:
        return f"row {row}"


class Cuts(Observer):
    """Keeps what was announced, and cuts the pieces at certain rows."""

    def __init__(self, cuts: list[int]) -> None:
        self.cuts, self.p, self.base = cuts, list[float](), list[float]()

    def due(self, rows: int) -> int | None:
        return next((cut for cut in self.cuts if cut > rows), None)

    def played(self, announced: Announced, rows: int) -> None:
        assert not any(rows - len(announced.y) < cut < rows for cut in self.cuts)
        self.p += announced.p.tolist()
        assert announced.base is not None
        self.base += announced.base.tolist()
        assert len(self.p) == rows


def batches(size: int, rows: Any = X) -> Iterator[Batch]:
    for start in range(0, N, size):
        part = slice(start, min(N, start + size))
        yield Batch(rows[part], Y[part], None, Place(), TIMES[part])


def play(learner: Any, delay: Delay, size: int, cuts: list[int], rows: Any = X) -> Cuts:
    seen = Cuts(cuts)
    loop = Loop(DelayedPlayer(learner, delay), [seen])
    for batch in batches(size, rows):
        deque(loop.play_batch(batch), maxlen=0)
    deque(loop.play_rest(), maxlen=0)
    assert loop.rows == N
    return seen


def arrivals(delay: Delay) -> list[list[int]]:
    """The labels that come before each row, and behind the last."""
    come: list[list[int]] = [[] for _ in range(N + 1)]
    for t in range(N):
        if delay.rows is not None:
            come[min(N, t + delay.rows + 1)].append(t)
        elif delay.batch is not None:
            come[min(N, (t // delay.batch + 1) * delay.batch)].append(t)
        else:
            assert delay.seconds is not None
            later = np.flatnonzero((TIMES[t] + delay.seconds <= TIMES) & (np.arange(N) > t))
            come[later[0] if later.size else N].append(t)
    return come


def by_tickets(learner: Any, delay: Delay) -> tuple[list[float], list[float]]:
    tickets, base, known = list[Any](), list[float](), list[float]()
    for t, labels in enumerate(arrivals(delay)):
        for s in labels:
            learner.learn(X[s], Y[s], announced=tickets[s])
            known.append(Y[s])
        if t < N:
            tickets.append(learner.announce(X[t]))
            base.append((sum(known) + 0.5) / (len(known) + 1.0))
    return [ticket.probability for ticket in tickets], base


DELAYS = [Delay(rows=1), Delay(rows=13), Delay(rows=1000), Delay(batch=1), Delay(batch=32), Delay(seconds=0)]
DELAYS += [Delay(seconds=5), Delay(seconds=1e9)]
FEW_DELAYS = in_full_or_quickly(DELAYS, [Delay(rows=13), Delay(batch=32), Delay(seconds=5)])  # one of each kind


@pytest.mark.parametrize(
    ("make", "delay"), [*((AIOLI, delay) for delay in DELAYS), *((Auto, delay) for delay in FEW_DELAYS)], ids=str
)
def test_the_loop_plays_the_game_of_announcements(make: Callable[[], Any], delay: Delay) -> None:
    # many rows are matrix products, and one is a loop: a few ulp apart in two hundred rounds
    alone = make()
    p, base = by_tickets(alone, delay)
    for size, cuts in ((N, []), (7, []), (64, [1, 2, 3, 50, 51, 150])):
        learner = make()
        seen = play(learner, delay, size, cuts)
        np.testing.assert_allclose(seen.p, p, rtol=1e-9)
        np.testing.assert_allclose(seen.base, base, rtol=1e-14)
        np.testing.assert_allclose(learner.loss, alone.loss, rtol=1e-9)


@pytest.mark.parametrize("delay", FEW_DELAYS, ids=str)
def test_rows_that_wait_go_into_a_snapshot_and_come_back_bit_for_bit(delay: Delay) -> None:
    for rows in (X, sparse.csr_array(X)):
        whole = play(Auto(), delay, 30, [100], rows)
        player, seen = DelayedPlayer(Auto(), delay), Cuts([100])
        loop = Loop(player, [seen])
        for batch in batches(30, rows):
            for _ in loop.play_batch(batch):
                player.learner = copy.deepcopy(player.learner)
                player.waiting = WaitingRows.restore(player.waiting.snapshot())
        deque(loop.play_rest(), maxlen=0)
        assert_array_equal(seen.p, whole.p)


def test_learners_that_grow_learn_rows_that_waited_since_they_were_narrower() -> None:
    def widening(rows: Matrix) -> Iterator[tuple[Matrix, Vector]]:
        for start in range(0, N, 50):
            yield rows[start : start + 50, : 1 + start // 50], Y[start : start + 50]

    learner, direct = AIOLI(), AIOLI()
    player = DelayedPlayer(learner, Delay(rows=70))
    loop = Loop(player)
    for rows, labels in widening(X):
        if learner.n_features_ is not None:
            learner.grow(rows.shape[1] - learner.n_features_)
        deque(loop.play_batch(Batch(rows, labels, None, Place())), maxlen=0)
    deque(loop.play_rest(), maxlen=0)
    zeros = np.where(np.arange(4) <= np.arange(N)[:, None] // 50, X, 0.0)
    waiting: deque[tuple[int, Any]] = deque()
    for t in range(N):
        waiting.append((t, direct.announce(zeros[t])))
        if len(waiting) > 70:
            s, ticket = waiting.popleft()
            direct.learn(zeros[s], Y[s], announced=ticket)
    for s, ticket in waiting:
        direct.learn(zeros[s], Y[s], announced=ticket)
    np.testing.assert_allclose(learner.loss, direct.loss, rtol=1e-9)


def test_a_learner_that_cannot_learn_late_learns_when_the_label_comes() -> None:
    learner, direct, said = OGD(), OGD(), list[float]()
    seen = play(learner, Delay(batch=32), 50, [])
    for start in range(0, N, 32):
        part = slice(start, start + 32)
        said += direct.predict_many(X[part]).tolist()
        for x, y in zip(X[part], Y[part], strict=True):
            direct.learn(x, y)
    np.testing.assert_allclose(seen.p, said, rtol=1e-9)


def test_weights_wait_with_their_rows() -> None:
    weights = np.where(np.arange(N) % 2, 0.25, 1.0)
    learner, direct = AIOLI(), AIOLI()
    loop = Loop(DelayedPlayer(learner, Delay(batch=50)))
    deque(loop.play_batch(Batch(X, Y, weights, Place())), maxlen=0)
    for start in range(0, N, 50):
        part = slice(start, start + 50)
        direct.learn_batch(X[part], Y[part], weights[part])
    assert learner.loss == direct.loss


def test_a_refused_row_leaves_all_rows_before_it_played() -> None:
    spoilt = X.copy()
    spoilt[130, 2] = np.nan
    player = DelayedPlayer(AIOLI(), Delay(batch=50))
    loop = Loop(player)
    with pytest.raises(RowRefused, match=r"^row 130: column 2 is nan"):
        deque(loop.play_batch(Batch(spoilt, Y, None, Place())), maxlen=0)
    assert loop.whole
    assert (loop.rows, loop.within, len(player.waiting)) == (100, 130, 30)
    deque(loop.play_batch(Batch(X, Y, None, Place())), maxlen=0)
    assert loop.rows == N


def test_the_base_rate_knows_a_label_when_the_learner_does() -> None:
    seen = play(AIOLI(), Delay(rows=20), 64, [])
    scores = LateScores()
    scores.count(np.array(seen.p), Y, np.array(seen.base))
    expected = -np.log(np.where(Y == 1.0, seen.base, 1.0 - np.array(seen.base))).mean()
    np.testing.assert_allclose(scores.base_rate, expected, rtol=1e-12)
    last = deque(progressive(AIOLI(), [(X, Y)], delay=20), maxlen=1).pop()
    np.testing.assert_allclose(last.base_rate, expected, rtol=1e-12)
    assert LateScores.restore(scores.snapshot()).base_rate == scores.base_rate


def test_delays_are_checked_and_say_what_game_they_are() -> None:
    names = [str(delay) for delay in (Delay(rows=500), Delay(rows=1), Delay(batch=500), Delay(seconds=7 * 86400))]
    assert names == ["labels 500 rows late", "labels 1 row late", "labels in batches of 500 rows", "labels 7 d late"]
    assert str(Delay(seconds=90)) == "labels 90 s late"
    for given in ({}, {"rows": 1, "batch": 2}, {"rows": -1}, {"batch": 0}, {"seconds": float("nan")}):
        with pytest.raises(ParameterRefused):
            Delay(**given)
    with pytest.raises(ParameterRefused, match="the rows have no times"):
        DelayedPlayer(AIOLI(), Delay(seconds=1)).play(Batch(X, Y, None, Place()), 10)


def test_a_snapshot_of_other_rows_is_refused() -> None:
    player = DelayedPlayer(AIOLI(), Delay(rows=50))
    player.play(Batch(X, Y, None, Place()), 10)
    good = player.waiting.snapshot()
    for spoil in ({"tickets": good.part("tickets")}, {}):
        arrays = {**good.arrays, "X": np.zeros((3, 4))}
        with pytest.raises(SnapshotRefused):
            WaitingRows.restore(Snapshot(good.kind, good.values, arrays, spoil))
