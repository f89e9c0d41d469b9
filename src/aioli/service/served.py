"""Holds a model in service: its record, its learner, the rows that wait, and where it stands in the log."""

from collections import Counter
from dataclasses import dataclass, field

from aioli.service.model import ServedModel
from aioli.service.waiting import WaitingById
from aioli.store.event_log import ModelRecord

__all__ = ["Served"]


@dataclass
class Served:
    """A model in service.

    Attributes
    ----------
    record
        Its number and name in the store.
    model, waiting
        The learner with all around it, and the rows whose labels are out.
    last
        The number of its last entry in the log.
    since
        How many entries have come since its last snapshot.
    has_origin
        Whether the snapshot after its first row is kept.
    counts
        What has happened since the service started, by name.
    """

    record: ModelRecord
    model: ServedModel
    waiting: WaitingById
    last: int
    since: int = 0
    has_origin: bool = False
    counts: Counter[str] = field(default_factory=Counter)
