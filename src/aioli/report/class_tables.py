"""The table of K classes: of each how often it came and was announced, and how well it was told apart."""

from aioli.evaluate.class_functions import ClassFigures
from aioli.report.cards import card
from aioli.report.class_record import ClassRecord
from aioli.report.markup import Markup, short, tag, text
from aioli.report.tables import head_of
from aioli.report.wording import figure, percent, whole

__all__ = ["classes"]

FIRST = 12  # classes that are seen at once
SHOWN = 200
HEADS = ("rows", "announced", "recall", "precision", "F1", "AUC", "loss", "gap")


def classes(record: ClassRecord) -> Markup | None:
    """Return a table of the classes, those that came most often first."""
    if not record.figures:
        return None
    order = sorted(range(len(record.figures)), key=lambda k: -record.figures[k].rows)
    body = [
        tag(
            "tr",
            tag("th", text(short(record.classes[k])), scope="row", title=record.classes[k][:300]),
            *(
                tag("td", text(said), class_="number beyond" if css else "number", data_label=head)
                for head, (said, css) in zip(HEADS, _cells(record.figures[k]), strict=True)
            ),
        )
        for k in order[:SHOWN]
    ]
    head = head_of(["class", *HEADS], words=("class",))
    first = tag("table", head, tag("tbody", *body[:FIRST]), class_="data dense")
    hidden = len(order) - SHOWN
    return card(
        "classes",
        "The classes",
        "Announced is the sum of the probabilities, ± two standard deviations of what chance allows; loss is the mean "
        "of the rows of the class, in nats; gap is the class’s calibration error, marked where chance alone explains "
        "it less than 5 times in 100." + (f" {whole(hidden)} more classes are not listed." if hidden > 0 else ""),
        first,
        _folded(head, body[FIRST:]),
    )


def _folded(head: Markup, rows: list[Markup]) -> Markup | None:
    """Return further rows behind a line that opens them; None where there are none."""
    if not rows:
        return None
    said = (
        f"The other {whole(len(rows))} classes, which came less often" if len(rows) > 1 else "The one that came least"
    )
    table = tag("table", head, tag("tbody", *rows), class_="data dense")
    return tag("details", tag("summary", text(said)), table)


def _cells(one: ClassFigures) -> list[tuple[str, bool]]:
    """Return what is said in each column, and whether it is beyond what chance allows."""
    return [
        (whole(one.rows), False),
        (f"{whole(round(one.announced))} ± {whole(round(2.0 * one.deviation))}", _off(one)),
        (percent(one.recall), False),
        (percent(one.precision), False),
        (figure(one.f1), False),
        (figure(one.auc), False),
        (figure(one.log_loss), False),
        (percent(one.calibration.value), one.calibration.value > one.calibration.limit),
    ]


def _off(one: ClassFigures) -> bool:
    return abs(one.rows - one.announced) > 2.0 * one.deviation + 1.0
