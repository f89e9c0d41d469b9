"""The report of a run of K classes, in the frame of every report."""

import os
from collections.abc import Sequence

from aioli.report import charts_over_rows as rows
from aioli.report import class_charts, class_maps, class_tables, tables
from aioli.report.charts_over_rows import learner_name
from aioli.report.class_record import ClassRecord
from aioli.report.document import Document, Tile, closing_tiles, gain, notes, section, terms, write_document
from aioli.report.markup import Markup, join, tag, text
from aioli.report.page import made_by
from aioli.report.wording import duration, figure, finite, percent, whole

__all__ = ["class_page", "write_class_page"]


def class_page(record: ClassRecord, tiles: Sequence[Tile] = (), scripts: Sequence[str] = ()) -> str:
    """Return the whole document. A chart without data has no place in it, nor has a section without charts.

    `tiles` come behind those of the record, and `scripts` behind the page's own, for a page that changes.

    >>> from aioli.report.record import Record, Summary
    >>> html = class_page(ClassRecord(Record("digits.csv", "Auto()", Summary(rows=1)), ["0", "1", "2"]))
    >>> html.startswith("<!doctype html>"), "<figure" in html
    (True, False)
    """
    run = record.run
    sections = (
        ("The classes", [class_maps.confusion(record), class_tables.classes(record)]),
        ("Along the stream", [class_charts.shares(record), class_maps.drift(record), *_over_rows(record)]),
        (
            "The probabilities",
            [class_charts.confidence(record), class_charts.sureness(record), class_charts.by_class(record)],
        ),
        ("The data", [tables.columns(run)]),
    )
    return Document(
        name=run.title,
        lead=_lead(record),
        tiles=[*_tiles(record), *tiles],
        hero=rows.running_loss(run),
        scores=_scores(record),
        sections=join(*(section(heading, cards) for heading, cards in sections), notes(run.notes)),
        made=made_by(run),
        styles=("class_page.css",),
        scripts=scripts,
    ).html()


def write_class_page(path: str | os.PathLike[str], record: ClassRecord) -> None:
    """Write the report, whole or not at all: until it is complete, what was there before stays."""
    write_document(path, class_page(record))


def _over_rows(record: ClassRecord) -> list[Markup | None]:
    return [rows.recent_loss(record.run), rows.certificate(record.run), rows.mixture(record.run)]


def _lead(record: ClassRecord) -> Markup:
    count = record.run.summary.rows
    counted = f"each of {whole(count)} rows" if count != 1 else "one row"
    said = f" announced the probabilities of {len(record.classes)} classes for {counted} before it saw the label."
    return tag("p", tag("b", text(learner_name(record.run))), text(said), class_="lead")


def _tiles(record: ClassRecord) -> list[Tile]:
    """Return the essential numbers; what was not measured has no tile."""
    summary = record.run.summary
    tiles: list[Tile] = []
    loss = finite(summary.log_loss)
    if loss is not None:
        tiles.append(("Log loss, nats a row", figure(loss), gain(loss, finite(summary.base_rate))))
    if finite(summary.accuracy) is not None:
        top = finite(record.top3)
        beside = "" if top is None else f"{percent(top)} among the three likeliest"
        tiles.append(("Accuracy", percent(summary.accuracy), beside))
    if finite(record.macro_f1) is not None:
        tiles.append(("Macro-F1", figure(record.macro_f1), "mean over the classes, each alike"))
    if record.confidence is not None and finite(record.confidence.value) is not None:
        beside = f"of the likeliest class; chance allows {percent(record.confidence.limit)}"
        tiles.append(("Calibration error", percent(record.confidence.value), beside))
    return [*tiles, *closing_tiles(summary.rows, record.run.rows_per_second, summary.certificate)]


def _scores(record: ClassRecord) -> Markup:
    """Return the other scores, in one line."""
    summary = record.run.summary
    regret, spent = finite(summary.regret), finite(record.run.seconds)
    allowed = "" if finite(record.class_ece_limit) is None else f" (chance allows {percent(record.class_ece_limit)})"
    by_class = "–" if finite(record.class_ece) is None else percent(record.class_ece) + allowed
    scores = (
        ("Cohen’s kappa", figure(record.kappa)),
        ("AUC, one against the rest", figure(summary.auc)),
        ("Brier score, 0 to 2", figure(summary.brier)),
        ("Calibration error by class", by_class),
        ("Base rate’s log loss", figure(summary.base_rate)),
        ("Regret in hindsight", "–" if regret is None else f"{figure(regret)} nats"),
        ("Time", "–" if spent is None else duration(spent)),
    )
    return join(terms(scores), tables.numbers(record.run))
