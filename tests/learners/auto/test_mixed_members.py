"""Companions heard beside the linear experts: who retires alone, what is announced then, and who begins anew."""

from collections.abc import Sequence
from typing import Self

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from aioli.learners.auto import auditions
from aioli.learners.auto.companions import Companion
from aioli.learners.auto.mixed_members import LINEAR, LateRows, MixedMembers
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import log_loss_many
from aioli.snapshots.tree import Snapshot
from aioli.states.mixture.mixture import mixture_cost

NOISE, TELLS = range(2)  # columns of the streams below, and the companions that read them


class Reads(Companion):
    """Say what stands in a column, and count the rows learned."""

    def __init__(self, column: int, only_late: bool = False) -> None:
        self.names = (f"column {column}",)
        self.column, self.only_late = column, only_late
        self.rows, self.told = 0, False

    def consult(self, X: Matrix) -> Matrix:
        return X[:, [self.column]].copy()

    def play(self, X: Matrix, y: Vector, weights: Vector) -> Matrix:
        del y, weights
        self.rows += len(X)
        return self.consult(X)

    def labels_come_late(self) -> None:
        self.told = True

    def grow(self, columns: int) -> None:
        del columns

    def snapshot(self) -> Snapshot:
        return Snapshot("Reads", {"rows": self.rows})

    def recalled(self, snapshot: Snapshot) -> Self:
        made = type(self)(self.column, self.only_late)
        made.rows = snapshot.whole("rows")
        return made


