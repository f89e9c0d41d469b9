"""Drawings as inline SVG: scales, axes and marks. Colours are the page's: a mark has a class, never a colour."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Self

from aioli.report.markup import Markup, join, number, tag, text
from aioli.report.record import Number
from aioli.report.wording import compact, finite

__all__ = ["Axis", "Frame", "Place", "Scale"]

CLOSEST = 0.3  # decades from 1 to 2, and from 5 to 10
TINY = 1e-290  # below it the step between two ticks may vanish
Place = tuple[Number, Number]
LEFT, RIGHT, TOP, BOTTOM = 54.0, 24.0, 28.0, 44.0  # room for the words around the axes
MARGIN = 7.0  # by which a dot on an axis may reach beyond it
TICK_WIDTH, TICK_HEIGHT = 60.0, 36.0  # at least so much room for each tick


@dataclass(frozen=True)
class Scale:
    """Maps numbers of an axis to lengths of the drawing, linearly or by logarithms (positive numbers only)."""

    least: float
    greatest: float
    start: float
    end: float
    logarithmic: bool = False

    @classmethod
    def over(cls, least: float, greatest: float, start: float, end: float, logarithmic: bool = False) -> Self:
        """Return a scale of some width, also for a single number; logarithmic where asked and there is a decade."""
        size = max(abs(least), abs(greatest))
        if not greatest - least > max(TINY, 1e-9 * size):
            least, greatest = (least - 0.5 * size, greatest + 0.5 * size) if size > TINY else (0.0, 1.0)
        return cls(least, greatest, start, end, logarithmic and least > 0.0 and greatest >= 10.0 * least)

    def __call__(self, value: float) -> float:
        """Return the length that stands for a number."""
        if self.logarithmic:
            least = math.log(self.least)  # differences of logarithms: the quotient itself may overflow
            part = (math.log(max(value, self.least)) - least) / (math.log(self.greatest) - least)
        else:
            part = (value - self.least) / (self.greatest - self.least)
        return self.start + part * (self.end - self.start)

    def ticks(self, room: float) -> list[float]:
        """Return round numbers, with at least `room` between two of them."""
        most = max(1, int(abs(self.end - self.start) / room))
        if self.logarithmic:
            first, last = math.ceil(math.log10(self.least) - 1e-9), math.floor(math.log10(self.greatest) + 1e-9)
            decade = abs(self.end - self.start) / (math.log10(self.greatest) - math.log10(self.least))
            if CLOSEST * decade >= 0.8 * room:  # words on it are short: whole numbers of few digits
                fine = [times * 10.0**k for k in range(first - 1, last + 1) for times in (1.0, 2.0, 5.0)]
                return [value for value in fine if self.least <= value <= self.greatest]
            return [10.0**k for k in range(first, last + 1, max(1, math.ceil((last - first) / most)))]
        rough = (self.greatest - self.least) / most
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(unit * times for times in (1.0, 2.0, 5.0, 10.0) if unit * times >= rough * (1.0 - 1e-9))
        first, last = math.ceil(self.least / step - 1e-9), math.floor(self.greatest / step + 1e-9)
        return [round(k * step, 12 - math.floor(math.log10(step))) for k in range(first, last + 1)]


class Axis(NamedTuple):
    """What is said along an axis: its label, each of its numbers in words, and which numbers, where not round ones."""

    label: str
    words: Callable[[float], str] = compact
    ticks: Sequence[float] | None = None


class Frame:
    """A drawing with two axes. Marks are made by its methods, then put together by `picture`.

    Parameters
    ----------
    name
        The beginning of every id in it: no two drawings of a page share one.
    x, y
        The least and the greatest number of each axis.
    logarithmic
        Whether the x axis is.
    """

    def __init__(
        self,
        name: str,
        x: tuple[float, float],
        y: tuple[float, float],
        width: float = 400.0,
        height: float = 290.0,
        logarithmic: bool = False,
    ) -> None:
        self.name = name
        self.width, self.height = width, height
        self.x = Scale.over(*x, LEFT, width - RIGHT, logarithmic)
        self.y = Scale.over(*y, height - BOTTOM, TOP)

    def line(self, places: Iterable[Place], css: str) -> Markup:
        """Draw a line through the places; it is broken where a number is missing, and a place alone is a dot."""
        parts = [part for part in self._parts(places) if len(part) > 1]
        dots = [self._dot(*part[0], 2.5, css) for part in self._parts(places) if len(part) == 1]
        drawn = "".join("M" + "L".join(f"{number(x)} {number(y)}" for x, y in part) for part in parts)
        return join(tag("path", d=drawn, class_=f"line {css}") if drawn else None, *dots)

    def area(self, upper: Sequence[tuple[float, float]], lower: Sequence[tuple[float, float]], css: str) -> Markup:
        """Draw what lies between two lines."""
        around = [(self.x(x), self.y(y)) for x, y in (*upper, *reversed(lower))]
        drawn = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in around) + "Z"
        return tag("path", d=drawn, class_=f"area {css}")

    def bar(self, x: tuple[float, float], y: tuple[float, float], css: str) -> Markup:
        """Draw a rectangle between two numbers of each axis."""
        left, right = sorted((self.x(x[0]), self.x(x[1])))
        top, bottom = sorted((self.y(y[0]), self.y(y[1])))
        return tag("rect", x=left, y=top, width=right - left, height=bottom - top, class_=f"bar {css}")

    def dot(self, x: float, y: float, radius: float, css: str) -> Markup:
        """Draw a disc, its radius a length."""
        return self._dot(self.x(x), self.y(y), radius, css)

    def words(self, x: float, y: float, said: str, anchor: str = "start", css: str = "") -> Markup:
        """Write text at a place of the drawing."""
        return tag("text", text(said), x=self.x(x), y=self.y(y), text_anchor=anchor, class_=css or None)

    def band_tips(self, said: Sequence[tuple[float, str]]) -> Markup:
        """Return tooltips, each over the band of the x axis nearest to its number; numbers must rise."""
        middles = [self.x(value) for value, _ in said]
        edges = [self.x.start, *((a + b) / 2.0 for a, b in pairwise(middles)), self.x.end]
        return join(
            *(
                self._tip("rect", words, x=left, y=TOP, width=right - left, height=self.height - BOTTOM - TOP)
                for (_, words), left, right in zip(said, edges, edges[1:], strict=False)
            )
        )

    def dot_tips(self, said: Iterable[tuple[float, float, str]]) -> Markup:
        """Return tooltips, each over a disc about its point."""
        return join(*(self._tip("circle", words, cx=self.x(x), cy=self.y(y), r=9.0) for x, y, words in said))

    def picture(
        self,
        title: str,
        description: str,
        *marks: Markup | None,
        x: Axis,
        y: Axis,
        css: str = "",
    ) -> Markup:
        """Draw the marks, in their order, on the grid and inside the axes."""
        left, right, top, bottom = LEFT, self.width - RIGHT, TOP, self.height - BOTTOM
        clip = tag(
            "rect",
            x=left - MARGIN,
            y=top - MARGIN,
            width=right - left + 2.0 * MARGIN,
            height=bottom - top + 2.0 * MARGIN,
        )
        grid: list[Markup] = []
        for value in self.y.ticks(TICK_HEIGHT) if y.ticks is None else y.ticks:
            grid.append(tag("line", x1=left, x2=right, y1=self.y(value), y2=self.y(value)))
            grid.append(tag("text", text(y.words(value)), x=left - 7.0, y=self.y(value) + 4.0, text_anchor="end"))
        for value in self.x.ticks(TICK_WIDTH) if x.ticks is None else x.ticks:
            at = self.x(value)
            grid.append(tag("line", x1=at, x2=at, y1=bottom, y2=bottom + 5.0))
            grid.append(tag("text", text(x.words(value)), x=at, y=bottom + 19.0, text_anchor="middle"))
        return tag(
            "svg",
            tag("title", text(title), id=f"{self.name}-title"),
            tag("desc", text(description), id=f"{self.name}-text"),
            tag("clipPath", clip, id=f"{self.name}-clip"),
            tag("g", *grid, class_="axes"),
            tag("text", text(y.label), x=0.0, y=12.0, class_="label"),
            tag("text", text(x.label), x=right, y=self.height - 6.0, text_anchor="end", class_="label"),
            tag("g", join(*marks), clip_path=f"url(#{self.name}-clip)"),
            viewBox=f"0 0 {number(self.width)} {number(self.height)}",
            class_=f"plot {css}".strip(),
            role="img",
            aria_labelledby=f"{self.name}-title",
            aria_describedby=f"{self.name}-text",
        )

    def _parts(self, places: Iterable[Place]) -> list[list[tuple[float, float]]]:
        parts: list[list[tuple[float, float]]] = [[]]
        for x, y in places:
            across, up = finite(x), finite(y)
            if across is not None and up is not None:
                parts[-1].append((self.x(across), self.y(up)))
            elif parts[-1]:
                parts.append([])
        return [part for part in parts if part]

    def _dot(self, x: float, y: float, radius: float, css: str) -> Markup:
        return tag("circle", cx=x, cy=y, r=radius, class_=f"dot {css}")

    def _tip(self, shape: str, words: str, **where: float) -> Markup:
        return tag(shape, tag("title", text(words)), class_="tip", **where)
