"""Parquet and Arrow: columns whose types say what they are, read a batch of rows at a time."""

import importlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np

from aioli.errors import FileRefused
from aioli.numerics.compiling import Vector
from aioli.snapshots.tree import Snapshot
from aioli.streams.files.byte_source import STANDARD_INPUT
from aioli.streams.files.cell_values import POINT, converted, is_missing, number_in
from aioli.streams.files.dates import days_in
from aioli.streams.files.recognition import sample_size
from aioli.streams.files.table import (
    CATEGORY,
    DATE,
    NUMBER,
    SKIPPED,
    Position,
    ReadAs,
    Table,
    Tables,
    Texts,
)
from aioli.streams.files.where import Numbered

__all__ = ["ArrowFile"]

ROWS = 16384  # rows in a table, at most
BUFFER = 1 << 20  # bytes of a column of Parquet that are read at a time
ARROW_FILE = b"ARROW1"
PyArrow: TypeAlias = Any  # pyarrow has no types
Pieces: TypeAlias = Callable[[list[str], int], Iterator[PyArrow]]
Outcome = TypeVar("Outcome")
A_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


class ArrowFile:
    """Reads a file of Parquet, or of Arrow (a file, which is Feather too, or a stream, also from standard input).

    The type of a column says what it is: numbers and booleans are numbers, times of day are numbers of hours, days and
    moments are dates. What strings and dictionaries of strings are, the recogniser says, as of any file
    (`streams.files.recognition`). Other types cannot be read.

    Parameters
    ----------
    name
        The file, or `-` for an Arrow stream from standard input.
    kind
        "parquet" or "arrow".
    """

    sparse = grows = False
    guessed: str | None = None  # types say how text is encoded

    def __init__(self, name: str, kind: str) -> None:
        self.name = "standard input" if name == STANDARD_INPUT else name
        self._arrow = _needed("pyarrow", self.name)
        self._kind = kind
        self._row = 0
        self._file: PyArrow = None
        self._sample: dict[str, Texts | str] | None = None
        self._ahead: _Ahead | None = None  # of a stream, which can be read once
        try:
            self._pieces, self._schema, self._rows = self._guarded(lambda: self._opened(name))
        except BaseException:
            self.close()
            raise

    @property
    def sample(self) -> Mapping[str, Texts | str]:
        """The first thousand strings of each column of strings; what the others are by their types."""
        if self._sample is None:
            types = {field.name: self._by_type(field.type) for field in self._schema}
            strings = [name for name, kind in types.items() if kind == CATEGORY]
            values: dict[str, Texts] = {name: [] for name in strings}
            rows = sample_size(len(types))
            for batch in self._first_batches(strings, rows) if strings else ():
                for name, column in zip(batch.schema.names, batch.columns, strict=True):
                    values[name] += self._texts(column.slice(0, rows - len(values[name])))
            self._sample = {name: values.get(name, kind or CATEGORY) for name, kind in types.items()}
        return self._sample

    def _first_batches(self, wanted: list[str], rows: int) -> Iterator[PyArrow]:
        """Yield the first batches, which the tables will have again, until they have so many rows."""
        if self._ahead is not None:
            for batch in self._guarded_each(self._ahead.look(rows)):
                self._validate(batch)
                yield batch.select(wanted)
            return
        for _, batches in self._guarded_each(self._pieces(wanted, 0)):
            for batch in self._guarded_each(batches):
                self._validate(batch)
                yield batch
                rows -= len(batch)
                if rows <= 0:
                    return

    def _validate(self, rows: PyArrow) -> None:
        self._guarded(lambda: rows.validate(full=True))  # a damaged file must not be trusted with places in memory

    @property
    def fraction(self) -> float | None:
        """How much of the file has been read, from 0 to 1, about; None where the number of rows is not known."""
        return min(1.0, self._row / self._rows) if self._rows else None

    def close(self) -> None:
        """Close the file; a second time does nothing."""
        if self._file is not None and self._file is not sys.stdin.buffer:
            self._file.close()

    def tables(self, read_as: ReadAs, position: Position | None) -> Tables:
        """Yield the rows, in tables of at most `ROWS`."""
        kinds, label, notations = read_as
        wanted = [name for name, kind in kinds.items() if kind != SKIPPED]
        place = Snapshot("Position", position or {"piece": 0, "batch": 0, "row": 0})
        begin, passed, self._row = place.whole("piece"), place.whole("batch"), place.whole("row")
        try:
            self._check_types(wanted)
            for piece, batches in self._guarded_each(self._pieces(wanted, begin)):
                for batch, rows in enumerate(self._guarded_each(batches)):
                    if piece == begin and batch < passed:
                        continue
                    stop = self._row + len(rows)
                    if len(rows):
                        after = {"piece": piece, "batch": batch + 1, "row": stop}
                        yield self._table(rows, kinds, label, after, notations)
                    self._row = stop
            self._check_whole()
            self._rows = self._row
        finally:
            self.close()

    def _check_whole(self) -> None:
        """Refuse a file that has been cut off before the point at which reading ended: to Arrow it is merely over."""
        path = Path(self.name)
        if self._file is not sys.stdin.buffer and path.is_file() and path.stat().st_size < self._file.tell():
            message = f"{self.name}: was cut short while it was read; run it again on the whole file"
            raise FileRefused(message, path=self.name)

    def _table(
        self, rows: PyArrow, kinds: dict[str, str], label: str | None, after: Position, notations: Mapping[str, str]
    ) -> Table:
        self._validate(rows)
        where = Numbered(self.name, "row", range(self._row + 1, self._row + 1 + len(rows)))
        numbers: dict[str, Vector] = {}
        texts: dict[str, Texts] = {}
        days: dict[str, Vector] = {}
        unreadable: dict[str, dict[int, str]] = {}
        for name, column in zip(rows.schema.names, rows.columns, strict=True):
            kind, notation = kinds[name], notations.get(name, POINT)
            if kind not in (NUMBER, DATE):
                texts[name] = self._texts(column, name == label)
                continue
            typed, held = self._by_type(column.type), numbers if kind == NUMBER else days
            if typed == DATE:
                held[name] = self._days(column)
            elif typed == NUMBER:
                held[name], unreadable[name] = self._numbers(column)
            else:
                read = partial(number_in if kind == NUMBER else days_in, notation=notation)
                held[name], unreadable[name] = converted(self._texts(column), read)
        labels = None if label is None else numbers.pop(label) if label in numbers else texts.pop(label)
        matrix = np.column_stack(list(numbers.values())) if numbers else np.empty((len(rows), 0))
        complete = not np.isnan(matrix).any()
        found = {name: cells for name, cells in unreadable.items() if cells and name != label}
        return Table(list(numbers), matrix, texts, labels, where, after, complete, days, unreadable=found)

    def _numbers(self, column: PyArrow) -> tuple[Vector, dict[int, str]]:
        """Return a column as float64, NaN where there is null; infinities are NaN, and told by their row."""
        values: Vector = self._guarded(lambda: self._floats(column))
        infinite = np.isinf(values)
        if not infinite.any():
            return values, {}
        return np.where(infinite, np.nan, values), {t: str(values[t]) for t in np.flatnonzero(infinite).tolist()}

    def _floats(self, column: PyArrow) -> Vector:
        types, kind = self._arrow.types, column.type
        if types.is_boolean(kind):
            column = column.cast(self._arrow.int8())
        elif types.is_time(kind):
            hours: Vector = self._whole(column) / A_SECOND[kind.unit] / 3600.0
            return hours
        values: Vector = column.cast(self._arrow.float64(), safe=False).to_numpy(zero_copy_only=False)
        return values.astype(np.float64, copy=False)

    def _days(self, column: PyArrow) -> Vector:
        """Return a column of dates in days since 1970, to the microsecond as texts are read."""
        kind = column.type
        if self._arrow.types.is_date32(kind):
            return self._floats(column.cast(self._arrow.int32()))
        unit = "ms" if self._arrow.types.is_date64(kind) else kind.unit
        if unit == "ns":
            column = column.cast(self._arrow.timestamp("us", kind.tz), safe=False)
            unit = "us"
        return self._whole(column) / (86_400 * A_SECOND[unit])

    def _whole(self, column: PyArrow) -> Vector:
        bits = self._arrow.int32() if self._arrow.types.is_time32(column.type) else self._arrow.int64()
        values: Vector = column.cast(bits).cast(self._arrow.float64(), safe=False).to_numpy(zero_copy_only=False)
        return values

    def _texts(self, column: PyArrow, label: bool = False) -> Texts:
        """Return a column as texts, None where one says that it is missing. Most are repeated, and are written once."""
        if not self._arrow.types.is_dictionary(column.type):
            column = self._guarded(column.dictionary_encode)
        known: Texts = []
        for value in self._guarded(column.dictionary.to_pylist):
            text = None if value is None else _written(value)
            known.append(None if text is None or is_missing(text, label) else text)
        return [None if place is None else known[place] for place in column.indices.to_pylist()]

    def _by_type(self, kind: PyArrow) -> str | None:
        types = self._arrow.types
        if types.is_dictionary(kind):
            return CATEGORY if self._by_type(kind.value_type) else None
        if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
            return NUMBER
        if types.is_boolean(kind) or types.is_null(kind) or types.is_time(kind):
            return NUMBER
        if types.is_timestamp(kind) or types.is_date(kind):
            return DATE
        return CATEGORY if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind) else None

    def _check_types(self, wanted: list[str]) -> None:
        for name in wanted:
            kind = self._schema.field(name).type
            if self._by_type(kind) is None:
                shown = " ".join(str(kind).split())
                raise FileRefused(
                    f"{self.name}, column {name!r}: is of the type {shown}, which is neither number, date nor string; "
                    f"skip it (--skip {name!r}), or split it into columns that are",
                    path=self.name,
                    place=f"column {name!r}",
                )

    def _opened(self, name: str) -> tuple[Pieces, PyArrow, int | None]:
        """Return a function that yields the numbered pieces of the file as batches; its schema; its rows."""
        arrow = self._arrow
        if self._kind == "parquet":
            if name == STANDARD_INPUT:
                raise FileRefused("standard input: Parquet begins at its end; give it as a file", path=self.name)
            self._file = arrow.OSFile(name)
            parquet = _needed("pyarrow.parquet", name).ParquetFile(self._file, pre_buffer=False, buffer_size=BUFFER)
            schema = parquet.schema_arrow
            return _row_groups(parquet), _distinct(schema), parquet.metadata.num_rows
        if name == STANDARD_INPUT:
            self._file = sys.stdin.buffer
        else:
            with Path(name).open("rb") as file:
                seekable = file.read(len(ARROW_FILE)) == ARROW_FILE
            self._file = arrow.OSFile(name)  # not a map of memory: a file cut short while it is read would be a SIGBUS
            if seekable:
                reader = arrow.ipc.open_file(self._file)
                return _record_batches(reader), _distinct(reader.schema), _about_rows(reader)
        reader = arrow.ipc.open_stream(self._file)
        self._ahead = _Ahead(reader)
        return _stream(self._ahead), _distinct(reader.schema), None

    def _guarded(self, act: Callable[[], Outcome]) -> Outcome:
        """Return what an act of Arrow returns; its errors become `FileRefused`."""
        try:
            return act()
        except FileNotFoundError:
            raise FileNotFoundError(f"{self.name}: there is no such file") from None
        except (self._arrow.ArrowException, OSError, EOFError, UnicodeDecodeError, OverflowError, KeyError) as error:
            said = (
                "a text in it is not UTF-8"
                if isinstance(error, UnicodeDecodeError)
                else " ".join(str(error).split())[:200]
            )
            message = f"{self.name}: cannot be read as {self._kind} ({said}); is it damaged, or of another format?"
            raise FileRefused(message, path=self.name) from error

    def _guarded_each(self, batches: Iterator[PyArrow]) -> Iterator[PyArrow]:
        while (batch := self._guarded(lambda: next(batches, None))) is not None:
            yield batch


