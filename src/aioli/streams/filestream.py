"""A file as a stream of rows and labels, ready for any learner; it can be left and taken up again at any table."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Self

from aioli.numerics.compiling import Vector
from aioli.streams.encoding import Encoder
from aioli.streams.files.opening import open_reader
from aioli.streams.files.table import CATEGORY, DATE, NUMBER, SKIPPED, TEXT, SparseTable, Table
from aioli.streams.labels import Labels
from aioli.streams.scaling import Scaler
from aioli.streams.sparse_encoding import SparseEncoder

__all__ = ["Batch", "FileStream", "Reading"]


@dataclass(frozen=True)
class Reading:
    """How a file is to be read.

    Attributes
    ----------
    label
        The label's column, by its name, or its number from 1 at the left or -1 at the right; None: it has no label.
        Sparse rows have theirs at the front, whatever this is.
    positive
        Which of the two labels is the positive class; None finds out (`streams.labels`).
    number, category, date, text, skip
        Columns that are this, whatever they seem to be. A column is free text only where this says so: its words are
        the features, and all rows are then sparse.
    cap
        Features that categories, or sparse features, may have of their own; None for 256 and about a million.
    scale
        Whether columns are brought to a common scale as the stream goes (`streams.scaling`), for learners that take
        them as they come. `Auto` and `Wide` see to it themselves.
    format, delimiter, header
        What the name of the file and its first line do not tell.
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


@dataclass(frozen=True)
class Batch:
    """Rows, of as many features as have come so far, and their labels, 0.0 or 1.0, where there are any."""

    X: Any
    y: Vector | None
    weights: Vector | None
    where: Any


class FileStream:
    """Rows of numbers from a file of any kind, which is closed behind its last row, or by `close`.

    With the `state` of an earlier stream it goes on where that one was left; with that state's position set to None,
    it reads another file with what was learned about columns: those that it has not learned of are skipped.

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
        self.sparse = self._reader.sparse
        self._position = None if state is None else state["position"]
        self.label: str | None = None
        self.kinds: dict[str, str] = {}
        self.encoder: Any
        try:
            if self.sparse:
                self.label = "label" if reading.labelled else None
                self.encoder = SparseEncoder(reading.cap) if state is None else SparseEncoder.restored(state["encoder"])
            else:
                self._take_columns(state)
            self.labels = Labels(reading.positive) if state is None else Labels.restored(state["labels"])
            self._take_scale(state)
        except BaseException:
            self.close()
            raise

    def _take_scale(self, state: dict[str, Any] | None) -> None:
        """Another file, which is to be seen as the one before was, does not move the scale."""
        self._scaler: Scaler | None = None
        self._moving = state is None or state["position"] is not None
        if state is not None and state.get("scaler") is not None:
            self._scaler = Scaler.restored(state["scaler"])
        elif state is None and self.reading.scale:
            if self.sparse:
                raise ValueError(f"{self.name}: sparse rows are not scaled, which would fill them; use Auto or Wide")
            self._scaler = Scaler()

    def _take_columns(self, state: dict[str, Any] | None) -> None:
        """Settle what every column is, and what becomes of it."""
        found = dict(self._reader.columns)
        wanted = self.reading.label
        self.label = None if wanted is None else self._find(wanted, list(found))
        self.kinds = self._decided(found) if state is None else self._known(found, state)
        seen = {column: kind for column, kind in self.kinds.items() if column != self.label}
        if all(kind == SKIPPED for kind in seen.values()):
            raise ValueError(f"{self.name}: has no column but the label; there is nothing to learn from")
        self.encoder = Encoder(seen, self.reading.cap) if state is None else Encoder.restored(state["encoder"])
        self.encoder.moving = state is None or state["position"] is not None
        self.sparse = self.encoder.sparse

    @property
    def features(self) -> list[str]:
        """The names of the features so far."""
        features: list[str] = self.encoder.features
        return features

    @property
    def fraction(self) -> float | None:
        """How much of the file has been read, where its size is known."""
        return self._reader.fraction

    def tables(self) -> Iterator[Any]:
        """What is read, before it is encoded: this may be done ahead, in another thread."""
        return self._reader.tables(self.kinds, self.label, self._position)

    def encode(self, table: Table | SparseTable) -> Batch:
        """The rows of the next table. Tables are encoded in their order; one that is refused changes nothing."""
        y = None
        if self.label is not None and table.labels is not None:
            y = self.labels.encode(table.labels, table.where)
        X = self.encoder.encode(table)
        if self._scaler is not None:
            X = self._scaler.scale(X, keep=self._moving)
        if isinstance(table, Table):
            self.kinds.update(table.new)
        self._position = table.after
        return Batch(X, y, getattr(table, "weights", None), table.where)

    def __iter__(self) -> Iterator[Batch]:
        return map(self.encode, self.tables())

    def close(self) -> None:
        """Let the file go."""
        self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def state(self) -> dict[str, Any]:
        """All that is needed to go on behind the last table that was encoded, as plain values."""
        return {
            "position": self._position,
            "kinds": dict(self.kinds),
            "label": self.label,
            "encoder": self.encoder.state(),
            "labels": self.labels.state(),
            "scaler": None if self._scaler is None else self._scaler.state(),
        }

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

    def _known(self, found: dict[str, str], state: dict[str, Any]) -> dict[str, str]:
        """The kinds of columns as they were, the label of then left out if it is not the label now."""
        kinds: dict[str, str] = state["kinds"]
        gone = [name for name in kinds if name not in found and name != state["label"] and kinds[name] != SKIPPED]
        if gone and not self._reader.grows:
            raise ValueError(f"{self.name}: there is no column {gone[0]!r}, but the model has learned from it; add it")
        old = {name: kind for name, kind in kinds.items() if name == self.label or name != state["label"]}
        if self.label is not None and self.label not in old:
            old[self.label] = found[self.label] if found[self.label] == NUMBER else CATEGORY
        others = kinds.keys() - old.keys() if self._reader.grows else found.keys() - old.keys()
        return old | dict.fromkeys(others, SKIPPED)

    def _decided(self, found: dict[str, str]) -> dict[str, str]:
        """The kinds of columns, as found or as asked for."""
        kinds = dict(found)
        asked = (
            (NUMBER, self.reading.number),
            (CATEGORY, self.reading.category),
            (DATE, self.reading.date),
            (TEXT, self.reading.text),
            (SKIPPED, self.reading.skip),
        )
        for kind, names in asked:
            for name in names:
                kinds[self._find(name, list(found))] = kind
        if self.label is not None and kinds[self.label] != NUMBER:
            kinds[self.label] = CATEGORY
        return kinds
