"""Parquet and Arrow: columns that know what they are, read a batch of rows at a time."""

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from aioli.numerics.compiling import Vector
from aioli.streams.files.recognise import as_number, days_since_1970, is_missing
from aioli.streams.files.sources import STANDARD_INPUT
from aioli.streams.files.table import CATEGORY, DATE, NUMBER, SKIPPED, Position, Table, Tables, Texts

__all__ = ["ArrowFile"]

ROWS = 16384  # rows in a table, at most
BUFFER = 1 << 20  # bytes of a column of Parquet that are read at a time
ARROW_FILE = b"ARROW1"
A_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


class ArrowFile:
    """A file of Parquet, or of Arrow (a file, which is Feather too, or a stream, also from standard input).

    What a column is, its type says: numbers and booleans are numbers, days and moments are dates, strings and
    dictionaries are categories. Other types cannot be read. Only null is missing, and NaN.

    Parameters
    ----------
    name
        The file, or `-` for an Arrow stream from standard input.
    kind
        "parquet" or "arrow".
    """

    sparse = grows = False

    def __init__(self, name: str, kind: str) -> None:
        self.name = "standard input" if name == STANDARD_INPUT else name
        self._arrow = _needed("pyarrow", self.name)
        self._kind = kind
        self._row = 0
        self._file: Any = None
        try:
            self._pieces, self._schema, self._rows = self._guarded(lambda: self._opened(name))
        except BaseException:
            self.close()
            raise

    @property
    def columns(self) -> dict[str, str]:
        """The columns, and what each is by its type; one that cannot be read counts as a category."""
        return {field.name: self._by_type(field.type) or CATEGORY for field in self._schema}

    @property
    def fraction(self) -> float | None:
        """How much of the file has been read, where the number of rows is known, at least about."""
        return min(1.0, self._row / self._rows) if self._rows else None

    def close(self) -> None:
        """Let the file go."""
        if self._file is not None and self._file is not sys.stdin.buffer:
            self._file.close()

    def tables(self, kinds: dict[str, str], label: str | None, position: Position | None) -> Tables:
        """The rows, in tables of at most `ROWS`."""
        wanted = [name for name, kind in kinds.items() if kind != SKIPPED]
        begin, passed = (0, 0) if position is None else (position["piece"], position["batch"])
        self._row = 0 if position is None else position["row"]
        try:
            self._refuse_strange_types(wanted)
            for piece, batches in self._guarded_each(self._pieces(wanted, begin)):
                for batch, rows in enumerate(self._guarded_each(batches)):
                    if piece == begin and batch < passed:
                        continue
                    after = {"piece": piece, "batch": batch + 1, "row": self._row + len(rows)}
                    if len(rows):
                        yield self._table(rows, kinds, label, after)
                    self._row = after["row"]
            self._rows = self._row
        finally:
            self.close()

    def _table(self, rows: Any, kinds: dict[str, str], label: str | None, after: Position) -> Table:
        self._guarded(lambda: rows.validate(full=True))  # a damaged file must not be trusted with places in memory
        where = _Rows(self.name, self._row + 1)
        numbers: dict[str, Vector] = {}
        texts: dict[str, Texts] = {}
        days: dict[str, Vector] = {}
        for name, column in zip(rows.schema.names, rows.columns, strict=True):
            if kinds[name] == NUMBER:
                numbers[name] = self._numbers(column, name, where)
            elif kinds[name] == DATE and self._by_type(column.type) == DATE:
                days[name] = self._days(column)
            elif kinds[name] == DATE:
                days[name] = days_since_1970(self._texts(column), name, where)
            else:
                texts[name] = self._texts(column)
        labels: Any = None if label is None else numbers.pop(label) if label in numbers else texts.pop(label)
        matrix = np.column_stack(list(numbers.values())) if numbers else np.empty((len(rows), 0))
        return Table(list(numbers), matrix, texts, labels, where, after, not np.isnan(matrix).any(), days)

    def _numbers(self, column: Any, name: str, where: "_Rows") -> Vector:
        """A column as float64, NaN where there is null."""
        found = self._by_type(column.type)
        if found == DATE:
            return self._days(column)
        if found == CATEGORY:
            return _as_numbers(self._texts(column), name, where)
        values: Vector = self._guarded(lambda: self._floats(column))
        infinite = np.isinf(values)
        if infinite.any():
            t = int(np.argmax(infinite))
            raise ValueError(
                f"{where(t)}, column {name!r}: is {values[t]}, which is not finite; mend it, or drop the row"
            )
        return values

    def _floats(self, column: Any) -> Vector:
        types, kind = self._arrow.types, column.type
        if types.is_boolean(kind):
            column = column.cast(self._arrow.int8())
        values: Vector = column.cast(self._arrow.float64(), safe=False).to_numpy(zero_copy_only=False)
        return values.astype(np.float64, copy=False)

    def _days(self, column: Any) -> Vector:
        """A column of dates in days since 1970."""
        kind, whole = column.type, self._arrow.int64()
        if self._arrow.types.is_date32(kind):
            return self._floats(column.cast(self._arrow.int32()))
        unit = "ms" if self._arrow.types.is_date64(kind) else kind.unit
        return self._floats(column.cast(whole)) / A_DAY[unit]

    def _texts(self, column: Any) -> Texts:
        """A column as texts. Most are repeated, and are written once."""
        if not self._arrow.types.is_dictionary(column.type):
            column = self._guarded(column.dictionary_encode)
        known = [None if value is None else _written(value) for value in self._guarded(column.dictionary.to_pylist)]
        return [None if place is None else known[place] for place in column.indices.to_pylist()]

    def _by_type(self, kind: Any) -> str | None:
        types = self._arrow.types
        if types.is_dictionary(kind):
            return CATEGORY if self._by_type(kind.value_type) else None
        if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
            return NUMBER
        if types.is_boolean(kind) or types.is_null(kind):
            return NUMBER
        if types.is_timestamp(kind) or types.is_date(kind):
            return DATE
        return CATEGORY if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind) else None

    def _refuse_strange_types(self, wanted: list[str]) -> None:
        for name in wanted:
            kind = self._schema.field(name).type
            if self._by_type(kind) is None:
                shown = " ".join(str(kind).split())
                raise ValueError(
                    f"{self.name}, column {name!r}: is of the type {shown}, which is neither number, date nor string; "
                    f"skip it (--skip {name!r}), or split it into columns that are"
                )

    def _opened(self, name: str) -> tuple[Callable[[list[str], int], Iterator[Any]], Any, int | None]:
        """What gives the pieces of the file, numbered, each an iterator over batches; its schema; its rows."""
        arrow = self._arrow
        if self._kind == "parquet":
            if name == STANDARD_INPUT:
                raise ValueError("standard input: Parquet begins at its end; give it as a file")
            self._file = arrow.OSFile(name)
            parquet = _needed("pyarrow.parquet", name).ParquetFile(self._file, pre_buffer=False, buffer_size=BUFFER)
            schema = parquet.schema_arrow
            return _row_groups(parquet), _distinct(schema), parquet.metadata.num_rows
        if name == STANDARD_INPUT:
            self._file = sys.stdin.buffer
        else:
            with Path(name).open("rb") as file:
                seekable = file.read(len(ARROW_FILE)) == ARROW_FILE
            self._file = arrow.memory_map(name) if Path(name).stat().st_size else arrow.OSFile(name)
            if seekable:
                reader = arrow.ipc.open_file(self._file)
                return _record_batches(reader), _distinct(reader.schema), _about_rows(reader)
        reader = arrow.ipc.open_stream(self._file)
        return _stream(reader), _distinct(reader.schema), None

    def _guarded(self, act: Callable[[], Any]) -> Any:
        """Do what Arrow does, its complaints told as ours."""
        try:
            return act()
        except FileNotFoundError:
            raise FileNotFoundError(f"{self.name}: there is no such file") from None
        except (self._arrow.ArrowException, OSError, EOFError, UnicodeDecodeError, OverflowError, KeyError) as error:
            said = " ".join(str(error).split())[:200]
            raise ValueError(
                f"{self.name}: cannot be read as {self._kind} ({said}); is it damaged, or of another format?"
            ) from error

    def _guarded_each(self, batches: Iterator[Any]) -> Iterator[Any]:
        while (batch := self._guarded(lambda: next(batches, None))) is not None:
            yield batch


