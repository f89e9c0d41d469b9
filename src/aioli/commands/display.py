"""What is seen of a run: a table of how it stood, a line that moves where there is a terminal, a summary at the end."""

import contextlib
import json
import math
import os
import sys
import time
from collections.abc import Mapping
from typing import Any, TextIO

from aioli.evaluate.history import Point
from aioli.evaluate.loop import Playing

__all__ = ["Display", "as_json", "finite", "told"]

EVERY = 0.1  # seconds between two looks of the line
BAR = 24
USUAL_WIDTH = 79


class Display:
    """Shows a game as it goes. The table goes where results go; the line goes to the terminal, and leaves no trace."""

    def __init__(self, out: TextIO | None = None, terminal: TextIO | None = None) -> None:
        self._out = out
        self._terminal = terminal if terminal is not None else sys.stderr
        self._live = self._terminal.isatty()
        self._begin = self._last = time.perf_counter()
        self._shown = 0
        self._first_rows = 0
        self._headed = self._drawn = False

    def start(self, playing: Playing) -> None:
        """The clock runs from here."""
        self._begin = time.perf_counter()
        self._first_rows = playing.rows
        self._shown = len(playing.history)

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.perf_counter() - self._begin

    def show(self, playing: Playing) -> None:
        """After a table."""
        new, self._shown = playing.history[self._shown :], len(playing.history)
        if self._out is not None:
            for point in new:
                if point.rows & (point.rows - 1) == 0:  # at 1, 2, 4, 8, … rows
                    self.wipe()
                    self._row(point)
        now = time.perf_counter()
        if self._live and now - self._last >= EVERY:
            self._last, self._drawn = now, True
            self._terminal.write("\r" + self._line(playing)[: self._width()] + "\x1b[K")
            self._terminal.flush()

    def end(self, playing: Playing) -> None:
        """The last row of the table; the line is wiped away."""
        self.show(playing)
        self.wipe()
        last = playing.history[-1] if playing.history else None
        if self._out is not None and last is not None and last.rows & (last.rows - 1):
            self._row(last)

    def wipe(self) -> None:
        """Leave the terminal as it was."""
        if self._drawn:
            self._drawn = False
            self._terminal.write("\r\x1b[K")
            self._terminal.flush()

    def _width(self) -> int:
        """A line that is longer would leave its beginning behind when it is wiped."""
        with contextlib.suppress(OSError, ValueError):
            return max(os.get_terminal_size(self._terminal.fileno()).columns - 1, 0) or USUAL_WIDTH
        return USUAL_WIDTH

    def _row(self, point: Point) -> None:
        assert self._out is not None
        if not self._headed:
            self._headed = True
            columns = ("rows", "log loss", "since last", "base rate", "certificate")
            print("{:>13} {:>10} {:>10} {:>10} {:>13}".format(*columns), file=self._out)
        proven = "" if point.certificate is None else f"{point.certificate:8.1f} nats"
        losses = f"{point.log_loss:10.4f} {point.recent:10.4f} {point.base_rate:10.4f}"
        print(f"{point.rows:13,} {losses} {proven:>13}", file=self._out, flush=True)

    def _line(self, playing: Playing) -> str:
        seconds = max(self.seconds, 1e-9)
        pace = (playing.rows - self._first_rows) / seconds
        part = playing.fraction
        bar = ""
        left = ""
        if part is not None and part > 0.0:
            full = round(BAR * min(part, 1.0))
            bar = "━" * full + "╌" * (BAR - full) + f" {part:4.0%} "
            left = f" · {_duration(seconds * (1.0 - part) / part)} left" if part < 1.0 else ""
        playing.settle()
        board = playing.board
        losses = f"log loss {board.log_loss:.4f} (base rate {board.base_rate:.4f})" if board.rows else ""
        return f"{bar}{playing.rows:,} rows · {pace:,.0f} rows/s{left} · {losses}"


def told(summary: Mapping[str, Any]) -> str:
    """A summary as lines of a name and a value."""
    width = max(len(name) for name in summary)
    return "\n".join(f"{name.replace('_', ' '):>{width}}  {_value(value)}" for name, value in summary.items())


def as_json(summary: Mapping[str, Any]) -> str:
    """A summary as one JSON object, which any terminal can show; what is not finite, and has no word there, is null."""
    return json.dumps({name: finite(value) for name, value in summary.items()}, allow_nan=False)


def finite(value: Any) -> Any:
    """None in place of a number that is not finite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _value(value: Any) -> str:
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
