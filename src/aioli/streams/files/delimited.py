"""CSV, TSV and their like: a header, then rows of cells, quoted or not, with any one delimiter."""

import csv
import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from aioli.streams.files import cells
from aioli.streams.files.recognise import as_number, is_missing, kind_of
from aioli.streams.files.sources import Source
from aioli.streams.files.table import NUMBER, SKIPPED, Position, Table, Texts

__all__ = ["Delimited"]

BLOCK = 1 << 20  # bytes read at a time
ROWS = 16384  # rows in a table, at most
CELLS = 1 << 21  # numbers in a table, at most
LONGEST_ROW = 1 << 26  # bytes without an end of line: the file is not what it seems
SAMPLE = 1000  # rows from which the kinds of columns are told
DELIMITERS = ",\t;|"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Delimited:
    """A file of delimited text. Its first row names the columns, unless `header` is False.

    Parameters
    ----------
    source
        The bytes.
    delimiter
        None takes the one of `, tab ; |` that is most frequent in the first line.
    header
        Whether the first row has the names; otherwise columns are called 1, 2, 3, …
    """

    def __init__(self, source: Source, delimiter: str | None = None, header: bool = True) -> None:
        self.source = source
        self._text = _Text(source)
        self._text.fill()
        if self._text.start_with(BYTE_ORDER_MARK):
            self._text.start += len(BYTE_ORDER_MARK)
        first = self._text.first_line()
        if not first.strip():
            raise ValueError(f"{source.name}: is empty; give a file with a header and at least one row")
        self.delimiter = delimiter or max(DELIMITERS, key=first.count)
        if len(self.delimiter.encode()) != 1:
            raise ValueError(f"the delimiter is {self.delimiter!r}; it must be one plain character")
        names = self._header(first) if header else [str(i + 1) for i in range(len(_split(first, self.delimiter)))]
        self._names = _distinct(names)
        self._kinds: dict[str, str] | None = None

    @property
    def columns(self) -> dict[str, str]:
        """The columns, and what each seems to be by its first thousand rows."""
        if self._kinds is None:
            texts = self._read(dict.fromkeys(self._names, "text"), None, SAMPLE, keep=True).texts
            self._kinds = {name: kind_of(texts[name]) for name in self._names}
        return self._kinds

    @property
    def fraction(self) -> float | None:
        """How much of the file has been read, where its size is known."""
        return self.source.fraction

    def tables(self, kinds: dict[str, str], label: str | None, position: Position | None) -> Iterator[Table]:
        """The rows, in tables of a few megabytes."""
        if position is not None:
            self._text.go_to(position["byte"], position["line"])
        numeric = sum(kind == NUMBER for kind in kinds.values())
        rows = max(1, min(ROWS, CELLS // max(1, numeric)))
        with self.source:
            while len(table := self._read(kinds, label, rows)):
                yield table

    def _header(self, first: str) -> list[str]:
        names = _split(first, self.delimiter)
        self._text.start += len(first.encode("utf-8", "surrogateescape"))
        self._text.line += 1
        return [name.strip() or f"column {i + 1}" for i, name in enumerate(names)]

    def _read(self, kinds: dict[str, str], label: str | None, rows: int, keep: bool = False) -> Table:
        """The next rows, as many as that, fewer at the end. `keep` reads them without passing over them."""
        text = self._text
        codes, places, numbers, texts = _plan(self._names, kinds, label)
        values, labels = np.empty((rows, len(numbers))), np.empty(rows)
        spans = np.empty((rows, len(texts), 2), dtype=np.int64)
        starts, odd = np.empty(rows, dtype=np.int64), np.empty((rows * len(codes), 4), dtype=np.int64)
        outcome = np.zeros(4, dtype=np.int64)
        arrays = (codes, places, values, labels, spans, starts, odd, outcome)
        while True:
            count = cells.read_rows(text.bytes, text.start, text.stop, ord(self.delimiter), *arrays)
            if count or outcome[1] == cells.RAGGED or not text.fill():
                break
        if not count and outcome[0] < text.stop:
            line = text.line_of(int(outcome[0]))
            if outcome[1] == cells.RAGGED:
                raise ValueError(
                    f"{self.source.name}, line {line}: has {outcome[2]} cells, but there are {len(codes)} columns; mend "
                    "the row, or quote cells that hold the delimiter"
                )
            raise ValueError(f"{self.source.name}, line {line}: a quote is opened and never closed; close it")
        where = _Where(self.source.name, text, starts[:count])
        self._read_odd(odd[: outcome[3]], count, values, labels, places, label, where)
        written = {name: _texts(text.bytes, spans[:count, j], name, where) for j, name in enumerate(texts)}
        heard: Any = None if label is None else written.pop(label) if label in written else labels[:count]
        if not keep:
            text.go_on(int(outcome[0]))
        after = {"byte": text.position, "line": text.line}
        complete = not outcome[3]
        return Table(numbers, values[:count], written, heard, where, after, complete)

    def _read_odd(
        self, odd: Any, count: int, values: Any, labels: Any, places: Any, label: str | None, where: "_Where"
    ) -> None:
        """The cells that are no plain numbers: missing ones stay NaN, what Python can read is read, the rest is told."""
        for row, column, first, end in odd.tolist():
            if row >= count:
                break
            name = self._names[column]
            text = _cell(where.text.bytes[first:end].tobytes(), name, where, row)
            value = np.nan if text is None or is_missing(text) else as_number(text)
            if value is None or abs(value) == np.inf:
                wrong = "no number" if value is None else "not finite"
                kind = "the label's column" if name == label else "a column of numbers"
                raise ValueError(
                    f"{where(row)}, column {name!r}: {text!r} is {wrong}, and this was {kind} so far; mend it, or "
                    f"read the column as categories (--category {name!r})"
                )
            if name == label:
                labels[row] = value
            else:
                values[row, places[column]] = value


class _Text:
    """A window on the bytes of a source: what has been read and not yet been parsed."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.bytes = np.full(cells.ROOM, cells.NEWLINE, dtype=np.uint8)
        self.start = self.stop = 0
        self.line = 1
        self.before = 0  # bytes of the source before the window
        self._ended = False

    @property
    def position(self) -> int:
        """Bytes of the source that have been parsed."""
        return self.before + self.start

    def fill(self) -> bool:
        """Read on, up to the next whole block of the source; False if there is nothing more.

        So where tables end depends on the file alone, also when reading begins in the middle of it.
        """
        if self._ended:
            return False
        if self.stop - self.start > LONGEST_ROW:
            raise ValueError(
                f"{self.source.name}, line {self.line}: goes on for more than {LONGEST_ROW >> 20} MiB; is this the "
                "right format, and every quote closed?"
            )
        text = bytearray(self.bytes[self.start : self.stop])
        wanted = BLOCK - self.source.position % BLOCK
        while wanted and (read := self.source.read(wanted)):
            text += read
            wanted -= len(read)
        self._ended = wanted > 0
        if self._ended and not text.endswith(b"\n"):  # a last line may lack its end
            text += b"\n"
        self.before += self.start
        more = len(text) > self.stop - self.start
        self.start, self.stop = 0, len(text)
        text += b"\n" * cells.ROOM
        self.bytes = np.frombuffer(text, dtype=np.uint8)
        return more

    def start_with(self, mark: bytes) -> bool:
        return self.bytes[self.start : self.start + len(mark)].tobytes() == mark

    def first_line(self) -> str:
        """The first line with its end, or what there is of it."""
        while True:
            text = self.bytes[self.start : self.stop].tobytes()
            end = text.find(b"\n") + 1
            if end or not self.fill():
                return text[: end or None].decode("utf-8", "surrogateescape")

    def line_of(self, place: int) -> int:
        """The number of the line in which a byte of the window lies."""
        return self.line + int(np.count_nonzero(self.bytes[self.start : place] == cells.NEWLINE))

    def go_on(self, place: int) -> None:
        """Parsed up to here."""
        self.line = self.line_of(place)
        self.start = place

    def go_to(self, byte: int, line: int) -> None:
        """Go on at a place that was reached in an earlier run."""
        if byte > self.before + self.stop:
            self.source.skip(byte - self.before - self.stop)
            self.start = self.stop = 0
            self.before = byte
            self.bytes = self.bytes[:0]
            self.fill()
        else:
            self.start = byte - self.before
        self.line = line


class _Where:
    """Says in which line a row is. It keeps the window that the row was read from, to count lines when asked."""

    def __init__(self, name: str, text: _Text, starts: Any) -> None:
        self.name = name
        self.starts = starts
        self.text = text
        self._bytes, self._start, self._line = text.bytes, text.start, text.line

    def __call__(self, row: int) -> str:
        ends = np.count_nonzero(self._bytes[self._start : self.starts[row]] == cells.NEWLINE)
        return f"{self.name}, line {self._line + int(ends)}"


def _plan(names: list[str], kinds: dict[str, str], label: str | None) -> tuple[Any, Any, list[str], list[str]]:
    """What the compiled reader does with each column and where to, and which are numbers and texts."""
    codes, places = [], []
    numbers: list[str] = []
    texts: list[str] = []
    for name in names:
        kind = kinds[name]
        if kind == SKIPPED:
            codes.append(cells.SKIPPED)
            places.append(0)
        elif kind != NUMBER:
            codes.append(cells.TEXT)
            places.append(len(texts))
            texts.append(name)
        elif name == label:
            codes.append(cells.LABEL)
            places.append(0)
        else:
            codes.append(cells.NUMBER)
            places.append(len(numbers))
            numbers.append(name)
    return np.array(codes), np.array(places, dtype=np.uint64), numbers, texts


def _texts(text: Any, spans: Any, name: str, where: _Where) -> Texts:
    """The cells of a column. Most are repeated, and are taken apart once."""
    whole = text.tobytes()
    known: dict[bytes, str | None] = {}
    texts: Texts = []
    for t, (first, end) in enumerate(spans.tolist()):
        raw = whole[first:end]
        if raw not in known:
            known[raw] = _cell(raw, name, where, t)
        texts.append(known[raw])
    return texts


def _cell(raw: bytes, name: str, where: _Where, row: int) -> str | None:
    """The text of a cell, its quotes taken off; None if it says that there is none."""
    raw = raw.strip(b" \t\r")
    if raw[:1] == b'"' and raw[-1:] == b'"' and len(raw) > 1:
        raw = raw[1:-1].replace(b'""', b'"')
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise ValueError(f"{where(row)}, column {name!r}: {raw[:40]!r} is not UTF-8; convert the file") from None
    return None if is_missing(text) else text


def _split(line: str, delimiter: str) -> list[str]:
    return next(csv.reader(io.StringIO(line), delimiter=delimiter), [])


def _distinct(names: list[str]) -> list[str]:
    """A name that comes again is given a number."""
    seen: dict[str, int] = {}
    distinct = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        distinct.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return distinct
