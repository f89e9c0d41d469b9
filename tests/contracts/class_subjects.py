"""The learners of many classes that keep the contracts, in the configurations that differ."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from support import make_rows

from aioli import (
    AIOLI,
    OGD,
    Auto,
    Certificate,
    Forest,
    KernelAIOLI,
    Nystrom,
    OneVsRest,
    OnlineToBatch,
    RandomFeatures,
    Wide,
)
from aioli.evaluate.class_hindsight import best_in_class_ball, classes_seen
from aioli.evaluate.hindsight import best_in_ball
from aioli.learners.protocol import Capability
from aioli.numerics.compiling import Matrix
from aioli.outcomes.class_labels import Codes
from contracts.subjects import LOOPS, Model

__all__ = ["CLASS_SUBJECTS", "ClassSubject", "Labels"]

Labels = list[str]
Best = Callable[[Model, Certificate, Matrix, Codes], float]


@dataclass(frozen=True)
class ClassSubject:
    """A learner of many classes in one configuration, and how exactly it keeps its promises.

    Attributes
    ----------
    same
        How far two announcements of the same game may differ, where rows come in other numbers at a time.
    best
        The least loss of the models that the certificate speaks of; None where they cannot be had from outside.
    foretells
        Whether `predict` says what `learn` is about to announce.
    """

    name: str
    make: Callable[[], Model]
    same: float = LOOPS
    best: Best | None = None
    n: int = 40
    foretells: bool = True

    def stream(self) -> tuple[Matrix, Labels]:
        """Return rows and labels of five classes, one of which comes first in the last quarter."""
        X = make_rows("random", self.n, 3, 0)
        X[-5:] = X[:5]
        noise = np.random.default_rng(1).gumbel(size=(self.n, 5))
        codes = np.argmax(2.0 * X @ np.random.default_rng(2).normal(size=(3, 5)) + noise, axis=1)
        codes[: 3 * self.n // 4] %= 4
        codes[-1] = 4
        return X, [f"class {k}" for k in codes]

    @property
    def kind(self) -> str:
        """The name of the class."""
        return type(self.make()).__name__

    @property
    def is_open(self) -> bool:
        """Whether classes appear as they come."""
        return not self.make().classes_

    def promises(self, *capabilities: Capability) -> bool:
        """Whether the learner claims all of these."""
        return bool(self.make().capabilities.issuperset(capabilities))


FIVE = [f"class {k}" for k in range(5)]


def softmax_models(learner: Model, proven: Certificate, X: Matrix, codes: Codes) -> float:
    seen = classes_seen(codes) if learner.escape > 0.0 else None
    return best_in_class_ball(X, codes, len(learner.classes_), proven.radius, seen=seen).loss


def models_of_two(learner: Model, proven: Certificate, X: Matrix, codes: Codes) -> float:
    """One model a class, scored as a game of two classes from the row on that brought the class."""
    first = [int(np.argmax(codes == k)) if learner.classes == "any" else 0 for k in range(len(learner.classes_))]
    games = [(X[t:], codes[t:] == k) for k, t in enumerate(first)]
    return sum(best_in_ball(rows, labels, proven.radius * 2**0.5).loss for rows, labels in games)


def models_of_all_rows(learner: Model, proven: Certificate, X: Matrix, codes: Codes) -> float:
    """One model a class, scored as a game of two classes over all rows."""
    return sum(best_in_ball(X, codes == k, proven.radius).loss for k in range(len(learner.classes_)))


CLASS_SUBJECTS = [
    ClassSubject("AIOLI classes", lambda: AIOLI(classes=FIVE), best=softmax_models),
    ClassSubject("AIOLI any", lambda: AIOLI(classes="any"), best=softmax_models),
    ClassSubject("AIOLI full forgets", lambda: AIOLI(forgetting=0.95, classes=FIVE, structure="full")),
    ClassSubject("AIOLI tree", lambda: AIOLI(2.0, classes=FIVE, structure="tree")),
    ClassSubject("AIOLI any tree", lambda: AIOLI(2.0, classes="any", structure="tree")),
    ClassSubject(
        "AIOLI one against the rest", lambda: AIOLI(classes=FIVE, structure="one_vs_rest"), best=models_of_two
    ),
    ClassSubject("AIOLI shared", lambda: AIOLI(classes=FIVE, structure="shared"), best=softmax_models),
    ClassSubject("Auto classes", lambda: Auto(classes=FIVE), 1e-8),  # experts see rows of unit spread
    ClassSubject("Auto any", lambda: Auto(classes="any"), 1e-8),
    ClassSubject("AIOLI any one_vs_rest", lambda: AIOLI(classes="any", structure="one_vs_rest"), best=models_of_two),
    ClassSubject("Forest classes", lambda: Forest(trees=3, classes=FIVE)),
    ClassSubject("Forest any", lambda: Forest(trees=3, classes="any")),
    ClassSubject(
        "OnlineToBatch any",
        lambda: OnlineToBatch(AIOLI(classes="any"), states=3),
        best=softmax_models,
        foretells=False,
    ),
    ClassSubject("OnlineToBatch classes", lambda: OnlineToBatch(AIOLI(2.0), 3, classes=FIVE), foretells=False),
    ClassSubject("OneVsRest of AIOLI", lambda: OneVsRest(AIOLI(), "any"), best=models_of_all_rows),
    ClassSubject("OneVsRest of OGD", lambda: OneVsRest(OGD(), FIVE)),
    ClassSubject("Wide any", lambda: Wide(experts=3, classes="any")),
    ClassSubject("Wide hashes classes", lambda: Wide(hashing=4, experts=2, classes=FIVE)),
    ClassSubject("RandomFeatures any", lambda: RandomFeatures(features=8, classes="any"), 1e-6),
    ClassSubject("Nystrom classes", lambda: Nystrom(points=8, bandwidth=1.0, classes=FIVE), 1e-6),
    ClassSubject("KernelAIOLI any", lambda: KernelAIOLI(gamma=0.5, classes="any"), 1e-9),
]
