"""The scikit-learn classifier takes numbers that are missing, at any time: filled, and marked where one was learned."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from aioli import TableLearner
from aioli.numerics.compiling import Matrix, Vector
from aioli.sklearn import AIOLIClassifier

pd: Any = pytest.importorskip("pandas")

ROWS = 300


def labels_of(X: Matrix, rng: np.random.Generator) -> Vector:
    return np.asarray(X[:, 0] + 2.0 * np.isnan(X[:, 1]) + rng.logistic(size=len(X)) > 0.5)


@pytest.fixture
def punched(rng: np.random.Generator) -> Matrix:
    """Rows of two columns, of which the second is missing in every fourth."""
    X: Matrix = rng.normal(size=(ROWS, 2))
    X[::4, 1] = np.nan
    return X


def test_gaps_are_filled_with_the_mean_and_marked(punched: Matrix, rng: np.random.Generator) -> None:
    y = labels_of(punched, rng)
    model = AIOLIClassifier(batch_models=False).fit(punched, y)
    marked = np.isnan(punched[:, 1])
    means = np.nansum(np.sort(punched, axis=0), axis=0) / np.count_nonzero(~np.isnan(punched), axis=0)
    columns = np.column_stack([np.where(np.isnan(punched), means, punched), marked])
    filled = pd.DataFrame(columns, columns=["x0", "x1", "x1 is missing"])
    by_hand = AIOLIClassifier(batch_models=False).fit(filled, y)
    assert_allclose(model.predict_proba(punched), by_hand.predict_proba(filled), rtol=1e-9)
    assert model.gaps_ is not None
    assert model.gaps_.features == ["x0", "x1", "x1 is missing"]
    gap = model.predict_proba([[0.0, np.nan]])[0, 1]
    assert gap > model.predict_proba([[0.0, 0.0]])[0, 1]


@pytest.mark.parametrize("kind", ["gaps", "whole", "sparse"])
def test_the_order_of_rows_does_not_matter(kind: str, punched: Matrix, rng: np.random.Generator) -> None:
    y, order = labels_of(punched, rng), rng.permutation(ROWS)
    punched[5, 0] = np.nan
    rows: Any = punched if kind == "gaps" else np.nan_to_num(punched)
    rows = sparse.csr_matrix(rows) if kind == "sparse" else rows
    model, other = AIOLIClassifier().fit(rows, y), AIOLIClassifier().fit(rows[order], y[order])
    assert_array_equal(model.predict_proba(punched), other.predict_proba(punched))


def test_sparse_rows_among_dense_ones(punched: Matrix, rng: np.random.Generator) -> None:
    y, whole = labels_of(punched, rng), np.nan_to_num(punched)
    rows = sparse.csr_matrix(whole)
    model = AIOLIClassifier().fit(rows, y).partial_fit(whole, y)
    assert_array_equal(model.predict_proba(rows), model.predict_proba(whole))
    gap = [[0.3, np.nan]]
    assert_allclose(model.predict_proba(gap), model.predict_proba([[0.3, whole[:, 1].mean()]]), rtol=1e-9)
    model.partial_fit(punched, y).partial_fit(rows, y)
    assert_array_equal(model.predict_proba(rows), model.predict_proba(whole))
    model.fit(rows, y)
    assert model.gaps_ is None
    with pytest.raises(ValueError, match="NaN in sparse rows"):
        model.predict_proba(sparse.csr_matrix(punched))


def test_rows_without_weight_may_bring_a_gap(punched: Matrix, rng: np.random.Generator) -> None:
    y, whole = labels_of(punched, rng), np.nan_to_num(punched)
    model = AIOLIClassifier().partial_fit(whole, y, classes=[False, True])
    before = model.predict_proba(whole)
    model.partial_fit(punched, y, sample_weight=np.zeros(ROWS))
    assert_allclose(model.predict_proba(whole), before, rtol=1e-9)


def test_a_gap_that_is_first_met_when_predicting_counts_as_the_mean(rng: np.random.Generator) -> None:
    X = rng.normal(size=(ROWS, 2)) + np.array([0.0, 5.0])
    model = AIOLIClassifier().fit(X, X[:, 1] > 5.0)
    assert_allclose(model.predict_proba([[0.3, np.nan]]), model.predict_proba([[0.3, X[:, 1].mean()]]), rtol=1e-12)
    assert model.gaps_ is None


def test_a_stream_in_which_gaps_begin_late(punched: Matrix, rng: np.random.Generator) -> None:
    y = labels_of(punched, rng)
    whole = np.where(np.isnan(punched), 0.5, punched)[:100]
    model: Any = AIOLIClassifier()
    model.partial_fit(whole, y[:100], classes=[False, True])
    before = model.predict_proba(whole)
    with pytest.raises(ValueError, match="unseen labels: 'a'"):
        model.partial_fit(punched[100:102], ["a", "b"])
    assert_array_equal(model.predict_proba(whole), before)
    model.partial_fit(punched[100:200], y[100:200])
    assert model.learner_.feature_names_ == ["x0", "x1", "x1 is missing"]
    assert model.learner_.rounds == 200
    model.partial_fit(whole, y[:100])
    assert model.predict_proba(punched).shape == (ROWS, 2)


def test_frames_keep_their_names(punched: Matrix, rng: np.random.Generator) -> None:
    y, frame = labels_of(punched, rng), pd.DataFrame(punched, columns=["age", "fare"])
    model: Any = AIOLIClassifier().partial_fit(frame, y, classes=[False, True])
    assert model.learner_.feature_names_ == ["age", "fare", "fare is missing"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict_proba(frame[["fare", "age"]])
    with pytest.raises(ValueError, match="infinity"):
        model.predict_proba(pd.DataFrame([[np.inf, 1.0]], columns=["age", "fare"]))


@pytest.mark.parametrize("kind", [np.asarray, lambda X: X.tolist(), lambda X: X.astype(object)])
def test_a_table_learner_takes_arrays_and_lists(kind: Any, punched: Matrix, rng: np.random.Generator) -> None:
    y, model, named = labels_of(punched, rng), TableLearner(), TableLearner()
    frame = pd.DataFrame(punched, columns=["0", "1"])
    assert_array_equal(model.learn_many(kind(punched), y), named.learn_many(frame, y))
    assert model.features_ == ["0", "1", "1 is missing"]
