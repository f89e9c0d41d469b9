"""The report: one HTML file that holds everything it shows, asks nothing of the network and needs no script."""

import os
from collections.abc import Callable, Sequence

from aioli.report import charts_of_probabilities as probabilities
from aioli.report import charts_over_rows as rows
from aioli.report import charts_over_windows as windows
from aioli.report import effects, key_tables, tables, tails
from aioli.report.charts_over_rows import learner_name
from aioli.report.document import Document, Tile, closing_tiles, gain, notes, section, terms, write_document
from aioli.report.markup import Markup, join, short, tag, text
from aioli.report.record import Record
from aioli.report.wording import duration, figure, finite, percent, whole

__all__ = ["made_by", "page", "write_page"]

Chart = Callable[[Record], Markup | None]
SECTIONS: tuple[tuple[str, tuple[Chart, ...]], ...] = (
    ("Along the stream", (windows.loss_over_windows, windows.shares_over_windows, rows.certificate, rows.mixture)),
    (
        "The probabilities",
        (
            probabilities.reliability,
            tails.tails,
            probabilities.histogram,
            probabilities.roc,
            probabilities.precision_recall,
            tails.decisions,
        ),
    ),
    ("By key", (key_tables.hardest, key_tables.drifted, key_tables.newest)),
    ("What was learned", (effects.column_effects, effects.word_effects, effects.details)),
    ("The data", (tables.columns,)),
)


def page(record: Record, tiles: Sequence[Tile] = (), scripts: Sequence[str] = ()) -> str:
    """Return the whole document. A chart without data has no place in it, nor has a section without charts.

    `tiles` come behind those of the record, and `scripts` behind the page's own, for a page that changes.

    >>> from aioli.report.record import Record, Summary
    >>> html = page(Record("clicks.csv", "AIOLI(radius=4)", Summary(rows=1)))
    >>> html.startswith("<!doctype html>"), "<figure" in html
    (True, False)
    """
    return Document(
        name=record.title,
        lead=_lead(record),
        tiles=[*_tiles(record), *tiles],
        hero=rows.running_loss(record),
        scores=_scores(record),
        sections=join(
            *(section(heading, [chart(record) for chart in charts]) for heading, charts in SECTIONS),
            notes(record.notes),
        ),
        made=made_by(record),
        scripts=scripts,
    ).html()


def write_page(path: str | os.PathLike[str], record: Record) -> None:
    """Write the report, whole or not at all: until it is complete, what was there before stays."""
    write_document(path, page(record))


def _lead(record: Record) -> Markup:
    count = record.summary.rows
    counted = f"each of {whole(count)} rows" if count != 1 else "one row"
    said = f" announced a probability for {counted} before it saw the label."
    lead = tag("p", tag("b", text(learner_name(record))), text(said), class_="lead")
    doubts = "; ".join(short(doubt, 120) for doubt in record.warnings)
    warnings = tag("p", tag("b", text("Look at: ")), text(doubts), class_="warnings")
    return join(lead, _facts(record), warnings if record.warnings else None)


def _facts(record: Record) -> Markup | None:
    """Return what was played: label, positive class and its share, command, day and version."""
    counts = record.histogram
    total = 0 if counts is None else sum(counts.positive) + sum(counts.negative)
    share = f" ({percent(sum(counts.positive) / total)} of the rows)" if counts is not None and total else ""
    facts = (
        ("Label", short(record.label, 80)),
        ("Positive class", f"{short(record.positive, 60)}{share}" if record.label else ""),
        ("Command", short(record.command, 300)),
        ("Made", " · ".join(part for part in (record.date, f"aioli {record.version}") if part) if record.date else ""),
    )
    known = [tag("div", tag("dt", text(name)), tag("dd", text(said))) for name, said in facts if said]
    return tag("dl", *known, class_="facts") if known else None


def _tiles(record: Record) -> list[Tile]:
    """Return the essential numbers; what was not measured has no tile."""
    summary = record.summary
    loss, base, ece = finite(summary.log_loss), finite(summary.base_rate), finite(summary.ece)
    auc = finite(summary.auc)
    tiles: list[Tile] = []
    if loss is not None:
        tiles.append(("Log loss, nats a row", figure(loss), gain(loss, base)))
    if auc is not None:
        low, high = finite(summary.auc_low), finite(summary.auc_high)
        within = "" if low is None or high is None else f"{figure(low, 4)} to {figure(high, 4)} by chance; "
        tiles.append(("AUC", figure(auc), f"{within}a coin has 0.5"))
    if ece is not None:
        tiles.append(("Calibration error", percent(ece), "mean gap of announced and observed"))
    return [*tiles, *closing_tiles(summary.rows, record.rows_per_second, summary.certificate)]


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
    proven = tag("p", text(record.proven), class_="proven") if record.proven else None
    return join(terms(scores), proven, tables.numbers(record))


def made_by(record: Record) -> str:
    """Return the learner and the version of aioli."""
    return " · ".join(part for part in (short(record.learner, 300), f"aioli {short(record.version, 40)}") if part)
