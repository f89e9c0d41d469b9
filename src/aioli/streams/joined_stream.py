"""A file of rows whose labels are in a second file, found by a key: rows come in the order of the first."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from aioli.errors import FileRefused
from aioli.numerics.compiling import Vector
from aioli.snapshots.tree import Snapshot
from aioli.streams.files.marks import Mark
from aioli.streams.files.table import CATEGORY, SKIPPED, SparseTable, Table
from aioli.streams.filestream import FileStream, Reading
from aioli.streams.label_file import LabelFile
from aioli.streams.protocol import Batch, labelled_rows, rows_of

__all__ = ["JoinCounts", "JoinedStream"]

JOINED = "joined"  # the part of the snapshot that tells which labels have found their row
NO_TIME = -1e300  # the clock before the first row: files hold finite numbers


@dataclass(frozen=True)
class JoinCounts:
    """What did not meet when rows and labels were joined.

    Attributes
    ----------
    rows_without_label
        Rows whose key has no label, or is missing.
    rows_repeated
        Rows whose key an earlier row had, which took the label.
    labels_without_row
        Labels whose key no row had.
    labels_repeated
        Labels whose key an earlier label had, which stands.
    labels_before_row
        Labels whose time is before that of their row: they are learned as soon as the row has been announced.
    """

    rows_without_label: int = 0
    rows_repeated: int = 0
    labels_without_row: int = 0
    labels_repeated: int = 0
    labels_before_row: int = 0


class JoinedStream(FileStream):
    """Yields the rows of a file with the labels of another; `Batch.y` is NaN where a row has none.

    Where the labels have times of their own, `Batch.label_times` says when each comes: infinity where it never does,
    and not before its row. The key is no feature.
    """

    def __init__(self, name: str, reading: Reading, label_file: LabelFile, snapshot: Snapshot | None = None) -> None:
        self.label_file = label_file
        self._asked = reading
        key = label_file.key
        super().__init__(name, replace(reading, label=key, positive=None, category=(*reading.category, key)), snapshot)
        try:
            self._check_columns()
        except BaseException:
            self.close()
            raise
        self.kinds[key] = CATEGORY  # as it is written, also where a model's columns are gone on with
        self.labels = label_file.labels
        self._used: NDArray[np.bool_] = np.zeros(len(label_file), dtype=np.bool_)
        self._clock, self._without, self._repeated, self._early = NO_TIME, 0, 0, 0
        if snapshot is not None and JOINED in snapshot.parts:
            joined = snapshot.part(JOINED, "JoinedLabels")
            bits = joined.octets("used", ((len(label_file) + 7) // 8,))
            self._used = np.unpackbits(bits, count=len(label_file)).astype(np.bool_)
            self._clock = joined.number("clock")
            self._without, self._repeated, self._early = (joined.whole(n) for n in ("without", "repeated", "early"))

    def _check_columns(self) -> None:
        if self._reader.sparse:
            raise FileRefused(f"{self.name}: sparse rows have no column of keys; give rows in columns", path=self.name)
        label = self.label_file.label
        if self.kinds.get(label, SKIPPED) != SKIPPED:
            raise FileRefused(
                f"{self.name}: has the column {label!r} too, which would tell the label before it comes; leave it out "
                f"(--skip {label!r})",
                path=self.name,
            )

    @property
    def counts(self) -> JoinCounts:
        """What did not meet, so far."""
        unmet = int(len(self._used) - np.count_nonzero(self._used))
        return JoinCounts(self._without, self._repeated, unmet, self.label_file.repeated, self._early)

    def encode(self, table: Table | SparseTable) -> Batch:
        """Return the next table as a batch, with the labels that were told."""
        batch = super().encode(replace(table, labels=None))
        assert isinstance(table.labels, list)
        places = np.array([self._place(key) for key in table.labels], dtype=np.int64)
        found = places >= 0
        y = np.full(len(places), np.nan)
        y[found] = self.label_file.y[places[found]]
        times: Vector | None = None
        if self.label_file.times is not None:
            assert batch.times is not None
            times = np.full(len(places), np.inf)
            times[found] = self.label_file.times[places[found]]
            self._early += int(np.count_nonzero(times < batch.times))
            clock = np.maximum.accumulate(np.maximum(batch.times, self._clock))
            self._clock = clock.item(-1) if len(clock) else self._clock
            times = np.maximum(times, clock)
        return replace(batch, y=y, label_times=times, keys=[(key,) for key in table.labels])

    @property
    def keys(self) -> list[str]:
        """The column of keys, which is carried beside the rows."""
        return [self.label_file.key]

    def _place(self, key: str | None) -> int:
        """Return the place of a row's label; -1 where it has none, or another row took it."""
        place = -1 if key is None else self.label_file.places.get(key, -1)
        if place < 0:
            self._without += 1
        elif self._used[place]:
            self._repeated += 1
            place = -1
        else:
            self._used[place] = True
        return place

    def read_again(self) -> Iterator[Batch]:
        """Yield the rows that have a label, in the order in which their labels come."""
        with JoinedStream(self.name, self._asked, self.label_file) as again:
            batches = [replace(labelled_rows(batch), times=None) for batch in again]
        if self.label_file.times is None:
            yield from batches
            return
        rows = [(batch, row) for batch in batches for row in range(len(_times(batch)))]
        order = np.argsort(np.concatenate([np.empty(0), *map(_times, batches)]), kind="stable")
        for at in order.tolist():
            batch, row = rows[at]
            yield rows_of(batch, np.array([row]))

    def marks(self, count: int = 0) -> list[Mark]:
        """Return what is remembered of the file of labels, and of the files of rows."""
        labels = [] if self.label_file.mark is None else [self.label_file.mark]
        return labels + super().marks(max(0, count - len(labels)))

    def as_taught(self, snapshot: Snapshot) -> Snapshot:
        """Return a snapshot of the stream as a model keeps it: of rows that bring their labels, and without the key."""
        columns, kinds = snapshot.texts("columns") or [], snapshot.texts("kinds") or []
        kept = {name: kind for name, kind in zip(columns, kinds, strict=True) if name != self.label}
        values = {
            **snapshot.values,
            "columns": list(kept),
            "kinds": list(kept.values()),
            "label": self.label_file.label,
        }
        return replace(snapshot, values=values, parts={k: v for k, v in snapshot.parts.items() if k != JOINED})

    def snapshot(self) -> Snapshot:
        """Return all that is needed to resume, and which labels have found their row."""
        values = {"clock": self._clock, "without": self._without, "repeated": self._repeated, "early": self._early}
        joined = Snapshot("JoinedLabels", values, {"used": np.packbits(self._used)})
        known = super().snapshot()
        return replace(known, parts={**known.parts, JOINED: joined})


def _times(batch: Batch) -> Vector:
    assert batch.label_times is not None
    return batch.label_times
