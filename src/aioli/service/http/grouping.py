"""Requests that come together are one group of the engine: one commit for all of them, and no waiting for more."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from aioli.service.engine import Engine
from aioli.service.operations import Operation, Outcome

__all__ = ["Grouping", "Played", "teller"]

LARGEST = 4096  # operations of a group
Played: TypeAlias = "Callable[[list[Outcome] | Exception], None]"  # takes the outcomes, or what went wrong
Answer = TypeVar("Answer")


def teller(awaited: "asyncio.Future[Answer]") -> "Callable[[Answer | Exception], None]":
    """Return a function that gives an answer, or what went wrong, to whoever awaits it; to nobody who has gone."""

    def tell(answer: Answer | Exception) -> None:
        if awaited.done():  # the client has gone
            return
        if isinstance(answer, Exception):
            awaited.set_exception(answer)
        else:
            awaited.set_result(answer)

    return tell


class Grouping:
    """Hands operations to the engine, all that have come since the last commit at once.

    The engine runs in the event loop's own thread: what is read from the sockets meanwhile is the next group.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.groups = self.operations = 0
        self._waiting: list[tuple[Sequence[Operation], Played]] = []
        self._called = False

    def submit(self, operations: Sequence[Operation], played: Played) -> None:
        """Call `played` with the outcomes once they are durable, from the event loop."""
        self._waiting.append((operations, played))
        if not self._called:
            self._called = True
            asyncio.get_running_loop().call_soon(self._play)

    def play(self, operations: Sequence[Operation]) -> "asyncio.Future[list[Outcome]]":
        """Return the outcomes to come; they are durable when they are there."""
        told: asyncio.Future[list[Outcome]] = asyncio.get_running_loop().create_future()
        self.submit(operations, teller(told))
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

    def _play_group(self, part: Sequence[tuple[Sequence[Operation], Played]]) -> None:
        requests = [operations for operations, _ in part]
        self.groups += 1
        self.operations += sum(map(len, requests))
        try:
            outcomes = self.engine.play_together(requests)
        except Exception as error:
            for _, played in part:
                played(error)
            return
        for (_, played), told in zip(part, outcomes, strict=True):
            played(told)
