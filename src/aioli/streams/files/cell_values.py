"""What a cell holds: nothing, a number as people write it, or a time of day."""

import re
from collections.abc import Callable

import numpy as np

from aioli.numerics.compiling import Vector
from aioli.streams.files.table import Texts

__all__ = ["COMMA", "POINT", "TIME", "as_number", "converted", "hours_in", "is_missing", "number_in", "only_in"]

NO_VALUE = frozenset(["", "?", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "(null)", "\\n"])
MISSING = NO_VALUE.union(
    ["-", "--", "---", "–", "—", ".", "none", "nil", "n.a.", "#na", "nat", "missing"],  # which could be labels
    ["#null!", "#value!", "#div/0!", "#ref!", "#name?", "#num!", "1.#qnan", "1.#ind", "-1.#ind"],
)
POINT, COMMA, TIME = "", "decimal comma", "time of day"  # how a column of numbers is written

TRUTH = {"true": 1.0, "false": 0.0}
LONGEST = 48  # characters of a number with all that people put around it
SIGNS = {"-": "-", "−": "-", "+": "", None: ""}
SYMBOLS = "$€£¥₹₽₩₺₫฿₴₦₱₪₡₲₵¢"
CODES = (
    "USD|EUR|GBP|JPY|CHF|CNY|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|RON|BRL|MXN|RUB|TRY|KRW|ZAR|SGD|HKD|ILS|THB|AED|"
    "kr\\.?|Fr\\.|zł|Kč|Ft|R|RM|Rs\\.?"
)
MONEY = rf"(?:[A-Z]{{0,3}}[{SYMBOLS}]|(?:{CODES})(?![A-Za-z]))"
DRESSED = re.compile(
    rf"(?P<open>\()?(?P<sign>[+\-−])?(?P<before>{MONEY})? ?(?P<inner>[+\-−])?"
    r"(?P<digits>[0-9.,'’ ]*)(?P<power>[eE][+-]?[0-9]{1,3})?"
    rf" ?(?P<after>%|‰|{MONEY})?(?P<close>\))?"
)
SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " "})
SWAPPED = str.maketrans(",.", ".,")
GROUPED = re.compile(r"[1-9][0-9]{0,2}(?P<mark>[,'’ ])[0-9]{3}(?:(?P=mark)[0-9]{3})*(?:\.[0-9]*)?")
INDIAN = re.compile(r"[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}(?:\.[0-9]*)?")
UNGROUPED = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")
MARKS = str.maketrans("", "", ",'’ ")
CLOCK = re.compile(r"([0-9]{1,3}):([0-5][0-9])(?::([0-5][0-9](?:\.[0-9]{1,9})?))? ?(?:([AaPp])\.?[Mm]\.?)?")


def is_missing(text: str | None, label: bool = False) -> bool:
    """Return whether a cell says that there is no value, in one of the ways that people write it."""
    return text is None or text.strip().lower() in (NO_VALUE if label else MISSING)


def as_number(text: str) -> float | None:
    """Return the number that the text writes as a program would, or None if it writes none."""
    try:
        return None if "_" in text else float(text)  # Python would read 1_000 as 1000; nobody means it in a file
    except ValueError:
        return None


def number_in(text: str, notation: str = POINT) -> float | None:
    """Return the finite number that a person wrote so, or None: 1,549.34 or 1 549,34 or $1,549 or (12.5) or 14.7 %.

    The notation says what a comma or a point means where it could mean two things, as in 1,549. A text that can be read
    in the other notation alone is read in that. A percentage is the number before the sign.
    """
    if notation == TIME:
        return hours_in(text)
    number = as_number(text)
    if number is not None and (notation == POINT or "." not in text):
        return number if abs(number) < np.inf else None  # NaN is among the tokens for a missing value
    plain = text.strip()
    if len(plain) > LONGEST:
        return None
    if plain.lower() in TRUTH:
        return TRUTH[plain.lower()]
    found = DRESSED.fullmatch(plain.translate(SPACES))
    if found is None or (found["open"] is None) != (found["close"] is None):
        return None
    if (found["sign"] and found["inner"]) or (found["before"] and found["after"]):
        return None
    digits = found["digits"].strip(" ")
    for written in (digits, digits.translate(SWAPPED))[:: 1 if notation == POINT else -1]:
        if GROUPED.fullmatch(written) or UNGROUPED.fullmatch(written) or INDIAN.fullmatch(written):
            sign = "-" if found["open"] else SIGNS[found["sign"] or found["inner"]]
            value = float(sign + written.translate(MARKS) + (found["power"] or ""))
            return value if abs(value) < np.inf else None
    return None


def only_in(text: str, notation: str) -> bool:
    """Return whether a number can be read with this decimal mark alone: 1.549,34 or 0,5 have a comma for it."""
    found = DRESSED.fullmatch(text.strip().translate(SPACES)) if len(text) <= LONGEST else None
    if found is None:
        return False
    digits = found["digits"].strip(" ")
    own, other = (digits, digits.translate(SWAPPED))[:: 1 if notation == POINT else -1]
    forms = GROUPED, UNGROUPED, INDIAN
    return any(form.fullmatch(own) for form in forms) and not any(form.fullmatch(other) for form in forms)


def hours_in(text: str) -> float | None:
    """Return a time of day in hours, or None if the text writes none: 14:30 is 14.5, and so is 2:30 pm."""
    found = CLOCK.fullmatch(text.strip())
    if found is None:
        return None
    hours, minutes, seconds, half = int(found[1]), int(found[2]), float(found[3] or 0.0), found[4]
    if half is not None:
        if not 1 <= hours <= 12:
            return None
        hours = hours % 12 + (12 if half in "pP" else 0)
    return (3600 * hours + 60 * minutes + seconds) / 3600.0


def converted(texts: Texts, read: Callable[[str], float | None]) -> tuple[Vector, dict[int, str]]:
    """Return each text as a number, NaN where it is missing or cannot be read; and by row what cannot be read."""
    known: dict[str | None, float | None] = {}  # most values come again
    for text in dict.fromkeys(texts):
        known[text] = np.nan if text is None or is_missing(text) else read(text)
    values = [known[text] for text in texts]
    unreadable = {t: texts[t] or "" for t, value in enumerate(values) if value is None}
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64), unreadable
