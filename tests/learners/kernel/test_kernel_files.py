"""KernelAIOLI on disk: it goes on where it was, and a function is asked for again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from support import make_labels, make_rows

from aioli import AIOLI, KernelAIOLI
from aioli.numerics.compiling import Matrix

X = make_rows("sparse", 300, 4, 0)
Y = make_labels(X, 0)


def inner(A: Matrix, B: Matrix) -> Matrix:
    return np.asarray(A @ B.T)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"kernel": "poly", "degree": 2, "coef0": 0.5, "radius": 2, "ridge": 0.3, "budget": None},
        {
            "kernel": "laplacian",
            "gamma": np.float32(0.25),
            "forgetting": 0.98,
            "intercept": False,
            "curvature": "paper",
        },
    ],
)
def test_a_saved_learner_goes_on_as_if_nothing_had_happened(
    parameters: dict[str, Any], kind: Callable[[Matrix], Any], tmp_path: Path
) -> None:
    learner = KernelAIOLI(**parameters)
    learner.feature_names_ = ["a", "b", "c", "d"]
    learner.learn_many(kind(X[:200]), Y[:200])
    learner.save(tmp_path / "model.aioli")
    again = KernelAIOLI.load(tmp_path / "model.aioli")
    said = repr(learner).replace("radius=2,", "radius=2.0,").replace("np.float32(0.25)", "0.25")
    assert repr(again) == said  # the numbers as the game has them
    assert again.feature_names_ == ["a", "b", "c", "d"]
    assert again.gamma_ == learner.gamma_
    assert again.certificate() == learner.certificate()
    assert again.certificate().theorem == learner.certificate().theorem
    assert_allclose(again.effective_dimension_, learner.effective_dimension_, rtol=1e-12)
    assert_allclose(again.learn_many(kind(X[200:]), Y[200:]), learner.learn_many(kind(X[200:]), Y[200:]), rtol=1e-13)
    assert again.grow(1).learn(np.ones(5), 1) == learner.grow(1).learn(np.ones(5), 1)


def test_a_learner_without_rows_can_be_saved(tmp_path: Path) -> None:
    learner = KernelAIOLI("linear", radius=2.0)
    learner.save(tmp_path / "model.aioli")
    again = KernelAIOLI.load(tmp_path / "model.aioli")
    assert again.n_features_ is None
    assert_array_equal(again.learn_many(X, Y), learner.learn_many(X, Y))


def test_a_kernel_that_is_a_function_must_be_given_again(tmp_path: Path) -> None:
    learner = KernelAIOLI(inner)
    learner.learn_many(X[:200], Y[:200])
    learner.save(tmp_path / "model.aioli")
    with pytest.raises(ValueError, match=r"its kernel is a function, which no file holds; give it: load\(path, kernel"):
        KernelAIOLI.load(tmp_path / "model.aioli")
    again = KernelAIOLI.load(tmp_path / "model.aioli", kernel=inner)
    assert_allclose(again.learn_many(X[200:], Y[200:]), learner.learn_many(X[200:], Y[200:]), rtol=1e-13)
    KernelAIOLI("rbf").save(tmp_path / "named.aioli")
    with pytest.raises(ValueError, match="its kernel is 'rbf'; load it without another"):
        KernelAIOLI.load(tmp_path / "named.aioli", kernel=inner)


def test_a_file_of_another_learner_is_refused(tmp_path: Path) -> None:
    AIOLI().save(tmp_path / "model.aioli")
    with pytest.raises(ValueError, match="holds a learner of type 'AIOLI'"):
        KernelAIOLI.load(tmp_path / "model.aioli")


@pytest.mark.parametrize("missing", ["rows", "ledger", "tally", "factor 1"])
def test_a_file_that_lacks_a_part_is_refused(missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learner = KernelAIOLI()
    learner.learn_many(X, Y)
    assert learner._memory is not None
    tensors = {name: array for name, array in learner._memory.tensors().items() if name != missing}
    monkeypatch.setattr(learner._memory, "tensors", lambda: tensors)
    learner.save(tmp_path / "model.aioli")
    with pytest.raises(ValueError, match="is not a complete learner"):
        KernelAIOLI.load(tmp_path / "model.aioli")
