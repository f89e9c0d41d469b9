"""Wide: one game whatever form the rows come in, nothing kept of what is refused, and a certificate that holds."""

import copy
import math
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from aioli import Wide
from aioli.evaluate.hindsight import best_in_ball
from aioli.learners.wide_rows import is_wide
from aioli.numerics.compiling import Vector
from aioli.snapshots.codec import write_snapshot
from aioli.states.mixture.mixture import Mixture
from aioli.states.sparse.loops import record_size
from aioli.streams import sparse_rows

WIDTH = 400


def words(rows: int = 300, width: int = WIDTH, seed: int = 0) -> tuple[Any, Vector]:
    """Bags of words, some often and some rare, and labels that depend on them; one row is empty."""
    rng = np.random.default_rng(seed)
    drawn = np.minimum(rng.zipf(1.3, size=(rows, 12)), width) - 1
    X = sparse.csr_array((np.ones(drawn.size), drawn.ravel(), np.arange(rows + 1) * 12), shape=(rows, width))
    X.sum_duplicates()
    X = sparse.csr_array(sparse.vstack([X[:5], sparse.csr_array((1, width)), X[6:]]))
    y = (X @ rng.normal(size=width) + rng.logistic(size=rows) > 0.0).astype(float)
    return X, y


def nats(p: Vector, y: Vector) -> float:
    return float(-np.log(np.where(y == 1.0, p, 1.0 - p)).mean())


def played(X: Any, y: Vector, **settings: Any) -> tuple[Wide, Vector]:
    learner = Wide(**settings)
    return learner, learner.learn_many(X, y)


@pytest.mark.parametrize("form", ["csr_array", "csr_matrix", "dense"])
def test_learning_rows_at_once_is_learning_them_one_by_one(form: str) -> None:
    X, y = words()
    many, announced = played(X, y)
    single = Wide()
    for t, label in enumerate(y):
        row = {"csr_array": X[[t]], "csr_matrix": sparse.csr_matrix(X[[t]]), "dense": X[[t]].toarray()[0]}[form]
        assert single.predict(row) == announced[t]
        assert single.learn(row, label) == announced[t]
    assert (single.rounds, single.loss) == (many.rounds, many.loss) == (len(y), many.loss)
    assert_array_equal(single.predict_many(X), many.predict_many(X))
    assert_allclose(many.loss, nats(announced, y) * len(y), rtol=1e-9)  # 1 - p has lost a few digits


def test_rows_of_any_kind_are_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = words()
    _, announced = played(X, y)
    shuffled = X.copy()
    for t in range(len(y)):  # entries of a row in another order, and a 0 among them
        part = slice(X.indptr[t], X.indptr[t + 1])
        shuffled.indices[part], shuffled.data[part] = X.indices[part][::-1], X.data[part][::-1]
    shuffled.has_sorted_indices = False
    for rows in (X.toarray(), X.tocsc(), X.astype(np.int32), sparse.coo_matrix(X), shuffled):
        assert_array_equal(played(rows, y)[1], announced)
    monkeypatch.setattr(sparse_rows, "CHUNK_ENTRIES", 50)
    assert_array_equal(played(X, y)[1], announced)


def test_the_unit_of_a_column_does_not_matter() -> None:
    X, y = words()
    _, announced = played(X, y)
    rng = np.random.default_rng(1)
    powers = sparse.diags_array(2.0 ** rng.integers(-60, 60, size=WIDTH))
    assert_array_equal(played(sparse.csr_array(X @ powers), y)[1], announced)  # powers of two lose no digit
    units = sparse.diags_array(10.0 ** rng.uniform(-9.0, 9.0, size=WIDTH))
    assert_allclose(played(sparse.csr_array(X @ units), y)[1], announced, rtol=1e-9)  # a few ulp a row, 300 rows


def test_the_order_of_the_columns_does_not_matter() -> None:
    X, y = words()
    order = np.random.default_rng(2).permutation(WIDTH)
    mixed = sparse.csr_array(X.tocsc()[:, order])
    assert_allclose(played(mixed, y)[1], played(X, y)[1], rtol=1e-9)  # sums in another order, 300 rows


def test_it_predicts_better_than_the_share_of_labels_and_than_a_budget_of_one() -> None:
    X, y = words(3000, 5000)
    learner, announced = played(X, y)
    share = float(y.mean())
    assert nats(announced, y) < 0.8 * -(share * math.log(share) + (1.0 - share) * math.log(1.0 - share))
    assert nats(announced, y) < nats(played(X, y, experts=1)[1], y)
    assert_allclose(sum(learner.weights_.values()), 1.0, rtol=1e-12)


