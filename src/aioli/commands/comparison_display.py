"""Shows a comparison while it goes: a table rewritten in place on a terminal, elsewhere one line a point."""

from collections.abc import Iterator, Sequence
from typing import TextIO

from aioli.commands.display import ProgressDisplay
from aioli.evaluate.class_scores import ClassScores
from aioli.evaluate.comparison import Clock, Comparison
from aioli.evaluate.history import Point
from aioli.evaluate.sums import Scores

__all__ = ["ComparisonDisplay", "columns_of_text"]


class ComparisonDisplay(ProgressDisplay):
    """Shows a comparison as it goes: a table of all learners' losses, and which peers were left out."""

    def __init__(self, run: Comparison, out: TextIO | None = None, terminal: TextIO | None = None) -> None:
        super().__init__(run, out, terminal)
        self._comparison = run
        self._names = [run.name, *(entrant.name for entrant in run.entrants), "base rate"]
        self._lines = 0  # of the table that stands on the terminal
        self._announced: set[str] = set()  # who was said to have left
        self._headed = False

    def show(self) -> None:
        """Print which peers were left out since the last call, then show the table."""
        for entrant in self._comparison.entrants:
            if entrant.left is not None and entrant.name not in self._announced:
                self._announced.add(entrant.name)
                self.say(entrant.left)
        if self._run.rows:
            super().show()

    def say(self, sentence: str) -> None:
        """Print a sentence that stays."""
        self.wipe()
        print(f"aioli: {sentence}", file=self._terminal, flush=True)

    def _row(self, point: Point) -> str:
        head = ""
        if not self._headed:
            self._headed = True
            head = f"{'rows':>13}" + "".join(_cell(name, name) for name in self._names) + "\n"
        losses = [point.log_loss, *(point.peers.get(name) for name in self._names[1:-1]), point.base_rate]
        texts = ["–" if loss is None else f"{loss:.4f}" for loss in losses]
        return f"{head}{point.rows:13,}" + "".join(map(_cell, texts, self._names))

    def _draw(self) -> None:
        """Rewrite the table; lines are cut where the terminal ends, since one that wraps could not be rewritten."""
        width = self._width()
        lines = [line[:width] for line in self._table()]
        self._erase()
        self._terminal.write("".join(f"{line}\n" for line in lines))
        self._lines = len(lines)

    def _erase(self) -> None:
        if self._lines:
            self._terminal.write(f"\x1b[{self._lines}A\r\x1b[J")
            self._lines = 0

    def _table(self) -> Iterator[str]:
        comparison, part = self._comparison, self._comparison.stream.fraction
        left = f" · {part:.0%} · {self.seconds * (1.0 - part) / part:,.0f} s left" if part and part < 1.0 else ""
        yield f"{comparison.rows:,} rows{left}"
        rows = [_standing(comparison.name, comparison.scores, comparison.clock)]
        rows += [_standing(each.name, each.scores, each.clock) for each in comparison.playing if each.scores.rows]
        yield from columns_of_text(("", "log loss", "rows/s"), rows)


def _standing(name: str, scores: Scores | ClassScores, clock: Clock) -> tuple[str, str, str]:
    pace = f"{clock.rows / clock.seconds:,.0f}" if clock.seconds else "–"
    return name, f"{scores.log_loss:.4f}", pace


def _cell(text: str, name: str) -> str:
    return f"  {text:>{max(len(name), 6)}}"


def columns_of_text(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield lines of columns: the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(heading, *rows, strict=True)]
    for row in (heading, *rows):
        others = (f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
        yield "  ".join((f"{row[0]:<{widths[0]}}", *others)).rstrip()
