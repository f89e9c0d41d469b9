"""The progressive loop predicts before it learns, row by row, whatever the blocks, checkpoints and delays."""

import itertools
import math
from collections import deque
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from aioli import AIOLI, Algorithm2, ClassAIOLI
from aioli.errors import RowRefused
from aioli.evaluate.class_scores import ClassScores
from aioli.evaluate.progressive import Checkpoint, progressive
from aioli.evaluate.scores import AUC, Accuracy, BaseRate, Brier, LogLoss
from aioli.learners.protocol import Capability, Learner
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import logit
from aioli.streams.synthetic import named

STREAM = named("logistic", width=3, radius=2.0)
SAME = 1e-11  # relative: the same game, in pieces of other sizes; rounding grows a little over a thousand rows


def last(points: Iterator[Checkpoint]) -> Checkpoint:
    return deque(points, maxlen=1).pop()


def scores_of(p: Vector, y: Vector) -> tuple[float, float, float]:
    scores = LogLoss(), BaseRate(), Accuracy()
    for score in scores:
        score.update(p, y)
    return scores[0].value, scores[1].value, scores[2].value


class Plain:
    """A learner of the bare protocol, which writes down what happens to it."""

    capabilities: frozenset[Capability] = frozenset()
    n_features_: int | None = None
    rounds, loss = 0, 0.0

    def __init__(self) -> None:
        self.events: list[tuple[str, float]] = []

    def predict_logit(self, x: object) -> float:
        return logit(self.predict(x))

    def predict_logit_many(self, X: object) -> Vector:
        return np.array([self.predict_logit(x) for x in np.asarray(X)])

    def predict(self, x: object) -> float:
        row = np.asarray(x)
        self.events.append(("predict", float(row[0])))
        return 0.25 if row[0] % 2 else 0.75

    def learn(self, x: object, y: object) -> float:  # noqa: ARG002  (a learner's signature)
        self.events.append(("learn", float(np.asarray(x)[0])))
        return 0.5

    def predict_many(self, X: object) -> Vector:
        return np.array([self.predict(x) for x in np.asarray(X)])

    def learn_many(self, X: object, y: object) -> Vector:
        announced = []
        for x, label in zip(np.asarray(X), np.asarray(y), strict=True):
            announced.append(self.predict(x))
            self.learn(x, label)
        return np.array(announced)


def numbered(n: int, size: int) -> Iterator[tuple[Matrix, Vector]]:
    """Blocks whose rows are their own numbers."""
    for start in range(0, n, size):
        t = np.arange(start, min(n, start + size), dtype=np.float64)
        yield t[:, None], (t % 3 == 0).astype(np.float64)


# ---- at once


@pytest.mark.parametrize("size", [1, 100, 5000])
@pytest.mark.parametrize("every", [None, 1, 77, 10_000])
def test_a_checkpoint_is_what_one_by_one_gives_by_that_row(size: int, every: int | None) -> None:
    X, y = STREAM.take(1000, seed=1)
    twin = AIOLI()
    p = np.empty(len(y))
    proven = {}
    for t in range(len(y)):
        p[t] = twin.learn(X[t], y[t])
        proven[t + 1] = float(twin.certificate())
    for point in progressive(AIOLI(), STREAM.blocks(1000, seed=1, size=size), every=every):
        expected = scores_of(p[: point.rows], y[: point.rows])
        assert_allclose([point.log_loss, point.base_rate, point.accuracy], expected, rtol=SAME)
        assert point.certificate is not None
        assert_allclose(point.certificate, proven[point.rows], rtol=SAME)


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("delay", [0, 3])
@pytest.mark.parametrize(
    ("every", "n", "expected"),
    [
        (None, 20, [1, 2, 4, 8, 16, 20]),
        (None, 16, [1, 2, 4, 8, 16]),
        (6, 20, [6, 12, 18, 20]),
        (5, 20, [5, 10, 15, 20]),
        (50, 20, [20]),
        (1, 3, [1, 2, 3]),
    ],
)
def test_checkpoints_double_or_come_every_so_many_rows_and_at_the_end(
    size: int, delay: int, every: int | None, n: int, expected: list[int]
) -> None:
    points = progressive(Plain(), numbered(n, size), delay=delay, every=every)
    assert [point.rows for point in points] == expected


