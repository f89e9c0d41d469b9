"""Dates and moments as people write them, in days since 1970: year, day or month first, names of months, zones."""

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import TypeVar

from aioli.numerics.compiling import Vector

__all__ = ["DAY_FIRST", "MONTH_FIRST", "YEAR_FIRST", "days_in", "parse_date", "parts_of_day"]

YEAR_FIRST, DAY_FIRST, MONTH_FIRST = "", "day first", "month first"  # how a column of dates is written

LONGEST = 64  # characters of a date
ISO_DAY = re.compile(r"\d{4}([-/])\d{1,2}\1\d{1,2}(?:[T ].*)?")
MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTHS = {name: k for k, name in enumerate(MONTH_NAMES, 1)}
WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}\.?,? )?"
NAME = r"(?P<name>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
YEAR = r"(?P<year>\d{4}|\d{2})"
TIME = (
    r"(?:(?:[t:]|,? ?(?:at )?)(?P<hour>\d{1,2}):?(?P<minute>\d{2})"
    r"(?::?(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?"
    r" ?(?P<half>[ap]\.?m\.?)? ?(?P<zone>z|[a-z]{2,4}|[+-]\d{2}(?::?\d{2})?)?(?:\[[a-z_/+-]+\])?)?"
)
FORMS = tuple(
    re.compile(day + TIME, re.ASCII)
    for day in (
        r"(?P<first>\d{1,2})(?P<mark>[-/.])(?P<second_>\d{1,2})(?P=mark)" + YEAR,
        r"(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})",
        r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})(?=t)",
        WEEKDAY + r"(?P<day>\d{1,2})(?:st|nd|rd|th|\.)?(?P<mark>[-/ ]) ?(?:of )?" + NAME + r",?(?P=mark)" + YEAR,
        WEEKDAY + NAME + r" (?P<day>\d{1,2})(?:st|nd|rd|th)?,? (?P<year>\d{4})",
    )
)
ZONES = {"z": 0, "utc": 0, "gmt": 0, "ut": 0, "wet": 0, "west": 60, "bst": 60, "cet": 60, "cest": 120, "eet": 120}
ZONES |= {"eest": 180, "msk": 180, "ist": 330, "jst": 540, "kst": 540, "est": -300, "edt": -240, "cst": -360}
ZONES |= {"cdt": -300, "mst": -420, "mdt": -360, "pst": -480, "pdt": -420}  # in minutes east of Greenwich
TURN = 69  # two digits of a year: 69 is 1969, 68 is 2068, as POSIX has it
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
MICROSECONDS_A_DAY = 86_400e6
WEEK, HOURS = 7.0, 24.0
THURSDAY = 3.0  # the first of January 1970, Monday being 0

Days = TypeVar("Days", float, Vector)


def days_in(text: str, notation: str = YEAR_FIRST) -> float | None:
    """Return a date in days since 1970, its time as a fraction of one; None if the text writes no date."""
    moment = parse_date(text, notation)
    return None if moment is None else (moment - EPOCH) // MICROSECOND / MICROSECONDS_A_DAY


def parts_of_day(days: Days) -> tuple[Days, Days, Days]:
    """Return what is learned of a moment: its day since 1970, the day of its week from Monday, and its hour."""
    return days, (days + THURSDAY) // 1.0 % WEEK, (days % 1.0) * HOURS


def parse_date(text: str, notation: str = YEAR_FIRST) -> datetime | None:
    """Return the moment that the text writes, in UTC where it names no zone; None if it writes none.

    The notation says what comes first in 01/02/2024. ISO 8601 and names of months need none.
    """
    text = text.strip()
    if len(text) > LONGEST or not text[:1].isalnum():
        return None
    moment = _iso(text)
    if moment is not None:
        return moment
    for form in FORMS:
        found = form.fullmatch(text.lower())
        if found is not None:
            return _moment(found.groupdict(), notation)
    return None


def _iso(text: str) -> datetime | None:
    if not ISO_DAY.fullmatch(text):
        return None
    day, mark, time = text.replace("/", "-").replace("T", " ").partition(" ")
    try:
        whole = "-".join(part.zfill(2) for part in day.split("-")) + mark + time.strip()
        moment = datetime.fromisoformat(whole)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _moment(parts: dict[str, str | None], notation: str) -> datetime | None:
    """Return the moment of the parts that a form has found, or None where there is no such day, hour or zone."""
    if parts.get("first") is not None:
        if notation == YEAR_FIRST:
            return None
        day, month = _whole(parts["first"]), _whole(parts["second_"])
        if notation == MONTH_FIRST:
            day, month = month, day
    else:
        name = parts.get("name")
        day, month = _whole(parts["day"]), MONTHS[name] if name else _whole(parts["month"])
    year = _whole(parts["year"])
    if len(parts["year"] or "") == 2:
        year += 1900 if year >= TURN else 2000
    hour, half = _whole(parts["hour"]), parts["half"]
    if half is not None:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half[0] == "p" else 0)
    micro = int(((parts["fraction"] or "0") + "000000")[:6])
    zone = _zone(parts["zone"])
    try:
        if zone is None:
            return None
        return datetime(year, month, day, hour, _whole(parts["minute"]), _whole(parts["second"]), micro, zone)
    except (ValueError, OverflowError):
        return None


def _zone(written: str | None) -> timezone | None:
    if written is None:
        return UTC
    if written in ZONES:
        return timezone(timedelta(minutes=ZONES[written]))
    if written[0] not in "+-":
        return None
    digits = written[1:].replace(":", "")
    minutes = 60 * int(digits[:2]) + int(digits[2:] or 0)
    if minutes >= 24 * 60:
        return None
    return timezone(timedelta(minutes=-minutes if written[0] == "-" else minutes))


def _whole(written: str | None) -> int:
    return int(written or 0)
