"""Coloured maps of K classes: which is taken for which, and how each went along the stream."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from aioli.evaluate.class_functions import Period
from aioli.report.cards import Key, both_widths, card
from aioli.report.class_record import ClassRecord
from aioli.report.markup import Markup, join, number, short, tag, text
from aioli.report.wording import figure, finite, percent, whole

__all__ = ["confusion", "drift", "frequent"]

SHOWN = 40  # classes that a map has room for
OTHERS = "others"
LETTER = 7.2  # of a label, wide
WRITTEN = 30.0  # a cell as wide as this has room for its number
TOP = 26.0  # above the first row
STEPS = 3.0  # a share is drawn as strong as its cube root says: one in a thousand can still be seen


@dataclass(frozen=True)
class Layout:
    """Where the cells of a map are: so many rows and columns, labels at the left and below."""

    width: float
    rows: Sequence[str]
    columns: int
    cell_height: float
    left: float
    bottom: float

    @property
    def cell_width(self) -> float:
        """The width of a cell."""
        return (self.width - self.left - 1.0) / max(self.columns, 1)

    @property
    def height(self) -> float:
        """The height of the whole drawing."""
        return self.cell_height * len(self.rows) + self.bottom + TOP + 2.0

    def cell(self, row: int, column: int, css: str, strength: float, words: str) -> Markup:
        """Draw one cell, as strong as said from 0 to 1, with its tooltip."""
        return tag(
            "rect",
            tag("title", text(words)),
            x=self.left + column * self.cell_width,
            y=TOP + row * self.cell_height,
            width=self.cell_width,
            height=self.cell_height,
            class_=f"bar cell tip {css}",
            fill_opacity=f"{min(max(strength, 0.04), 1.0):.2f}",
        )

    def row_labels(self, size: float = 12.5) -> Markup:
        """Write the label of every row; where rows are too low for that, of every second, third, …"""
        every = max(1, math.ceil(size * 1.15 / self.cell_height))
        most = max(3, int((self.left - 8.0) / (LETTER * size / 12.5)))
        return join(
            *(
                tag(
                    "text",
                    text(short(name, most)),
                    x=self.left - 6.0,
                    y=TOP + (row + 0.5) * self.cell_height + 0.35 * size,
                    text_anchor="end",
                )
                for row, name in enumerate(self.rows)
                if row % every == 0
            )
        )

    def picture(self, name: str, title: str, description: str, *marks: Markup, above: str, below: str) -> Markup:
        """Put the drawing together, with words above its left edge and below its right one."""
        return tag(
            "svg",
            tag("title", text(title), id=f"{name}-title"),
            tag("desc", text(description), id=f"{name}-text"),
            tag("text", text(above), x=0.0, y=11.0, class_="label"),
            tag("text", text(below), x=self.width, y=self.height - 3.0, text_anchor="end", class_="label"),
            *marks,
            viewBox=f"0 0 {number(self.width)} {number(self.height)}",
            class_="plot map",
            role="img",
            aria_labelledby=f"{name}-title",
            aria_describedby=f"{name}-text",
        )


def frequent(record: ClassRecord, most: int) -> list[int]:
    """Return the numbers of the classes that came most often, in the order of the record."""
    counted = sorted(range(len(record.figures)), key=lambda k: -record.figures[k].rows)
    return sorted(counted[:most])


def confusion(record: ClassRecord) -> Markup | None:
    """Draw which class was taken for which: a row a class that came, a column a class that was likeliest."""
    if not record.confusion:
        return None
    names, table = _gathered(record)
    totals = [math.fsum(row) for row in table]
    worst = sorted(
        ((n, i, j) for i, row in enumerate(table) for j, n in enumerate(row) if i != j and n >= 0.5), reverse=True
    )

    def draw(name: str, width: float, letters: float) -> Markup:
        longest = max(len(short(label, 18)) for label in names)
        left = min(24.0 + LETTER * letters / 12.5 * longest, 0.3 * width)
        size = (width - left) / len(names)
        layout = Layout(width, names, len(names), min(size, max(46.0, 165.0 / len(names))), left, 20.0)
        cells = [
            layout.cell(i, j, "s0" if i == j else "s1", (n / totals[i]) ** (1.0 / STEPS), _said(names, totals, i, j, n))
            for i, row in enumerate(table)
            for j, n in enumerate(row)
            if n > 0.0
        ]
        numbers = [
            tag(
                "text",
                text(_short_share(n / totals[i])),
                x=layout.left + (j + 0.5) * layout.cell_width,
                y=TOP + (i + 0.5) * layout.cell_height + 4.5,
                text_anchor="middle",
                class_="within strong" if n > 0.5 * totals[i] else "within",
            )
            for i, row in enumerate(table)
            for j, n in enumerate(row)
            if n > 0.0 and layout.cell_width >= WRITTEN * letters / 12.5 and layout.cell_height >= 18.0
        ]
        return layout.picture(
            name,
            "Confusion matrix",
            f"{len(names)} classes. " + _in_words(names, totals, worst[:5]),
            *cells,
            *numbers,
            layout.row_labels(letters),
            above="came",
            below="was the likeliest, in the same order from left to right",
        )

    hidden = len(record.classes) - SHOWN
    return card(
        "confusion",
        "Which class is taken for which",
        "A row is a class that came, and its cells are the classes that were found likeliest, as shares of the row: "
        "blue on the diagonal is right, orange is wrong. "
        + (f"The {whole(hidden)} classes that came least are one, “{OTHERS}”. " if hidden > 0 else "")
        + ("Most often: " + _in_words(names, totals, worst[:3]) if worst else ""),
        both_widths(draw("confusion-wide", 960.0, 12.5), draw("confusion-narrow", 400.0, 14.5)),
        keys=[Key("s0", "right", percent(record.run.summary.accuracy)), Key("s1", "taken for another")],
    )


def drift(record: ClassRecord) -> Markup | None:
    """Draw the loss of every class along the stream, a strip a class."""
    periods, shown = list(record.periods), frequent(record, SHOWN)
    if len(periods) < 2 or not shown:
        return None
    names = [record.classes[k] for k in shown]
    losses = [[finite(float(part.log_loss[k])) for part in periods] for k in shown]
    top = _high(losses)

    def draw(name: str, width: float, letters: float) -> Markup:
        longest = max(len(short(label, 18)) for label in names)
        left = min(24.0 + LETTER * letters / 12.5 * longest, 0.3 * width)
        layout = Layout(
            width, names, len(periods), max(8.0, min(max(30.0, 165.0 / len(names)), 520.0 / len(names))), left, 20.0
        )
        cells = [
            layout.cell(row, i, "s1", 0.06 + 0.94 * min(loss / top, 1.0), _of_period(part, k, names[row]))
            for row, k in enumerate(shown)
            for i, part in enumerate(periods)
            if (loss := losses[row][i]) is not None
        ]
        last = periods[-1]
        return layout.picture(
            name,
            "Loss of each class along the stream",
            f"{len(names)} classes in {len(periods)} parts of the stream.",
            *cells,
            layout.row_labels(letters),
            above="class",
            below=f"rows 1 to {whole(last.first + last.rows)}, in equal parts",
        )

    return card(
        "drift",
        "How each class went",
        "A strip is a class and its cells are equal parts of the stream: the stronger the colour, the more a row of "
        "the class lost there; empty where none came. A strip that darkens is a class that changed.",
        both_widths(draw("drift-wide", 960.0, 12.5), draw("drift-narrow", 400.0, 14.5)),
        keys=[Key("s1", "strongest from", f"{figure(top, 2)} nats a row")],
    )


def _gathered(record: ClassRecord) -> tuple[list[str], list[list[float]]]:
    """Return names and matrix of at most `SHOWN` classes, the rest as one."""
    if len(record.classes) <= SHOWN:
        return list(record.classes), [list(row) for row in record.confusion]
    shown = frequent(record, SHOWN)
    rest = [k for k in range(len(record.classes)) if k not in set(shown)]
    groups = [*([k] for k in shown), rest]
    table = [[math.fsum(record.confusion[i][j] for i in down for j in across) for across in groups] for down in groups]
    return [*(record.classes[k] for k in shown), OTHERS], table


def _said(names: Sequence[str], totals: Sequence[float], i: int, j: int, n: float) -> str:
    rows = f"{whole(round(n))} of {whole(round(totals[i]))} rows, {percent(n / totals[i])}"
    return f"{short(names[i], 40)} came\n{short(names[j], 40)} was likeliest\n{rows}"


def _in_words(names: Sequence[str], totals: Sequence[float], worst: Sequence[tuple[float, int, int]]) -> str:
    said = [f"{short(names[i], 24)} for {short(names[j], 24)} ({percent(n / totals[i])})" for n, i, j in worst]
    return "; ".join(said) + "." if said else "No row was taken for another class."


def _of_period(part: Period, k: int, name: str) -> str:
    rows = f"rows {whole(part.first + 1)} to {whole(part.first + part.rows)}"
    came, said = float(part.share[k]), float(part.announced[k])
    loss = figure(float(part.log_loss[k]))
    return f"{short(name, 40)}, {rows}\n{percent(came)} came, {percent(said)} announced\n{loss} nats a row of it"


def _high(losses: Sequence[Sequence[float | None]]) -> float:
    """Return a loss that few cells exceed, from which on the colour is full."""
    known = sorted(loss for row in losses for loss in row if loss is not None)
    return max(known[int(0.95 * (len(known) - 1))] if known else 0.0, 1e-9)


def _short_share(share: float) -> str:
    return "<1" if share < 0.005 else f"{100.0 * share:.0f}"
