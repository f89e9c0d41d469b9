"""Explains a learner by the columns of its data: what each does in general, and what each did to one row."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from aioli.errors import CapabilityMissing
from aioli.evaluate.background import Background
from aioli.evaluate.column_effects import (
    ColumnEffect,
    Contribution,
    Unscaled,
    WordEffect,
    column_effects,
    contributions,
    word_effects,
)
from aioli.evaluate.original_columns import OriginalColumn, columns_as_taught
from aioli.learners.named_rows import TakesNamedRows
from aioli.learners.protocol import Learner, names_columns, plays_two_classes
from aioli.snapshots.tree import Snapshot
from aioli.streams.files.table import Features
from aioli.streams.matrices import as_matrix
from aioli.streams.scaling import Scaler

__all__ = ["BACKGROUND", "Explainer", "explain_columns", "explain_row"]

BACKGROUND = "background"  # the part of a saved stream that holds the average row


@dataclass(frozen=True)
class Explainer:
    """Explains a learner by its columns, against a sample of rows."""

    learner: Learner
    background: Background
    columns: Sequence[OriginalColumn]
    unscaled: Unscaled

    @classmethod
    def of_model(cls, learner: Learner, taught: Snapshot | None) -> "Explainer | None":
        """Return the explainer of a saved model; None where nothing is known of its rows."""
        if taught is None or BACKGROUND not in taught.parts:
            return None
        return cls.of_rows(learner, Background.restore(taught.part(BACKGROUND)), taught)

    @classmethod
    def of_rows(cls, learner: Learner, background: Background, taught: Snapshot | None = None) -> "Explainer | None":
        """Return the explainer of a learner over these rows; the snapshot of their stream knows the columns."""
        width = learner.n_features_
        if width != len(background.average):
            return None
        given = learner.feature_names_ if names_columns(learner) else None
        names = given or [f"column {j + 1}" for j in range(width)]
        return cls(learner, background, columns_as_taught(names, taught), _unscaling(taught))

    def by_column(self) -> list[ColumnEffect]:
        """Return what each column does, the most important first."""
        return column_effects(self.learner, self.background, self.columns, self.unscaled)

    def by_word(self) -> list[WordEffect]:
        """Return what each word of free text, or feature of a sparse file, adds, the largest first."""
        return word_effects(self.learner, self.background, self.columns)

    def of_row(self, row: Features) -> list[Contribution]:
        """Return what each column of a row, a matrix of one, adds to its log-odds, the largest first."""
        return contributions(self.learner, row, self.background, self.columns, self.unscaled)


def explain_columns(learner: Learner, rows: object) -> list[ColumnEffect]:
    """Return what each column does to what a learner announces, over some rows like those that it learned from.

    >>> import numpy as np
    >>> from aioli import Auto
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 3))
    >>> learner = Auto()
    >>> _ = learner.learn_many(X, X @ [2.0, -1.0, 0.0] + rng.logistic(size=1000) > 0)
    >>> [(effect.name, effect.direction) for effect in explain_columns(learner, X[:100])][:2]
    [('column 1', 'rises'), ('column 2', 'falls')]
    """
    return _explainer(learner, rows).by_column()


def explain_row(learner: Learner, x: object, rows: object) -> list[Contribution]:
    """Return what each column of a row adds to its log-odds, against the average of some rows, the largest first.

    What a column adds is the log-odds of the row less those of the row with the average in that column. Where columns
    work together their parts do not sum to the whole.
    """
    row = as_matrix(_features(learner, x), width=learner.n_features_, names=None, single=True)
    return _explainer(learner, rows).of_row(row)


def _explainer(learner: Learner, rows: object) -> Explainer:
    if not plays_two_classes(learner):
        raise CapabilityMissing(
            "only learners of two classes are explained by their columns; explain a model of one class against the rest"
        )
    names = learner.feature_names_ if names_columns(learner) else None
    matrix = as_matrix(_features(learner, rows), width=learner.n_features_, names=names, single=False)
    taught = learner.encoding_ if isinstance(learner, TakesNamedRows) else None
    found = Explainer.of_rows(learner, Background.of_rows(matrix.astype(float)), taught)
    if found is None:
        raise ValueError("the learner has learned from no row yet; there is nothing to explain")
    return found


def _features(learner: Learner, rows: object) -> object:
    """Return rows as features, where the learner reads columns by their names."""
    return learner.features_of(rows) if isinstance(learner, TakesNamedRows) else rows


def _unscaling(taught: Snapshot | None) -> Unscaled:
    """Return how a feature's value was before the stream scaled it (`streams.scaling`)."""
    if taught is None or "scaler" not in taught.parts:
        return lambda _place, value: value
    mean, deviation = Scaler.restore(taught.part("scaler")).moments()
    root = math.sqrt(len(mean))
    return lambda place, value: float(mean[place] + value * deviation[place] * root)
