"""Predicts rows by a model of K classes, and scores the predictions where the file has the label."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from aioli.commands.class_summary import class_figures
from aioli.errors import LabelRefused
from aioli.evaluate.class_scores import ClassScores
from aioli.learners.protocol import ClassLearner
from aioli.numerics.compiling import Vector
from aioli.outcomes.class_labels import Codes, Label
from aioli.store.class_frames import UNKNOWN_CLASS, Frame
from aioli.streams.files.where import Where
from aioli.streams.protocol import Batch, Keys, rows_of

__all__ = ["announced_classes", "class_names", "class_summary_of"]


def class_names(learner: ClassLearner) -> list[str]:
    """Return what a learner's classes are called, in the order of its probabilities."""
    return [str(label) for label in learner.classes_]


def announced_classes(
    batches: Iterable[Batch], learner: ClassLearner, scores: ClassScores
) -> Iterator[tuple[Frame, Keys | None]]:
    """Yield the probabilities of each batch, the codes of its labels, scored where it has labels, and its keys."""
    for batch in batches:
        P = learner.predict_many(batch.X[:, : learner.n_features_])
        codes = np.full(len(P), float(UNKNOWN_CLASS))
        if batch.y is not None:
            known = np.flatnonzero(~np.isnan(batch.y))
            codes[known] = _codes(rows_of(batch, known), batch.where, known, learner.classes_)
            if known.size:
                scores.count(P[known], codes[known], classes=learner.classes_)
        yield Frame(P, codes.astype(np.int64)), batch.keys


def class_summary_of(scores: ClassScores) -> dict[str, object]:
    """Return how good the predictions of rows with labels were; nothing where no row had one."""
    if not scores.rows:
        return {}
    figures = {"log_loss": scores.log_loss, "brier": scores.brier, "accuracy": scores.accuracy, "auc": scores.auc}
    return {**figures, **class_figures(scores)}


def _codes(batch: Batch, where: Where, rows: Codes, classes: Sequence[Label]) -> Vector:
    """Return the learner's own code of each label, or refuse a label that it has never learned.

    `rows` are the places of the batch's rows, by which `where` knows them.
    """
    assert batch.y is not None
    y = batch.y
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
            place=where(int(rows[unknown])),
        )
    return np.array([own[label] for label in wanted])
