"""What a property is, and what the checks share."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from aioli import MaximumLikelihood
from aioli.learners.protocol import Capability
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.codec import to_bytes
from contracts.subjects import Model, Subject, Table

__all__ = [
    "Property",
    "as_dense",
    "assert_same",
    "claiming",
    "contract",
    "everybody",
    "known",
    "memory",
    "one",
    "online",
    "teach",
]

Check = Callable[[Subject], None]
Announced = Vector | list[float] | float


@dataclass(frozen=True)
class Property:
    """A named property: what it says, whom it concerns, and a check that fails where it does not hold."""

    name: str
    says: str
    concerns: Callable[[Subject], bool]
    check: Check


def contract(concerns: Callable[[Subject], bool]) -> Callable[[Check], Property]:
    """Make a property of a check, of the same name and first line, for the subjects that it concerns."""

    def made(check: Check) -> Property:
        return Property(check.__name__, (check.__doc__ or "").splitlines()[0], concerns, check)

    return made


def claiming(*capabilities: Capability) -> Callable[[Subject], bool]:
    return lambda subject: subject.promises(*capabilities)


def everybody(_subject: Subject) -> bool:
    return True


def online(subject: Subject) -> bool:
    return subject.is_online


# ---- what the checks share


def teach(model: Model, X: Table, y: Vector) -> Vector:
    """Let the model learn from the rows; return what it announced, or what a batch estimator says of them now."""
    if len(y) == 0:  # which learners refuse
        return np.empty(0)
    if isinstance(model, MaximumLikelihood):
        return model.fit(X, y).predict_many(X)
    return np.asarray(model.learn_many(X, y))


def one(X: Table, t: int) -> Table:
    return X[t] if isinstance(X, np.ndarray) else X[[t]]


def as_dense(X: Table) -> Matrix:
    return X if isinstance(X, np.ndarray) else np.asarray(X.toarray())


def memory(model: Model) -> bytes:
    return to_bytes(model.snapshot())


def assert_same(subject: Subject, found: Announced, expected: Announced) -> None:
    """Assert that announcements are the same bit for bit, or as far as the subject says."""
    if subject.same:
        assert_allclose(found, expected, rtol=0.0, atol=subject.same)
    else:
        assert_array_equal(found, expected)


def known(subject: Subject) -> tuple[Model, Table, Vector]:
    """Return a learner that knows half of the rows, and the other half."""
    X, y = subject.stream()
    model, half = subject.make(), len(y) // 2
    teach(model, X[:half], y[:half])
    return model, X[half:], y[half:]
