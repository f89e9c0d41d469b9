"""Scores of K classes: what each is by its definition, and that cuts, merges and snapshots do not change them."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from aioli.errors import AioliError, SnapshotRefused
from aioli.evaluate.class_scores import ClassScores
from aioli.evaluate.sums import Scores
from aioli.numerics.compiling import Matrix

Codes = NDArray[np.int64]
Announced = tuple[Matrix, Codes]

LABELS = ["ant", "bee", "cat", "dog", "eel"]


@pytest.fixture
def announced() -> Announced:
    """Honest probabilities of five classes, and the numbers of those that came."""
    rng = np.random.default_rng(3)
    P = rng.dirichlet(np.full(5, 0.6), size=600)
    y = np.array([rng.choice(5, p=p) for p in P])
    return P, y


def counted(P: Matrix, y: Codes, classes: Sequence[str] = LABELS, declared: bool = True) -> ClassScores:
    scores = ClassScores(classes, declared)
    scores.count(P, y.astype(float))
    return scores


def test_every_score_is_its_definition(announced: Announced) -> None:
    P, y = announced
    scores = counted(P, y)
    rows = np.arange(len(y))
    best = P.argmax(axis=1)
    assert scores.log_loss == pytest.approx(-np.log(P[rows, y]).mean(), rel=1e-12)
    assert scores.brier == pytest.approx(((P - np.eye(5)[y]) ** 2).sum(axis=1).mean(), rel=1e-12)
    assert scores.accuracy == pytest.approx((best == y).mean(), rel=1e-12)
    assert scores.top3 == pytest.approx((np.argsort(-P, axis=1)[:, :3] == y[:, None]).any(axis=1).mean(), rel=1e-12)
    confusion = np.zeros((5, 5))
    np.add.at(confusion, (y, best), 1.0)
    assert np.array_equal(scores.confusion, confusion)
    f1 = [2 * confusion[k, k] / (confusion[k].sum() + confusion[:, k].sum()) for k in range(5)]
    assert scores.macro_f1 == pytest.approx(np.mean(f1), rel=1e-12)
    chance = (confusion.sum(0) * confusion.sum(1)).sum() / len(y) ** 2
    assert scores.kappa == pytest.approx(((best == y).mean() - chance) / (1 - chance), rel=1e-12)


def test_the_area_of_a_class_against_the_rest_is_within_its_error_bound(announced: Announced) -> None:
    P, y = announced
    for k, one in enumerate(counted(P, y).by_class()):
        own, rest = P[y == k, k], P[y != k, k]
        exact = ((own[:, None] > rest).mean() + (own[:, None] == rest).mean() / 2).item()
        assert abs(one.auc - exact) <= one.auc_error < 0.01


def test_honest_probabilities_stay_within_what_chance_allows_and_others_do_not(announced: Announced) -> None:
    P, y = announced
    honest = counted(P, y)
    assert honest.confidence.value < honest.confidence.limit
    assert honest.class_ece < honest.class_ece_limit
    for one in honest.by_class():
        assert abs(one.rows - one.announced) < 4 * one.deviation
    boastful = P**3 / (P**3).sum(axis=1, keepdims=True)
    assert counted(boastful, y).confidence.value > 2 * honest.confidence.limit


def test_the_base_rate_is_that_of_the_running_shares_with_an_escape() -> None:
    scores = ClassScores(["a", "b"])
    scores.update([[0.5, 0.5]] * 4, ["a", "a", "b", "a"])
    # new: 1; a: (1 − 1.5/2)·1; new: 1.5/3; a: (1 − 2.5/4)·(2 + ½)/(3 + 1)
    assert scores.base_rate * 4 == pytest.approx(-math.log(0.25 * 0.5 * (1.5 / 4) * 2.5 / 4), rel=1e-12)
    told = ClassScores(["a", "b"], declared=True)
    told.update([[0.5, 0.5]] * 3, ["a", "a", "b"])
    assert told.base_rate * 3 == pytest.approx(-math.log(0.5 * 0.75 * 0.5 / 3), rel=1e-12)  # Krichevsky and Trofimov's


def test_a_class_that_nobody_knew_was_never_predicted() -> None:
    scores = ClassScores()
    scores.update([[0.5]], ["a"], ["a"])
    scores.update([[0.1, 0.9]], ["b"], ["a", "b"])  # 0.9 was the probability of something new
    assert scores.log_loss == pytest.approx(-math.log(0.45) / 2)
    assert scores.accuracy == 0.0
    assert scores.confusion.tolist() == [[0.0, 0.0], [1.0, 0.0]]


def test_classes_that_share_the_largest_probability_share_the_row() -> None:
    scores = ClassScores(LABELS, declared=True)
    scores.update([[0.2] * 5, [0.4, 0.4, 0.2, 0.0, 0.0]], ["eel", "ant"])
    assert scores.accuracy == pytest.approx((1 / 5 + 1 / 2) / 2)
    assert scores.top3 == pytest.approx((3 / 5 + 1) / 2)


def growing(P: Matrix, y: Codes) -> tuple[Matrix, Codes, list[str]]:
    """The same game where a class is known from its first row on, as a learner of unknown classes announces it."""
    order = list(dict.fromkeys(y.tolist()))
    return P[:, order], np.array([order.index(code) for code in y]), [LABELS[k] for k in order]


@pytest.mark.parametrize("cut", [1, 7, 250])
def test_scores_do_not_depend_on_how_rows_are_cut(announced: Announced, cut: int) -> None:
    P, y, names = growing(*announced)
    for t, code in enumerate(y):
        if t == 0 or code > y[:t].max():
            P[:t, code] = 0.0  # it had not come yet
    whole = ClassScores()
    whole.count(P, y.astype(float), classes=names)
    pieces = ClassScores()
    for begin in range(0, len(y), cut):
        end = begin + cut
        known = y[:end].max() + 1
        pieces.count(P[begin:end, :known], y[begin:end].astype(float), classes=names[:known])
        pieces = ClassScores.restore(pieces.snapshot())
    a, b = whole.snapshot(), pieces.snapshot()
    assert a.values == b.values
    assert all(np.array_equal(a.arrays[name], b.arrays[name]) for name in a.arrays)


def test_merged_scores_are_those_of_both_whatever_the_order_of_their_classes(announced: Announced) -> None:
    P, y = announced
    both = counted(P, y)
    first, turned = counted(P[:205], y[:205]), [4, 2, 0, 1, 3]
    second = ClassScores([LABELS[k] for k in turned], declared=True)
    second.update(P[205:, turned], [LABELS[code] for code in y[205:]])
    before = second.snapshot()
    merged = first.merge(second)
    assert second.snapshot().values == before.values
    for score in ("rows", "log_loss", "brier", "accuracy", "top3", "kappa", "macro_f1", "auc", "ece", "class_ece"):
        assert getattr(merged, score) == pytest.approx(getattr(both, score), rel=1e-12), score
    assert np.array_equal(merged.confusion, both.confusion)
    assert sum(part.rows for part in merged.periods()) == len(y)


def test_merging_scores_of_other_classes_knows_them_all() -> None:
    first, second = ClassScores(["a", "b"]), ClassScores(["b", "c"])
    first.update([[0.6, 0.4]] * 3, ["a", "b", "a"])
    second.update([[0.7, 0.3]] * 2, ["b", "c"])
    merged = first.merge(second)
    assert merged.classes == ["a", "b", "c"]
    assert merged.counts.tolist() == [2.0, 2.0, 1.0]
    assert merged.by_class()[2].rows == 1
    assert sum(group.rows for group in merged.reliability(2)) == 5  # rows without it had no probability of it


def test_two_classes_go_on_as_many() -> None:
    rng = np.random.default_rng(5)
    p = rng.random(500)
    y = (rng.random(500) < p).astype(float)
    two = Scores()
    two.count(p, y)
    turned = ClassScores.of_two_classes(two, ["no", "yes"])
    direct = ClassScores(["no", "yes"], declared=True)
    direct.count(np.column_stack([1 - p, p]), y)
    for score in ("rows", "log_loss", "brier", "accuracy", "top3", "kappa", "macro_f1", "base_rate", "ece", "auc"):
        assert getattr(turned, score) == pytest.approx(getattr(direct, score), rel=1e-9), score
    turned.update([[0.1, 0.2, 0.7]], ["maybe"], ["no", "yes", "maybe"])
    assert turned.by_class()[2].rows == 1
    assert sum(group.rows for group in turned.reliability(2)) == 501


def test_parts_of_the_stream_show_a_class_that_comes_late() -> None:
    scores = ClassScores(["a", "b"], declared=True)
    scores.update([[0.9, 0.1]] * 150 + [[0.2, 0.8]] * 50, ["a"] * 150 + ["b"] * 50)
    parts = scores.periods()
    assert [part.first for part in parts] == list(range(0, 200, 4))
    assert parts[0].share.tolist() == [1.0, 0.0]
    assert parts[-1].share.tolist() == [0.0, 1.0]
    assert parts[-1].announced == pytest.approx([0.2, 0.8])
    assert parts[-1].log_loss[1] == pytest.approx(-math.log(0.8))


@pytest.mark.parametrize(
    ("P", "labels", "said"),
    [
        ([[0.5, 0.6]], ["a"], r"row 0: the probabilities are \[0.5, 0.6\]; give some from 0 to 1"),
        ([[0.5, math.nan]], ["a"], "give some from 0 to 1"),
        ([[0.5, 0.5]], ["z"], "row 0: the label is 'z', which is no column"),
        ([[0.5, 0.5]], ["a", "b"], "shape .* came for 2 labels and 2 classes"),
    ],
)
def test_what_is_refused_changes_nothing(P: object, labels: list[str], said: str) -> None:
    scores = ClassScores(["a", "b"])
    scores.update([[0.5, 0.5]], ["a"])
    before = scores.snapshot()
    with pytest.raises(AioliError, match=said):
        scores.update(P, labels)
    after = scores.snapshot()
    assert all(np.array_equal(before.arrays[name], after.arrays[name]) for name in before.arrays)


def test_a_snapshot_of_another_kind_is_refused() -> None:
    with pytest.raises(SnapshotRefused, match="not of a ClassScores"):
        ClassScores.restore(Scores().snapshot())