def _row_groups(parquet: PyArrow) -> Pieces:
    def pieces(wanted: list[str], begin: int) -> Iterator[PyArrow]:
        for group in range(begin, parquet.num_row_groups):
            yield group, parquet.iter_batches(ROWS, row_groups=[group], columns=wanted)

    return pieces


def _record_batches(reader: PyArrow) -> Pieces:
    def pieces(wanted: list[str], begin: int) -> Iterator[PyArrow]:
        for index in range(begin, reader.num_record_batches):
            yield index, _slices(reader.get_batch(index).select(wanted))

    return pieces


def _about_rows(reader: PyArrow) -> int:
    """Return how many rows there are, if all batches are as long as the first."""
    batches: int = reader.num_record_batches
    return batches * len(reader.get_batch(0)) if batches else 0


def _stream(ahead: "_Ahead") -> Pieces:
    def pieces(wanted: list[str], begin: int) -> Iterator[PyArrow]:
        for index, batch in enumerate(ahead):
            if index >= begin:
                yield index, _slices(batch.select(wanted))

    return pieces


class _Ahead:
    """The batches of a stream, the first of which may be looked at before they are taken."""

    def __init__(self, reader: PyArrow) -> None:
        self._reader = iter(reader)
        self._seen: list[PyArrow] = []

    def look(self, rows: int) -> Iterator[PyArrow]:
        """Yield the first batches, until they have so many rows."""
        while sum(map(len, self._seen)) < rows and (batch := next(self._reader, None)) is not None:
            self._seen.append(batch)
        yield from self._seen

    def __iter__(self) -> Iterator[PyArrow]:
        seen, self._seen = self._seen, []
        while seen:
            yield seen.pop(0)
        yield from self._reader


def _slices(batch: PyArrow) -> Iterator[PyArrow]:
    for start in range(0, len(batch), ROWS):
        yield batch.slice(start, ROWS)


def _distinct(schema: PyArrow) -> PyArrow:
    if len(set(schema.names)) < len(schema.names):
        raise KeyError("two columns have one name")
    return schema


def _written(value: object) -> str:
    """Return a value as a category: a string as it is, a moment as ISO 8601 writes it, the rest as JSON does."""
    if isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, bool | int | float) else str(value)


def _needed(module: str, name: str) -> PyArrow:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(f"{name}: Parquet and Arrow need pyarrow: pip install 'aioli-online[files]'") from None
