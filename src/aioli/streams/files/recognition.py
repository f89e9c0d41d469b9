"""What a column is, by the values of its first rows: numbers, dates, categories or free text, however they are written.

Every reader asks here, so that the same values are the same column whatever file they come from. The label plays no
part, and equal values give an equal answer. A few values that cannot be read do not make a column of numbers one of
categories: they are marked (`streams.encoding`).
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from aioli.streams.files.cell_values import COMMA, POINT, TIME, as_number, hours_in, is_missing, number_in, only_in
from aioli.streams.files.dates import DAY_FIRST, MONTH_FIRST, YEAR_FIRST, days_in
from aioli.streams.files.table import CATEGORY, DATE, NUMBER, TEXT

__all__ = ["SAMPLE", "Recognised", "Sample", "kinds_of", "recognise", "sample_size"]

SAMPLE = 1000  # rows by which the kinds of columns are decided; a tenth of them, where rows are wide
SAMPLED_CELLS = 1 << 18
FEW = 0.05  # the share of values that may be unreadable in a column of numbers or dates
READABLE = 4  # to one that is not, at least
MANY = 20  # different numbers that show a column to be of numbers, though a word stands in place of many of them
TEN_TO_ONE = 10  # different numbers to different words, then
CODE = re.compile(r"0[0-9]{2,}")
WORDS, DISTINCT, LEAST_TEXTS = 4.0, 0.5, 5  # free text has so many words a value, so few of them twice


class Recognised(NamedTuple):
    """What a column is, and how its values are written.

    Attributes
    ----------
    kind
        Number, category, date or text.
    notation
        What a comma means in its numbers, or what comes first in its dates; "" is what programs write.
    plain
        Whether every value is a number as a program writes it, as those of a label may be.
    remark
        What people add to numbers: "percent", "currency", "thousands"; "" if nothing.
    """

    kind: str
    notation: str = ""
    plain: bool = False
    remark: str = ""

    def __str__(self) -> str:
        """Return it in words: "number (decimal comma, currency)"."""
        further = ", ".join(part for part in (self.notation, self.remark) if part)
        return f"{self.kind} ({further})" if further else self.kind


Sample: TypeAlias = Mapping[str, Sequence[str | None] | str]  # a column's first values, or what it is by its type

NONE_ASKED: Mapping[str, str] = {}


def kinds_of(sample: Sample) -> dict[str, str]:
    """Return the kind alone of each column."""
    return {name: column.kind for name, column in recognise(sample).items()}


def sample_size(columns: int) -> int:
    """Return how many of the first rows decide, in a file of so many columns."""
    return min(SAMPLE, max(SAMPLE // 10, SAMPLED_CELLS // max(1, columns)))


def recognise(sample: Sample, asked: Mapping[str, str] = NONE_ASKED) -> dict[str, Recognised]:
    """Return what each column is, by the first values of each; `asked` are kinds that somebody has named instead.

    What a comma means where one column cannot tell, as in 1,549, the others of the file decide.

    >>> found = recognise({"price": ["1.549,34 €", "12,00 €", "#N/A"], "zip": ["01234", "99999"], "n": ["1,200", "7"]})
    >>> [str(column) for column in found.values()]
    ['number (decimal comma, thousands, currency)', 'category', 'number (decimal comma)']
    """
    counted = {
        name: Counter(value for value in values if value is not None and not is_missing(value))
        for name, values in sample.items()
        if not isinstance(values, str)
    }
    commas = sum(_marked(cells, COMMA) for cells in counted.values())
    points = sum(_marked(cells, POINT) for cells in counted.values()) if commas else 0
    usual = COMMA if commas > points else POINT
    found: dict[str, Recognised] = {}
    for name, values in sample.items():
        if isinstance(values, str):
            found[name] = Recognised(asked.get(name, values), plain=values == NUMBER)
        elif name in asked:
            found[name] = _asked(asked[name], counted[name], usual)
        else:
            found[name] = _column(counted[name], usual)
    return found


def _column(cells: Counter[str], usual: str) -> Recognised:
    """Return what a column of these values is; `usual` is the decimal mark of the file's other numbers."""
    if all(as_number(value) is not None and not _is_code(value) for value in cells):
        return _numbers(cells, set(cells), usual)
    if not any(map(_is_code, cells)):
        numbers = {value for value in cells if number_in(value) is not None}
        if _enough(cells, numbers):
            return _numbers(cells, numbers, usual)
        if _enough(cells, {value for value in cells if hours_in(value) is not None}):
            return Recognised(NUMBER, TIME)
    order = _order(cells)
    if _enough(cells, {value for value in cells if days_in(value, order) is not None}):
        return Recognised(DATE, order)
    total = cells.total()
    words = sum(len(value.split()) * count for value, count in cells.items())
    is_text = total >= LEAST_TEXTS and words >= WORDS * total and len(cells) >= DISTINCT * total
    return Recognised(TEXT if is_text else CATEGORY)