def stream(rows: int, seed: int = 0) -> tuple[Matrix, Vector]:
    """Return rows of noise and of the log-odds of the label, and the labels."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([0.1 * rng.normal(size=rows), 3.0 * rng.normal(size=rows)])
    return X, (X[:, TELLS] + rng.logistic(size=rows) > 0.0).astype(np.float64)


def both() -> MixedMembers:
    return MixedMembers([Reads(NOISE), Reads(TELLS)])


def learn(mixed: MixedMembers, X: Matrix, y: Vector, linear: Vector | None = None) -> Vector:
    """Learn rows in time; the linear experts know nothing unless their log-odds are given."""
    z = np.zeros(len(X)) if linear is None else linear
    said, first = np.empty(len(X)), 0
    while first < len(X):
        part = slice(first, first + min(mixed.rows_at_once(None), len(X) - first))
        rows, nothing = X[part], np.full(len(X[part]), np.nan)
        said[part] = mixed.learn(rows, y[part], np.ones(len(rows)), z[part], nothing, None, None)
        first = part.stop
    return said


def learn_late(mixed: MixedMembers, X: Matrix, y: Vector, batch: int) -> None:
    """Announce batches of rows, and learn the labels of each when all of it is announced."""
    for start in range(0, len(X), batch):
        rows, labels, delays = X[start : start + batch], y[start : start + batch], np.arange(float(batch))
        linear = np.zeros(batch)
        said, kept = mixed.announce(rows, linear)
        first = 0
        while first < batch:
            part = slice(first, min(batch, first + mixed.rows_at_once(delays[first:])))
            late, one = LateRows(kept[part], delays[part], linear[part]), np.ones(part.stop - first)
            mixed.learn(rows[part], labels[part], one, linear[part], said[part], late, None)
            first = part.stop


def playing(mixed: MixedMembers) -> list[int]:
    return [i for i, companion in enumerate(mixed.companions) if companion is not None]


def rows_learned(mixed: MixedMembers) -> Sequence[int | None]:
    return [companion.rows if isinstance(companion, Reads) else None for companion in mixed.companions]


def test_a_companion_that_brings_nothing_retires_alone() -> None:
    mixed = both()
    X, y = stream(4 * auditions.LEAST)
    learn(mixed, X[: auditions.LEAST - 1], y[: auditions.LEAST - 1])
    assert playing(mixed) == [NOISE, TELLS]
    learn(mixed, X[auditions.LEAST - 1 :], y[auditions.LEAST - 1 :])
    assert playing(mixed) == [TELLS]
    assert mixed.shares["column 0"] == 0.0
    assert mixed.shares["column 1"] > 0.9


def test_of_two_that_say_the_same_the_other_stays() -> None:
    mixed = MixedMembers([Reads(TELLS), Reads(TELLS)])
    learn(mixed, *stream(4 * auditions.LEAST))
    assert len(playing(mixed)) == 1


def test_the_bound_against_who_stays_holds_through_the_retirement_of_another() -> None:
    mixed, rows = both(), 4 * auditions.LEAST
    X, y = stream(rows)
    said = learn(mixed, X, y)
    assert playing(mixed) == [TELLS]
    lost = log_loss_many(said, y).sum()
    for z, prior in ((np.zeros(rows), LINEAR), (X[:, TELLS], (1.0 - LINEAR) / 2.0)):
        assert lost <= log_loss_many(z, y).sum() + mixture_cost(rows, prior)


def test_where_all_have_retired_the_linear_experts_speak() -> None:
    mixed = both()
    X, y = stream(auditions.LEAST)
    learn(mixed, X, y, linear=X[:, TELLS].copy())
    assert playing(mixed) == []
    z = np.linspace(-3.0, 3.0, 50)
    assert_array_equal(mixed.logits(X[:50], z), z)


def test_who_has_retired_begins_anew_when_the_loss_rises_and_who_plays_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(auditions, "REST", 4)
    look = 4 * auditions.REVIEW
    mixed, (X, y) = both(), stream(4 * look)
    learn(mixed, X[: 2 * look], y[: 2 * look])
    assert rows_learned(mixed) == [None, 2 * look]
    turned = X[:, ::-1].copy()  # what told the label is noise from now on, and noise tells
    learn(mixed, turned[2 * look : 3 * look], y[2 * look : 3 * look])
    assert rows_learned(mixed) == [0, 3 * look]
    learn(mixed, turned[3 * look :], y[3 * look :])
    assert rows_learned(mixed)[NOISE] == look
    assert mixed.shares["column 0"] > 0.9


def test_nobody_begins_anew_where_the_loss_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditions, "REST", 4)
    mixed = both()
    learn(mixed, *stream(16 * auditions.REVIEW))
    assert rows_learned(mixed) == [None, 16 * auditions.REVIEW]


def test_with_late_labels_nobody_retires_alone() -> None:
    mixed, (X, y) = both(), stream(4 * auditions.LEAST)
    learn_late(mixed, X, y, batch=50)
    assert playing(mixed) == [NOISE, TELLS]
    assert mixed.rounds == len(X)
    learn(mixed, *stream(2 * auditions.LEAST, seed=1))  # nor if later ones come in time
    assert playing(mixed) == [NOISE, TELLS]


def test_with_late_labels_all_retire_where_together_they_save_nothing() -> None:
    mixed = MixedMembers([Reads(NOISE), Reads(NOISE)])
    X, _ = stream(4 * auditions.LEAST)
    learn_late(mixed, X, (np.random.default_rng(1).random(len(X)) < 0.5).astype(np.float64), batch=50)
    assert playing(mixed) == []


def test_with_the_first_late_label_whoever_is_away_plays_and_all_are_told() -> None:
    mixed = MixedMembers([Reads(NOISE), Reads(TELLS), Reads(NOISE, only_late=True)])
    X, y = stream(2 * auditions.LEAST)
    learn(mixed, X, y)
    assert playing(mixed) == [TELLS]
    learn_late(mixed, X[:1], y[:1], batch=1)  # announced, and its label in time
    assert playing(mixed) == [TELLS]
    learn_late(mixed, X[:10], y[:10], batch=10)
    assert rows_learned(mixed) == [9, len(X) + 11, 9]
    assert all(isinstance(companion, Reads) and companion.told for companion in mixed.companions)


def test_one_that_waits_for_late_labels_does_not_begin_with_those_who_have_retired(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(auditions, "REST", 4)
    mixed, rows = MixedMembers([Reads(NOISE), Reads(TELLS), Reads(NOISE, only_late=True)]), 4 * auditions.REVIEW
    X, y = stream(2 * rows)
    turned = np.where(np.arange(2 * rows)[:, None] < rows, X, X[:, ::-1])
    learn(mixed, turned[:rows], y[:rows])
    assert playing(mixed) == [TELLS]
    assert mixed.shares["column 0"] == 0.0
    learn(mixed, turned[rows:], y[rows:])
    assert playing(mixed) == [NOISE, TELLS]


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("rows", [300, 1200, 2100])
def test_a_stop_changes_no_bit(rows: int, late: bool) -> None:
    def fresh() -> MixedMembers:
        return MixedMembers([Reads(NOISE), Reads(TELLS), Reads(NOISE, only_late=True)])

    mixed, again = fresh(), fresh()
    (X, y), rest = stream(rows), stream(900, seed=1)
    if late:
        learn_late(mixed, X, y, batch=50)
    else:
        learn(mixed, X, y)
    again.recall(Snapshot("BendingEnsemble", arrays=mixed.arrays(), parts=mixed.parts()))
    assert rows_learned(again) == rows_learned(mixed)
    assert_array_equal(learn(again, *rest), learn(mixed, *rest))
    assert rows_learned(again) == rows_learned(mixed)
    for name, array in mixed.arrays().items():
        assert_array_equal(again.arrays()[name], array)
