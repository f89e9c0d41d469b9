"""What every learner does, and what some learners can do besides: each capability is a name that code can ask for.

>>> from aioli import AIOLI, OGD
>>> grows(AIOLI()), grows(OGD())
(True, False)
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, Self, TypeAlias, TypeGuard, runtime_checkable

from aioli.errors import ParameterRefused
from aioli.learners.announcements import Announcement, Announcements, Late, LateMany
from aioli.learners.capabilities import Capability, Question
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.class_labels import Label
from aioli.snapshots.tree import Snapshot
from aioli.states.certificate import Certificate

__all__ = [
    "AnyLearner",
    "Capability",
    "Certifies",
    "ClassLearner",
    "Grows",
    "HasCoefficients",
    "Learner",
    "LearnsLate",
    "Merges",
    "Mixes",
    "NamesColumns",
    "Saves",
    "Shards",
    "TurnsToClasses",
    "Weighs",
    "certifies",
    "grows",
    "knows_classes",
    "learns_late",
    "merges",
    "mixes",
    "names_columns",
    "plays_two_classes",
    "require_any_learner",
    "require_fresh",
    "require_learner",
    "require_no_rows",
    "saves",
    "shards",
    "weighs",
]


class Counts(Protocol):
    """What can be asked of any learner, of two classes or more, without a row."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What the learner can do besides predicting and learning."""

    @property
    def rounds(self) -> int:
        """How many rows it has learned from."""

    @property
    def loss(self) -> float:
        """The sum of its losses so far, in nats."""

    @property
    def n_features_(self) -> int | None:
        """How many columns a row has; None before the first row."""


@runtime_checkable
class Learner(Counts, Protocol):
    """A learner of binary labels from a stream: it announces a probability, then sees the label."""

    def predict(self, x: object) -> float:
        """Return the probability that the row's label is 1; changes nothing."""

    def predict_many(self, X: object) -> Vector:
        """Return each row's probability, as if it came next; changes nothing."""

    def predict_logit(self, x: object) -> float:
        """Return the log-odds of `predict`; changes nothing."""

    def predict_logit_many(self, X: object) -> Vector:
        """Return the log-odds of `predict_many`; changes nothing."""

    def learn(self, x: object, y: object) -> float:
        """Learn from the row and its label; returns the probability announced before the label."""

    def learn_many(self, X: object, y: object) -> Vector:
        """Learn from the rows in order; returns each row's probability before its label."""


@runtime_checkable
class ClassLearner(Counts, Protocol):
    """A learner of labels of any number of classes: it announces a probability for each class, then sees the label.

    Probabilities are in the order of `classes_`. Where classes may still appear, those of the known classes add up to 1
    less the probability of a new one. In the row where a class first comes, its column holds that probability: -log of
    the label's own column is always the loss announced.
    """

    @property
    def classes_(self) -> list[Label]:
        """The classes, in the order declared or of first appearance."""

    def predict(self, x: object) -> Vector:
        """Return the probability of each class; changes nothing."""

    def predict_many(self, X: object) -> Matrix:
        """Return each row's probabilities, as if it came next, one column a class; changes nothing."""

    def predict_logits(self, x: object) -> Vector:
        """Return the logarithms of `predict`; changes nothing."""

    def predict_logits_many(self, X: object) -> Matrix:
        """Return the logarithms of `predict_many`; changes nothing."""

    def learn(self, x: object, y: object) -> Vector:
        """Learn from the row and its label; returns the probabilities announced before the label."""

    def learn_many(self, X: object, y: object) -> Matrix:
        """Learn from the rows in order; returns each row's probabilities before its label, 0 for later classes."""


AnyLearner: TypeAlias = Learner | ClassLearner


@runtime_checkable
class TurnsToClasses(Protocol):
    """A learner of two classes that can go on with more."""

    def with_classes(self, negative: Label = 0, positive: Label = 1) -> ClassLearner:
        """Return a learner of any number of classes that goes on from what this one knows; 0 and 1 were these two."""


class Certifies(Learner, Protocol):
    """A learner that proves a bound on its regret."""

    def certificate(self, tight: bool = False) -> Certificate:
        """Return nats of regret that are proven not to have been exceeded."""


class Grows(Learner, Protocol):
    """A learner that makes room for new columns."""

    def grow(self, columns: int, names: Sequence[str] | None = None) -> Self:
        """Make room for new columns, exactly as if they had been there, and 0, from the first row."""


@runtime_checkable
class HasCoefficients(Protocol):
    """A learner with one coefficient a column, behind the intercept's where there is one."""

    @property
    def coefficients_(self) -> Vector:
        """The centre of what the learner knows; empty before the first row."""

    intercept: bool


