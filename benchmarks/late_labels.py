"""Streams whose labels come late: who is asked for which rows, and who is told which labels, in which order.

In *batches* of D rows, all rows of a batch are announced before the first of their labels, and all labels are learned
before the next batch. With a *sliding* delay of D rows, row t's label is learned once row t + D has been announced.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol, Self

import numpy as np

from aioli.commands.peers import example_text, rows_as_dicts
from aioli.numerics.compiling import Matrix, Vector

__all__ = ["DELAYS", "IN_TIME", "Contender", "Delay", "Mode", "OutOfTimeError", "Stream", "delays_of", "play_late"]

Mode = Literal["in time", "batches", "sliding"]
DELAYS = (0, 10, 100, 500, 2000)


class OutOfTimeError(RuntimeError):
    """A contender has not announced all rows within the time given; the message says how many."""


@dataclass(frozen=True)
class Delay:
    """How late labels come: by how many rows, and in what way."""

    mode: Mode
    rows: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what `str` wrote."""
        mode, _, rows = text.partition("/")
        known: dict[str, Mode] = {"in time": "in time", "batches": "batches", "sliding": "sliding"}
        return cls(known[mode], int(rows))

    def __str__(self) -> str:
        return f"{self.mode}/{self.rows}"

    def turns(self, n: int) -> Iterator[tuple[slice, slice]]:
        """Yield which rows are announced next and, after all of these, whose labels are learned.

        No label comes between the announcements of a group, so that to make them at once is the same game.
        """
        D = self.rows
        if self.mode == "sliding":
            first = min(D + 1, n)
            yield slice(0, first), slice(0, 1 if first > D else 0)
            for t in range(first, n):
                yield slice(t, t + 1), slice(t - D, t - D + 1)
            return
        size = max(D, 1)
        for start in range(0, n, size):
            group = slice(start, min(start + size, n))
            yield group, group

    def known(self, n: int) -> Vector:
        """Return how many labels are known when each of n rows is announced."""
        t = np.arange(n)
        if self.mode == "sliding":
            return np.maximum(t - self.rows, 0).astype(np.float64)
        size = max(self.rows, 1)
        return (t // size * size).astype(np.float64)


IN_TIME = Delay("in time", 0)


def delays_of(n: int, delays: tuple[int, ...] = DELAYS) -> list[Delay]:
    """Return the delays that a stream of n rows is long enough for: none of more than half of it."""
    late = [Delay(mode, rows) for rows in delays if 0 < rows <= n / 2 for mode in ("batches", "sliding")]
    return ([IN_TIME] if 0 in delays else []) + late


@dataclass(frozen=True)
class Stream:
    """Hold a stream's rows and labels, and the rows in the forms that the peers like best, made once."""

    X: Matrix
    y: Vector

    def __len__(self) -> int:
        return len(self.y)

    @cached_property
    def dicts(self) -> list[dict[int, float]]:
        """The rows as River reads them."""
        return list(rows_as_dicts(self.X))

    @cached_property
    def texts(self) -> list[str]:
        """The rows as Vowpal Wabbit reads them, without their labels."""
        return [example_text(row, 0.0).partition(" ")[2] for row in rows_as_dicts(self.X)]


class Contender(Protocol):
    """Whoever plays a stream: it is asked for rows and told labels, both by their places in the stream."""

    def announce(self, rows: slice) -> Vector:
        """Return the probability of each row, as if it came next."""

    def learn(self, rows: slice) -> None:
        """Learn the rows, which have been announced, with their labels."""

    def close(self) -> None:
        """Give back what it holds."""


def play_late(contender: Contender, n: int, delay: Delay, seconds: float = np.inf) -> Vector:
    """Return what the contender announced for each of n rows; OutOfTimeError where it takes too long."""
    deadline = time.perf_counter() + seconds
    p = np.empty(n)
    for announced, learned in delay.turns(n):
        p[announced] = contender.announce(announced)
        contender.learn(learned)
        if announced.stop < n and time.perf_counter() > deadline:
            raise OutOfTimeError(f"not finished: {announced.stop} rows in the time given")
    return p