def _asked(kind: str, cells: Counter[str], usual: str) -> Recognised:
    """Return how the values of a column are written that was asked to be of this kind."""
    if kind == DATE:
        return Recognised(DATE, _order(cells))
    if kind != NUMBER:
        return Recognised(kind)
    numbers = {value for value in cells if number_in(value) is not None}
    hours = {value for value in cells if hours_in(value) is not None}
    return Recognised(NUMBER, TIME) if len(hours) > len(numbers) else _numbers(cells, numbers, usual)


def _numbers(cells: Counter[str], numbers: set[str], usual: str) -> Recognised:
    """Return what is written around the numbers of a column, and what a comma means in them."""
    plain = all(as_number(value) is not None for value in cells)
    if plain and (usual == POINT or not any("." in value for value in cells)):
        return Recognised(NUMBER, plain=True)
    commas, points = _marked(cells, COMMA), _marked(cells, POINT)
    notation = usual if commas == points else COMMA if commas > points else POINT
    return Recognised(NUMBER, notation, plain and notation == POINT, _remark(numbers, notation))


def _order(cells: Counter[str]) -> str:
    """Return what comes first in the dates of a column: what makes most of them dates."""
    european = any("." in value[:3] or "-" in value[:3] for value in cells)  # 01.02.2024 and 01-02-2024
    orders = (YEAR_FIRST, DAY_FIRST, MONTH_FIRST) if european else (YEAR_FIRST, MONTH_FIRST, DAY_FIRST)
    return max(orders, key=lambda order: sum(n for value, n in cells.items() if days_in(value, order) is not None))


def _is_code(value: str) -> bool:
    """Return whether digits are a name: a zero in front, as in 01234, is kept for a name's sake."""
    return CODE.fullmatch(value.strip()) is not None and value.strip("0 ") != ""


def _enough(cells: Counter[str], readable: set[str]) -> bool:
    """Return whether so many values can be read that the others are mistakes, or one word for what is missing."""
    good = sum(cells[value] for value in readable)
    bad = cells.total() - good
    if not bad or (bad <= max(1, FEW * cells.total()) and good >= READABLE * bad):
        return bool(good)
    return len(readable) >= max(MANY, TEN_TO_ONE * (len(cells) - len(readable))) and good >= bad / 2


def _marked(cells: Counter[str], notation: str) -> int:
    """Return how many values are numbers with this decimal mark for sure."""
    mark = "," if notation == COMMA else "."
    return sum(count for value, count in cells.items() if mark in value and only_in(value, notation))


def _remark(numbers: set[str], notation: str) -> str:
    """Return what people have added to the numbers."""
    mark = "." if notation == COMMA else ","
    found = {
        "thousands": any(mark in value or "'" in value or "’" in value for value in numbers),
        "percent": any("%" in value for value in numbers),
        "currency": any(
            not set(value.strip()) <= set("0123456789.,'’+-−()%‰ \u00a0\u202f\u2009eE") for value in numbers
        ),
    }
    if numbers and all(value.strip().lower() in ("true", "false") for value in numbers):
        return "true or false"
    return ", ".join(remark for remark, is_there in found.items() if is_there)
