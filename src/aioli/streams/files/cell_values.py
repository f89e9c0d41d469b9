"""What cells hold: numbers, dates, categories or nothing; and what a column is, by its first values."""

import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime

import numpy as np

from aioli.numerics.compiling import Vector
from aioli.streams.files.table import CATEGORY, DATE, NUMBER, Texts
from aioli.streams.files.where import Where, row_refused

__all__ = ["as_number", "days_since_1970", "is_missing", "kind_of", "parse_date"]

NO_VALUE = frozenset(["", "?", "na", "n/a", "<na>", "nan", "null"])
MISSING = NO_VALUE | {"-", "none", "nil"}  # which could be labels
DAY = re.compile(r"\d{4}([-/])\d{1,2}\1\d{1,2}(?:[T ].*)?")
SECONDS_A_DAY = 86_400.0


def is_missing(text: str | None, label: bool = False) -> bool:
    """Return whether a cell says that there is no value, in one of the ways that people write it."""
    return text is None or text.strip().lower() in (NO_VALUE if label else MISSING)


def as_number(text: str) -> float | None:
    """Return the number that the text writes, or None if it writes none."""
    try:
        return None if "_" in text else float(text)  # Python would read 1_000 as 1000; nobody means it in a file
    except ValueError:
        return None


def kind_of(values: Iterable[str | None]) -> str:
    """Return what a column is: of numbers or of dates if every value that is there is one, else of categories."""
    present = [value for value in values if not is_missing(value)]
    if all(as_number(str(value)) is not None for value in present):
        return NUMBER
    return DATE if all(parse_date(str(value)) is not None for value in present) else CATEGORY


def parse_date(text: str) -> datetime | None:
    """Return the moment that ISO 8601 writes so, slashes and days alone allowed, in UTC by default; None if none."""
    text = text.strip()
    if not DAY.fullmatch(text):
        return None
    day, mark, time = text.replace("/", "-").replace("T", " ").partition(" ")
    try:
        whole = "-".join(part.zfill(2) for part in day.split("-")) + mark + time.strip()
        moment = datetime.fromisoformat(whole)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def days_since_1970(texts: Texts, name: str, where: Where) -> Vector:
    """Return each date of a column in days, its time as a fraction of one, NaN where it is missing."""
    known: dict[str | None, float] = {}  # most days come again
    for text in dict.fromkeys(texts):
        known[text] = math.nan
        if text is not None and not is_missing(text):
            moment = parse_date(text)
            if moment is None:
                problem = (
                    f"{text!r} is no date, and this was a column of dates so far; mend it, or read the column as "
                    f"categories (--category {name!r})"
                )
                raise row_refused(where, texts.index(text), problem, name)
            known[text] = moment.timestamp() / SECONDS_A_DAY
    return np.array([known[text] for text in texts])
