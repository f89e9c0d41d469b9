"""What the tests of Auto share: a stream, what the learner remembers, and a stop in between."""

from pathlib import Path

from support import make_labels, make_rows

from aioli import Auto
from aioli.learners.auto.dense_ensemble import DenseEnsemble
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.codec import to_bytes


def example_stream(n: int = 300, d: int = 4, seed: int = 0) -> tuple[Matrix, Vector]:
    X = make_rows("random", n, d, seed)
    return X, make_labels(X, seed)


def ensemble_of(learner: Auto) -> DenseEnsemble:
    assert learner._linear_experts is not None
    return learner._linear_experts


def memory(learner: Auto) -> bytes:
    """Return all that it remembers: equal snapshots are equal bytes."""
    return to_bytes(learner.snapshot())


def resumed_from_file(learner: Auto, path: Path) -> Auto:
    learner.save(path / "model.aioli")
    return Auto.load(path / "model.aioli")
