"""Shows a run while it goes: a table of losses, a progress line on a terminal, and a summary at the end."""

import contextlib
import json
import math
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TextIO

from aioli.evaluate.history import Point
from aioli.evaluate.run import Run

__all__ = ["ProgressDisplay", "RunDisplay", "as_json", "as_lines", "finite"]

EVERY = 0.1  # seconds between two looks of the terminal
BAR, LEAST_BAR = 24, 6
USUAL_WIDTH = 79


class ProgressDisplay(ABC):
    """Shows a run as it goes: points of its history as lines of output, and a progress line that the terminal wipes.

    Parameters
    ----------
    out
        Where the points of the history are printed; None for nowhere.
    terminal
        Where progress is drawn, if it is a terminal; None for standard error.
    """

    def __init__(self, run: Run, out: TextIO | None = None, terminal: TextIO | None = None) -> None:
        self._run = run
        self._out = out
        self._terminal = terminal if terminal is not None else sys.stderr
        self._live = self._terminal.isatty()
        self._begun = self._last = time.perf_counter()
        self._shown = len(run.history.points)
        self._first_rows = run.rows
        self._drawn = False

    @property
    def seconds(self) -> float:
        """Seconds since the display was made."""
        return time.perf_counter() - self._begun

    def show(self) -> None:
        """Print new points of the history, and redraw progress if `EVERY` seconds have passed."""
        points = self._run.history.points
        new, self._shown = points[self._shown :], len(points)
        for point in new:
            if point.rows & (point.rows - 1) == 0:  # at 1, 2, 4, 8, … rows
                self._print(point)
        now = time.perf_counter()
        if self._live and now - self._last >= EVERY:
            self._last, self._drawn = now, True
            self._draw()
            self._terminal.flush()

    def end(self) -> None:
        """Print the last point, and wipe the progress line."""
        self.show()
        self.wipe()
        last = self._run.history.points[-1] if self._run.history.points else None
        if last is not None and last.rows & (last.rows - 1):
            self._print(last)

    def wipe(self) -> None:
        """Erase the progress that was drawn, if any."""
        if self._drawn:
            self._drawn = False
            self._erase()
            self._terminal.flush()

    def _print(self, point: Point) -> None:
        if self._out is not None:
            self.wipe()
            print(self._row(point), file=self._out, flush=True)

    def _width(self) -> int:
        """Return the characters of a line: a longer one would leave its beginning behind when it is wiped."""
        with contextlib.suppress(OSError, ValueError):
            return max(os.get_terminal_size(self._terminal.fileno()).columns - 1, 0) or USUAL_WIDTH
        return USUAL_WIDTH

    @abstractmethod
    def _row(self, point: Point) -> str:
        """Return a point as a row of the table, with the head of the table before the first."""

    @abstractmethod
    def _draw(self) -> None:
        """Draw the progress on the terminal, over what was drawn before."""

    @abstractmethod
    def _erase(self) -> None:
        """Erase what `_draw` drew."""


class RunDisplay(ProgressDisplay):
    """Shows a run of one learner: a table of its losses, and a line that moves."""

    _headed = False

    def _row(self, point: Point) -> str:
        head = ""
        if not self._headed:
            self._headed = True
            columns = ("rows", "log loss", "since last", "base rate", "certificate")
            head = "{:>13} {:>10} {:>10} {:>10} {:>13}\n".format(*columns)
        proven = "" if point.certificate is None else f"{point.certificate:8.1f} nats"
        losses = f"{point.log_loss:10.4f} {point.recent:10.4f} {point.base_rate:10.4f}"
        return f"{head}{point.rows:13,} {losses} {proven:>13}"

    def _draw(self) -> None:
        self._terminal.write("\r" + self._line()[: self._width()] + "\x1b[K")

    def _erase(self) -> None:
        self._terminal.write("\r\x1b[K")

    def _line(self) -> str:
        """Return the loss first: what does not fit into the terminal's line is left out, from the end."""
        run, seconds = self._run, max(self.seconds, 1e-9)
        part, parts = run.fraction, []
        scores = run.scores
        if scores.rows:
            parts.append(f"log loss {scores.log_loss:.4f} (base rate {scores.base_rate:.4f})")
        parts.append(f"{run.rows:,} rows")
        if part is not None and 0.0 < part < 1.0:
            parts.append(f"{_duration(seconds * (1.0 - part) / part)} left")
        parts.append(f"{(run.rows - self._first_rows) / seconds:,.0f} rows/s")
        said = " · ".join(parts)
        if part is None or part <= 0.0:
            return said
        room = min(BAR, self._width() - len(said) - len(" 100% "))
        full = round(max(room, 0) * min(part, 1.0))
        bar = "━" * full + "╌" * (room - full) if room >= LEAST_BAR else ""
        return f"{bar} {part:4.0%} {said}".lstrip()


def as_lines(summary: Mapping[str, object]) -> str:
    """Return a summary as lines of a name and a value."""
    width = max(len(name) for name in summary)
    return "\n".join(f"{name.replace('_', ' '):>{width}}  {_value(value)}" for name, value in summary.items())


def as_json(summary: Mapping[str, object]) -> str:
    """Return a summary as one JSON object, in ASCII; what is not finite, and has no word there, is null."""
    return json.dumps({name: finite(value) for name, value in summary.items()}, allow_nan=False)


def finite(value: object) -> object:
    """Return the value, or None in place of a number that is not finite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _value(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
