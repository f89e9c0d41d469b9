"""The class that stands for all that nobody has seen: what is announced of it, and what a first meeting does."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aioli.learners.classes.unseen_class import AllDeclared, UnseenByCounts, UnseenByRow, UnseenClass
from aioli.numerics.compiling import Matrix
from aioli.snapshots.codec import to_bytes
from aioli.snapshots.tree import Snapshot

KINDS = (AllDeclared, UnseenByCounts, UnseenByRow)


def said(rng: np.random.Generator, rows: int, columns: int) -> Matrix:
    """Return the logarithms of some probabilities."""
    p = rng.dirichlet(np.ones(columns), rows)
    return np.asarray(np.log(p))


def remembered(unseen: UnseenClass) -> bytes:
    return to_bytes(Snapshot("learner", parts=unseen.parts()))


def after_some_rows(kind: type[UnseenClass]) -> UnseenClass:
    unseen = kind()
    unseen.begin_after(20, 3)
    return unseen


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("classes", [1, 3, 7, 12])
def test_a_row_of_a_known_class_is_played_as_among_many(kind: type[UnseenClass], classes: int) -> None:
    one, many = after_some_rows(kind), after_some_rows(kind)
    log_p = said(np.random.default_rng(classes), 1, classes + one.places)
    codes = np.array([classes - 1])
    announced = one.play_known(log_p[0].copy(), codes)
    assert_array_equal(announced, many.play(log_p.copy(), codes, np.zeros(1, np.bool_))[0])
    assert remembered(one) == remembered(many)


@pytest.mark.parametrize("kind", KINDS)
def test_known_classes_share_what_the_unseen_one_leaves(kind: type[UnseenClass]) -> None:
    unseen = after_some_rows(kind)
    log_p = said(np.random.default_rng(0), 5, 3 + unseen.places)
    left = 1.0 - unseen.shares(5, lambda: log_p)
    assert_allclose(np.exp(unseen.announced(log_p)).sum(axis=1), left, rtol=1e-13)  # a dozen roundings


@pytest.mark.parametrize("kind", [UnseenByCounts, UnseenByRow])
def test_a_class_that_comes_had_the_share_of_the_unseen_one(kind: type[UnseenClass]) -> None:
    unseen = after_some_rows(kind)
    log_p = np.full((1, 4 + unseen.places), -np.inf)
    log_p[0, : 3 + unseen.places] = said(np.random.default_rng(1), 1, 3 + unseen.places)[0]
    share = copy.deepcopy(unseen).shares(1, lambda: log_p[:, : 3 + unseen.places])
    announced = np.exp(unseen.play(log_p, np.array([3]), np.ones(1, np.bool_))[0])
    assert_allclose(announced[3], share[0], rtol=1e-13)
    assert_allclose(announced.sum(), 1.0, rtol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_snapshot_holds_goes_on(kind: type[UnseenClass]) -> None:
    unseen = after_some_rows(kind)
    for code in (0, 2, 2):
        unseen.meet(code)
    recalled = kind().recall(Snapshot("learner", parts=unseen.parts()), 3)
    assert remembered(recalled) == remembered(unseen)
    assert recalled.probability == unseen.probability
