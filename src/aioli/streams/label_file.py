"""A second file that tells the labels of rows: each by a key, and where it has times, when it came."""

from pathlib import Path

import numpy as np

from aioli.errors import FileRefused
from aioli.numerics.compiling import Vector
from aioli.streams.files.byte_source import STANDARD_INPUT
from aioli.streams.files.formats import listed
from aioli.streams.files.marks import Mark, mark_of
from aioli.streams.files.table import SKIPPED, Table
from aioli.streams.files.where import row_refused
from aioli.streams.filestream import FileStream, Reading
from aioli.streams.labels import Labels
from aioli.streams.many_labels import ClassRule
from aioli.streams.row_times import times_of
from aioli.streams.settled_columns import find_column

__all__ = ["LabelFile"]


class LabelFile:
    """The labels of a file by their keys, read whole when it is made, and held in memory.

    A key is compared as it is written. The first label of a key stands; `repeated` counts the others.

    Parameters
    ----------
    path
        A file of columns, of any format; its header and delimiter are found as a stream's are.
    key
        The column of keys, by its name or number.
    label
        The column of labels, by its name or number; None where there is but one column besides key and time.
    positive
        Which label is the positive class; None finds out (`streams.labels`).
    time
        The column that says when a label came, as dates or seconds; None: nobody asks.
    classes
        How many labels there may be, as `Reading.classes`.

    Attributes
    ----------
    places
        The place of each key in `y` and `times`.
    y, times
        The labels, 0.0 or 1.0 or codes of classes, and when they came; `times` is None where no column was given.
    labels
        What the classes are called, and how many labels are of each.
    repeated
        How many labels came for a key that had one already.
    """

    def __init__(
        self,
        path: str,
        key: str,
        label: str | None = None,
        positive: str | None = None,
        time: str | None = None,
        classes: ClassRule = "two",
    ) -> None:
        if path == STANDARD_INPUT:
            raise FileRefused("labels are read from a file, not from standard input; give its name", path=path)
        self.path = path
        self.places: dict[str, int] = {}
        self.repeated = 0
        self.mark: Mark | None = mark_of(Path(path)) if Path(path).is_file() else None
        if label is None:
            label = self._only_column(key, time)
        with FileStream(path, Reading(label=label, positive=positive, category=(key,), classes=classes)) as stream:
            self._check_columns(stream)
            self.labels: Labels = stream.labels
            self.label = label if stream.label is None else stream.label
            self.key = find_column(stream.name, key, list(stream.kinds))
            when = None if time is None else stream.time_column(time)
            if self.key in (self.label, when):
                raise FileRefused(f"{path}: column {self.key!r} cannot be the key and something else", path=path)
            stream.kinds = {k: v if k in (self.key, self.label, when) else SKIPPED for k, v in stream.kinds.items()}
            y: list[Vector] = []
            times: list[Vector] = []
            for table in stream.tables():
                assert isinstance(table, Table)
                assert table.labels is not None
                new = self._add_keys(table)
                y.append(stream.labels.encode(table.labels, table.where)[new])
                if when is not None:
                    times.append(times_of(table, when)[new])
        self.y: Vector = np.concatenate([np.empty(0), *y])
        self.times: Vector | None = None if when is None else np.concatenate([np.empty(0), *times])

    def __len__(self) -> int:
        return len(self.places)

    def _check_columns(self, stream: FileStream) -> None:
        if not stream.kinds:
            raise FileRefused(f"{self.path}: sparse rows have no column of keys; give columns", path=self.path)

    def _only_column(self, key: str, time: str | None) -> str:
        """Return the only column besides the key and the time; refuse a file that has none, or several."""
        with FileStream(self.path, Reading(category=(key,))) as stream:
            self._check_columns(stream)
            columns = list(stream.kinds)
            known = {find_column(stream.name, name, columns) for name in (key, time) if name is not None}
        others = [name for name in columns if name not in known]
        if len(others) != 1:
            what = f"its other columns are {listed(others)}" if others else "it has no other column"
            raise FileRefused(f"{self.path}: say which column is the label (--label NAME); {what}", path=self.path)
        return others[0]

    def _add_keys(self, table: Table) -> list[int]:
        """Give each new key its place; return the rows of the table whose key is new."""
        new: list[int] = []
        for row, key in enumerate(table.texts[self.key]):
            if key is None:
                raise row_refused(table.where, row, "the key is missing; fill it in, or drop the label", self.key)
            if key in self.places:
                self.repeated += 1
            else:
                self.places[key] = len(self.places)
                new.append(row)
        return new
