"""A card of the page: a heading, what its colours mean, a drawing or a table, and one sentence of how to read it."""

from collections.abc import Sequence
from typing import NamedTuple

from aioli.report.markup import Markup, join, short, tag, text

__all__ = ["Key", "both_widths", "card"]


class Key(NamedTuple):
    """An entry of a legend: its class, its name, and the number to say beside it."""

    css: str
    name: str
    value: str = ""


def card(name: str, heading: str, reading: str, *content: Markup | None, keys: Sequence[Key] = ()) -> Markup:
    """Return the card as a figure that can be linked to by its name."""
    legend = tag("ul", *(_entry(key) for key in keys), class_="legend") if keys else None
    return tag(
        "figure",
        join(tag("h3", text(heading)), legend, *content, tag("figcaption", text(reading))),
        class_="card",
        id=name,
    )


def both_widths(wide: Markup, narrow: Markup) -> Markup:
    """Return a wide and a narrow drawing, of which the page shows the one that fits: text keeps its size."""
    return join(tag("div", wide, class_="wide"), tag("div", narrow, class_="narrow"))


def _entry(key: Key) -> Markup:
    swatch = tag("span", class_=f"swatch {key.css}", aria_hidden="true")
    value = tag("b", text(key.value)) if key.value else None
    return tag("li", join(swatch, tag("span", text(short(key.name)), title=key.name[:300]), value))
