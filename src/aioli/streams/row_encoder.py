"""Encodes rows that come one at a time as objects of named values, by the same rules as the rows of a file.

>>> encoder = RowEncoder()
>>> encoder.encode({"size": 1.5, "colour": "red"})
array([[1.5, 1. ]])
>>> encoder.encode({"size": None, "colour": "blue"})
array([[1.5, 0. , 1. , 1. ]])
>>> encoder.features
['size', 'colour=red', 'size is missing', 'colour=blue']
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from aioli.errors import ParameterRefused, RowRefused, SnapshotRefused
from aioli.snapshots.json_values import JsonMapping
from aioli.snapshots.tree import Snapshot
from aioli.streams.encoding import Encoder, column_kinds
from aioli.streams.files.jsonlines import flat_row, sample_of_rows, table_of_rows
from aioli.streams.files.recognition import recognise
from aioli.streams.files.table import CATEGORY, DATE, NUMBER, SKIPPED, TEXT, Features
from aioli.streams.known_columns import KnowsColumns
from aioli.streams.labels import Labels
from aioli.streams.many_labels import restore_labels

__all__ = ["RowEncoder"]

KINDS = (NUMBER, CATEGORY, DATE, TEXT, SKIPPED)
MOST_KEYS = 2000  # a learner keeps a matrix of so many columns


@dataclass(frozen=True)
class _TheRow:
    """Names the only row of a table in messages."""

    path: str = "the row"

    def __call__(self, row: int) -> str:  # noqa: ARG002  (a `Where` takes a row)
        return self.path


class RowEncoder(KnowsColumns):
    """Encodes objects of named numbers, texts, dates and truth values as features, one row at a time.

    A column is what its first value shows it to be, or what `kinds` says; it may come at any time.

    Parameters
    ----------
    kinds
        What columns are, by name: number, category, date, text or skip. Others are recognised.
    labels
        What the two classes are called, for the file of a model.
    """

    def __init__(self, kinds: Mapping[str, str] | None = None, labels: Labels | None = None) -> None:
        for name, kind in (kinds or {}).items():
            if kind not in KINDS:
                raise ParameterRefused.unlike(f"the kind of column {name!r}", kind, f"one of {', '.join(KINDS)}")
        super().__init__(Encoder(kinds) if kinds else None)
        self.labels = Labels() if labels is None else labels

    def encode(self, row: JsonMapping) -> Features:
        """Return the row as one row of features, dense, or sparse where a column is free text."""
        where, known = _TheRow(), self.kinds
        flat = flat_row(row, where)
        if self._encoder is not None and (plain := self._encoder.encode_row(flat)) is not None:
            return plain
        unknown = [name for name in flat if name not in known]
        if len(known) + len(unknown) > MOST_KEYS:
            problem = f"has the key {unknown[-1]!r}, one of more than {MOST_KEYS:,}"
            raise RowRefused(problem, remedy="write what differs from row to row as values")
        found = recognise(sample_of_rows([flat], known)) if unknown else {}
        new = {name: column.kind for name, column in found.items()}
        self._notations |= {name: column.notation for name, column in found.items() if column.notation}
        if self._encoder is None:
            if not new:
                raise RowRefused("has no value", remedy="give at least one column")
            self._encoder, new = Encoder(new), {}
        encoder = self._encoder
        table = table_of_rows([flat], encoder.kinds | new, where, self._notations)
        return encoder.encode(replace(table, new=new))

    def snapshot(self) -> Snapshot:
        """Return the columns and the features: the part of a model's file that reads rows."""
        values = self._column_values(None)
        encoder = Encoder({}) if self._encoder is None else self._encoder
        return Snapshot("FileStream", values, parts={"encoder": encoder.snapshot(), "labels": self.labels.snapshot()})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal encoder; the stream of a model that `aioli run` saved will do."""
        if "scaler" in snapshot.of("FileStream").parts:
            raise SnapshotRefused("its columns were scaled (--scale), which rows one at a time are not; use Auto")
        encoder = cls(labels=restore_labels(snapshot.part("labels")))
        kinds, label = column_kinds(snapshot), snapshot.optional_text("label")
        if {name for name in kinds if name != label}:
            encoder._encoder = Encoder.restore(snapshot.part("encoder", "Encoder"))
        encoder._restore_notations(snapshot)
        return encoder
