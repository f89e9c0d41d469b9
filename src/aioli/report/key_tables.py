"""Tables of a run by key: who is hard to predict, whose recent rows go worse, who is new."""

from collections.abc import Sequence

from aioli.evaluate.key_line import KeyLine
from aioli.report.cards import card
from aioli.report.markup import Markup, short, tag, text
from aioli.report.record import Record
from aioli.report.tables import head_of
from aioli.report.wording import figure, whole

__all__ = ["drifted", "hardest", "newest"]


def hardest(record: Record) -> Markup | None:
    """Return a table of the keys that are hard to predict."""
    told = record.keys
    reading = "Keys whose rows lost most beyond what their own share of positive labels would have, known beforehand."
    return None if told is None else _table("hard-keys", "Who is hard", reading, told.hard)


def drifted(record: Record) -> Markup | None:
    """Return a table of the keys whose latest rows go worse."""
    told = record.keys
    reading = "Keys whose later rows lost more than their earlier ones, by three standard errors or more."
    return None if told is None else _table("drifted-keys", "Who drifted", reading, told.drifted)


def newest(record: Record) -> Markup | None:
    """Return a table of the keys that came last."""
    told = record.keys
    if told is None:
        return None
    reading = (
        f"Of {whole(told.count)} keys, {whole(told.new_count)} first came in the last tenth of the rows; their mean "
        f"loss is {figure(told.new_loss)}."
    )
    return _table("new-keys", "Who is new", reading, told.new)


def _table(name: str, heading: str, reading: str, lines: Sequence[KeyLine]) -> Markup | None:
    if not lines:
        return None
    heads = ["rows", "log loss", "latest rows", "own base rate", "first row"]
    body = []
    for line in lines:
        cells = whole(line.rows), figure(line.loss), figure(line.recent), figure(line.base_rate), whole(line.first)
        row = [tag("td", text(cell), class_="number", data_label=head) for head, cell in zip(heads, cells, strict=True)]
        body.append(tag("tr", tag("th", text(short(line.key)), scope="row", title=line.key[:300]), *row))
    head = head_of(["key", *heads], words=("key",))
    return card(name, heading, reading, tag("table", head, tag("tbody", *body), class_="data"))
