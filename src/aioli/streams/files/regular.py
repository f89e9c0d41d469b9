r"""Delimited text whose rows are all alike, many cells at a time: as most files of numbers are, and twice as fast.

`cells.read_rows` goes from cell to cell, and must find the end of one before it can begin with the next. Where there
are no quotes, all ends of a block can be found first, sixty-four bytes at a time; then no cell waits for another, and
the compiler turns the arithmetic on eight digits into vector instructions. Cells that are not short and plain, such as
`1e-5`, are read one by one, as `cells` does.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.streams.files.cells import (
    EIGHT,
    LABEL,
    NEWLINE,
    NUMBER,
    ONE,
    TEXT,
    Bytes,
    Integers,
    Word,
    eight_bytes,
    read_cell,
)

__all__ = ["ends_of_cells", "read_regular_rows"]

Words = NDArray[np.uint64]
Places = NDArray[np.int32]

AT_ONCE = np.uint64(64)
ONES: Word = np.uint64(0x0101010101010101)
SEVENS: Word = np.uint64(0x7F7F7F7F7F7F7F7F)
HIGH_BITS: Word = np.uint64(0x8080808080808080)
ZEROS: Word = ONES * np.uint64(0x30)
NEWLINES: Word = ONES * np.uint64(NEWLINE)
POINTS: Word = ONES * np.uint64(0x30 ^ 0x2E)  # a point, where digits are counted from 0
ABOVE_NINE: Word = ONES * np.uint64(0x76)
BRUIJN: Word = np.uint64(0x03F79D71B4CB0A89)  # multiplied by 2^k, its six highest bits tell k
PLACE_OF_BIT = np.zeros(64, dtype=np.uint64)
for _k in range(64):
    PLACE_OF_BIT[((0x03F79D71B4CB0A89 << _k) & 0xFFFFFFFFFFFFFFFF) >> 58] = _k
TENS = np.array([10.0**k for k in range(8)])


def ends_of_cells(text: Bytes, start: int, stop: int, delimiter: int, columns: int, rows: int) -> Places | None:
    """Where each cell of the next rows ends, a row of places for a row of the file; None if they are not all alike.

    After `stop` must come newlines, at least as many bytes as are looked at together.
    """
    most = rows * columns
    places: Places = np.empty(most + int(AT_ONCE), dtype=np.int32)
    count = find_ends(text, start, stop, ONES * np.uint64(delimiter), most, places)
    whole = min(rows, count // columns) * columns
    newlines = text[places[:count]] == NEWLINE
    alike = newlines[columns - 1 : whole : columns].all() and np.count_nonzero(newlines[:whole]) == whole // columns
    if not whole or not alike or (whole < most and newlines[whole:].any()):  # an empty line is no row
        return None
    return places[:whole].reshape(-1, columns)


@compiled("u8(u8,u8)")
def bytes_like(word: Word, eight: Word) -> Word:
    """The highest bit of each byte of the word that is the same in `eight`; every other bit is 0. O(1)."""
    other = word ^ eight
    return ~(((other & SEVENS) + SEVENS) | other | SEVENS)


@compiled("i8(u1[::1],u8,u8,u8,u8,i4[::1])")
def find_ends(text: Bytes, start: Word, stop: Word, delimiters: Word, most: Word, ends: Places) -> int:
    """The places of delimiters and newlines, in order, until there are `most`; returns how many. O(bytes)."""
    count: Word = np.uint64(0)
    i = start
    while i < stop and count < most:
        found: Word = np.uint64(0)  # a bit for each of the next 64 bytes
        for k in range(np.uint64(0), EIGHT):
            word = eight_bytes(text, i + k * EIGHT)
            like = bytes_like(word, delimiters) | bytes_like(word, NEWLINES)
            found |= (((like >> np.uint64(7)) * np.uint64(0x0102040810204080)) >> np.uint64(56)) << (k * EIGHT)
        while found:
            place = i + PLACE_OF_BIT[((found & (~found + ONE)) * BRUIJN) >> np.uint64(58)]
            if place < stop:
                ends[count] = place
                count += ONE
            found &= found - ONE
        i += AT_ONCE
    return int(count)


@compiled("void(u1[::1],u8,i4[::1],u8[::1],u8[::1],u8[::1])")
def last_eight_bytes(text: Bytes, start: Word, ends: Places, words: Words, lengths: Words, signs: Words) -> None:
    """The last eight bytes of each cell, what was before it among them; its length without the sign. O(1) a cell."""
    first = start
    for k in range(ends.size):
        end = np.uint64(ends[k])
        words[k] = (
            eight_bytes(text, end - EIGHT)
            if end >= EIGHT
            else eight_bytes(text, np.uint64(0)) << ((EIGHT - end) * EIGHT)
        )
        sign = np.uint64(text[first] == 45)
        lengths[k] = end - first - sign
        signs[k] = sign
        first = end + ONE


@compiled("void(u8[::1],u8[::1],u8[::1],f8[::1])")
def short_numbers(words: Words, lengths: Words, signs: Words, values: Vector) -> None:
    """The number of each cell that is written in at most eight bytes and a sign, NaN for all others. O(1) a cell.

    Without a branch: what was before the cell is cut off, the digits before the point are moved over it, and eight
    digits are added up in pairs, fours and eights. The mantissa and the power of ten are exact, so that their quotient
    is rounded once.
    """
    for k in range(values.size):
        digits = (words[k] ^ ZEROS) & (~np.uint64(0) << ((np.uint64(64) - lengths[k] * EIGHT) & np.uint64(63)))
        points = bytes_like(digits, POINTS)
        point = (points & (~points + ONE)) >> np.uint64(7)  # the lowest bit of the point's byte
        pointed = np.uint64(point != 0)
        before = point - pointed
        digits = (digits & ~(before | (point * np.uint64(0xFF)))) | ((digits & before) << EIGHT)
        wrong = ((digits + ABOVE_NINE) | digits) & HIGH_BITS
        pairs = digits * np.uint64(10) + (digits >> EIGHT)
        low = (pairs & np.uint64(0x000000FF000000FF)) * np.uint64(0x000F424000000064)
        high = ((pairs >> np.uint64(16)) & np.uint64(0x000000FF000000FF)) * np.uint64(0x0000271000000001)
        behind = pointed * (np.uint64(7) - ((point * np.uint64(0x0001020304050607)) >> np.uint64(56)))
        value = float((low + high) >> np.uint64(32)) / TENS[behind] * (1.0 - 2.0 * float(signs[k]))
        plain = (wrong == 0) & (lengths[k] > pointed) & (lengths[k] <= EIGHT)
        values[k] = value if plain else np.nan


@compiled(
    "void(u1[::1],u8,u8,u1,i4[:,::1],f8[:,::1],i8[::1],u8[::1],f8[:,::1],f8[::1],i8[:,:,::1],i8[::1],i8[:,::1],i8[::1])"
)
def put_cells(
    text: Bytes,
    start: Word,
    stop: Word,
    delimiter: int,
    ends: Places,
    values: Matrix,
    kinds: Integers,
    places: Words,
    numbers: Matrix,
    labels: Vector,
    spans: Integers,
    starts: Integers,
    odd: Integers,
    outcome: Integers,
) -> None:
    """Bring each cell to its place, and read those that were not short and plain. The arrays are `cells.read_rows`'."""
    strange = 0
    first = start
    for row in range(ends.shape[0]):
        starts[row] = first
        for column in range(ends.shape[1]):
            kind = kinds[column]
            end = np.uint64(ends[row, column])
            if kind <= LABEL:
                value = values[row, column]
                if value != value:
                    value, _ = read_cell(text, first, stop, delimiter)
                    if end == first or (end == first + ONE and text[first] == 13):
                        outcome[4] = 1
                    elif value != value:
                        odd[strange, 0], odd[strange, 1], odd[strange, 2], odd[strange, 3] = row, column, first, end
                        strange += 1
                if kind == NUMBER:
                    numbers[row, places[column]] = value
                else:
                    labels[row] = value
            elif kind == TEXT:
                spans[row, places[column], 0], spans[row, places[column], 1] = first, end
            first = end + ONE
    outcome[0], outcome[3] = first, strange


def read_regular_rows(text: Bytes, start: int, stop: int, delimiter: int, ends: Places, *arrays: Any) -> int:
    """What `cells.read_rows` does, for the rows whose cells end there, as many as the arrays hold."""
    rows = min(len(ends), len(arrays[5]))
    cells = rows * ends.shape[1]
    words, lengths, signs = (np.empty(cells, dtype=np.uint64) for _ in range(3))
    values = np.empty((rows, ends.shape[1]))
    flat = ends[:rows].reshape(-1)
    last_eight_bytes(text, start, flat, words, lengths, signs)
    short_numbers(words, lengths, signs, values.reshape(-1))
    put_cells(text, start, stop, delimiter, ends[:rows], values, *arrays)
    return rows
