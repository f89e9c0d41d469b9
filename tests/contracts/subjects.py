"""The learners that keep the contracts: each exported one, in the configurations that differ.

A subject says what its learner promises beyond its `capabilities`, and how exactly: a tolerance above 0 has its reason.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from support import make_labels, make_rows

import aioli
from aioli import (
    AIOLI,
    AWV,
    EKF,
    FTRL,
    OGD,
    ONS,
    SMP,
    Algorithm2,
    Auto,
    Certificate,
    Forest,
    Foster,
    KernelAIOLI,
    MaximumLikelihood,
    Nystrom,
    OnlineToBatch,
    RandomFeatures,
    Wide,
)
from aioli.learners.protocol import Capability
from aioli.numerics.compiling import Matrix, Vector
from aioli.states.mixture.views import Views

__all__ = ["LEARNERS", "LOOPS", "SUBJECTS", "Model", "Subject", "Table"]

Table: TypeAlias = Any  # rows, as a matrix or a sparse one
Model: TypeAlias = Any  # a learner of any capabilities, or a batch estimator: contracts ask before they call

# What is exported and learns two classes; `Certificate` is a number, a `Fleet` has one learner a key, and tables are of
# rows as people have them (`tests/store/test_table_learner.py`).
TABLES = {"TableEncoder", "TableLearner"}
NO_LEARNERS = {"Announcement", "Announcements", "Certificate", "Fleet", "explain_columns", "explain_row"} | TABLES
CLASS_LEARNERS = [
    "ClassAIOLI",
    "ClassAuto",
    "ClassForest",
    "ClassOnlineToBatch",
    "OneVsRest",
]  # `class_subjects.py` has their configurations
LEARNERS = sorted(set(aioli.__all__) - NO_LEARNERS - set(CLASS_LEARNERS))

LOOPS = 1e-10  # a single row and many are played by loops that are compiled apart, and round apart


@dataclass(frozen=True)
class Subject:
    """A learner in one configuration, the rows that it is tried on, and how exactly it keeps its promises.

    Attributes
    ----------
    name
        The class, and what is special about this configuration.
    make
        Makes a fresh learner.
    stream
        The rows and labels.
    same
        How far two announcements of the same game may differ, where rows come in other numbers at a time.
    seen
        The rows on which the certificate's θ act; None where they cannot be had from outside.
    units, origins
        How far announcements may move where columns change their unit or origin; None where this is not promised.
    any_width
        Whether rows of another width are welcome.
    foretells
        Whether `predict` says what `learn` is about to announce.
    """

    name: str
    make: Callable[[], Model]
    stream: Callable[[], tuple[Table, Vector]]
    same: float = 0.0
    seen: Callable[[Certificate, Matrix], Matrix] | None = None
    units: float | None = None
    origins: float | None = None
    any_width: bool = False
    foretells: bool = True

    @property
    def kind(self) -> str:
        """The name of the class."""
        return type(self.make()).__name__

    @property
    def is_online(self) -> bool:
        """Whether it learns row by row; the two batch estimators do not."""
        return not isinstance(self.make(), MaximumLikelihood)

    def promises(self, *capabilities: Capability) -> bool:
        """Whether the learner claims all of these."""
        return bool(self.make().capabilities.issuperset(capabilities))


def dense(n: int = 40, d: int = 3, seed: int = 0) -> Callable[[], tuple[Matrix, Vector]]:
    """Return a maker of rows whose entries are normal; a few rows come twice."""

    def stream() -> tuple[Matrix, Vector]:
        X = make_rows("random", n, d, seed)
        X[n - n // 8 :] = X[: n // 8]
        return X, make_labels(X, seed)

    return stream


def words() -> tuple[Table, Vector]:
    """Return sparse rows of a few words among many, and labels that depend on them."""
    rng = np.random.default_rng(0)
    drawn = np.minimum(rng.zipf(1.3, size=(40, 8)), 300) - 1
    X = np.zeros((40, 300))
    np.put_along_axis(X, drawn, 1.0, axis=1)
    return sparse.csr_array(X), make_labels(X, 0)


def categories() -> tuple[Matrix, Vector]:
    """Return rows of a number and two one-hot categories, and labels that depend on how these go together."""
    rng = np.random.default_rng(0)
    first, second = rng.integers(3, size=40), rng.integers(2, size=40)
    X = np.column_stack([rng.normal(size=40), np.eye(3)[first], np.eye(2)[second]])
    return X, (rng.random(40) < np.where((first == 0) == (second == 1), 0.9, 0.1)).astype(np.float64)


# ---- the rows on which a certificate's θ act


def with_a_one(_certificate: Certificate, X: Matrix) -> Matrix:
    return np.column_stack([np.ones(len(X)), X])


def view(certificate: Certificate, X: Matrix) -> Matrix:
    views = dict(zip(("standard", "peak"), Views(X.shape[1]).of_rows(X)[:2], strict=True))
    (rows,) = (rows for name, rows in views.items() if f"the {name} view" in certificate.against)
    return rows


def of_length_one(_certificate: Certificate, X: Matrix) -> Matrix:
    norms = np.linalg.norm(X, axis=1)
    return np.column_stack([np.ones(len(X)), X / np.where(norms > 0.0, norms, 1.0)[:, None]])


def in_feature_space(_certificate: Certificate, X: Matrix) -> Matrix:
    """By the representer theorem the best function of the ball is a θ over these coordinates."""
    g, basis = np.linalg.eigh(np.exp(-0.5 * cdist(X, X, "sqeuclidean")) + 1.0)
    return np.asarray(basis * np.sqrt(np.maximum(g, 0.0)))


def fourier(certificate: Certificate, X: Matrix) -> Matrix:
    features = RandomFeatures(AIOLI(), 8, bandwidth=1.0)._maps().fresh(X.shape[1], 1.0, 0)
    return with_a_one(certificate, features.map(X))


SUBJECTS = [
    Subject("AIOLI", AIOLI, dense(), LOOPS, with_a_one),
    Subject("AIOLI paper", lambda: AIOLI(2.0, curvature="paper", regulariser=0.5), dense(), LOOPS, with_a_one),
    Subject("AIOLI forgets", lambda: AIOLI(forgetting=0.95), dense(), LOOPS, with_a_one),
    Subject("AIOLI in blocks", AIOLI, dense(136, 257), 1e-8),  # matrix products add up in another order
    Subject("AWV", AWV, dense()),
    Subject("Algorithm2", lambda: Algorithm2(widest=4.0, steps=50), dense()),
    # experts see rows of unit spread, so their states round a little further apart
    Subject("Auto", Auto, dense(), 1e-9, view, units=1e-6, origins=1e-6),
    Subject("Auto fast", lambda: Auto(budget="fast"), dense(), 1e-9, view, units=1e-6, origins=1e-6),
    Subject("Auto of pairs", lambda: Auto(pairs=True), categories, 1e-9, view),
    Subject("Auto of words", Auto, words, seen=of_length_one, units=1e-9),
    Subject("EKF", EKF, dense()),
    Subject("FTRL", FTRL, dense()),
    Subject("Forest", lambda: Forest(trees=4), dense(80), units=1e-6, origins=1e-6),
    Subject("Foster on a line", lambda: Foster(intercept=False), dense(40, 1)),
    Subject("Foster on a disc", lambda: Foster(2.0), dense(16, 1)),
    Subject("Foster particles", lambda: Foster(method="smc", particles=32), dense()),
    Subject("KernelAIOLI", lambda: KernelAIOLI(gamma=0.5), dense(), 1e-9, in_feature_space),
    Subject("KernelAIOLI forgets", lambda: KernelAIOLI("poly", 0.5, 2, forgetting=0.98), dense(), 1e-9),
    Subject("MaximumLikelihood", MaximumLikelihood, dense()),
    Subject("Nystrom", lambda: Nystrom(points=12), dense(80), 1e-6, units=1e-4, origins=1e-4),
    Subject("Nystrom of all rows", lambda: Nystrom(AIOLI(), 40, 0.0, 1.0), dense(), 1e-6, in_feature_space),
    Subject("Nystrom one width", lambda: Nystrom(AIOLI(), points=12, bandwidth=1.0), dense(), 1e-6),
    # a tree that reads features which round apart may split apart
    Subject("Nystrom of Auto", lambda: Nystrom(Auto(budget="fast"), points=8, bandwidth=1.0), dense(), 1e-6),
    Subject("OGD", OGD, dense()),
    Subject("ONS", lambda: ONS(0.1, widest=5.0), dense()),
    Subject("OnlineToBatch", lambda: OnlineToBatch(AIOLI(), states=3), dense(), LOOPS, with_a_one, foretells=False),
    Subject("OnlineToBatch OGD", lambda: OnlineToBatch(OGD(), states=3), dense(), foretells=False),
    Subject("RandomFeatures", lambda: RandomFeatures(features=8), dense(80), 1e-6, units=1e-4, origins=1e-4),
    Subject("RandomFeatures one width", lambda: RandomFeatures(AIOLI(), 8, bandwidth=1.0), dense(), 1e-6, fourier),
    Subject("RandomFeatures that grow", lambda: RandomFeatures(features=8, orthogonal=False), dense(80), 1e-6),
    Subject("RandomFeatures of Auto", lambda: RandomFeatures(Auto(experts=3), 8), dense(80), 1e-6),
    Subject("RandomFeatures of OGD", lambda: RandomFeatures(OGD(), 8), dense(80), 1e-6),
    Subject("SMP", SMP, dense(16)),
    Subject("Wide", Wide, words, seen=of_length_one, units=1e-9),
    Subject("Wide hashes", lambda: Wide(hashing=6), words, any_width=True),
]
