"""An experiment: runs that are planned, numbers that each run gives, and what they say about a claim."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from aioli.paper.results_folder import ResultsFolder

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["Claim", "Experiment"]

Run = TypeVar("Run", bound="DataclassInstance")  # of numbers and words
Row = TypeVar("Row", bound="DataclassInstance")


@dataclass(frozen=True)
class Claim:
    """A claim is a sentence of the paper, or of this project, beside what was measured."""

    says: str
    found: str
    holds: bool


@dataclass(frozen=True)
class Experiment(Generic[Run, Row]):
    """An experiment measures one figure, table, theorem or lemma.

    Attributes
    ----------
    plan
        The runs, fewer and shorter ones where it is to be fast; equal runs have equal numbers.
    measure
        A run's numbers, as rows of a table.
    row
        Makes a row from its values by name.
    tell
        Given all rows, write the tables and the figure into the folder, and return the claims.
    timed
        Whether it measures time, so that nothing else may run meanwhile.
    """

    name: str
    row: Callable[..., Row]
    plan: Callable[[bool], Sequence[Run]]
    measure: Callable[[Run], list[Row]]
    tell: Callable[[list[Row], ResultsFolder], list[Claim]]
    timed: bool = False
