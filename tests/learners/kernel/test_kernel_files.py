"""KernelAIOLI on disk: it goes on where it was, and a function is asked for again."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from support import make_labels, make_rows

from aioli import AIOLI, KernelAIOLI
from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix
from aioli.snapshots.codec import write_snapshot

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
    assert repr(again) == repr(learner).replace("np.float32(0.25)", "0.25")  # a plain number
    assert again.feature_names_ == ["a", "b", "c", "d"]
    assert again.gamma_ == learner.gamma_
    assert again.certificate() == learner.certificate()
    assert again.certificate().theorem == learner.certificate().theorem
    assert again.effective_dimension_ == learner.effective_dimension_
    assert_array_equal(again.learn_many(kind(X[200:]), Y[200:]), learner.learn_many(kind(X[200:]), Y[200:]))
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
    with pytest.raises(ValueError, match="its kernel is a function"):
        KernelAIOLI.restore(learner.snapshot())
    others = (
        again,
        KernelAIOLI.restore(learner.snapshot(), inner),
        copy.copy(learner),
        pickle.loads(pickle.dumps(learner)),
    )
    said = learner.learn_many(X[200:], Y[200:])
    for other in others:
        assert other.kernel is inner
        assert_array_equal(other.learn_many(X[200:], Y[200:]), said)
    KernelAIOLI("rbf").save(tmp_path / "named.aioli")
    with pytest.raises(ValueError, match="its kernel is 'rbf'; load it without another"):
        KernelAIOLI.load(tmp_path / "named.aioli", kernel=inner)


def test_a_file_of_another_learner_is_refused(tmp_path: Path) -> None:
    AIOLI().save(tmp_path / "model.aioli")
    with pytest.raises(ValueError, match="holds a learner of type 'AIOLI'"):
        KernelAIOLI.load(tmp_path / "model.aioli")


@pytest.mark.parametrize(
    ("part", "missing"),
    [("kept", "rows"), ("kept", "squares"), ("state", "ledger"), ("state", "tally"), ("state", "factor 1")],
)
def test_a_file_that_lacks_a_part_is_refused(part: str, missing: str, tmp_path: Path) -> None:
    learner = KernelAIOLI()
    learner.learn_many(X, Y)
    snapshot = learner.snapshot()
    memory = snapshot.part("memory")
    arrays = {name: array for name, array in memory.part(part).arrays.items() if name != missing}
    lacking = replace(memory, parts={**memory.parts, part: replace(memory.part(part), arrays=arrays)})
    write_snapshot(tmp_path / "model.aioli", replace(snapshot, parts={"memory": lacking}))
    with pytest.raises(ValueError, match=f"is not a complete learner.*the array '{missing}' is missing"):
        KernelAIOLI.load(tmp_path / "model.aioli")


def test_parts_that_do_not_belong_together_are_refused() -> None:
    learner, other = KernelAIOLI(), KernelAIOLI(radius=2.0)
    learner.learn_many(X[:10], Y[:10])
    other.learn_many(X[:11], Y[:11])
    own, theirs = learner.snapshot().part("memory"), other.snapshot().part("memory")
    mixed = replace(own, parts={"kept": own.part("kept"), "state": theirs.part("state")})
    with pytest.raises(SnapshotRefused, match="10 rows came with a factor of 11"):
        KernelAIOLI.restore(replace(learner.snapshot(), parts={"memory": mixed}))
    with pytest.raises(SnapshotRefused, match="the state is of another game"):
        KernelAIOLI.restore(replace(learner.snapshot(), parts={"memory": theirs}))
    with pytest.raises(SnapshotRefused, match="gamma is -1"):
        KernelAIOLI.restore(replace(learner.snapshot(), parts={"memory": replace(own, values={"gamma": -1.0})}))
