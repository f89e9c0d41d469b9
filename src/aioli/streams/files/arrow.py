"""Parquet and Arrow: columns whose types say what they are, read a batch of rows at a time."""

import importlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from aioli.errors import FileRefused
from aioli.numerics.compiling import Vector
from aioli.snapshots.tree import Snapshot
from aioli.streams.files.arrow_columns import days_of, kind_by_type, numbers_of, texts_of
from aioli.streams.files.arrow_pieces import (
    Pieces,
    PyArrow,
    StreamAhead,
    about_rows,
    record_batches,
    row_groups,
    stream_pieces,
)
from aioli.streams.files.byte_source import STANDARD_INPUT
from aioli.streams.files.cell_values import POINT, converted, number_in
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

BUFFER = 1 << 20  # bytes of a column of Parquet that are read at a time
ARROW_FILE = b"ARROW1"
Outcome = TypeVar("Outcome")


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
        self._ahead: StreamAhead | None = None  # of a stream, which can be read once
        try:
            self._pieces, self._schema, self._rows = self._guarded(lambda: self._opened(name))
        except BaseException:
            self.close()
            raise

    @property
    def sample(self) -> Mapping[str, Texts | str]:
        """The first thousand strings of each column of strings; what the others are by their types."""
        if self._sample is None:
            types = {field.name: kind_by_type(self._arrow, field.type) for field in self._schema}
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
        """Yield the rows, in tables of at most `arrow_pieces.ROWS`."""
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
            typed, held = kind_by_type(self._arrow, column.type), numbers if kind == NUMBER else days
            if typed == DATE:
                held[name] = self._guarded(partial(days_of, self._arrow, column))
            elif typed == NUMBER:
                held[name], unreadable[name] = self._guarded(partial(numbers_of, self._arrow, column))
            else:
                read = partial(number_in if kind == NUMBER else days_in, notation=notation)
                held[name], unreadable[name] = converted(self._texts(column), read)
        labels = None if label is None else numbers.pop(label) if label in numbers else texts.pop(label)
        matrix = np.column_stack(list(numbers.values())) if numbers else np.empty((len(rows), 0))
        complete = not np.isnan(matrix).any()
        found = {name: cells for name, cells in unreadable.items() if cells and name != label}
        return Table(list(numbers), matrix, texts, labels, where, after, complete, days, unreadable=found)

    def _texts(self, column: PyArrow, label: bool = False) -> Texts:
        return self._guarded(lambda: texts_of(self._arrow, column, label))

    def _check_types(self, wanted: list[str]) -> None:
        for name in wanted:
            kind = self._schema.field(name).type
            if kind_by_type(self._arrow, kind) is None:
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
            return row_groups(parquet), self._distinct(schema), parquet.metadata.num_rows
        if name == STANDARD_INPUT:
            self._file = sys.stdin.buffer
        else:
            with Path(name).open("rb") as file:
                seekable = file.read(len(ARROW_FILE)) == ARROW_FILE
            self._file = arrow.OSFile(name)  # not a map of memory: a file cut short while it is read would be a SIGBUS
            if seekable:
                reader = arrow.ipc.open_file(self._file)
                return record_batches(reader), self._distinct(reader.schema), about_rows(reader)
        reader = arrow.ipc.open_stream(self._file)
        self._ahead = StreamAhead(reader)
        return stream_pieces(self._ahead), self._distinct(reader.schema), None

    def _distinct(self, schema: PyArrow) -> PyArrow:
        twice = [name for name, count in Counter(schema.names).items() if count > 1]
        if twice:
            message = f"{self.name}: two columns are called {twice[0]!r}; rename one, since columns go by their names"
            raise FileRefused(message, path=self.name, place=f"column {twice[0]!r}")
        return schema

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


def _needed(module: str, name: str) -> PyArrow:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(f"{name}: Parquet and Arrow need pyarrow: pip install 'aioli-online[files]'") from None
