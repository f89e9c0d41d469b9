"""The frame of every report: one HTML file that holds all it shows, asks nothing of the network and needs no script."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template

from aioli.report.markup import Markup, join, short, tag, text
from aioli.report.wording import figure, finite, percent, whole
from aioli.snapshots.whole_files import replacing

__all__ = ["Document", "Tile", "closing_tiles", "gain", "notes", "section", "terms", "write_document"]

Tile = tuple[str, str, str]  # its name, its number, and what is said beside it


@dataclass(frozen=True)
class Document:
    """The parts of a report, from top to bottom.

    Attributes
    ----------
    name
        What was played.
    lead
        One sentence about the run.
    tiles
        The essential numbers.
    hero
        The first chart.
    scores
        The other numbers.
    sections
        Further charts and tables.
    made
        By whom, in words.
    styles, scripts
        Names of further style sheets and scripts.
    """

    name: str
    lead: Markup
    tiles: Sequence[Tile]
    hero: Markup | None
    scores: Markup
    sections: Markup
    made: str
    styles: Sequence[str] = ()
    scripts: Sequence[str] = ()

    def html(self) -> str:
        """Return the whole document."""
        home = files("aioli.report")
        styles = "".join((home / name).read_text("utf-8") for name in ("page.css", *self.styles))
        scripts = "".join((home / name).read_text("utf-8") for name in ("page.js", *self.scripts))
        return Template((home / "page.html").read_text("utf-8")).substitute(
            css=styles,
            js=scripts,
            name=text(short(self.name, 120)),
            lead=self.lead,
            tiles=tag("dl", *(_tile(*tile) for tile in self.tiles), class_="tiles"),
            hero=join(self.hero),
            scores=self.scores,
            sections=self.sections,
            made=text(self.made),
        )


def write_document(path: str | os.PathLike[str], document: str) -> None:
    """Write the report, whole or not at all: until it is complete, what was there before stays."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {target.parent}; make it, or give another path")
    if target.exists() and not target.is_file():
        raise ValueError(f"{path}: is there already, and is not a file; give another path")
    with replacing(target) as file:
        file.write(document.encode())


def gain(loss: float, base: float | None) -> str:
    """Return in words how far a loss is below the base rate's."""
    if base is None:
        return ""
    if base <= 0.0:
        return f"the base rate has {figure(base)}"
    part = 1.0 - loss / base
    return f"{percent(abs(part))} {'below' if part >= 0.0 else 'above'} the base rate’s {figure(base)}"


def closing_tiles(rows: int, rows_per_second: float | None, certificate: float | None) -> list[Tile]:
    """Return the last of the essential numbers: the rows, and the certificate where one is proven."""
    pace, proven = finite(rows_per_second), finite(certificate)
    tiles: list[Tile] = [("Rows", whole(rows), "" if pace is None else f"{whole(pace)} a second")]
    if proven is not None:
        each = f"{figure(proven / rows, 2)} a row beyond the best model, proven" if rows else ""
        tiles.append(("Certificate, nats", f"≤ {figure(proven)}", each))
    return tiles


def terms(scores: Sequence[tuple[str, str]]) -> Markup | None:
    """Return names and numbers in one line, without those that are not known; None where none is."""
    known = [tag("div", tag("dt", text(name)), tag("dd", text(value))) for name, value in scores if value != "–"]
    return tag("dl", *known, class_="scores") if known else None


def section(heading: str, cards: Sequence[Markup | None]) -> Markup | None:
    """Return the cards that there are under their heading; None where there are none."""
    made = [card for card in cards if card is not None]
    return tag("section", tag("h2", text(heading)), tag("div", join(*made), class_="cards")) if made else None


def notes(sentences: Sequence[str]) -> Markup | None:
    """Return the sentences as a section of their own; None where there are none."""
    if not sentences:
        return None
    return tag("section", tag("h2", text("Notes")), tag("ul", *(tag("li", text(n)) for n in sentences), class_="notes"))


def _tile(name: str, value: str, beside: str) -> Markup:
    said = [tag("dd", text(beside), class_="beside")] if beside else []
    shown = tag("dd", text(value), class_="value", style=f"--characters: {len(value)}")
    return tag("div", tag("dt", text(name)), shown, *said)
