"""Requests that come together are one group of the engine: one commit for all of them, and no waiting for more."""

import asyncio
from collections.abc import Sequence

from aioli.service.engine import Engine
from aioli.service.operations import Operation, Outcome

__all__ = ["Grouping"]

LARGEST = 4096  # operations of a group


class Grouping:
    """Hands operations to the engine, all that have come since the last commit at once.

    The engine runs in the event loop's own thread: what is read from the sockets meanwhile is the next group.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.groups = self.operations = 0
        self._waiting: list[tuple[Sequence[Operation], asyncio.Future[list[Outcome]]]] = []
        self._called = False

    def play(self, operations: Sequence[Operation]) -> "asyncio.Future[list[Outcome]]":
        """Return the outcomes to come; they are durable when they are there."""
        loop = asyncio.get_running_loop()
        told: asyncio.Future[list[Outcome]] = loop.create_future()
        self._waiting.append((operations, told))
        if not self._called:
            self._called = True
            loop.call_soon(self._play)
        return told

    def _play(self) -> None:
        self._called = False
        waiting, self._waiting = self._waiting, []
        while waiting:
            size, count = 0, 0
            while count < len(waiting) and (not count or size + len(waiting[count][0]) <= LARGEST):
                size += len(waiting[count][0])
                count += 1
            part, waiting = waiting[:count], waiting[count:]
            self._play_group(part)

    def _play_group(self, part: "list[tuple[Sequence[Operation], asyncio.Future[list[Outcome]]]]") -> None:
        every = [operation for operations, _ in part for operation in operations]
        self.groups += 1
        self.operations += len(every)
        try:
            outcomes = self.engine.play(every)
        except Exception as error:
            for _, told in part:
                if not told.done():
                    told.set_exception(error)
            return
        first = 0
        for operations, told in part:
            if not told.done():  # else the client has gone
                told.set_result(outcomes[first : first + len(operations)])
            first += len(operations)