def test_what_is_refused_leaves_no_trace() -> None:
    X, y = words()
    untouched = Wide()
    for bad in (math.nan, math.inf, 1e200):
        with pytest.raises(ValueError, match="nothing was learned"):
            untouched.learn([1.0, bad], 1)
    assert untouched.n_features_ is None
    assert untouched.predict([1.0, 2.0]) == 0.5
    learner, _ = played(X[:200], y[:200])
    twin = copy.deepcopy(learner)
    broken = X[200:].copy()
    broken.data[-1] = math.nan
    with pytest.raises(ValueError, match=f"row 99: column {broken.indices[-1]} is nan"):
        learner.learn_many(broken, y[200:])
    with pytest.raises(ValueError, match="is nan"):
        learner.learn(broken[[99]], 1)
    for rows, message in ((X[:, :300], "this learner knows 400: give 0"), (np.ones((2, 401)), "grow()")):
        with pytest.raises(ValueError, match=message):
            learner.learn_many(rows, y[: rows.shape[0]])
        with pytest.raises(ValueError, match=message):
            learner.learn(rows[[0]], 1)
    for label in (2, "yes", math.nan, [1], None):
        with pytest.raises(ValueError, match="the label is"):
            learner.learn(X[[200]], label)
    with pytest.raises(ValueError, match="weight"):
        learner.learn(X[[200]], 1, weight=-1.0)
    with pytest.raises(ValueError, match="at most 1e"):
        learner.learn(X[[200]], 1, weight=1e7)
    with pytest.raises(ValueError, match="logit"):
        learner.learn(X[[200]], 1, logit=math.inf)
    assert (learner.rounds, learner.loss) == (twin.rounds, twin.loss)
    assert_array_equal(learner.learn_many(X[200:], y[200:]), twin.learn_many(X[200:], y[200:]))


def test_new_columns_are_as_if_they_had_been_there_from_the_first_row() -> None:
    X, y = words()
    known = X.tocsc().copy()
    X = sparse.csr_array(known[:, np.argsort(-np.diff(known.indptr), kind="stable")])  # rare words last
    narrow = 350
    early = np.flatnonzero(np.asarray(X[:, narrow:].sum(axis=1)) == 0.0)[:100]
    late = np.setdiff1d(np.arange(len(y)), early)
    whole, _ = played(X[early], y[early])
    grown, _ = played(X[early][:, :narrow], y[early])
    for _ in range(WIDTH - narrow):
        grown.grow(1)
    assert grown.n_features_ == WIDTH
    assert_array_equal(grown.learn_many(X[late], y[late]), whole.learn_many(X[late], y[late]))
    assert grown.certificate() == whole.certificate()
    assert Wide().grow(3, ["a", "b", "c"]).feature_names_ == ["a", "b", "c"]


def test_growing_by_one_column_at_a_time_seldom_moves_anything() -> None:
    learner, _ = played(*words())
    halls = {id(learner._state.records): learner._state.records}  # kept, so that no address is used twice
    for _ in range(3000):
        learner.grow(1)
        halls[id(learner._state.records)] = learner._state.records
    assert len(halls) <= 5  # 400, 800, 1600, 3200, 6400


def test_hashing_plays_the_game_of_the_buckets_whatever_the_width() -> None:
    X, y = words()
    learner, announced = played(X, y, hashing=6)
    buckets = np.array([(j * 0x9E3779B97F4A7C15 % 2**64) >> 58 for j in range(WIDTH)])
    gather = sparse.csr_array((np.ones(WIDTH), (np.arange(WIDTH), buckets)), shape=(WIDTH, 64))
    plain, expected = played(sparse.csr_array(X @ gather), y)
    assert_array_equal(announced, expected)
    assert learner.loss == plain.loss
    assert learner.n_features_ is None
    single = Wide(hashing=6)
    assert_array_equal([single.learn(X[[t]], y[t]) for t in range(len(y))], announced)
    assert single.predict(X[[0]]) == learner.predict(X[[0]].toarray()[0]) == learner.predict_many(X[:1])[0]
    far = sparse.csr_array((np.ones(2), ([0, 0], [7, 10**9])), shape=(1, 10**9 + 1))
    assert 0.0 < learner.learn(far, 1) < 1.0
    assert learner.grow(5).predict(X[[0]]) > 0.0
    with pytest.raises(ValueError, match="hashing is"):
        Wide(hashing=0)


def test_a_row_of_weight_three_is_three_rows_to_the_loss_and_none_to_the_announcement() -> None:
    X, y = words()
    weighted, plain = played(X[:200], y[:200])[0], played(X[:200], y[:200])[0]
    before = plain.loss
    assert weighted.learn(X[[200]], 1, weight=3.0) == plain.learn(X[[200]], 1)
    assert_allclose(weighted.loss - before, 3.0 * (plain.loss - before), rtol=1e-12)
    assert weighted.predict(X[[200]]) > plain.predict(X[[200]])


def test_a_late_label_counts_where_it_was_announced() -> None:
    X, y = words()
    learner, _ = played(X[:200], y[:200])
    said = learner.predict_logit(X[[200]])
    learner.learn_many(X[201:250], y[201:250])
    before = learner.loss
    assert_allclose(learner.learn(X[[200]], 1, logit=said), 1.0 / (1.0 + math.exp(-said)), rtol=1e-15)
    assert_allclose(learner.loss - before, math.log1p(math.exp(-said)), rtol=1e-9)  # a difference of sums