def test_a_stream_without_rows_has_no_checkpoints() -> None:
    assert list(progressive(Plain(), [])) == []
    assert list(progressive(Plain(), [(np.empty((0, 3)), np.empty(0))], delay=2)) == []


def test_a_learner_without_a_certificate_has_none() -> None:
    assert last(progressive(Plain(), numbered(10, 4))).certificate is None
    learner = Algorithm2(radius=2.0, widest=5.0, steps=20)
    assert last(progressive(learner, STREAM.blocks(20, seed=0))).certificate is None
    assert learner.rounds == 20


def test_further_scores_get_every_row_once() -> None:
    auc, brier = AUC(), Brier()
    X, y = STREAM.take(500, seed=2)
    deque(progressive(AIOLI(), STREAM.blocks(500, seed=2, size=64), scores=[auc, brier]), maxlen=0)
    p = AIOLI().learn_many(X, y)
    expected = AUC(), Brier()
    for score in expected:
        score.update(p, y)
    assert int(brier.snapshot().arrays["totals"][0]) == 500
    assert_allclose(brier.value, expected[1].value, rtol=SAME)
    assert_allclose(auc.value, expected[0].value, atol=expected[0].error)  # a row may cross a bin's edge by rounding


def test_the_loop_is_lazy_on_an_endless_stream() -> None:
    learner = AIOLI()
    endless = STREAM.blocks(10**15, seed=0, size=16)
    points = list(itertools.islice(progressive(learner, endless, every=100), 3))
    assert [point.rows for point in points] == [100, 200, 300]
    assert learner.rounds == 300


def test_nothing_happens_before_a_checkpoint_is_asked_for() -> None:
    learner = AIOLI()
    points = progressive(learner, STREAM.blocks(100, seed=0))
    assert learner.rounds == 0
    assert last(points).rows == learner.rounds == 100


def test_sparse_rows_lists_and_signed_labels_play_the_same_game() -> None:
    X, y = STREAM.take(60, seed=3)
    expected = last(progressive(AIOLI(), [(X, y)])).log_loss
    for block in [(sparse.csr_matrix(X), y), (sparse.csc_array(X), y), (X.tolist(), (2 * y - 1).tolist())]:
        assert_allclose(last(progressive(AIOLI(), [block])).log_loss, expected, rtol=SAME)


# ---- late labels


@pytest.mark.parametrize("delay", [1, 4, 100])
@pytest.mark.parametrize("size", [1, 3, 50])
def test_a_label_is_learned_when_so_many_further_rows_have_been_predicted(delay: int, size: int) -> None:
    learner = Plain()
    deque(progressive(learner, numbered(10, size), delay=delay), maxlen=0)
    expected = []
    for t in range(10):
        expected.append(("predict", float(t)))
        if t >= delay:
            expected.append(("learn", float(t - delay)))
    expected += [("learn", float(t)) for t in range(max(0, 10 - delay), 10)]
    assert learner.events == expected


@pytest.mark.parametrize("delay", [1, 25, 3000])
def test_late_labels_are_learned_and_scored_with_what_was_said_when_the_row_came(delay: int) -> None:
    n = 400
    X, y = STREAM.take(n, seed=4)
    twin = AIOLI()
    z = np.empty(n)
    for t in range(n + delay):
        if t < n:
            z[t] = twin.predict_logit(X[t])
        if 0 <= t - delay < n:
            twin.learn(X[t - delay], y[t - delay], logit=z[t - delay])
    learner = AIOLI()
    point = last(progressive(learner, STREAM.blocks(n, seed=4, size=64), delay=delay))
    assert point.rows == learner.rounds == n
    assert_allclose(point.log_loss, np.logaddexp(0.0, np.where(y == 1.0, -z, z)).mean(), rtol=SAME)
    assert_allclose(learner.loss, n * point.log_loss, rtol=SAME)
    assert_allclose(learner.coefficients_, twin.coefficients_, rtol=1e-9)
    assert point.certificate == learner.certificate()


