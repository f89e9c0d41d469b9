"""What is refused, as data: every error of aioli says what came, where, and what to do about it.

All of them are `ValueError`s, so that code which catches those keeps working. The message is made from the parts, and
the parts are there to be read: nobody has to take a sentence apart to find the row.

>>> error = RowRefused("is nan", row=3, column="age", value=float("nan"), remedy="fill it")
>>> print(error)
row 3: column 'age' is nan; fill it (nothing was learned)
>>> print(error.placed("line 12 of visits.csv"))
line 12 of visits.csv: column 'age' is nan; fill it
"""

from typing import Self

__all__ = [
    "AioliError",
    "AnnouncementRefused",
    "CapabilityMissing",
    "DeviceFull",
    "FileRefused",
    "KeyRefused",
    "KeyUnknown",
    "LabelRefused",
    "ParameterRefused",
    "RowRefused",
    "SnapshotRefused",
]

UNCHANGED = " (nothing was learned)"


class AioliError(ValueError):
    """The base of every error that aioli raises by itself."""


class ParameterRefused(AioliError):
    """A parameter is not what it must be.

    Attributes
    ----------
    parameter, value
        Its name, and what came.
    """

    def __init__(self, message: str, *, parameter: str, value: object = None) -> None:
        super().__init__(message)
        self.parameter, self.value = parameter, value

    @classmethod
    def unlike(cls, parameter: str, value: object, wanted: str) -> Self:
        """Return the refusal of a value that is not as wanted: "it must be" begins the end of the sentence."""
        return cls(f"{parameter} is {value!r}; it must be {wanted}", parameter=parameter, value=value)


class AnnouncementRefused(AioliError):
    """A label came with an announcement that is another learner's, is still to come, or has had its label."""


class CapabilityMissing(AioliError):
    """A learner was asked for what it cannot do: to grow, to merge, to weigh rows, to be saved."""


class DeviceFull(AioliError, MemoryError):
    """The memory of a device has come to its end; a `MemoryError` too. Whatever was learned before stays.

    Attributes
    ----------
    problem, remedy
        What needed the memory, and what the caller can do.
    reason
        What PyTorch said.
    learned
        How many rows of the call were learned from: those at its beginning, whole blocks of them.
    """

    def __init__(self, problem: str, *, reason: str, remedy: str, learned: int = 0) -> None:
        self.problem, self.reason, self.remedy, self.learned = problem, reason, remedy, learned
        short = ". ".join(reason.split("\n")[0].split(". ")[:2])  # PyTorch goes on about its settings
        kept = f" (the first {learned:,} rows were learned: go on behind them)" if learned else UNCHANGED
        super().__init__(f"{problem}: {short.rstrip('.')}; {remedy}{kept}")

    def after(self, learned: int) -> "DeviceFull":
        """Return the same error of a call of which so many rows have been learned from."""
        return DeviceFull(self.problem, reason=self.reason, remedy=self.remedy, learned=learned)

    def __reduce__(self) -> tuple[object, ...]:
        return _device_full, (self.problem, self.reason, self.remedy, self.learned)


class RowRefused(AioliError):
    """A row, or several, cannot be learned from or predicted; the learner is as it was.

    Parameters
    ----------
    problem
        What is wrong, beginning with a verb where a column is named: "is nan".
    row
        The number of the row among those of the call, from 0; None where the call was about a single row or all rows.
    column
        The column's number from 0 or its name; None where no single column is to blame.
    value
        What came there.
    remedy
        What the caller can do.
    place
        Where the row is to be found, such as "line 12 of visits.csv", where the caller did not count rows.
    """

    def __init__(
        self,
        problem: str,
        *,
        row: int | None = None,
        column: int | str | None = None,
        value: object = None,
        remedy: str = "",
        place: str | None = None,
    ) -> None:
        self.problem, self.row, self.column, self.value, self.remedy = problem, row, column, value, remedy
        self.place = place
        counted = "the row" if row is None else f"row {row}"
        super().__init__(self._message(counted) + UNCHANGED if place is None else self._message(place))

    def placed(self, place: str) -> "RowRefused":
        """Return the same refusal of a row that is called by its place, such as its line in a file."""
        return _row_refused(type(self), self.problem, self.row, self.column, self.value, self.remedy, place)

    def numbered(self, row: int) -> "RowRefused":
        """Return the same refusal of a row that has another number in the call, such as that before a shuffle."""
        return _row_refused(type(self), self.problem, row, self.column, self.value, self.remedy, self.place)

    def _message(self, where: str) -> str:
        column = "" if self.column is None else f"column {self.column!r} "
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{where}: {column}{self.problem}{remedy}"

    def __reduce__(self) -> tuple[object, ...]:
        return _row_refused, (type(self), self.problem, self.row, self.column, self.value, self.remedy, self.place)


class LabelRefused(RowRefused):
    """A label is none of the two classes, or is missing."""


class KeyRefused(RowRefused):
    """A row's key is missing, or of a kind that cannot tell one model from another."""


class KeyUnknown(AioliError, KeyError):
    """A model was asked for by a key that no row has had; a `KeyError` too, as of any mapping."""

    def __str__(self) -> str:
        return str(self.args[0])


class FileRefused(AioliError):
    """A file cannot be read, or is not what it was taken for.

    Attributes
    ----------
    path
        The file.
    place
        Where in it, such as "line 12"; None where the file as a whole is refused.
    row
        The number of a row among those that were read together, where nothing but that row is wrong; else None.
    """

    def __init__(self, message: str, *, path: str = "", place: str | None = None, row: int | None = None) -> None:
        super().__init__(message)
        self.path, self.place, self.row = path, place, row


class SnapshotRefused(AioliError):
    """A snapshot is damaged, of another kind, or of a version that this one does not know."""


def _device_full(problem: str, reason: str, remedy: str, learned: int) -> DeviceFull:
    return DeviceFull(problem, reason=reason, remedy=remedy, learned=learned)


def _row_refused(
    kind: type[RowRefused],
    problem: str,
    row: int | None,
    column: int | str | None,
    value: object,
    remedy: str,
    place: str | None,
) -> RowRefused:
    return kind(problem, row=row, column=column, value=value, remedy=remedy, place=place)
