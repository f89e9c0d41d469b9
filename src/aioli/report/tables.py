"""Tables of the page: the largest weights with their bars, the columns of the data, the numbers behind the lines."""

from aioli.report.cards import card
from aioli.report.markup import Markup, number, short, tag, text
from aioli.report.record import Column, Record
from aioli.report.wording import figure, finite, percent, whole, with_error

__all__ = ["columns", "head_of", "numbers", "side_bar", "weights"]

WEIGHTS = 30
COLUMNS = 100
POINTS = 40
WIDEST = 2.5  # a whisker that reaches further than so many of the largest bars is cut: bars must stay visible


def weights(record: Record) -> Markup | None:
    """Draw a bar for each weight, with a whisker of two standard deviations."""
    known = [
        (w, finite(w.weight) or 0.0, finite(w.uncertainty)) for w in record.weights if finite(w.weight) is not None
    ]
    hidden = max(0, len(known) - WEIGHTS)
    known = known[:WEIGHTS]
    largest = max((abs(value) for _, value, _ in known), default=0.0)
    if not known or largest == 0.0:
        return None
    reach = max(abs(value) + 2.0 * (spread or 0.0) for _, value, spread in known)
    limit = min(reach, WIDEST * largest)
    stepped = finite(record.average) is not None
    rows = []
    for weight, value, spread in known:
        said = figure(value) if spread is None else with_error(value, 2.0 * spread)
        rows.append(
            tag(
                "tr",
                tag("th", text(short(weight.name)), scope="row", title=weight.name[:300]),
                tag("td", side_bar(value / limit, (spread or 0.0) / limit)),
                tag("td", text(said), class_="number"),
                *([tag("td", text(percent(weight.probability)), class_="number")] if stepped else []),
            )
        )
    certain = any(spread is not None for _, _, spread in known)
    whisker = " The whisker is two standard deviations of what it knows: one that crosses zero is undecided."
    step = (
        " A step is one standard deviation of a number, or the level of a category in place of the average row’s; the "
        f"last column is the probability to which it takes the average row, from {percent(record.average)}."
    )
    what = "a step of each column" if stepped else "each column"
    return card(
        "weights",
        "The largest effects" if stepped else "The largest weights",
        f"What {what} adds to the log-odds of {short(record.positive, 40)}, to the right, or takes from them, to the "
        f"left.{step if stepped else ''}{whisker if certain else ''}"
        f"{f' The other {whole(hidden)} are smaller.' if hidden else ''}",
        tag("table", tag("tbody", *rows), class_="bars"),
    )


def columns(record: Record) -> Markup | None:
    """Return a table of the columns of the data."""
    if not record.columns:
        return None
    heads = {
        "kind": "kind",
        "missing": "missing",
        "categories": "categories",
        "least": "least",
        "mean": "mean",
        "greatest": "greatest",
        "note": "note",
    }
    shown = record.columns[:COLUMNS]
    cells = [(column, _cells(column)) for column in shown]
    used = [name for name in heads if any(said[name] for _, said in cells)]
    body = [
        tag(
            "tr",
            tag("th", text(short(column.name)), scope="row", title=column.name[:300]),
            *(
                tag(
                    "td",
                    text(said[name]),
                    class_=None if name in ("kind", "note") else "number",
                    data_label=None if name in ("kind", "note") else heads[name],
                )
                for name in used
            ),
        )
        for column, said in cells
    ]
    head = head_of(["column", *(heads[name] for name in used)], words=("column", "kind", "note"))
    hidden = len(record.columns) - len(shown)
    count = f"{whole(len(record.columns))} column{'s' if len(record.columns) > 1 else ''}"
    return card(
        "columns",
        "The columns",
        f"The first {whole(len(shown))} of {count}, as they came; the other {whole(hidden)} are not listed here."
        if hidden
        else f"{count}, as they came.",
        tag("table", head, tag("tbody", *body), class_="data"),
    )


def numbers(record: Record) -> Markup | None:
    """Return the points of the history in figures, for those who do not see lines or want to quote them."""
    if not record.history:
        return None
    every = -(-len(record.history) // POINTS)
    points = record.history[::-1][::every][::-1]  # counted from the end: the last point is always among them
    kinds = [
        ("log loss", [figure(point.log_loss, 4) for point in points]),
        ("latest rows", [figure(point.recent, 4) for point in points]),
        ("base rate", [figure(point.base_rate, 4) for point in points]),
        ("certificate", [figure(point.certificate, 4) for point in points]),
        ("regret", [figure(point.regret, 4) for point in points]),
    ]
    used = [(name, figures) for name, figures in kinds if any(said != "–" for said in figures)]
    head = head_of(["rows", *(name for name, _ in used)], words=("rows",))
    body = [
        tag(
            "tr",
            tag("th", text(whole(point.rows)), scope="row"),
            *(tag("td", text(figures[i]), class_="number", data_label=name) for name, figures in used),
        )
        for i, point in enumerate(points)
    ]
    return tag(
        "details",
        tag("summary", text("The numbers behind the lines")),
        tag("table", head, tag("tbody", *body), class_="data numbers"),
    )


def head_of(names: list[str], words: tuple[str, ...]) -> Markup:
    """Return the first line of a table; what heads numbers stands above their last digits."""
    cells = [tag("th", text(name), scope="col", class_=None if name in words else "number") for name in names]
    return tag("thead", tag("tr", *cells))


def side_bar(value: float, spread: float) -> Markup:
    """Draw a bar from the middle, between -1 and 1; drawn in a box of 200 that the page stretches."""
    parts = [
        tag("line", x1=0.0, x2=0.0, y1=0.0, y2=16.0, class_="zero"),
        tag("rect", x=min(0.0, 100.0 * value), y=3.0, width=abs(100.0 * value), height=10.0, class_=_side(value)),
    ]
    if spread:
        low, high = 100.0 * (value - 2.0 * spread), 100.0 * (value + 2.0 * spread)
        drawn = f"M{number(low)} 8H{number(high)}M{number(low)} 5V11M{number(high)} 5V11"
        parts.append(tag("path", d=drawn, class_="whisker"))
    return tag("svg", *parts, viewBox="-102 0 204 16", preserveAspectRatio="none", class_="weight", aria_hidden="true")


def _side(value: float) -> str:
    return "bar s1" if value > 0.0 else "bar s0"


def _cells(column: Column) -> dict[str, str]:
    least, mean, greatest = (
        "" if finite(value) is None else figure(value) for value in (column.least, column.mean, column.greatest)
    )
    return {
        "kind": short(column.kind, 20),
        "missing": "" if finite(column.missing) is None else percent(column.missing),
        "categories": "" if column.categories is None else whole(column.categories),
        "least": least,
        "mean": mean,
        "greatest": greatest,
        "note": short(column.note, 200),
    }
