"""The options of how a file is read: its label, what its columns are, its format, and what becomes of bad rows."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from aioli.streams.many_labels import ClassRule

__all__ = ["SKIP", "OnError", "Reading"]

OnError = Literal["stop", "skip"]
SKIP: OnError = "skip"


@dataclass(frozen=True)
class Reading:
    """The options of how a file is read: its label, the kinds of its columns, its format.

    Attributes
    ----------
    label
        The label's column, by its name, or its number from 1 at the left or -1 at the right; None for no label. The
        label of a sparse row is at its front, whatever this is.
    positive
        Which of the labels is the positive class, against the rest; None finds out which of two (`streams.labels`).
    number, category, date, text, skip
        Columns of this kind, whatever they seem to be (`streams.files.recognition`). The words of free text are its
        features, and all rows are then sparse.
    cap
        The most features that categories, or sparse features, get before they share hashed ones; None for 256 and
        about a million.
    scale
        Whether columns are brought to a common scale as the stream goes (`streams.scaling`), for learners that take
        them as they come. `Auto` and `Wide` see to it themselves.
    format, delimiter, header
        What cannot be seen from the name of the file and its first line.
    time
        The column that says when a row came, by its name or number: dates, or numbers of seconds. It stays a feature,
        as any other, unless `skip` names it too. None: nobody asks.
    classes
        How many labels there may be (`streams.many_labels`): "two"; two and "more" where more come; or "any".
    live
        Whether rows are given as they come, without waiting for a block of them.
    weight
        The column that says how much each row counts; it is no feature. None: every row counts 1.
    key
        Columns that are carried beside the rows (`Batch.keys`), as they are written; they are no features.
    encoding
        How a file of text is encoded, by a name that Python knows; None for UTF-8, or for Windows-1252 where delimited
        text is not UTF-8.
    on_error
        What becomes of a row that cannot be read: "stop" refuses it, "skip" leaves it out, and counts and tells it.
    labelled
        False leaves the labels of sparse rows unread, which may then be anything or, where the format allows it, none.
    """

    label: str | None = None
    positive: str | None = None
    number: Collection[str] = ()
    category: Collection[str] = ()
    date: Collection[str] = ()
    text: Collection[str] = ()
    skip: Collection[str] = ()
    cap: int | None = None
    scale: bool = False
    format: str | None = None
    delimiter: str | None = None
    header: bool = True
    labelled: bool = True
    time: str | None = None
    classes: ClassRule = "two"
    live: bool = False
    weight: str | None = None
    key: Collection[str] = ()
    encoding: str | None = None
    on_error: OnError = "stop"

    @property
    def tolerant(self) -> bool:
        """Whether rows that cannot be read are left out."""
        return self.on_error == SKIP
