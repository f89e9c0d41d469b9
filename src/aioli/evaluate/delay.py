"""Describes how late labels come: by rows, in batches, by time, or each at a time of its own."""

import re
from dataclasses import dataclass

from aioli.errors import ParameterRefused

__all__ = ["Delay", "read_delay"]

UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}  # seconds


@dataclass(frozen=True)
class Delay:
    """How late labels come: exactly one of these is given.

    Attributes
    ----------
    rows
        Once so many further rows have been announced.
    batch
        Once the last row of the row's batch, of so many rows, has been announced.
    seconds
        So long after the row, before the first row of that time or later (`Batch.times`). A row whose time is earlier
        than that of a row before counts as of the latter's time.
    listed
        Each at a time of its own (`Batch.label_times`), before the first row of that time or later; True where given.
    """

    rows: int | None = None
    batch: int | None = None
    seconds: float | None = None
    listed: bool | None = None

    def __post_init__(self) -> None:
        given = {name: value for name, value in vars(self).items() if value is not None}
        if len(given) != 1:
            raise ParameterRefused(
                f"a delay of {given or 'nothing'} came; give rows, batch, seconds or listed",
                parameter="delay",
                value=given,
            )
        ((name, value),) = given.items()
        least = 1 if name == "batch" else 0
        if not least <= value < float("inf"):
            raise ParameterRefused(f"{name} is {value}; it must be at least {least}", parameter=name, value=value)

    def __str__(self) -> str:
        if self.listed:
            return "labels at times of their own"
        if self.rows is not None:
            return f"labels {_counted(self.rows)} late" if self.rows else "labels in time"
        if self.batch is not None:
            return f"labels in batches of {_counted(self.batch)}"
        assert self.seconds is not None
        unit = next((unit for unit, length in UNITS.items() if self.seconds and self.seconds % length == 0.0), "s")
        return f"labels {self.seconds / UNITS[unit]:,g} {unit} late"


def read_delay(text: str) -> Delay:
    """Return the delay that a text writes: 500 rows, or 7d, 12h, 30m, 90s.

    >>> read_delay("500").rows, read_delay("7d").seconds
    (500, 604800.0)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", text.strip())
    if found is None or (not found[2] and "." in found[1]):
        raise ParameterRefused(
            f"a delay of {text!r} came; give a number of rows, such as 500, or a duration, such as 7d, 12h, 30m or 90s",
            parameter="delay",
            value=text,
        )
    return Delay(seconds=float(found[1]) * UNITS[found[2]]) if found[2] else Delay(rows=int(found[1]))


def _counted(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows:,} rows"
