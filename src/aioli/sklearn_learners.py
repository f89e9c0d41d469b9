"""The learners beneath a scikit-learn classifier: made for its classes, and asked together."""

from collections.abc import Sequence

import numpy as np

from aioli.learners.batch.averaging import average_log_odds, log_odds
from aioli.learners.batch.online_to_batch import OnlineToBatch
from aioli.learners.cloning import fresh_copy, fresh_for_classes
from aioli.learners.protocol import AnyLearner, HasCoefficients, Learner, plays_two_classes, require_any_learner
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.class_labels import Label
from aioli.sklearn_parts import Labels

__all__ = ["centre_of", "fresh_learner", "mean_log_odds", "mean_probability", "plain_labels"]


def fresh_learner(learner: AnyLearner | None, average: int | None, classes: Labels) -> AnyLearner:
    """Return a new learner for these classes: of two, where there are two and the template is for two."""
    template = None if learner is None else require_any_learner(learner)
    if (template is None or plays_two_classes(template)) and (len(classes) <= 2 or average is not None):
        return fresh_copy(template) if average is None else OnlineToBatch(template, states=average)
    return fresh_for_classes(template, plain_labels(classes))


def plain_labels(classes: Labels) -> list[Label]:
    """Return the labels as a learner takes them: as they are, or their numbers where they are no texts or numbers."""
    labels: list[Label] = classes.tolist()
    plain = all(isinstance(label, (str, int, float)) for label in labels)
    return labels if plain else list(range(len(labels)))


def mean_probability(learners: Sequence[Learner], rows: object) -> Vector:
    """Return each row's probability of the second class, the mean of the learners'."""
    if len(learners) == 1:
        return learners[0].predict_many(rows)
    return np.asarray(np.mean([learner.predict_many(rows) for learner in learners], axis=0))


def mean_log_odds(learners: Sequence[Learner], rows: object) -> Vector:
    """Return the log-odds of the mean of the learners' probabilities of the second class."""
    if len(learners) == 1:
        return learners[0].predict_logit_many(rows)
    return average_log_odds([log_odds(learner, rows) for learner in learners])


def centre_of(learners: Sequence[AnyLearner]) -> Matrix:
    """Return the mean of the learners' coefficients, the intercept first; one row, or one a class."""
    centres = []
    for learner in learners:
        if not isinstance(learner, HasCoefficients):
            raise AttributeError(
                f"{type(learner).__name__} has no one coefficient a column; AIOLIClassifier(AIOLI()) has coef_"
            )
        w = np.atleast_2d(learner.coefficients_)
        centres.append(w if learner.intercept else np.column_stack([np.zeros(len(w)), w]))
    return np.asarray(np.mean(centres, axis=0))
