"""The live pages of a service: all models, and one model with the report's charts, in the report's style."""

import math
import time
from collections.abc import Sequence
from dataclasses import replace

from aioli import __version__
from aioli.evaluate.class_scores import ClassScores
from aioli.report.cards import card
from aioli.report.class_page import class_page
from aioli.report.class_record import record_of_classes
from aioli.report.document import Document, Tile, section
from aioli.report.markup import Markup, join, tag, text
from aioli.report.of_scores import probability_parts, summary_of
from aioli.report.page import page
from aioli.report.record import Record
from aioli.report.wording import duration, figure, whole
from aioli.service.served import Served
from aioli.service.status import certificate_of

__all__ = ["Latencies", "index_page", "model_page"]

SCRIPTS = ("live.js",)
Latencies = Sequence[tuple[str, float | None, float | None]]  # an endpoint, and its p50 and p99 in seconds, at most


def model_page(served: Served, now: float, latencies: Latencies = ()) -> str:
    """Return the page of a model as it stands: rows that wait, latency, drift, and every chart of a report."""
    model, tally = served.model, served.model.tally
    scores = tally.scores
    record = Record(
        title=served.record.name,
        learner=repr(model.learner),
        summary=summary_of(scores, certificate_of(model)),
        version=__version__,
        history=tuple(tally.history),
        date=time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now)),
        warnings=tuple(str(change) for change in tally.changes()),
    )
    keys = [("Keys", whole(model.model_count), "each with a model of its own")] if model.keyed else []
    tiles = [*keys, *_service_tiles(served, now), *_latency_tiles(latencies)]
    if isinstance(scores, ClassScores):
        return class_page(record_of_classes(record, scores), tiles, SCRIPTS)
    if not tally.heard:
        return page(record, tiles, SCRIPTS)
    negative, positive = ("0", "1") if model.labels is None else map(str, model.labels)
    shown = replace(
        record,
        **probability_parts(scores),
        label="label",
        negative=negative,
        positive=positive,
        windows=tuple(tally.windows.list()),
        changes=tuple(tally.changes()),
    )
    return page(shown, tiles, SCRIPTS)


def _service_tiles(served: Served, now: float) -> list[Tile]:
    waiting, counts = served.waiting, served.counts
    oldest = f"the oldest for {duration(waiting.oldest_age(now))}; " if len(waiting) else ""
    alarms = len(served.model.tally.changes())
    return [
        ("Rows waiting", whole(len(waiting)), f"{oldest}at most {whole(waiting.limits.most)} wait"),
        ("Expired since the start", whole(counts["expired"]), "rows let go without a label"),
        ("Drift alarms", whole(alarms), "places where the loss changed by a step"),
    ]


def _latency_tiles(latencies: Latencies) -> list[Tile]:
    return [
        (f"{name.capitalize()}, p99", _at_most(slow), "" if middle is None else f"p50 {_at_most(middle)}")
        for name, middle, slow in latencies
        if slow is not None
    ]


def _at_most(seconds: float) -> str:
    if seconds == math.inf:
        return "over a minute"
    return f"≤ {seconds:g} s" if seconds >= 1.0 else f"≤ {1e3 * seconds:g} ms"


def index_page(models: Sequence[Served], now: float, latencies: Latencies = ()) -> str:
    """Return the page of all models, with a link to each."""
    learned = sum(served.model.rounds for served in models)
    waiting = sum(len(served.waiting) for served in models)
    tiles: list[Tile] = [
        ("Models", whole(len(models)), ""),
        ("Labels learned", whole(learned), ""),
        ("Rows waiting", whole(waiting), "for their labels"),
        *_latency_tiles(latencies),
    ]
    heads = ("Model", "Labels", "Log loss", "Waiting", "Expired", "Drift")
    head = tag("tr", *(tag("th", text(name), scope="col") for name in heads))
    table = tag("div", tag("table", join(tag("thead", head), tag("tbody", *map(_line, models)))), class_="scroll")
    reading = "Log loss is in nats a label; drift counts the places where it changed by a step."
    made = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now))
    return Document(
        name="Models in service",
        lead=tag("p", text(f"Predict by id now, learn by id when the label comes. As of {made}."), class_="lead"),
        tiles=tiles,
        hero=None,
        scores=join(),
        sections=join(section("Models", [card("models", "All of them", reading, table)] if models else [])),
        made=f"aioli {__version__}",
        scripts=SCRIPTS,
    ).html()


def _line(served: Served) -> Markup:
    tally = served.model.tally
    name = served.record.name  # plain, by the rule of names
    link = tag("a", text(name), href=f"/models/{name}/page")
    loss = figure(tally.scores.log_loss) if tally.heard else "–"
    numbers = (whole(served.model.rounds), loss, whole(len(served.waiting)), whole(served.counts["expired"]))
    cells = [tag("td", text(value)) for value in (*numbers, whole(len(tally.changes())))]
    return tag("tr", tag("th", link, scope="row"), *cells)
