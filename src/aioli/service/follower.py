"""Serves predictions alone: follows the log that another process writes, at most some seconds behind."""

import time
from collections.abc import Callable, Sequence

from aioli.service.engine import Engine
from aioli.service.operations import Operation, Outcome
from aioli.service.refusals import Forbidden
from aioli.service.replay import replay, row_in
from aioli.service.served import Served
from aioli.service.waiting import Limits
from aioli.store.event_log import Event, Store, StoreFailed

__all__ = ["Follower"]


class Follower(Engine):
    """Serves the models of a store that another engine writes to; every change is refused.

    Parameters
    ----------
    store
        The store, opened to be read.
    clock
        Returns the time in seconds since 1970.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        super().__init__(store, Limits(), clock=clock)
        self._read = clock()

    @property
    def stale_seconds(self) -> float:
        """How long ago the log was read to its end: what came since is not known here."""
        return max(0.0, self._clock() - self._read)

    def refresh(self) -> None:
        """Read what has been added to the log since the last time; where it cannot be read, what is known stays."""
        now = self._clock()
        try:
            records = {record.name: record for record in self.store.models()}
            for name in [name for name in self._models if name not in records]:
                del self._models[name]
            for name, record in records.items():
                served = self._models.get(name)
                if served is None or served.record.number != record.number:
                    self._models[name] = self._load(record)
                else:
                    self._follow(served)
        except StoreFailed as error:
            self.failure = error
            return
        self.failure = None
        self._read = now

    def _follow(self, served: Served) -> None:
        number = served.record.number
        entries = list(self.store.entries(number, after=served.last))
        if not served.has_origin and entries:  # the number of the learner is drawn with the first row
            self._models[served.record.name] = self._load(served.record)
            return
        replay(served.model, entries, row_in(self.store, number))
        for entry in entries:
            served.last = entry.sequence
            if entry.event == Event.ROW:
                served.waiting.add_entry(entry)
            else:
                served.waiting.drop(entry.id)

    def play(self, operations: Sequence[Operation]) -> list[Outcome]:
        """Refuse all of them."""
        return [self._refused() for _ in operations]

    def create(self, *_: object) -> Served:
        """Refuse to."""
        raise self._refused()

    def delete(self, name: str) -> None:  # noqa: ARG002  (refused whatever its name)
        """Refuse to."""
        raise self._refused()

    def keep_snapshot(self, served: Served) -> None:
        """Do nothing: the engine that writes keeps them."""

    def _refused(self) -> Forbidden:
        message = "this process predicts and does not learn; ask the one that writes, or send rows without an id"
        return Forbidden(f"{message} (POST /v2/models/NAME/infer)")