@pytest.mark.parametrize("adversarial", [False, True])
def test_the_certificate_is_never_below_the_regret(adversarial: bool) -> None:
    X, y = words(400, 30, seed=3)
    rng = np.random.default_rng(3)
    weights = rng.choice([0.3, 1.0, 2.0], size=len(y))
    learner, said = Wide(), []
    for t in range(len(y)):
        z = learner.predict_logit(X[[t]])
        late = z + rng.normal() if t % 5 == 0 else None
        y[t] = float(z < 0.0) if adversarial else y[t]
        learner.learn(X[[t]], y[t], weight=weights[t], logit=late)
        said.append(z if late is None else late)
    sign = np.where(y == 1.0, -1.0, 1.0)
    loss = weights @ np.logaddexp(0.0, sign * np.array(said))
    assert_allclose(learner.loss, loss, rtol=1e-12)
    norms = np.sqrt((X.toarray() ** 2).sum(axis=1))
    rows = X.toarray() / np.where(norms > 0.0, norms, 1.0)[:, None]
    for radius in (0.5, 4.0, 30.0):
        proven = learner.certificate(radius=radius)
        assert proven >= loss - best_in_ball(rows, y, radius, weights=weights).loss
        assert (proven.radius, proven.rounds, proven.theorem) == (radius, len(y), math.inf)
    with pytest.raises(ValueError, match="radius is nan"):
        learner.certificate(radius=math.nan)


def test_a_saved_learner_goes_on_bit_for_bit(tmp_path: Path) -> None:
    X, y = words()
    for settings in ({}, {"hashing": 10, "experts": 3}):
        learner, _ = played(X[:150], y[:150], **settings)
        learner.save(tmp_path / "model")
        copies = [Wide.load(tmp_path / "model"), pickle.loads(pickle.dumps(learner)), copy.copy(learner)]
        expected = learner.learn_many(X[150:], y[150:])
        for twin in copies:
            assert (twin.hashing, twin.experts, twin.rounds) == (learner.hashing, learner.experts, 150)
            assert_array_equal(twin.learn_many(X[150:], y[150:]), expected)
            assert (twin.loss, twin.certificate(), repr(twin)) == (learner.loss, learner.certificate(), repr(learner))
    named = Wide()
    named.feature_names_ = ["a", "b"]
    named.save(tmp_path / "model")
    assert Wide.load(tmp_path / "model").feature_names_ == ["a", "b"]


def test_a_file_that_contradicts_itself_is_refused(tmp_path: Path) -> None:
    learner, _ = played(*words())
    learner.save(tmp_path / "model")
    good = learner.snapshot()
    state, path = good.part("state"), tmp_path / "other"
    arrays, mixture = dict(state.arrays), Mixture(np.ones(3)).snapshot()
    for wrong in (
        replace(state, arrays=arrays | {"columns": arrays["columns"] + 300}),
        replace(state, arrays=arrays | {"columns": arrays["columns"][::-1]}),
        replace(state, arrays=arrays | {"columns": arrays["columns"].astype(np.float64) + 0.5}),
        replace(state, arrays=arrays | {"records": arrays["records"][:, 1:]}),
        replace(state, arrays=arrays | {"kinds": arrays["kinds"] + 7}),
        replace(state, arrays=arrays | {"kinds": arrays["kinds"][::-1]}),
        replace(state, parts={"mixture": mixture}),
        replace(state, values={"width": None}),
    ):
        write_snapshot(path, replace(good, parts={"state": wrong}))
        with pytest.raises(ValueError, match="is not a complete learner"):
            Wide.load(path)


def test_memory_is_a_few_numbers_a_column_and_files_hold_only_columns_that_were_met(tmp_path: Path) -> None:
    width = 200_000
    X, y = words(50, width)
    learner, _ = played(X, y)
    assert learner._state.records.shape == (width, record_size(10)) == (width, 45)
    learner.save(tmp_path / "model")
    met = len(np.unique(X.indices))
    assert (tmp_path / "model").stat().st_size < 8 * 46 * met + 50_000  # the mixture, and the header


def test_rows_are_wide_by_their_width_and_their_first_row_in_whatever_form_and_number_they_come() -> None:
    words_of_300, numbers = np.zeros((50, 300)), np.ones((50, 300))
    words_of_300[:, ::10] = 1.0
    for X, wide in ((words_of_300, True), (numbers, False), (words_of_300[:, :200], False)):
        assert is_wide(X) == is_wide(X[0]) == is_wide(X[:1]) == wide
        assert is_wide(sparse.csr_array(X)) == is_wide(sparse.coo_array(X[0])) == is_wide(sparse.csc_matrix(X)) == wide
    assert is_wide(np.ones(3000))
    assert not is_wide(np.ones((0, 3000)))
