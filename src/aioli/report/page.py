"""The report: one HTML file that holds everything it shows, asks nothing of the network and needs no script."""

import os
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from string import Template

from aioli.report import charts_of_probabilities as probabilities
from aioli.report import charts_over_rows as rows
from aioli.report import tables
from aioli.report.charts_over_rows import learner_name
from aioli.report.markup import Markup, join, short, tag, text
from aioli.report.record import Record
from aioli.report.wording import duration, figure, finite, percent, whole
from aioli.snapshots.whole_files import replacing

__all__ = ["page", "write_page"]

Chart = Callable[[Record], Markup | None]
SECTIONS: tuple[tuple[str, tuple[Chart, ...]], ...] = (
    ("Along the stream", (rows.recent_loss, rows.certificate, rows.mixture)),
    (
        "The probabilities",
        (probabilities.reliability, probabilities.histogram, probabilities.roc, probabilities.precision_recall),
    ),
    ("What was learned", (tables.weights,)),
    ("The data", (tables.columns,)),
)


def page(record: Record) -> str:
    """Return the whole document. A chart without data has no place in it, nor has a section without charts.

    >>> from aioli.report.record import Record, Summary
    >>> html = page(Record("clicks.csv", "AIOLI(radius=4)", Summary(rows=1)))
    >>> html.startswith("<!doctype html>"), "<figure" in html
    (True, False)
    """
    home = files("aioli.report")
    parts = {name: (home / name).read_text("utf-8") for name in ("page.html", "page.css", "page.js")}
    return Template(parts["page.html"]).substitute(
        css=parts["page.css"],
        js=parts["page.js"],
        name=text(short(record.title, 120)),
        lead=_lead(record),
        tiles=_tiles(record),
        hero=join(rows.running_loss(record)),
        scores=_scores(record),
        sections=join(*(_section(heading, charts, record) for heading, charts in SECTIONS), _notes(record)),
        made=text(_made(record)),
    )


def write_page(path: str | os.PathLike[str], record: Record) -> None:
    """Write the report, whole or not at all: until it is complete, what was there before stays."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {target.parent}; make it, or give another path")
    if target.exists() and not target.is_file():
        raise ValueError(f"{path}: is there already, and is not a file; give another path")
    document = page(record)
    with replacing(target.resolve()) as temporary:  # a link stays a link
        temporary.write_text(document, "utf-8", newline="\n")


def _lead(record: Record) -> Markup:
    count = record.summary.rows
    counted = f"each of {whole(count)} rows" if count != 1 else "one row"
    said = f" announced a probability for {counted} before it saw the label."
    return tag("p", tag("b", text(learner_name(record))), text(said), class_="lead")


def _tiles(record: Record) -> Markup:
    """Return the essential numbers; what was not measured has no tile."""
    summary = record.summary
    loss, base, ece = finite(summary.log_loss), finite(summary.base_rate), finite(summary.ece)
    auc, proven = finite(summary.auc), finite(summary.certificate)
    tiles: list[tuple[str, str, str]] = []
    if loss is not None:
        tiles.append(("Log loss, nats a row", figure(loss), _beside(loss, base)))
    if auc is not None:
        error = finite(summary.auc_error)
        exact = "" if error is None else f"± {figure(error, 1)}, "
        tiles.append(("AUC", figure(auc), f"{exact}a coin has 0.5"))
    if ece is not None:
        tiles.append(("Calibration error", percent(ece), "mean gap of announced and observed"))
    pace = finite(record.rows_per_second)
    tiles.append(("Rows", whole(summary.rows), "" if pace is None else f"{whole(pace)} a second"))
    if proven is not None:
        each = f"{figure(proven / summary.rows, 2)} a row beyond the best model, proven" if summary.rows else ""
        tiles.append(("Certificate, nats", f"≤ {figure(proven)}", each))
    return tag("dl", *(_tile(*tile) for tile in tiles), class_="tiles")


def _tile(name: str, value: str, beside: str) -> Markup:
    said = [tag("dd", text(beside), class_="beside")] if beside else []
    shown = tag("dd", text(value), class_="value", style=f"--characters: {len(value)}")
    return tag("div", tag("dt", text(name)), shown, *said)


def _beside(loss: float, base: float | None) -> str:
    if base is None:
        return ""
    if base <= 0.0:
        return f"the base rate has {figure(base)}"
    gain = 1.0 - loss / base
    return f"{percent(abs(gain))} {'below' if gain >= 0.0 else 'above'} the base rate’s {figure(base)}"


def _scores(record: Record) -> Markup:
    """Return the other scores, in one line."""
    summary = record.summary
    regret, spent = finite(summary.regret), finite(record.seconds)
    scores = (
        ("Brier score", figure(summary.brier)),
        ("Accuracy", percent(summary.accuracy)),
        ("Base rate’s log loss", figure(summary.base_rate)),
        ("Regret in hindsight", "–" if regret is None else f"{figure(regret)} nats"),
        ("Time", "–" if spent is None else duration(spent)),
    )
    known = [tag("div", tag("dt", text(name)), tag("dd", text(value))) for name, value in scores if value != "–"]
    return join(tag("dl", *known, class_="scores") if known else None, tables.numbers(record))


def _section(heading: str, charts: tuple[Chart, ...], record: Record) -> Markup | None:
    cards = [made for chart in charts if (made := chart(record)) is not None]
    return tag("section", tag("h2", text(heading)), tag("div", join(*cards), class_="cards")) if cards else None


def _notes(record: Record) -> Markup | None:
    if not record.notes:
        return None
    return tag(
        "section", tag("h2", text("Notes")), tag("ul", *(tag("li", text(n)) for n in record.notes), class_="notes")
    )


def _made(record: Record) -> str:
    return " · ".join(part for part in (short(record.learner, 300), f"aioli {short(record.version, 40)}") if part)
