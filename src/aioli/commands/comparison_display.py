"""What is seen of a contest: a table that is rewritten in place on a terminal, a table of checkpoints elsewhere."""

import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TextIO

from aioli.commands.display import EVERY
from aioli.evaluate.comparison import Clock, Comparison
from aioli.evaluate.history import Point
from aioli.evaluate.sums import Scores

__all__ = ["ContestDisplay", "columns_of_text"]


class ContestDisplay:
    """Shows a contest as it goes. The checkpoints go where results go; the rest goes to the terminal, and is wiped."""

    def __init__(self, out: TextIO | None = None, terminal: TextIO | None = None) -> None:
        self._out = out
        self._terminal = terminal if terminal is not None else sys.stderr
        self._live = self._terminal.isatty()
        self._last = self._begun = time.perf_counter()
        self._lines = 0  # of the table that stands on the terminal
        self._points = 0
        self._told: set[str] = set()
        self._names: list[str] = []

    def show(self, contest: Comparison) -> None:
        """After somebody has played."""
        for entrant in contest.entrants:
            if entrant.left is not None and entrant.name not in self._told:
                self._told.add(entrant.name)
                self.say(entrant.left)
        new, self._points = contest.history[self._points :], len(contest.history)
        for point in new:
            if point.rows & (point.rows - 1) == 0:  # at 1, 2, 4, 8, … rows
                self._checkpoint(contest, point)
        now = time.perf_counter()
        if self._live and now - self._last >= EVERY and contest.rows:
            self._last = now
            self._draw(contest)

    def end(self, contest: Comparison) -> None:
        """The last checkpoint; the table on the terminal is wiped away."""
        self.show(contest)
        last = contest.history[-1] if contest.history else None
        if last is not None and last.rows & (last.rows - 1):
            self._checkpoint(contest, last)
        self.wipe()

    def say(self, sentence: str) -> None:
        """A sentence that stays."""
        self.wipe()
        print(f"aioli: {sentence}", file=self._terminal, flush=True)

    def wipe(self) -> None:
        """Leave the terminal as it was."""
        if self._lines:
            self._terminal.write(f"\x1b[{self._lines}A\r\x1b[J")
            self._terminal.flush()
            self._lines = 0

    def _checkpoint(self, contest: Comparison, point: Point) -> None:
        if self._out is None:
            return
        if not self._names:
            self._names = [entrant.name for entrant in contest.entrants]
            heading = [contest.name, *self._names, "base rate"]
            print(f"{'rows':>13}" + "".join(_cell(name, name) for name in heading), file=self._out)
        losses = [point.log_loss, *(point.peers.get(name) for name in self._names), point.base_rate]
        told = ["–" if loss is None else f"{loss:.4f}" for loss in losses]
        cells = (_cell(text, name) for text, name in zip(told, [contest.name, *self._names, "base rate"], strict=True))
        print(f"{point.rows:13,}" + "".join(cells), file=self._out, flush=True)

    def _draw(self, contest: Comparison) -> None:
        """Lines are cut where the terminal ends: one that wraps could not be rewritten."""
        width = shutil.get_terminal_size().columns - 1
        lines = [line[:width] for line in self._table(contest)]
        self.wipe()
        self._terminal.write("".join(f"{line}\n" for line in lines))
        self._terminal.flush()
        self._lines = len(lines)

    def _table(self, contest: Comparison) -> Iterator[str]:
        part = contest.stream.fraction
        seconds = time.perf_counter() - self._begun
        left = f" · {part:.0%} · {seconds * (1.0 - part) / part:,.0f} s left" if part and part < 1.0 else ""
        yield f"{contest.rows:,} rows{left}"
        rows = [_standing(contest.name, contest.board, contest.clock)]
        rows += [_standing(each.name, each.board, each.clock) for each in contest.playing if each.board.rows]
        yield from columns_of_text(("", "log loss", "rows/s"), rows)


def _standing(name: str, board: Scores, clock: Clock) -> tuple[str, str, str]:
    pace = f"{clock.rows / clock.seconds:,.0f}" if clock.seconds else "–"
    return name, f"{board.log_loss:.4f}", pace


def _cell(text: str, name: str) -> str:
    return f"  {text:>{max(len(name), 6)}}"


def columns_of_text(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Lines of columns: the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(heading, *rows, strict=True)]
    for row in (heading, *rows):
        others = (f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
        yield "  ".join((f"{row[0]:<{widths[0]}}", *others)).rstrip()
