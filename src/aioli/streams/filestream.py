"""Reads a file as a stream of rows and labels, ready for any learner; a snapshot resumes it after any table."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np

from aioli.errors import FileRefused
from aioli.snapshots.tree import Plain, Snapshot
from aioli.streams.blocks import block_rows, in_blocks, split_position
from aioli.streams.encoding import Encoder, column_kinds
from aioli.streams.files.byte_source import STANDARD_INPUT
from aioli.streams.files.cell_values import hours_in, is_missing, number_in
from aioli.streams.files.dates import DAY_FIRST, MONTH_FIRST, days_in
from aioli.streams.files.formats import FolderReader, listed, open_reader
from aioli.streams.files.marks import Mark, mark_of
from aioli.streams.files.recognition import Recognised, recognise
from aioli.streams.files.table import (
    CATEGORY,
    DATE,
    NUMBER,
    SKIPPED,
    TEXT,
    Features,
    Position,
    ReadAs,
    SparseTable,
    Table,
    Tables,
)
from aioli.streams.many_labels import ClassRule, labels_for
from aioli.streams.protocol import Batch
from aioli.streams.row_times import times_of
from aioli.streams.scaling import Scaler
from aioli.streams.sparse_encoding import SparseEncoder
from aioli.streams.unreadable import Unreadable

__all__ = ["FileStream", "Reading", "for_another_file", "going_on_with"]


READS: dict[str, Callable[[str], bool]] = {
    NUMBER: lambda text: number_in(text) is not None or hours_in(text) is not None,
    DATE: lambda text: days_in(text, DAY_FIRST) is not None or days_in(text, MONTH_FIRST) is not None,
}


@dataclass(frozen=True)
class Reading:
    """The options of how a file is read: its label, the kinds of its columns, its format.

    Attributes
    ----------
    label
        The label's column, by its name, or its number from 1 at the left or -1 at the right; None for no label. The
        label of a sparse row is at its front, whatever this is.
    positive
        Which of the two labels is the positive class; None finds out (`streams.labels`).
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
    [[1.5 0.  1.  0. ]
     [1.5 1.  0.  1. ]
     [0.5 0.  1.  0. ]] [0. 1. 0.]
    >>> stream.features
    ['size', 'size is missing', 'colour=red', 'colour=blue']
    >>> folder.cleanup()
    """

    hostile = False

    def __init__(self, name: str, reading: Reading, snapshot: Snapshot | None = None) -> None:
        self.name = name
        self.reading = reading
        self._position = None if snapshot is None else _position_in(snapshot)
        going_on = snapshot is not None and snapshot.values.get("going_on") is True
        self._moving = (
            snapshot is None or self._position is not None or going_on
        )  # when predicting, the training scale is kept
        self._mark = mark_of(Path(name)) if name != STANDARD_INPUT and Path(name).is_file() else None
        self._reader = open_reader(name, reading.format, reading.delimiter, reading.header, reading.live)
        self.sparse = self._reader.sparse
        self.label: str | None = None
        self.kinds: dict[str, str] = {}
        self.notations: dict[str, str] = {}  # how values are written, by column, where not as programs write them
        self.remarks: dict[str, str] = {}  # what was recognised, in words, where there is something to say
        self.unreadable = Unreadable()
        self.encoder: Encoder | SparseEncoder
        self._only_time: str | None = None  # the column of times, where it is no feature
        try:
            if snapshot is not None:
                self._check_kind(snapshot)
            if self.sparse:
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
            known = None if snapshot is None else snapshot.part("labels")
            self.labels = labels_for(reading.classes, reading.positive, known)
            self._scaler = self._make_scaler(snapshot)
        except BaseException:
            self.close()
            raise

    def _check_kind(self, snapshot: Snapshot) -> None:
        dense = snapshot.part("encoder").kind == "Encoder"
        if dense == self.sparse:
            kind = "columns" if dense else "sparse features"
            raise FileRefused(
                f"{self.name}: is not of {kind}, as the rows were from which the model was taught", path=self.name
            )

    def _make_scaler(self, snapshot: Snapshot | None) -> Scaler | None:
        """Return the scaler of the snapshot, or a new one where `reading.scale` is set; else None."""
        if snapshot is not None:
            return Scaler.restore(snapshot.part("scaler")) if "scaler" in snapshot.parts else None
        if self.reading.scale and self.sparse:
            message = f"{self.name}: sparse rows are not scaled, which would fill them; use Auto or Wide"
            raise FileRefused(message, path=self.name)
        return Scaler() if self.reading.scale else None

    def _settle_columns(self, snapshot: Snapshot | None) -> None:
        """Set the label, the kinds of the columns and the encoder."""
        sample, wanted = self._reader.sample, self.reading.label
        self.label = None if wanted is None else self.find_column(wanted, list(sample))
        self._only_time = self._skipped_time(list(sample))
        asked = self._kinds_asked(list(sample)) if snapshot is None else {}
        asked.pop(self._only_time or "", None)
        self._check_asked(asked)
        found = recognise(sample, asked)
        self.kinds = self._kinds_found(found) if snapshot is None else self._kinds_of_snapshot(found, snapshot)
        if self._only_time is not None:
            self.kinds[self._only_time] = found[self._only_time].kind
        if snapshot is None:
            self.notations = {name: column.notation for name, column in found.items() if column.notation}
            self.remarks = {name: str(column) for name, column in found.items() if str(column) != column.kind}
        elif "notations" in snapshot.values:
            self.notations = {name: str(notation) for name, notation in snapshot.mapping("notations").items()}
        for settled in (self.notations, self.remarks):
            settled.pop(self.label or "", None)
        seen = {name: kind for name, kind in self.kinds.items() if name not in (self.label, self._only_time)}
        if all(kind == SKIPPED for kind in seen.values()):
            message = f"{self.name}: has no column but the label; there is nothing to learn from"
            raise FileRefused(message, path=self.name)
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
        said: dict[str, str] = {}
        if self.remarks:
            said["recognised"] = "; ".join(f"{name}: {remark}" for name, remark in self.remarks.items())
        if any(self.categories.values()):
            held = ", ".join(f"{name} {count}" for name, count in self.categories.items())
            said["categories"] = held + (f"; {self.shared:,} values share columns" if self.shared else "")
        if self.unreadable.counts:
            counts = ", ".join(f"{name} {count:,}" for name, count in self.unreadable.counts.items())
            said["unreadable"] = f"{counts} (missing; the first: {'; '.join(self.unreadable.first)})"
        return said

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
        return in_blocks(tables, self._block, self._position)

    def encode(self, table: Table | SparseTable) -> Batch:
        """Return the next table as a batch. Tables are encoded in their order; one that is refused changes nothing."""
        y = None
        if self.label is not None and table.labels is not None:
            y = self.labels.encode(table.labels, table.where)
        times = None if self.reading.time is None else times_of(table, self.time_column(self.reading.time))
        X = self._features_of(table)
        if self._scaler is not None and isinstance(X, np.ndarray):
            X = self._scaler.scale(X, keep=self._moving)
        self._position = table.after
        return Batch(X, y, table.weights, table.where, times, self.labels.classes)

    def _features_of(self, table: Table | SparseTable) -> Features:
        if isinstance(table, Table) and isinstance(self.encoder, Encoder):
            X = self.encoder.encode(table if self._only_time is None else _without(table, self._only_time))
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
        column = self.find_column(wanted, list(self.kinds)) if not self._reader.sparse else wanted
        kind = SKIPPED if column == self.label else self.kinds.get(column, SKIPPED)
        if kind not in (DATE, NUMBER):
            message = f"{self.name}: column {column!r} tells no times; give one of dates, or of seconds, that is read"
            raise FileRefused(message, path=self.name)
        return column

    def __iter__(self) -> Iterator[Batch]:
        return map(self.encode, self.tables())

    def read_again(self) -> Iterator[Batch]:
        """Yield all batches from the first row on, from the file opened a second time."""
        with FileStream(self.name, self.reading) as again:
            if isinstance(self.encoder, Encoder) and self.encoder.wide:
                again.allow_wide()
            yield from again

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
            "kinds": [SKIPPED if name == self._only_time else kind for name, kind in self.kinds.items()],
            "label": self.label,
            "notations": dict(self.notations),
            "unreadable": self.unreadable.plain(),
        }
        parts = {"encoder": self.encoder.snapshot(), "labels": self.labels.snapshot()}
        if self._scaler is not None:
            parts["scaler"] = self._scaler.snapshot()
        return Snapshot("FileStream", values, parts=parts)

    def require_known_column(self) -> None:
        """Refuse a file that has none of the columns from which a model was taught, as far as its first rows show."""
        known = [name for name, kind in self.kinds.items() if kind != SKIPPED and name != self.label]
        if not self._reader.sparse and not any(name in self._reader.sample for name in known):
            self.close()
            raise FileRefused(
                f"{self.name}: has none of the columns that the model has learned from, {listed(known)}; its own are "
                f"{listed(self._reader.sample)}: rename them",
                path=self.name,
            )

    def find_column(self, wanted: str, columns: list[str]) -> str:
        """Return the column of this name, or of this number, 1 at the left or -1 at the right; refuse any other."""
        if wanted in columns:
            return wanted
        try:
            index = int(wanted)
        except ValueError:
            index = 0
        if index and -len(columns) <= index <= len(columns):
            return columns[index - 1 if index > 0 else index]
        message = f"{self.name}: there is no column {wanted!r}; its columns are {listed(columns)}"
        raise FileRefused(message, path=self.name)

    def _skipped_time(self, columns: list[str]) -> str | None:
        """Return the column of times where it is to be skipped as a feature; None where it is not."""
        if self.reading.time is None:
            return None
        skipped = [self.find_column(name, columns) for name in _each(self.reading.skip, columns)]
        time = self.find_column(self.reading.time, columns)
        return time if time in skipped else None

    def _kinds_of_snapshot(self, found: dict[str, Recognised], snapshot: Snapshot) -> dict[str, str]:
        """Return each column's kind by the snapshot; its label is left out where the label is now another."""
        kinds, label = column_kinds(snapshot), snapshot.optional_text("label")
        gone = [name for name in kinds if name not in found and name != label and kinds[name] != SKIPPED]
        if gone and not self._reader.grows:
            message = f"{self.name}: there is no column {gone[0]!r}, but the model has learned from it; add it"
            raise FileRefused(message, path=self.name)
        old = {name: kind for name, kind in kinds.items() if name == self.label or name != label}
        if self.label is not None and self.label not in old:
            old[self.label] = _kind_of_label(found[self.label])
        others = kinds.keys() - old.keys() if self._reader.grows else found.keys() - old.keys()
        return old | dict.fromkeys(others, SKIPPED)

    def _kinds_asked(self, columns: list[str]) -> dict[str, str]:
        """Return the kinds that the options name, by column."""
        asked = (
            (NUMBER, self.reading.number),
            (CATEGORY, self.reading.category),
            (DATE, self.reading.date),
            (TEXT, self.reading.text),
            (SKIPPED, self.reading.skip),
        )
        return {self.find_column(name, columns): kind for kind, names in asked for name in _each(names, columns)}

    def _check_asked(self, asked: Mapping[str, str]) -> None:
        """Refuse columns that were asked to be of numbers or dates and hold none, as far as the sample shows."""
        for name, kind in asked.items():
            values = self._reader.sample[name]
            present = [] if isinstance(values, str) else [text for text in values if text and not is_missing(text)]
            if kind in (NUMBER, DATE) and present and not any(map(READS[kind], present)):
                raise FileRefused(
                    f"{self.name}, column {name!r}: was asked to be of {kind}s, but {present[0][:40]!r} and all others "
                    f"that were looked at are none; leave out --{kind} {name!r}",
                    path=self.name,
                    place=f"column {name!r}",
                )

    def _kinds_found(self, found: dict[str, Recognised]) -> dict[str, str]:
        """Return each column's kind as it was asked for or recognised; labels are numbers or texts as they are."""
        kinds = {name: column.kind for name, column in found.items()}
        if self.label is not None:
            kinds[self.label] = _kind_of_label(found[self.label])
        return kinds


def _each(names: Collection[str], columns: list[str]) -> list[str]:
    """Return the names one by one; "a,b" is two, unless a column is called so."""
    return [part.strip() for name in names for part in ([name] if name in columns else name.split(","))]


def _kind_of_label(found: Recognised) -> str:
    return NUMBER if found.plain and found.kind == NUMBER else CATEGORY


def _without(table: Table, column: str) -> Table:
    """Return the table without a column of numbers or dates."""
    days = {name: values for name, values in table.days.items() if name != column}
    kept = [j for j, name in enumerate(table.names) if name != column]
    numbers = table.numbers if len(kept) == len(table.names) else np.ascontiguousarray(table.numbers[:, kept])
    return replace(table, names=[table.names[j] for j in kept], numbers=numbers, days=days)


def going_on_with(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot without its position, to go on learning from another file as from the next rows."""
    return replace(snapshot, values={**snapshot.values, "position": None, "going_on": True})


def for_another_file(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot without its position, to encode another file as this one was."""
    return replace(snapshot, values={**snapshot.values, "position": None})


def _position_in(snapshot: Snapshot) -> Position | None:
    return None if snapshot.of("FileStream").values.get("position") is None else snapshot.mapping("position")
