"""The members of Auto's mixture: who says what, and on whose thread."""

import threading
from typing import Self

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from aioli.learners.auto.companions import Companion
from aioli.learners.auto.members import MANY, Members
from aioli.numerics import threads as side_by_side
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.tree import Snapshot


class Says(Companion):
    """Say one number of every row, and remember the thread that asked."""

    def __init__(self, number: float, in_callers_thread: bool) -> None:
        self.names = (f"says {number}",)
        self.number, self.in_callers_thread = number, in_callers_thread
        self.asked_by: list[int] = []

    def consult(self, X: Matrix) -> Matrix:
        self.asked_by.append(threading.get_ident())
        return np.full((len(X), 1), self.number)

    def play(self, X: Matrix, y: Vector, weights: Vector) -> Matrix:
        del y, weights
        return self.consult(X)

    def grow(self, columns: int) -> None:
        del columns

    def snapshot(self) -> Snapshot:
        return Snapshot("Says")

    def recalled(self, snapshot: Snapshot) -> Self:
        del snapshot
        return self


@pytest.mark.parametrize("rows", [1, MANY])
@pytest.mark.parametrize("threads", [1, 4])
def test_every_companion_is_heard_in_its_place_and_a_guest_by_the_callers_thread(
    rows: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(side_by_side, "threads", lambda: threads)
    companions = [Says(1.0, False), Says(2.0, True), Says(np.nan, False), Says(4.0, False)]
    members = Members(companions)
    X, linear = np.zeros((rows, 2)), np.full(rows, 0.5)
    expected = np.tile([0.5, 1.0, 2.0, 0.5, 4.0], (rows, 1))  # who abstains is heard as the linear experts
    assert_array_equal(members.consult(X, linear), expected)
    assert_array_equal(members.play(X, linear, np.ones(rows), np.ones(rows)), expected)
    assert companions[1].asked_by == [threading.get_ident()] * 2


class Keeps(Says):
    """Keep what it is given, as a companion that is fitted later does."""

    def __init__(self) -> None:
        super().__init__(1.0, False)
        self.kept: list[tuple[Matrix, Vector, Vector]] = []

    def play(self, X: Matrix, y: Vector, weights: Vector) -> Matrix:
        self.kept.append((X, y, weights))
        return super().play(X, y, weights)


def test_a_companion_without_a_way_for_single_rows_is_given_each_in_arrays_of_its_own() -> None:
    companion = Keeps()
    members = Members([companion, Says(2.0, False)])
    for t in range(3):
        said = members.play_row(np.full(2, float(t)), 0.5, t % 2)
        assert_array_equal(said.Z, [[0.5, 1.0, 2.0]])
    assert_array_equal(np.concatenate([X for X, _, _ in companion.kept]), [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    assert [(y.item(), weight.item()) for _, y, weight in companion.kept] == [(0.0, 1.0), (1.0, 1.0), (0.0, 1.0)]


def test_a_companion_that_retires_is_not_asked_about_a_single_row_any_more() -> None:
    companions = [Says(1.0, False), Says(2.0, False)]
    members = Members(companions)
    members.play_row(np.zeros(2), 0.5, 1.0)
    members.retire(0)
    assert_array_equal(members.play_row(np.zeros(2), 0.5, 1.0).Z, [[0.5, 0.0, 2.0]])
    assert [len(companion.asked_by) for companion in companions] == [1, 2]


def test_who_begins_anew_knows_nothing_and_the_others_go_on() -> None:
    companions = [Says(1.0, False), Says(2.0, False), Says(3.0, False)]
    members = Members(companions)
    members.play_row(np.zeros(2), 0.5, 1.0)
    members.retire(0)
    members.retire(1)
    members.begin_anew([0])
    assert_array_equal(members.play_row(np.zeros(2), 0.5, 1.0).Z, [[0.5, 1.0, 0.0, 3.0]])
    anew, away, kept = members.companions
    assert isinstance(anew, Says)
    assert len(anew.asked_by) == 1
    assert away is None
    assert kept is companions[2]
    assert len(companions[2].asked_by) == 2
    members.retire(0)
    members.begin_anew([0])
    assert members.companions[0] is not anew


def test_rows_of_any_width_may_be_asked_about_before_the_first_label() -> None:
    members = Members([Says(1.0, False), Says(2.0, False)])
    for width in (2, 5, 3):
        assert_array_equal(members.consult_row(np.ones(width), 0.5), [[0.5, 1.0, 2.0]])
        assert_array_equal(members.play_row(np.ones(width), 0.5, 1.0).Z, [[0.5, 1.0, 2.0]])