class _Rows:
    """Says which row of the file a row is, the first being 1."""

    def __init__(self, name: str, first: int) -> None:
        self.name = name
        self.first = first

    def __call__(self, row: int) -> str:
        return f"{self.name}, row {self.first + row}"


def _row_groups(parquet: Any) -> Callable[[list[str], int], Iterator[Any]]:
    def pieces(wanted: list[str], begin: int) -> Iterator[Any]:
        for group in range(begin, parquet.num_row_groups):
            yield group, parquet.iter_batches(ROWS, row_groups=[group], columns=wanted)

    return pieces


def _record_batches(reader: Any) -> Callable[[list[str], int], Iterator[Any]]:
    def pieces(wanted: list[str], begin: int) -> Iterator[Any]:
        for index in range(begin, reader.num_record_batches):
            yield index, _slices(reader.get_batch(index).select(wanted))

    return pieces


def _about_rows(reader: Any) -> int:
    """How many rows there are, if all batches but the last are as long as the first."""
    batches: int = reader.num_record_batches
    return batches * len(reader.get_batch(0)) if batches else 0


def _stream(reader: Any) -> Callable[[list[str], int], Iterator[Any]]:
    def pieces(wanted: list[str], begin: int) -> Iterator[Any]:
        for index, batch in enumerate(reader):
            if index >= begin:
                yield index, _slices(batch.select(wanted))

    return pieces


def _slices(batch: Any) -> Iterator[Any]:
    for start in range(0, len(batch), ROWS):
        yield batch.slice(start, ROWS)


def _distinct(schema: Any) -> Any:
    if len(set(schema.names)) < len(schema.names):
        raise KeyError("two columns have one name")
    return schema


def _written(value: object) -> str:
    """A value as a category: a string as it is, a moment as ISO 8601 writes it, the rest as JSON does."""
    if isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, bool | int | float) else str(value)


def _as_numbers(texts: Texts, name: str, where: _Rows) -> Vector:
    """Strings that were asked to be numbers."""
    numbers = np.empty(len(texts))
    for t, text in enumerate(texts):
        number = np.nan if text is None or is_missing(text) else as_number(text)
        if number is None or abs(number) == np.inf:
            raise ValueError(
                f"{where(t)}, column {name!r}: {text!r} is no finite number; mend it, or read the column as "
                f"categories (--category {name!r})"
            )
        numbers[t] = number
    return numbers


def _needed(module: str, name: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(f"{name}: Parquet and Arrow need pyarrow: pip install 'aioli-online[files]'") from None
