"""Joins requests that come together into one group of the engine: one commit for all, and no waiting for more."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from aioli.service.engine import Engine
from aioli.service.operations import Operation, Outcome

__all__ = ["Grouping", "Played", "teller"]

LARGEST = 4096  # operations of a group
LOOKS = 4  # at the sockets, as long as each brings another request, before a group is played
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

    The engine runs in the event loop's own thread: what has come meanwhile is the next group. While some of its
    requests are read others come, which is why the sockets are looked at again, without waiting, as long as that brings
    more: the rows of one group cost less than those of two.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.groups = self.operations = 0
        self._waiting: list[tuple[Sequence[Operation], Played]] = []
        self._looks = 0  # at the sockets since the first request of the next group
        self._seen = 0  # requests that were there at the last look

    def submit(self, operations: Sequence[Operation], played: Played) -> None:
        """Call `played` with the outcomes once they are durable, from the event loop."""
        self._waiting.append((operations, played))
        if len(self._waiting) == 1:
            self._looks = self._seen = 0
            asyncio.get_running_loop().call_soon(self._look)

    def play(self, operations: Sequence[Operation]) -> "asyncio.Future[list[Outcome]]":
        """Return the outcomes to come; they are durable when they are there."""
        told: asyncio.Future[list[Outcome]] = asyncio.get_running_loop().create_future()
        self.submit(operations, teller(told))
        return told

    def _look(self) -> None:
        """Play what has come, or let the loop look at its sockets once more where the last look has brought more."""
        if len(self._waiting) > self._seen and self._looks < LOOKS:
            self._looks, self._seen = self._looks + 1, len(self._waiting)
            asyncio.get_running_loop().call_soon(self._look)
        else:
            self._play()

    def _play(self) -> None:
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
