"""Predictions of a model of K classes: frames of probabilities, scored where the file has the label."""

from collections.abc import Iterator, Sequence

import numpy as np

from aioli.commands.class_summary import class_figures
from aioli.errors import LabelRefused
from aioli.evaluate.class_scores import ClassScores
from aioli.learners.protocol import ClassLearner
from aioli.numerics.compiling import Vector
from aioli.outcomes.class_labels import Label
from aioli.store.class_frames import UNKNOWN_CLASS, Frame
from aioli.streams.protocol import Batch

__all__ = ["announced_classes", "class_names", "class_summary_of"]


def class_names(learner: ClassLearner) -> list[str]:
    """Return what a learner's classes are called, in the order of its probabilities."""
    return [str(label) for label in learner.classes_]


def announced_classes(batches: Iterator[Batch], learner: ClassLearner, scores: ClassScores) -> Iterator[Frame]:
    """Yield the probabilities of each batch and the codes of its labels, scored where it has labels."""
    for batch in batches:
        P = learner.predict_many(batch.X[:, : learner.n_features_])
        codes = np.full(len(P), float(UNKNOWN_CLASS))
        if batch.y is not None:
            codes = _codes(batch, batch.y, learner.classes_)
            scores.count(P, codes, classes=learner.classes_)
        yield Frame(P, codes.astype(np.int64))


def class_summary_of(scores: ClassScores) -> dict[str, object]:
    """Return how good the predictions of rows with labels were; nothing where no row had one."""
    if not scores.rows:
        return {}
    figures = {"log_loss": scores.log_loss, "brier": scores.brier, "accuracy": scores.accuracy, "auc": scores.auc}
    return {**figures, **class_figures(scores)}


def _codes(batch: Batch, y: Vector, classes: Sequence[Label]) -> Vector:
    """Return the learner's own code of each label, or refuse a label that it has never learned."""
    names = (0, 1) if batch.classes is None else batch.classes
    own = {label: float(k) for k, label in enumerate(classes)}
    wanted = [names[code] for code in y.astype(np.int64).tolist()]
    unknown = next((t for t, label in enumerate(wanted) if label not in own), None)
    if unknown is not None:
        raise LabelRefused(
            f"the label is {wanted[unknown]!r}, which the model has never learned",
            row=unknown,
            value=wanted[unknown],
            remedy="drop the row, or leave out the label (--skip)",
            place=batch.where(unknown),
        )
    return np.array([own[label] for label in wanted])
