"""Reads a file as a stream of rows and labels, ready for any learner; a snapshot resumes it after any table."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Self

import numpy as np

from aioli.errors import FileRefused
from aioli.snapshots.tree import Plain, Snapshot
from aioli.streams.blocks import block_rows, in_blocks, split_position
from aioli.streams.encoding import Encoder
from aioli.streams.file_checks import (
    check_as_taught,
    check_known_column,
    check_sparse_reading,
    check_times,
    check_to_learn_from,
)
from aioli.streams.file_remarks import remarks_on
from aioli.streams.file_snapshots import moves_on, position_in
from aioli.streams.files.byte_source import STANDARD_INPUT
from aioli.streams.files.formats import FolderReader, open_reader
from aioli.streams.files.marks import Mark, mark_of
from aioli.streams.files.table import SKIPPED, Features, ReadAs, SparseTable, Table, Tables
from aioli.streams.files.table_rows import without_rows
from aioli.streams.many_labels import labels_for
from aioli.streams.present_labels import encode_present
from aioli.streams.protocol import Batch, labelled_rows
from aioli.streams.raw_rows import raw_rows
from aioli.streams.reading import Reading
from aioli.streams.row_times import times_of
from aioli.streams.scaling import scaler_for
from aioli.streams.set_aside import Aside, bad_weights, rows_like, set_aside
from aioli.streams.settled_columns import find_column, settle_columns
from aioli.streams.skipped_rows import SkippedRows
from aioli.streams.sparse_encoding import SparseEncoder
from aioli.streams.unreadable import Unreadable

__all__ = ["FileStream", "Reading"]


class FileStream:
    """Yields the rows of a file of any format as batches; closes the file after its last row, or by `close`.

    With the `snapshot` of an earlier stream, reading resumes where that stream stopped; with
    `for_another_file(snapshot)`, another file is encoded as the first was, and columns that are new in it are skipped.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "visits.csv"
    >>> _ = path.write_text("colour,size,bought\\nred,1.5,no\\nblue,,yes\\nred,0.5,no\\n")
    >>> stream = FileStream(str(path), Reading(label="bought"))
    >>> for batch in stream:
    ...     print(batch.X, batch.y)
    [[1.5 1.  0.  0. ]
     [1.5 0.  1.  1. ]
     [0.5 1.  0.  0. ]] [0. 1. 0.]
    >>> stream.features
    ['size', 'colour=red', 'size is missing', 'colour=blue']
    >>> folder.cleanup()
    """

    hostile = False

    def __init__(self, name: str, reading: Reading, snapshot: Snapshot | None = None) -> None:
        self.name = name
        self.reading = reading
        self._position = position_in(snapshot)
        self._moving = moves_on(snapshot)
        self._mark = mark_of(Path(name)) if name != STANDARD_INPUT and Path(name).is_file() else None
        self._reader = open_reader(
            name,
            reading.format,
            reading.delimiter,
            reading.header,
            reading.live,
            reading.encoding,
            reading.tolerant,
        )
        self.sparse = self._reader.sparse
        self.label: str | None = None
        self.kinds: dict[str, str] = {}
        self.notations: dict[str, str] = {}  # how values are written, by column, where not as programs write them
        self.remarks: dict[str, str] = {}  # what was recognised, in words, where there is something to say
        self.aside = Aside()  # columns that are read and are no features
        self.unreadable = Unreadable()
        self.skipped = SkippedRows()
        self.unlabelled = 0  # rows without a label
        self.gives_raw = False  # whether batches have the rows as other libraries are given them too
        self.encoder: Encoder | SparseEncoder
        try:
            if snapshot is not None:
                check_as_taught(name, self.sparse, snapshot)
            if self.sparse:
                check_sparse_reading(name, reading)
                self.label = "label" if reading.labelled else None
                self.encoder = (
                    SparseEncoder(reading.cap) if snapshot is None else SparseEncoder.restore(snapshot.part("encoder"))
                )
            else:
                self._settle_columns(snapshot)
            columns = sum(kind != SKIPPED for kind in self.kinds.values())
            self._block = 1 if reading.live else block_rows(columns)
            if snapshot is not None and "unreadable" in snapshot.values and self._moving:
                self.unreadable = Unreadable.restore(snapshot)
            if snapshot is not None and self._position is not None:
                self.skipped = SkippedRows.restore(snapshot)
                self.unlabelled = snapshot.whole("unlabelled") if "unlabelled" in snapshot.values else 0
            known = None if snapshot is None else snapshot.part("labels")
            self.labels = labels_for(reading.classes, reading.positive, known)
            self._scaler = scaler_for(name, reading.scale, self.sparse, snapshot)
        except BaseException:
            self.close()
            raise

    def _settle_columns(self, snapshot: Snapshot | None) -> None:
        """Set the label, the kinds of the columns and the encoder."""
        settled = settle_columns(
            self.name, self.reading, self._reader.sample, self._reader.grows, snapshot, self._position is not None
        )
        self.label, self.aside, self.kinds = settled.label, settled.aside, settled.kinds
        self.notations, self.remarks = settled.notations, settled.remarks
        seen = settled.seen
        check_to_learn_from(self.name, seen.values())
        encoder = Encoder(seen, self.reading.cap) if snapshot is None else Encoder.restore(snapshot.part("encoder"))
        encoder.moving = self._moving
        self.encoder = encoder
        self.sparse = encoder.sparse

    @property
    def features(self) -> list[str]:
        """The names of the features so far, in their order."""
        return self.encoder.features

    @property
    def missing(self) -> dict[str, int]:
        """How many values were missing, by column."""
        return self.encoder.missing

    @property
    def categories(self) -> dict[str, int]:
        """How many categories have a feature of their own, by column."""
        return self.encoder.categories

    @property
    def shared(self) -> int:
        """How many values had to share a hashed feature with others."""
        return self.encoder.shared

    def told(self) -> dict[str, str]:
        """Return what is to be told of the reading, in words: what was recognised, and what could not be read."""
        return remarks_on(self.remarks, self._reader.guessed, self.encoder, self.unreadable, self.labels.told())

    @property
    def keys(self) -> list[str]:
        """The columns that are carried beside the rows, in the order in which they were asked for."""
        return list(self.aside.keys)

    @property
    def rereadable(self) -> bool:
        """Whether the file can be opened a second time; a pipe cannot, by whatever name."""
        return Path(self.name).is_file() or Path(self.name).is_dir()

    def marks(self, count: int = 0) -> list[Mark]:
        """Return what is remembered of the files read so far, or of the first `count`; of a pipe nothing is."""
        if isinstance(self._reader, FolderReader):
            return self._reader.marks(count)
        return [] if self._mark is None else [self._mark]

    @property
    def fraction(self) -> float | None:
        """How much of the file has been read, from 0 to 1; None where its size is not known."""
        return self._reader.fraction

    def tables(self) -> Tables:
        """Yield the tables that are left, in blocks of rows; this may be done ahead, in another thread."""
        begin, _ = split_position(self._position)
        tables = self._reader.tables(ReadAs(self.kinds, self.label, self.notations), begin)
        for table in in_blocks(tables, self._block, self._position):
            if len(table):
                yield table
            else:  # rows at the end that were left out
                self.skipped.add(why for _, why in table.skipped)

    def encode(self, table: Table | SparseTable) -> Batch:
        """Return the next table as a batch. Tables are encoded in their order; one that is refused changes nothing.

        Rows that cannot be used are left out where the reading is tolerant. A row without a label has the label NaN.
        """
        if self.aside.weight is not None and isinstance(table, Table):
            table = self._usable(table, bad_weights(table, self.aside.weight))
        y = None
        while y is None and self.label is not None and table.labels is not None:
            try:
                y = encode_present(self.labels, table.labels, table.where)
            except FileRefused as error:
                if error.row is None or not self.reading.tolerant:
                    raise
                alike = dict.fromkeys(rows_like(table.labels, error.row), error)
                table = self._usable(table, alike)
        times = None if self.reading.time is None else times_of(table, self.time_column(self.reading.time))
        weights, keys = table.weights, None
        if self.aside.columns and isinstance(table, Table):
            table, weights, keys = set_aside(table, self.aside)
        X = self._features_of(table)
        if self._scaler is not None and isinstance(X, np.ndarray):
            X = self._scaler.scale(X, keep=self._moving)
        self._position = table.after
        self.skipped.add(why for _, why in table.skipped)
        self.unlabelled += 0 if y is None else int(np.count_nonzero(np.isnan(y)))
        raw = raw_rows(table, self.kinds) if self.gives_raw and isinstance(table, Table) else None
        return Batch(X, y, weights, table.where, times, self.labels.classes, keys=keys, raw=raw)

    def _usable(self, table: Table | SparseTable, bad: Mapping[int, FileRefused]) -> Table | SparseTable:
        """Return the table without bad rows; the first of them is refused where the reading is not tolerant."""
        if bad and not self.reading.tolerant:
            raise next(iter(bad.values()))
        said = {t: str(error) for t, error in bad.items()}
        return without_rows(table, said) if isinstance(table, Table) else without_rows(table, said)  # noqa: RUF034  (each type for itself)

    def _features_of(self, table: Table | SparseTable) -> Features:
        if isinstance(table, Table) and isinstance(self.encoder, Encoder):
            if len(table):
                X = self.encoder.encode(table)
            else:  # all rows were left out
                self.encoder.add_columns(table.new)
                X = np.zeros((0, len(self.features)))
            self.sparse = self.encoder.sparse
            self.kinds.update(table.new)
            self.notations.update(table.notations)
            self.unreadable.count(table)
            return X
        if isinstance(table, SparseTable) and isinstance(self.encoder, SparseEncoder):
            return self.encoder.encode(table)
        raise TypeError(f"{self.name}: a {type(table).__name__} came for {type(self.encoder).__name__}")

    def time_column(self, wanted: str) -> str:
        """Return the name of the column of times, or refuse one that holds none."""
        column = find_column(self.name, wanted, list(self.kinds)) if not self._reader.sparse else wanted
        kind = SKIPPED if column == self.label else self.kinds.get(column, SKIPPED)
        check_times(self.name, column, kind)
        return column

    def __iter__(self) -> Iterator[Batch]:
        return map(self.encode, self.tables())

    def read_again(self) -> Iterator[Batch]:
        """Yield all rows that have a label from the first on, from the file opened a second time."""
        with FileStream(self.name, self.reading) as again:
            if isinstance(self.encoder, Encoder) and self.encoder.wide:
                again.allow_wide()
            yield from map(labelled_rows, again)

    def allow_wide(self) -> None:
        """Let rows have any number of features, sparse where they are many, for a learner that takes such."""
        if isinstance(self.encoder, Encoder):
            self.encoder.wide = True

    def close(self) -> None:
        """Close the file."""
        self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def snapshot(self) -> Snapshot:
        """Return all that is needed to resume after the last table that was encoded."""
        values: dict[str, Plain] = {
            "position": self._position,
            "columns": list(self.kinds),
            "kinds": [SKIPPED if name in self.aside.columns else kind for name, kind in self.kinds.items()],
            "label": self.label,
            "notations": dict(self.notations),
            "unreadable": self.unreadable.plain(),
        }
        values |= {"carried": self.keys} if self.keys else {}
        values |= {"remarks": dict(self.remarks)} if self.remarks else {}
        values |= {"skipped": self.skipped.plain()} if self.skipped.count else {}
        values |= {"unlabelled": self.unlabelled} if self.unlabelled else {}
        parts = {"encoder": self.encoder.snapshot(), "labels": self.labels.snapshot()}
        if self._scaler is not None:
            parts["scaler"] = self._scaler.snapshot()
        return Snapshot("FileStream", values, parts=parts)

    def require_known_column(self) -> None:
        """Refuse a file that has none of the columns from which a model was taught, as far as its first rows show."""
        known = [name for name, kind in self.kinds.items() if kind != SKIPPED and name != self.label]
        if not self._reader.sparse:
            try:
                check_known_column(self.name, known, self._reader.sample)
            except FileRefused:
                self.close()
                raise