class Merges(Learner, Protocol):
    """A learner that takes in what another learned from other rows."""

    def merge(self, other: Self) -> Self:
        """Take in what another learner of the same parameters learned from other rows."""


class Mixes(Learner, Protocol):
    """A learner that is a mixture of experts."""

    @property
    def weights_(self) -> Mapping[str, float]:
        """How much of the mixture each expert holds now."""


class NamesColumns(Learner, Protocol):
    """A learner that knows its columns by name."""

    feature_names_: list[str] | None


class Weighs(Learner, Protocol):
    """A learner of rows that have weights."""

    def learn(self, x: object, y: object, weight: float = 1.0) -> float:
        """Learn from the row and its label, its loss multiplied by a weight."""

    def learn_many(self, X: object, y: object, weights: object = None) -> Vector:
        """Learn from the rows in order, each row's loss multiplied by its weight."""


class LearnsLate(Weighs, Protocol):
    """A learner that learns from what it announced when the row came, once the label is known."""

    def announce(self, x: object) -> Announcement:
        """Return the probability of `predict` and all that the label will need, to be kept until it comes."""

    def announce_many(self, X: object) -> Announcements:
        """Return the announcements of all rows, each made before the first of their labels."""

    def learn(
        self, x: object, y: object, weight: float = 1.0, logit: float | None = None, announced: Late = None
    ) -> float:
        """Learn from the row, for which `announced` was announced; the loss is counted there."""

    def learn_many(
        self, X: object, y: object, weights: object = None, logits: object = None, announced: LateMany = None
    ) -> Vector:
        """Learn from the rows in order, for which `announced` were announced."""

    def learn_batch(self, X: object, y: object, weights: object = None) -> Vector:
        """Announce all rows before the first of their labels, then learn from them; returns what was announced."""


class Saves(Learner, Protocol):
    """A learner whose state can be taken out, put back, and written to a file."""

    def snapshot(self) -> Snapshot:
        """Return all that it remembers."""

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal learner, which goes on bit for bit the same."""


class Shards(Saves, Protocol):
    """A learner whose copies learn from parts of the rows, and become one again."""

    def merge(self, other: Self, since: Self | None = None) -> Self:
        """Take in what another learned; `since` is the learner that both went on from, which is counted once."""


certifies = Question[Certifies](Capability.CERTIFIES)
grows = Question[Grows](Capability.GROWS)
knows_classes = Question[ClassLearner](Capability.CLASSES)
learns_late = Question[LearnsLate](Capability.LEARNS_LATE)
merges = Question[Merges](Capability.MERGES)
mixes = Question[Mixes](Capability.MIXES)
names_columns = Question[NamesColumns](Capability.NAMES_COLUMNS)
saves = Question[Saves](Capability.SAVES)
shards = Question[Shards](Capability.SHARDS)
weighs = Question[Weighs](Capability.WEIGHS)


def plays_two_classes(learner: AnyLearner) -> TypeGuard[Learner]:
    """Return whether the learner plays the game of two classes, one probability a row."""
    return Capability.CLASSES not in learner.capabilities


def require_learner(learner: object, parameter: str = "learner") -> Learner:
    """Return the learner, or refuse what is none, such as a class in place of an object."""
    if isinstance(learner, type) or not isinstance(learner, Learner):
        advice = "give a learner, such as AIOLI() or Auto()"
        if isinstance(learner, ClassLearner) and not isinstance(learner, type):
            advice = "it is of many classes: give one of two classes, and classes=… to what holds it"
        message = f"{parameter} is {learner!r}; {advice}"
        raise ParameterRefused(message, parameter=parameter, value=learner)
    return learner


def require_any_learner(learner: object, parameter: str = "learner") -> AnyLearner:
    """Return the learner, of two classes or of more, or refuse what is none."""
    if not isinstance(learner, type) and isinstance(learner, ClassLearner) and knows_classes(learner):
        return learner
    return require_learner(learner, parameter)


def require_fresh(learner: object, advice: str) -> Learner:
    """Return the learner, or refuse one that has learned from rows already, with advice behind how many."""
    given = require_learner(learner)
    require_no_rows(given, advice)
    return given


def require_no_rows(learner: AnyLearner, advice: str) -> None:
    """Refuse a learner, of two classes or of more, that has learned from rows already."""
    if learner.rounds:
        message = f"learner has learned from {learner.rounds} rows already{advice}"
        raise ParameterRefused(message, parameter="learner", value=learner)
