"""The numbered pieces of a file of Parquet or Arrow, each of which yields its rows a batch at a time."""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

__all__ = ["Pieces", "PyArrow", "StreamAhead", "about_rows", "record_batches", "row_groups", "stream_pieces"]

ROWS = 16384  # rows in a batch, at most
PyArrow: TypeAlias = Any  # pyarrow has no types
Pieces: TypeAlias = Callable[[list[str], int], Iterator[PyArrow]]  # of these columns, from this piece on


def row_groups(parquet: PyArrow) -> Pieces:
    """Return the pieces of a Parquet file: its row groups."""

    def pieces(wanted: list[str], begin: int) -> Iterator[PyArrow]:
        for group in range(begin, parquet.num_row_groups):
            yield group, parquet.iter_batches(ROWS, row_groups=[group], columns=wanted)

    return pieces


def record_batches(reader: PyArrow) -> Pieces:
    """Return the pieces of an Arrow file: its record batches."""

    def pieces(wanted: list[str], begin: int) -> Iterator[PyArrow]:
        for index in range(begin, reader.num_record_batches):
            yield index, _slices(reader.get_batch(index).select(wanted))

    return pieces


def about_rows(reader: PyArrow) -> int:
    """Return how many rows there are, if all batches are as long as the first."""
    batches: int = reader.num_record_batches
    return batches * len(reader.get_batch(0)) if batches else 0


def stream_pieces(ahead: "StreamAhead") -> Pieces:
    """Return the pieces of an Arrow stream: its batches; those before the first wanted are read and dropped."""

    def pieces(wanted: list[str], begin: int) -> Iterator[PyArrow]:
        for index, batch in enumerate(ahead):
            if index >= begin:
                yield index, _slices(batch.select(wanted))

    return pieces


class StreamAhead:
    """Yields the batches of a stream once; the first ones may be looked at before they are taken."""

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
