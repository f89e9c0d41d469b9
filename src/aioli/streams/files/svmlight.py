"""SVMlight's format (also LIBSVM's): a label and `index:value` for all that is not 0, a row a line."""

import math
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from aioli.numerics.compiling import Vector, compiled
from aioli.streams.files.byte_source import Source
from aioli.streams.files.byte_window import Places
from aioli.streams.files.cell_values import as_number
from aioli.streams.files.parse_cells import NEWLINE, ONE, RETURN, Bytes, Integers, Word, read_number
from aioli.streams.files.table import Position, ReadAs, SparseTable, Tables, Texts
from aioli.streams.files.text_reader import TextReader, shortened

__all__ = ["SVMLight"]

SPACE, TAB, COLON, HASH, ZERO, Q = 32, 9, 58, 35, 48, 113
PairArrays: TypeAlias = "tuple[Vector, Integers, Integers, Vector, Integers, Integers]"
LONGEST_INDEX = 15  # digits


class SVMLight(TextReader):
    """Reads a file of sparse rows. What follows `#` is a comment; `qid:` is passed over.

    Indices count from 1, or from 0 if there is a 0 among those of the first megabyte.
    """

    sparse, grows = True, False

    def __init__(self, source: Source, tolerant: bool = False) -> None:
        super().__init__(source, tolerant)
        self._first = 0
        rows = self._read(keep=True)
        if not len(rows) and not rows.skipped:
            raise self._refused("is empty; give a file with rows such as '1 3:0.5 7:2'")
        self._first = int(rows.features.min(initial=1) > 0)

    @property
    def sample(self) -> Mapping[str, Texts]:
        """An empty mapping: features have numbers, not names."""
        return {}

    def tables(self, _read_as: ReadAs, position: Position | None) -> Tables:
        """Yield the rows, in tables of about a megabyte of text."""
        with self.source:
            self._go_to(position)
            while len(table := self._read()) or table.skipped:
                yield table

    def _read(self, keep: bool = False) -> SparseTable:
        """Return the rows of the next lines; none at the end. `keep` reads them without passing over them."""
        window = self._window
        while True:
            end = window.whole_lines()
            text = window.bytes[window.start : end]
            pairs, lines = (int(np.count_nonzero(text == mark)) for mark in (COLON, NEWLINE))
            labels, starts = np.empty(lines), np.zeros(lines + 1, dtype=np.int64)
            features, values = np.empty(pairs, dtype=np.int64), np.empty(pairs)
            places, outcome = np.empty(lines, dtype=np.int64), np.array([window.start, 0])
            skipped: list[tuple[int, str]] = []
            rows = self._fill(end, (labels, starts, features, values, places, outcome), skipped)
            if rows or skipped or end == window.start:
                break
            window.go_on(end)  # nothing but comments
        where = Places(window, places[:rows])
        if not keep:
            window.go_on(int(outcome[0]))
        entries = slice(int(starts[rows]))
        features = features[entries] - self._first
        rest = (values[entries], labels[:rows], where, window.after())
        return SparseTable(starts[: rows + 1], features, *rest, first=self._first, skipped=skipped)

    def _fill(self, end: int, arrays: PairArrays, skipped: list[tuple[int, str]]) -> int:
        """Read up to `end`, or up to a row that is wrong, which is refused if it comes first; return how many rows.

        A tolerant reader leaves such a row out, and adds it to those `skipped`.
        """
        labels, starts, features, values, places, outcome = arrays
        window, rows, text = self._window, 0, b""
        while True:
            rows = read_pairs(window.bytes, end, self._first, rows, arrays)
            begin = int(outcome[0])
            if begin >= end:
                return rows
            text = text or window.bytes[:end].tobytes()
            after = text.index(b"\n", begin) + 1
            try:
                label, row = self._by_hand(text[begin:after])
            except ValueError as error:
                if self.tolerant:
                    skipped.append((rows, str(self._refused(str(error), window.line_of(begin)))))
                    outcome[0] = after
                    continue
                if rows:
                    return rows
                raise self._refused(str(error), window.line_of(begin)) from None
            first = int(starts[rows])
            labels[rows], places[rows], starts[rows + 1] = label, begin, first + len(row)
            for k, (index, value) in enumerate(row, first):
                features[k], values[k] = index, value
            rows += 1
            outcome[0] = after

    def _by_hand(self, line: bytes) -> tuple[float, list[tuple[int, float]]]:
        """Return the label and the pairs of a row that is not written plainly; a `ValueError` says what is wrong."""
        words = [word.decode("utf-8", "replace") for word in line.partition(b"#")[0].split()]
        label, pairs = "".join(words[:1]), words[1:]
        row = [self._pair(pair) for pair in pairs if not pair.startswith("qid:")]
        number = as_number(label)
        if number is None or not math.isfinite(number):
            raise ValueError(
                f"the label is {shortened(label)}; it must be one number, such as 1 or -1, before the pairs"
            )
        return number, row

    def _pair(self, pair: str) -> tuple[int, float]:
        index, colon, value = pair.partition(":")
        if not (colon and index.isascii() and index.isdigit() and len(index) <= LONGEST_INDEX):
            raise ValueError(f"{shortened(pair)} is no pair index:value; write a whole number, a colon, a number")
        if int(index) < self._first:
            raise ValueError(
                "has the index 0, but the rows before count from 1; raise every index by 1, or drop the pair"
            )
        number = as_number(value)
        if number is None or not math.isfinite(number):
            wrong = "no number" if number is None or math.isnan(number) else "not finite"
            raise ValueError(f"{shortened(value)} in the pair {shortened(pair)} is {wrong}; mend it, or drop the pair")
        return int(index), number


