"""Cards of what each column, or each word, does to the probability that is announced; coefficients under details."""

from collections.abc import Sequence

from aioli.report.cards import card
from aioli.report.markup import Markup, join, number, short, tag, text
from aioli.report.record import ColumnEffect, CurvePoint, Record
from aioli.report.tables import head_of, side_bar, weights
from aioli.report.wording import finite, percent, whole

__all__ = ["column_effects", "details", "word_effects"]

COLUMNS = 30
WORDS = 20  # of either direction
DIRECTIONS = {
    "rises": "rises with it",
    "falls": "falls with it",
    "bends": "rises and falls",
    "differs": "differs by value",
    "": "no effect seen",
}
WIDTH, HEIGHT = 120.0, 30.0


def column_effects(record: Record) -> Markup | None:
    """Return a table of the columns: how far each moves what is announced, which way, and a small curve."""
    shown = [effect for effect in record.effects[:COLUMNS] if finite(effect.importance) is not None]
    largest = max((effect.importance for effect in shown), default=0.0)
    if not shown or largest <= 0.0:
        return None
    points = [point.probability for effect in shown for point in effect.curve]
    top = max(points, default=1.0)
    rows = [
        tag(
            "tr",
            tag("th", text(short(effect.name)), scope="row", title=effect.name[:300]),
            tag("td", _importance(effect.importance / largest), class_="importance"),
            tag("td", text(DIRECTIONS.get(effect.direction, effect.direction)), class_="direction"),
            tag("td", _curve(effect.curve, top), class_="curve"),
            tag("td", text(_ends(effect)), class_="number"),
        )
        for effect in shown
    ]
    hidden = len(record.effects) - len(shown)
    return card(
        "effects",
        "What each column does",
        f"How far a column moves the probability of {short(record.positive, 40)} that is announced: the bar is the "
        "mean change of the log-odds where a row gets the column of another. The curve is the mean probability as the "
        "column goes through its usual values and everything else stays, all curves on one scale from 0."
        f"{f' The other {whole(hidden)} columns move it less.' if hidden > 0 else ''}",
        tag(
            "table",
            head_of(
                ["column", "importance", "the probability", "", "from → to"],
                words=("column", "importance", "the probability", ""),
            ),
            tag("tbody", *rows),
            class_="effects",
        ),
    )


def word_effects(record: Record) -> Markup | None:
    """Return the words, or features of a sparse file, that raise the probability most, and those that lower it most."""
    known = [word for word in record.words if finite(word.log_odds) is not None]
    up = [word for word in known if word.log_odds > 0.0][:WORDS]
    down = [word for word in known if word.log_odds < 0.0][:WORDS]
    largest = max((abs(word.log_odds) for word in up + down), default=0.0)
    if largest == 0.0:
        return None
    rows = [
        tag(
            "tr",
            tag("th", text(short(word.name)), scope="row", title=word.name[:300]),
            tag("td", side_bar(word.log_odds / largest, 0.0)),
            tag("td", text(f"{word.log_odds:+.2f}".replace("-", "−")), class_="number"),
        )
        for word in [*up, *reversed(down)]
    ]
    return card(
        "words",
        "The words that say most",
        f"What the presence of a word adds to the log-odds of {short(record.positive, 40)}, to the right, or takes "
        "from them, to the left; of the commonest words in a sample of the rows.",
        tag("table", tag("tbody", *rows), class_="bars"),
    )


def details(record: Record) -> Markup | None:
    """Return the coefficients of the linear model, or of the linear expert, folded away where columns have effects."""
    table = weights(record)
    if table is None or not (record.effects or record.words):
        return table
    summary = tag("summary", text("Details: the coefficients of one linear expert"))
    said = (
        "Of the experts in the mixture these are of the linear one with the largest share, which may be small: columns "
        "that go together can have coefficients of either sign there. What the learner says as a whole is above."
    )
    return tag("details", join(summary, tag("p", text(said), class_="aside"), table), class_="details")


def _importance(share: float) -> Markup:
    bar = tag("rect", x=0.0, y=3.0, width=100.0 * share, height=10.0, class_="bar s0")
    return tag("svg", bar, viewBox="0 0 100 16", preserveAspectRatio="none", class_="weight", aria_hidden="true")


def _curve(curve: Sequence[CurvePoint], top: float) -> Markup:
    """Draw the curve of a number as a line, of a category as bars, on a scale from 0 to the top of all curves."""
    if not curve or top <= 0.0:
        return text("")
    heights = [HEIGHT - 2.0 - (HEIGHT - 4.0) * point.probability / top for point in curve]
    said = "\n".join(f"{percent(point.probability)} at {short(point.value, 40)}" for point in curve)
    numbers = [point.number for point in curve]
    if any(value is None for value in numbers):
        width = WIDTH / len(curve)
        marks = [
            tag("rect", x=i * width + 1.0, y=y, width=max(width - 2.0, 1.0), height=HEIGHT - y, class_="bar s0")
            for i, y in enumerate(heights)
        ]
    else:
        values = [value for value in numbers if value is not None]
        span = (values[-1] - values[0]) or 1.0
        across = [2.0 + (WIDTH - 4.0) * (value - values[0]) / span for value in values]
        drawn = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in zip(across, heights, strict=True))
        marks = [tag("path", d=drawn, class_="line s0")]
    base = tag("line", x1=0.0, x2=WIDTH, y1=HEIGHT - 0.5, y2=HEIGHT - 0.5, class_="zero")
    tip = tag("rect", tag("title", text(said)), x=0.0, y=0.0, width=WIDTH, height=HEIGHT, class_="tip")
    return tag(
        "svg",
        base,
        *marks,
        tip,
        viewBox=f"0 0 {number(WIDTH)} {number(HEIGHT)}",
        class_="spark",
        role="img",
        aria_label=said,
    )


def _ends(effect: ColumnEffect) -> str:
    if len(effect.curve) < 2:
        return "–"
    first, last = effect.curve[0], effect.curve[-1]
    if effect.direction == "differs":
        first, last = last, first  # the least first
    return f"{percent(first.probability)} → {percent(last.probability)}"
