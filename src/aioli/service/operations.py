"""Defines what a service is asked to do with rows and labels, and what it answers."""

from typing import NamedTuple, TypeAlias

from aioli.outcomes.class_labels import Label
from aioli.service.given_rows import GivenRow
from aioli.service.model import Answer
from aioli.service.refusals import ServiceRefused
from aioli.store.row_codec import RowKey

__all__ = ["Learn", "Learned", "Operation", "Outcome", "Predict", "Predicted"]


class Predict(NamedTuple):
    """A row of a model is to be announced under an id; a row of a fleet has a key."""

    model: str
    id: str
    row: GivenRow
    key: RowKey | None = None


class Learn(NamedTuple):
    """The label of the row of an id has come, and how much it counts."""

    model: str
    id: str
    label: Label
    weight: float = 1.0


class Predicted(NamedTuple):
    """A row was announced, now or, where it is `repeated`, when it came first."""

    id: str
    answer: Answer
    repeated: bool = False


class Learned(NamedTuple):
    """A label was learned, now or, where it is `repeated`, when it came first."""

    id: str
    label: Label
    repeated: bool = False


Operation: TypeAlias = Predict | Learn
Outcome: TypeAlias = Predicted | Learned | ServiceRefused