@compiled("b1(u1)")
def is_space(byte: Word) -> bool:
    """Return whether a byte separates the words of a line."""
    return byte in (SPACE, TAB, RETURN)


@compiled("u8(u1[::1],u8)")
def past_spaces(text: Bytes, i: Word) -> Word:
    """Return where the next word, comment or end of line begins."""
    while is_space(text[i]):
        i += ONE
    return i


@compiled("u8(u1[::1],u8)")
def past_line(text: Bytes, i: Word) -> Word:
    """Return where the next line begins."""
    while text[i] != NEWLINE:
        i += ONE
    return i + ONE


@compiled("i8(u1[::1],u8,i8,i8,Tuple((f8[::1],i8[::1],i8[::1],f8[::1],i8[::1],i8[::1])))")
def read_pairs(text: Bytes, end: Word, first: int, row: int, arrays: PairArrays) -> int:
    """Read the lines of `text[outcome[0]:end]`, behind `row` rows; returns how many there are then. O(bytes).

    `end` is behind a newline. Reading stops at a line that is not plain: `outcome[0]` is where the next line begins.
    """
    labels, starts, features, values, places, outcome = arrays
    begin: Word = np.uint64(outcome[0])
    while begin < end:
        outcome[0] = begin
        i = past_spaces(text, begin)
        if text[i] == HASH or text[i] == NEWLINE:  # no row
            begin = past_line(text, i)
            continue
        label, i = read_number(text, i)
        if label != label or not (is_space(text[i]) or text[i] == HASH or text[i] == NEWLINE):
            return row
        k = starts[row]
        i = past_spaces(text, i)
        while text[i] != NEWLINE and text[i] != HASH:
            if text[i] == Q and text[i + ONE] == 105 and text[i + ONE + ONE] == 100:  # qid
                while not (is_space(text[i]) or text[i] == NEWLINE or text[i] == HASH):
                    i += ONE
                i = past_spaces(text, i)
                continue
            index: Word = np.int64(0)
            digits = 0
            while np.uint8(text[i] - np.uint8(ZERO)) < 10:
                index = index * 10 + np.int64(text[i] - np.uint8(ZERO))
                digits += 1
                i += ONE
            if digits == 0 or digits > LONGEST_INDEX or text[i] != COLON or index < first:
                return row
            value, i = read_number(text, i + ONE)
            if value != value or not (is_space(text[i]) or text[i] == HASH or text[i] == NEWLINE):
                return row
            features[k], values[k] = index, value
            k += 1
            i = past_spaces(text, i)
        labels[row], places[row] = label, begin
        row += 1
        starts[row] = k
        begin = past_line(text, i)
    outcome[0] = end
    return row
