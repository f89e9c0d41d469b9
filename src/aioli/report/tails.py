"""The reliability diagram of the tails, on an axis of log-odds; and the table of thresholds."""

import math

from aioli.report.cards import Key, card
from aioli.report.charts_of_probabilities import CURVE, wilson
from aioli.report.markup import Markup, tag, text
from aioli.report.record import Record
from aioli.report.svg import Axis, Frame
from aioli.report.tables import head_of
from aioli.report.wording import figure, percent, whole

__all__ = ["decisions", "tails"]

TICKS = (1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0 - 1e-4, 1.0 - 1e-5, 1.0 - 1e-6)
COSTS = (1, 5, 20)  # of a row that is missed, in false alarms
FEWEST = 5  # rows that are drawn as a group


def tails(record: Record) -> Markup | None:
    """Draw what came against what was said on axes of log-odds, where 1 % and 99 % have as much room as 50 %."""
    groups = [group for group in record.tails if group.rows >= FEWEST and 0.0 < group.announced < 1.0]
    if len(groups) < 2:
        return None
    intervals = [wilson(group.observed, group.rows) for group in groups]
    least = min(group.announced for group in groups)
    greatest = max(group.announced for group in groups)
    x = (_logit(least) - 0.6, _logit(greatest) + 0.6)
    frame = Frame("tails", x, (x[0] - 1.0, x[1] + 1.0), height=CURVE)
    floor, top = frame.y.least, frame.y.greatest

    def up(share: float) -> float:
        return min(max(_logit(share), floor), top) if 0.0 < share < 1.0 else floor if share <= 0.0 else top

    marks = [frame.line([(x[0], x[0]), (x[1], x[1])], "base")]
    wrong = 0
    for group, (low, high) in zip(groups, intervals, strict=True):
        at = _logit(group.announced)
        off = not low <= group.announced <= high
        wrong += off
        css = "s1" if off else "s0"
        marks.append(frame.line([(at, up(low)), (at, up(high))], f"{css} whisker"))
        marks.append(frame.dot(at, up(group.observed), 4.0, css))
    tips = [
        (
            _logit(group.announced),
            up(group.observed),
            f"{whole(group.rows)} rows\n{_exact(group.announced)} announced\n{_exact(group.observed)} came\n"
            f"{_exact(low)} to {_exact(high)} by chance",
        )
        for group, (low, high) in zip(groups, intervals, strict=True)
    ]
    ticks = [value for value in TICKS if x[0] <= _logit(value) <= x[1]]
    while len(ticks) > 6:
        ticks = [value for value in ticks if value == 0.5 or ticks.index(value) % 2 == ticks.index(0.5) % 2]
    extremes = "; ".join(
        f"of {whole(group.rows)} rows at {_exact(group.announced)}, {_exact(group.observed)} came"
        for group in (groups[0], groups[-1])
    )
    beyond = "no group lies" if not wrong else f"{wrong} of {len(groups)} groups lie"
    return card(
        "tails",
        "Are the sure ones sure?",
        f"The same on axes of log-odds, where 1% and 99% have as much room as 50%: {extremes}. A whisker is what "
        f"chance allows about 95 times in 100; {beyond} beyond it.",
        frame.picture(
            "Reliability of the tails",
            f"{len(groups)} groups of rows between fixed probabilities; {extremes}.",
            *marks,
            frame.dot_tips(tips),
            x=Axis("probability announced, %", _from_logit, tuple(_logit(value) for value in ticks)),
            y=Axis("share that came, %", _from_logit, tuple(_logit(value) for value in ticks)),
        ),
        keys=[
            Key("s0", "groups of rows"),
            *([Key("s1", "beyond chance")] if wrong else []),
            Key("base", "perfectly honest"),
        ],
    )


def decisions(record: Record) -> Markup | None:
    """Return a table of thresholds: how many alarms, how many are right, how many rows are missed, and at what cost."""
    table, rows = record.decisions, record.summary.rows
    if not table or not rows:
        return None
    costs = [[(alarms - right + ratio * missed) / rows for _, alarms, right, missed in table] for ratio in COSTS]
    cheapest = [min(column) for column in costs]
    names = ["threshold", "alarms", "precision", "recall", *(f"cost, {ratio} : 1" for ratio in COSTS)]
    body = []
    for i, (threshold, alarms, right, missed) in enumerate(table):
        cells = [
            percent(alarms / rows),
            "–" if not alarms else percent(right / alarms),
            "–" if not right + missed else percent(right / (right + missed)),
            *(figure(1000.0 * column[i]) for column in costs),
        ]
        best = [False] * 3 + [column[i] == least for column, least in zip(costs, cheapest, strict=True)]
        body.append(
            tag(
                "tr",
                tag("th", text(f"{threshold:g}"), scope="row"),
                *(
                    tag("td", tag("b", text(said)) if bold else text(said), class_="number")
                    for said, bold in zip(cells, best, strict=True)
                ),
            )
        )
    return card(
        "decisions",
        "Where to draw the line",
        "A row of at least the threshold raises the alarm. Precision is the share of alarms that are right, recall the "
        "share of positive rows that are found. Cost is in false alarms a thousand rows, where a positive row that is "
        "missed costs 1, 5 or 20 of them; the cheapest threshold is in bold.",
        tag("table", head_of(names, words=("threshold",)), tag("tbody", *body), class_="tight"),
    )


def _logit(p: float) -> float:
    return math.log(p / (1.0 - p))


def _from_logit(z: float) -> str:
    return _exact(1.0 / (1.0 + math.exp(-z))).removesuffix("%")


def _exact(share: float) -> str:
    """Return a share with as many digits as its distance from 0 or 1 asks for."""
    near = min(share, 1.0 - share)
    digits = 0 if near >= 0.0995 or near <= 0.0 else max(0, -math.floor(math.log10(near) + 0.01) - 2)
    return f"{100.0 * share:.{min(digits, 6)}f}%"
