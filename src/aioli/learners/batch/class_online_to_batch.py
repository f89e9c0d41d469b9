"""Online to batch for any number of classes."""

import copy
import math
from collections.abc import Sequence

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.learners.batch.kept_states import KeepsStates
from aioli.learners.classes.base import PlaysClasses
from aioli.learners.cloning import fresh_for_classes, learn_rows
from aioli.learners.protocol import AnyLearner, ClassLearner, knows_classes, require_no_rows
from aioli.learners.registry import restore_any_learner
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.class_labels import Classes, ClassLabels, Label
from aioli.snapshots.tree import Snapshot
from aioli.streams.matrices import as_matrix

__all__ = ["ClassOnlineToBatch"]


class ClassOnlineToBatch(KeepsStates[ClassLearner]):
    r"""The average of m states of a learner of many classes: `OnlineToBatch(AIOLI(classes=…))` makes one.

    As of two classes (`OnlineToBatch`): where rows are drawn independently from one law, the mean of the probabilities
    that m states of different rounds give has, in expectation, at most the learner's certificate over n more risk than
    the models of which the certificate speaks, since the log loss is convex in the probabilities. A state from before a
    class came gives that class 0.

    Parameters
    ----------
    learner
        A learner that has seen nothing; None is `Auto`. One of two classes is made again for `classes`.
    states, seed, share
        As of `OnlineToBatch`.
    classes
        The labels of all classes, or "any"; None where the learner was made for some.

    Examples
    --------
    >>> import numpy as np
    >>> from aioli import AIOLI, OnlineToBatch
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3))
    >>> y = np.argmax(2.0 * X + rng.gumbel(size=X.shape), axis=1)
    >>> model = OnlineToBatch(AIOLI(classes=[0, 1, 2]), states=4, share=1.0)
    >>> announced = model.learn_many(X[:1000], y[:1000])
    >>> p = model.predict_many(X[1000:])
    >>> print(f"{-np.log(p[np.arange(1000), y[1000:]]).mean():.2f} nats a row, of rows never seen")
    0.61 nats a row, of rows never seen
    """

    def __init__(
        self,
        learner: AnyLearner | None = None,
        states: int = 16,
        seed: int = 0,
        share: float | None = None,
        classes: Classes | None = None,
    ) -> None:
        if learner is not None and knows_classes(learner) and classes is None:
            require_no_rows(learner, "; give a fresh one: a copy of it will learn")
            own: ClassLearner = copy.deepcopy(learner)
        else:
            own = fresh_for_classes(learner, "any" if classes is None else classes)
        super().__init__(own, states, seed, share)

    # ---- predicting

    @property
    def classes_(self) -> list[Label]:
        """The classes, in the order declared or of first appearance."""
        return self.learner_.classes_

    def predict(self, x: object) -> Vector:
        r"""Return the probability of each class, $\frac1m\sum_i f_{\tau_i}(x)$; changes nothing."""
        return np.asarray(np.exp(self.predict_logits(x)))

    def predict_many(self, X: object) -> Matrix:
        """Return each row's probabilities, one column a class; changes nothing."""
        return np.exp(self.predict_logits_many(X))

    def predict_logits(self, x: object) -> Vector:
        """Return the logarithms of `predict`."""
        row = as_matrix(x, width=self.n_features_, names=self.feature_names_, single=True)
        return np.asarray(self.predict_logits_many(row)[0])

    def predict_logits_many(self, X: object) -> Matrix:
        """Return the logarithms of `predict_many`, which keep their digits where a probability is 0 or 1."""
        table = as_matrix(X, width=self.n_features_, names=self.feature_names_, single=False)
        known = len(self.classes_)
        said = [_widened(state.predict_logits_many(table), known) for state in self._averaged()]
        return np.asarray(np.logaddexp.reduce(said) - math.log(len(said)))

    @property
    def escape(self) -> float:
        """The mean over the states averaged of their escape, as the counts of classes tell it; 0 if all were declared.

        Of a state that knew fewer classes it is what it left for all others.
        """
        return float(np.mean([state.escape for state in self._averaged() if isinstance(state, PlaysClasses)]))

    def escape_many(self, X: object) -> Vector:
        """Return, for each row, the mean probability of a class that a state had not met; changes nothing."""
        states = [state for state in self._averaged() if isinstance(state, PlaysClasses)]
        return np.asarray(np.mean([state.escape_many(X) for state in states], axis=0))

    # ---- learning

    def learn(self, x: object, y: object, weight: float = 1.0) -> Vector:
        """Learn from one row and its label; return the probabilities that the learner announced before the label."""
        if weight == 1.0:
            return self._learned(lambda: self.learner_.learn(x, y))
        row = as_matrix(x, width=self.n_features_, names=self.feature_names_, single=True)
        return self._learned(lambda: np.asarray(learn_rows(self.learner_, row, [y], [weight])[0]))

    # ---- within

    @classmethod
    def _restored(cls, snapshot: Snapshot) -> ClassLearner:
        restored = restore_any_learner(snapshot)
        if not knows_classes(restored):
            raise SnapshotRefused(f"a {snapshot.kind} is of two classes, where one of many is wanted")
        return restored

    def _labels(self, y: object, count: int) -> Sequence[object]:
        labels = ClassLabels("any")  # only to read the labels as a list: the learner knows which it takes
        codes, met = labels.encode(y, count)
        return [met[code] for code in codes.tolist()]

    def _together(self, announced: Sequence[Vector]) -> Matrix:
        known = len(self.classes_)
        wide = [np.pad(part, ((0, 0), (0, known - part.shape[1]))) for part in announced]
        return np.concatenate(wide)


def _widened(logits: Matrix, classes: int) -> Matrix:
    """Return logarithms of probabilities with a column for every class: -inf for those that came later."""
    return np.pad(logits, ((0, 0), (0, classes - logits.shape[1])), constant_values=-math.inf)
