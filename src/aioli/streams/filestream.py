"""A file as a stream of rows and labels, ready for any learner; it can be left and taken up again at any table."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from aioli.numerics.compiling import Vector
from aioli.streams.encoding import CAP, Encoder
from aioli.streams.files.opening import open_reader
from aioli.streams.files.table import CATEGORY, DATE, NUMBER, SKIPPED, SparseTable, Table
from aioli.streams.labels import Labels
from aioli.streams.sparse_encoding import SparseEncoder

__all__ = ["Batch", "FileStream", "Reading"]


@dataclass(frozen=True)
class Reading:
    """How a file is to be read.

    Attributes
    ----------
    label
        The label's column, by its name, or its number from 1 at the left or -1 at the right; None: it has no label.
    positive
        Which of the two labels is the positive class; None finds out (`streams.labels`).
    number, category, date, skip
        Columns that are this, whatever they seem to be.
    cap
        Features that categories may have of their own.
    format, delimiter, header
        What the name of the file and its first line do not tell.
    """

    label: str | None = None
    positive: str | None = None
    number: Collection[str] = ()
    category: Collection[str] = ()
    date: Collection[str] = ()
    skip: Collection[str] = ()
    cap: int = CAP
    format: str | None = None
    delimiter: str | None = None
    header: bool = True


@dataclass(frozen=True)
class Batch:
    """Rows, of as many features as have come so far, and their labels, 0.0 or 1.0, where there are any."""

    X: Any
    y: Vector | None
    weights: Vector | None
    where: Any


class FileStream:
    """Rows of numbers from a file of any kind.

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

    def __init__(self, name: str, reading: Reading, state: dict[str, Any] | None = None) -> None:
        self.name = name
        self.reading = reading
        self._reader = open_reader(name, reading.format, reading.delimiter, reading.header)
        self.sparse = bool(getattr(self._reader, "sparse", False))
        self._position = None if state is None else state["position"]
        self.encoder: Any
        if self.sparse:
            self.label = None if reading.label is None and state is None else "label"
            self.kinds: dict[str, str] = {}
            self.encoder = SparseEncoder(reading.cap) if state is None else SparseEncoder.restored(state["encoder"])
        else:
            found = dict(self._reader.columns)
            self.label = self._find(reading.label, list(found)) if reading.label is not None else None
            self.kinds = self._decided(found)
            seen = {column: kind for column, kind in self.kinds.items() if column != self.label}
            if not any(kind != SKIPPED for kind in seen.values()):
                raise ValueError(f"{name}: has no column but the label; there is nothing to learn from")
            self.encoder = Encoder(seen, reading.cap) if state is None else Encoder.restored(state["encoder"])
        self.labels = Labels(reading.positive) if state is None else Labels.restored(state["labels"])

    @property
    def features(self) -> list[str]:
        """The names of the features so far."""
        features: list[str] = self.encoder.features
        return features

    @property
    def fraction(self) -> float | None:
        """How much of the file has been read, where its size is known."""
        fraction: float | None = self._reader.fraction
        return fraction

    def tables(self) -> Iterator[Any]:
        """What is read, before it is encoded: this may be done ahead, in another thread."""
        tables: Iterator[Any] = self._reader.tables(self.kinds, self.label, self._position)
        return tables

    def encode(self, table: Table | SparseTable) -> Batch:
        """The rows of the next table. Tables are encoded in their order."""
        y = None
        if self.label is not None and table.labels is not None:
            y = self.labels.encode(table.labels, table.where)
        X = self.encoder.encode(table)
        self._position = table.after
        return Batch(X, y, getattr(table, "weights", None), table.where)

    def __iter__(self) -> Iterator[Batch]:
        return map(self.encode, self.tables())

    def state(self) -> dict[str, Any]:
        """All that is needed to go on behind the last table that was encoded, as plain values."""
        return {"position": self._position, "encoder": self.encoder.state(), "labels": self.labels.state()}

    def _find(self, wanted: str, columns: list[str]) -> str:
        if wanted in columns:
            return wanted
        try:
            index = int(wanted)
        except ValueError:
            index = 0
        if index and -len(columns) <= index <= len(columns):
            return columns[index - 1 if index > 0 else index]
        near = ", ".join(map(repr, columns[:20])) + (", …" if len(columns) > 20 else "")
        raise ValueError(f"{self.name}: there is no column {wanted!r}; its columns are {near}")

    def _decided(self, found: dict[str, str]) -> dict[str, str]:
        """The kinds of columns, as found or as asked for."""
        kinds = dict(found)
        asked = (
            (NUMBER, self.reading.number),
            (CATEGORY, self.reading.category),
            (DATE, self.reading.date),
            (SKIPPED, self.reading.skip),
        )
        for kind, names in asked:
            for name in names:
                kinds[self._find(name, list(found))] = kind
        if self.label is not None and kinds[self.label] != NUMBER:
            kinds[self.label] = CATEGORY
        return kinds
