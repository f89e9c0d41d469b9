"""The mixtures without each companion: those of a game in which it never played, and kept over a stop."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from aioli.errors import SnapshotRefused
from aioli.learners.auto.absences import MOST, Absences
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.tree import Snapshot
from aioli.states.mixture.mixture import Mixture
from aioli.states.mixture.mixture_loops import STACKERS, combine_rows

MEMBERS = [[1, 2], [3], [4]]  # of three companions; the linear experts are the first
PRIOR = np.array([0.4, 0.1, 0.1, 0.2, 0.2])


def stream(rows: int, seed: int = 0) -> tuple[Matrix, Vector, Vector]:
    """Return what the members say of rows, the labels, and weights."""
    rng = np.random.default_rng(seed)
    Z = 2.0 * rng.normal(size=(rows, PRIOR.size))
    said = Z @ [0.2, 0.0, 0.3, 0.8, 0.1]
    return Z, (said + rng.logistic(size=rows) > 0.0).astype(np.float64), rng.uniform(0.5, 1.5, size=rows)


def without(*members: int) -> Mixture:
    """Return a mixture in which these members have retired before the first row."""
    mixture = Mixture(PRIOR)
    for member in members:
        mixture.retire(member)
    return mixture


def answer(mixture: Mixture, Z: Matrix, y: Vector, weights: Vector) -> Vector:
    out = np.empty(len(Z))
    combine_rows(mixture.buffer, Z, y, weights, out)
    return out


def same(one: Mixture, other: Mixture) -> bool:
    """Return whether two mixtures remember the same."""
    own, others = one.snapshot().arrays, other.snapshot().arrays
    return own.keys() == others.keys() and all(np.array_equal(own[name], others[name]) for name in own)


def heard(rows: int = 200) -> tuple[Mixture, Absences]:
    """Return a mixture that has learned rows, and the absences that have done so beside it."""
    mixture = Mixture(PRIOR)
    absences = Absences(MEMBERS, mixture)
    absences.answer(*stream(rows))
    answer(mixture, *stream(rows))
    return mixture, absences


def test_the_mixture_without_a_companion_is_one_in_which_it_never_played() -> None:
    Z, y, weights = stream(300)
    absences = Absences(MEMBERS, Mixture(PRIOR))
    cuts = [0, 1, 64, 300]
    said = [absences.answer(Z[a:b], y[a:b], weights[a:b]) for a, b in pairwise(cuts)]
    expected = [answer(without(*members), Z, y, weights) for members in MEMBERS]
    assert_array_equal(np.concatenate(said, axis=1), expected)
    unheard = Z.copy()
    unheard[:, 1:3] = 0.0  # whatever the one that is absent says
    assert_array_equal(answer(without(*MEMBERS[0]), unheard, y, weights), expected[0])


def test_absences_that_begin_in_the_middle_go_on_from_what_is_heard() -> None:
    mixture, absences = heard()
    absences.begin(mixture, [True, False, True])
    expected = Mixture.restore(mixture.snapshot())
    expected.retire(4)
    rest = stream(100, seed=1)
    said = absences.answer(*rest)
    assert_array_equal(said[2], answer(expected, *rest))
    assert not said[1].any()  # of one that does not play, nothing is known


def test_what_is_heard_does_not_change_when_absences_learn() -> None:
    mixture = Mixture(PRIOR)
    before = mixture.buffer.copy()
    Absences(MEMBERS, mixture).answer(*stream(50))
    assert_array_equal(mixture.buffer, before)


def test_a_stop_changes_no_bit() -> None:
    mixture, absences = heard()
    absences.begin(mixture, [True, False, True])
    absences.answer(*stream(100, seed=1))
    answer(mixture, *stream(100, seed=1))
    parts = absences.snapshots(mixture)
    assert len(parts) == 2
    again, other = Absences(MEMBERS, mixture), Mixture.restore(mixture.snapshot())
    again.recall(Snapshot("BendingEnsemble", parts=parts), other, [True, False, True])
    rest = stream(100, seed=2)
    assert_array_equal(again.answer(*rest), absences.answer(*rest))
    ours, theirs = absences.snapshots(mixture), again.snapshots(other)
    assert ours.keys() == theirs.keys() == parts.keys()
    for name in parts:
        assert same(Mixture.restore(ours[name]), Mixture.restore(theirs[name]))


def test_without_them_in_a_file_they_begin_anew() -> None:
    mixture, absences = heard()
    begun = Absences(MEMBERS, mixture)
    absences.recall(Snapshot("BendingEnsemble"), mixture, [True, True, True])
    rest = stream(100, seed=1)
    assert_array_equal(absences.answer(*rest), begun.answer(*rest))


@pytest.mark.parametrize("other", [Mixture(np.ones(4)), Mixture(PRIOR, heard=STACKERS - 1)])
def test_a_mixture_of_other_members_or_stackers_is_refused(other: Mixture) -> None:
    mixture, absences = heard()
    wrong = Snapshot("BendingEnsemble", parts={**absences.snapshots(mixture), "without1": other.snapshot()})
    with pytest.raises(SnapshotRefused, match="without a companion"):
        absences.recall(wrong, mixture, [True, True, True])


def test_of_very_many_companions_nothing_is_known_one_by_one() -> None:
    count = MOST + 1
    mixture = Mixture(np.full(1 + count, 1.0 / (1 + count)))
    absences = Absences([[1 + i] for i in range(count)], mixture)
    assert not absences.known
    absences.begin(mixture, [True] * count)
    assert not absences.snapshots(mixture)
