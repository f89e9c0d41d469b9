"""What the benchmark prints: comparisons with their goals, and plain tables, as text or Markdown."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from aioli.numerics.compiling import Vector
from benchmarks.timing import Spread

__all__ = ["Comparison", "Table", "as_markdown", "as_text", "compare", "comparison_table"]


@dataclass(frozen=True)
class Comparison:
    """aioli against one peer, in microseconds a row; the ratio is the peer's time over aioli's."""

    what: str
    width: int
    ours: float
    peer: str
    theirs: float
    ratio: Spread
    goal: float | None

    @property
    def met(self) -> bool | None:
        """Whether the ratio reaches its goal; None where nothing is."""
        return None if self.goal is None else self.ratio.median >= self.goal


@dataclass(frozen=True)
class Table:
    """A title, a heading, rows of text, and what to know when reading them."""

    title: str
    heading: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = field(default=())


def compare(what: str, width: int, ours: Vector, peer: str, theirs: Vector, goal: float | None = None) -> Comparison:
    """Compare seconds a row, measured side by side, one entry a round."""
    ratio = Spread.of(theirs / ours)
    return Comparison(what, width, 1e6 * float(np.median(ours)), peer, 1e6 * float(np.median(theirs)), ratio, goal)


def comparison_table(title: str, comparisons: Sequence[Comparison], notes: Sequence[str]) -> Table:
    """One line a comparison."""
    heading = ("what", "d", "aioli µs/row", "peer", "peer µs/row", "ratio (quartiles)", "goal", "met?")
    return Table(title, heading, [_comparison_row(each) for each in comparisons], notes)


def _comparison_row(c: Comparison) -> tuple[str, ...]:
    ratio = f"{c.ratio.median:.3g}× ({c.ratio.low:.3g}–{c.ratio.high:.3g})"
    goal = "–" if c.goal is None else f"≥ {c.goal:.3g}×"
    verdict = "" if c.met is None else "met" if c.met else "missed"
    return c.what, str(c.width), f"{c.ours:.3f}", c.peer, f"{c.theirs:.3f}", ratio, goal, verdict


def as_text(table: Table) -> str:
    """The table in columns of fixed width, its notes below."""
    widths = [max(map(len, column)) for column in zip(table.heading, *table.rows, strict=True)]

    def lines() -> Iterator[str]:
        yield table.title
        yield "  ".join(cell.ljust(width) for cell, width in zip(table.heading, widths, strict=True)).rstrip()
        yield "  ".join("-" * width for width in widths)
        for row in table.rows:
            yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        yield from (f"* {note}" for note in table.notes)

    return "\n".join(lines()) + "\n"


def as_markdown(table: Table) -> str:
    """The table as Markdown, its notes below."""
    rows = (table.heading, ["---"] * len(table.heading), *table.rows)
    grid = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
    notes = "\n".join(f"- {note}" for note in table.notes)
    return f"## {table.title}\n\n{grid}\n" + (f"\n{notes}\n" if notes else "")
