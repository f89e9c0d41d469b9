"""Online to batch: one pass over the rows makes a model with a bound on its excess risk."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from aioli.learners.batch.averaging import average_log_odds, log_odds
from aioli.learners.batch.class_online_to_batch import ClassOnlineToBatch
from aioli.learners.batch.kept_states import KeepsStates
from aioli.learners.cloning import fresh_copy, learn_rows
from aioli.learners.protocol import AnyLearner, ClassLearner, Learner, knows_classes
from aioli.learners.registry import restore_learner
from aioli.numerics.compiling import Vector
from aioli.outcomes.class_labels import Classes
from aioli.snapshots.tree import Snapshot
from aioli.streams.matrices import as_matrix
from aioli.streams.rows import as_label, as_labels

__all__ = ["OnlineToBatch"]


class OnlineToBatch(KeepsStates[Learner]):
    r"""The average of m states of a learner, of rounds drawn uniformly: a batch model (a corollary of the paper).

    Let $f_t$ be the learner's prediction function before round t, and τ uniform on 1, …, n. If the rows are drawn
    independently from one law, $f_t$ knows nothing of row t, so for every fixed θ of the ball

    $$\mathbb E\,\ell(f_\tau(X), Y) - \mathbb E\,\ell(\theta^\top X, Y)
      = \frac1n\,\mathbb E\Bigl[\sum_t \ell_t - \sum_t \ell_t(\theta)\Bigr] \le \frac{\mathbb E[C_n]}n$$

    where $C_n$ is the learner's certificate, and for AIOLI at most the bound of its theorem. The same holds for

    $$\bar f(x) = \frac1m\sum_{i=1}^m f_{\tau_i}(x),$$

    the average of probabilities over m different rounds, since the log loss is convex in p; its risk varies less. The
    rounds are a reservoir sample, so n need not be known: one pass, about $m(1 + \ln\frac nm)$ copies of a state, m
    of them held. A prediction costs m of the learner's.

    Parameters
    ----------
    learner
        A learner that has seen nothing, such as `AIOLI(radius=2.0)`: a copy of it learns. None is `Auto()`.
    states
        m. 1 is the paper's random τ.
    seed
        Of the choice of rounds.
    share
        Average only the states, of those kept, of the last part of the rounds (and the latest kept, where none is of
        that part). 1 is the corollary. Below 1 early states spoil nothing, which on held-out rows is worth more than
        the average itself (docs/batch.md); but the bound, divided by this share, is proven only where no prediction
        function whatever beats the best θ of the ball: the regret of the rounds left out, which might be negative, is
        then at least 0 on average. None is 1 for one state, which is the paper's, and ½ for several.
    classes
        None is the game of two classes. A list of labels, or "any", makes a `ClassOnlineToBatch` of the learner made
        for these classes; a learner that was made for some, such as `AIOLI(classes="any")`, does so by itself.

    Attributes
    ----------
    learner_
        The learner that plays: its last state.
    rounds
        How many rows it has learned from.

    Notes
    -----
    The average answers for rows like those seen, in any order: where the world drifts, take the learner itself. Where
    rows have weights, risks are weighted too: $\mathbb E[\omega\,\ell]$. Before the first row, ½ is predicted.

    Examples
    --------
    >>> import numpy as np
    >>> from aioli import AIOLI, OnlineToBatch
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3))
    >>> y = X @ [1.0, -2.0, 0.5] + rng.logistic(size=2000) > 0
    >>> model = OnlineToBatch(AIOLI(), states=4, share=1.0)
    >>> announced = model.learn_many(X[:1000], y[:1000])
    >>> p = model.predict_many(X[1000:])
    >>> print(f"{-np.log(np.where(y[1000:], p, 1 - p)).mean():.3f} nats a row, of rows never seen")
    0.425 nats a row, of rows never seen
    >>> print(f"{model.excess_risk_bound():.4f} nats more than the best θ, at most, in expectation")
    0.0247 nats more than the best θ, at most, in expectation

    References
    ----------
    Jézéquel, Gaillard, Rudi. Efficient improper learning for online logistic regression. COLT 2020, section
    "Online-to-batch conversion".
    Helmbold, Warmuth. On weak learning. Journal of Computer and System Sciences 50, 1995.
    """

    def __new__(
        cls,
        learner: AnyLearner | None = None,
        states: int = 16,
        seed: int = 0,
        share: float | None = None,
        classes: Classes | None = None,
    ) -> Any:
        """Make a model of two classes, or the `ClassOnlineToBatch` of the classes given."""
        if classes is not None or (isinstance(learner, ClassLearner) and knows_classes(learner)):
            return ClassOnlineToBatch(learner, states, seed, share, classes)
        return super().__new__(cls)

    def __init__(
        self,
        learner: Learner | None = None,
        states: int = 16,
        seed: int = 0,
        share: float | None = None,
        classes: Classes | None = None,  # noqa: ARG002  (None here: `__new__` has made another of others)
    ) -> None:
        super().__init__(fresh_copy(learner), states, seed, share)

    # ---- predicting

    def predict(self, x: object) -> float:
        r"""Return the probability that the row's label is 1, $\frac1m\sum_i f_{\tau_i}(x)$; changes nothing."""
        self._check(x, single=True)
        return float(np.mean([state.predict(x) for state in self._averaged()]))

    def predict_many(self, X: object) -> Vector:
        """Return each row's probability; changes nothing."""
        self._check(X)
        return np.asarray(np.mean([state.predict_many(X) for state in self._averaged()], axis=0))

    def predict_logit(self, x: object) -> float:
        """Return the log-odds of `predict`."""
        return float(self.predict_logit_many(as_matrix(x, width=self.n_features_, names=None, single=True))[0])

    def predict_logit_many(self, X: object) -> Vector:
        """Return the log-odds of `predict_many`, which keep their digits where a probability is 0 or 1."""
        self._check(X)
        return average_log_odds([log_odds(state, X) for state in self._averaged()])

    # ---- learning

    def learn(self, x: object, y: object, weight: float = 1.0) -> float:
        """Learn from one row and its label; return the probability that the learner announced before the label."""
        if weight == 1.0:
            return self._learned(lambda: self.learner_.learn(x, y))
        row = as_matrix(x, width=self.n_features_, names=None, single=True)
        return self._learned(lambda: float(learn_rows(self.learner_, row, [as_label(y)], [weight])[0]))

    # ---- within

    @classmethod
    def _restored(cls, snapshot: Snapshot) -> Learner:
        return restore_learner(snapshot)

    def _labels(self, y: object, count: int) -> Vector:
        return as_labels(y, count)

    def _together(self, announced: Sequence[Vector]) -> Vector:
        return np.concatenate(announced)

    def _check(self, X: object, single: bool = False) -> None:
        """Refuse rows of another width; a state kept from before the first row could not, as it knows no width."""
        as_matrix(X, width=self.n_features_, names=None, single=single)
