"""What an experiment is: runs that are planned, numbers that each run gives, and what they say about a claim."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from aioli.paper.folder import Folder

__all__ = ["Claim", "Experiment", "Record"]


class Record(Protocol):
    """A dataclass of numbers and words."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


Run = TypeVar("Run", bound=Record)
Row = TypeVar("Row", bound=Record)


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, or of this project, beside what was measured."""

    says: str
    found: str
    holds: bool


@dataclass(frozen=True)
class Experiment(Generic[Run, Row]):
    """One figure, table, theorem or lemma.

    Attributes
    ----------
    plan
        The runs, fewer and shorter ones where it is to be fast; equal runs have equal numbers.
    measure
        A run's numbers, as rows of a table.
    row
        What those rows are.
    tell
        Given all rows, write the tables and the figure into the folder, and return the claims.
    timed
        Whether it measures time, so that nothing else may run meanwhile.
    """

    name: str
    row: type[Row]
    plan: Callable[[bool], Sequence[Run]]
    measure: Callable[[Run], list[Row]]
    tell: Callable[[list[Row], Folder], list[Claim]]
    timed: bool = False