def test_a_certificate_of_late_labels_is_of_the_rows_that_count() -> None:
    learner = AIOLI()
    for point in progressive(learner, STREAM.blocks(50, seed=5, size=9), delay=7, every=10):
        assert learner.rounds == point.rows
        assert point.certificate == learner.certificate()


def test_a_delay_costs_but_what_is_learned_is_nearly_the_same() -> None:
    prompt, late = AIOLI(), AIOLI()
    at_once = last(progressive(prompt, STREAM.blocks(3000, seed=6))).log_loss
    delayed = last(progressive(late, STREAM.blocks(3000, seed=6), delay=200)).log_loss
    assert at_once < delayed < at_once + 200 * math.log(2) / 3000 + 0.01  # 200 rows at a coin's price, and some more


def test_late_learning_reads_sparse_rows_and_survives_a_block_written_over() -> None:
    X, y = STREAM.take(90, seed=7)
    expected = last(progressive(AIOLI(), [(X, y)], delay=5)).log_loss

    def reused() -> Iterator[tuple[Matrix, Vector]]:
        buffer = np.empty((10, 3))
        for start in range(0, 90, 10):
            buffer[:] = X[start : start + 10]
            yield buffer, y[start : start + 10]

    assert_allclose(last(progressive(AIOLI(), reused(), delay=5)).log_loss, expected, rtol=SAME)
    for block in (sparse.csr_matrix(X), sparse.csr_array(X)):
        assert_allclose(last(progressive(AIOLI(), [(block, y)], delay=5)).log_loss, expected, rtol=SAME)


# ---- refusals


@pytest.mark.parametrize("delay", [0, 2])
def test_a_row_that_is_refused_is_named_by_its_place_in_the_stream(delay: int) -> None:
    X, y = STREAM.take(60, seed=8)
    X[45, 1] = math.nan
    learner: Learner = AIOLI()
    blocks = [(X[start : start + 20], y[start : start + 20]) for start in (0, 20, 40)]
    with pytest.raises(RowRefused, match=r"^row 45 of the stream: column 1 is nan"):
        deque(progressive(learner, blocks, delay=delay), maxlen=0)


def test_a_label_that_is_refused_is_named_by_its_place_in_the_stream() -> None:
    X, y = STREAM.take(40, seed=9)
    y[33] = 2.0
    with pytest.raises(ValueError, match=r"^row 33 of the stream: the label is"):
        deque(progressive(AIOLI(), [(X[:20], y[:20]), (X[20:], y[20:])]), maxlen=0)


def test_what_is_not_a_block_a_delay_or_a_pace_is_refused() -> None:
    with pytest.raises(ValueError, match="delay is -1"):
        progressive(AIOLI(), [], delay=-1)
    with pytest.raises(ValueError, match="every is 0"):
        progressive(AIOLI(), [], every=0)
    with pytest.raises(ValueError, match="a block of shape"):
        list(progressive(AIOLI(), [(np.ones(3), np.ones(3))]))


def test_many_classes_are_played_by_the_same_loop() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=90)
    X = rng.normal(size=(90, 2)) + np.column_stack([y == 1, 2.0 * (y == 2)])
    names = np.array(["ant", "bee", "cat"])[y]
    scores, direct = ClassScores(), ClassAIOLI(classes="any")
    points = list(progressive(AIOLI(classes="any"), [(X[:40], names[:40]), (X[40:], names[40:])], scores=[scores]))
    P = direct.learn_many(X, names)
    own = [direct.classes_.index(label) for label in names]
    losses = -np.log(P[np.arange(90), own])
    assert [point.rows for point in points] == [1, 2, 4, 8, 16, 32, 64, 90]
    assert points[-1].log_loss == pytest.approx(losses.mean(), rel=1e-9)
    assert points[-1].certificate == pytest.approx(float(direct.certificate()), rel=1e-9)
    assert scores.rows == 90
    assert scores.accuracy == points[-1].accuracy
    with pytest.raises(ValueError, match="late are for classes that are told beforehand"):
        list(progressive(AIOLI(classes="any"), [(X, names)], delay=3))
