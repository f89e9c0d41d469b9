r"""Delimited text whose rows all have the same number of cells and no quotes, compiled: twice as fast as `parse_cells`.

`parse_cells.read_rows` goes from cell to cell, and must find the end of one before it can begin with the next. Where
there are no quotes, all ends of a block can be found first, sixty-four bytes at a time; then no cell waits for another,
and the compiler turns the arithmetic on eight digits into vector instructions. Cells that are not short and plain, such
as `1e-5`, are read one by one, as `parse_cells` does.
"""

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.compiling import Vector, compiled
from aioli.streams.files.parse_cells import (
    EIGHT,
    LABEL,
    MINUS,
    NEWLINE,
    NUMBER,
    ONE,
    RETURN,
    ROW_ARRAYS,
    TEXT,
    ZERO,
    Bytes,
    RowArrays,
    Word,
    eight_bytes,
    eight_digits,
    read_cell,
)

__all__ = ["ends_of_cells", "read_regular_rows", "room_for_ends"]

Words = NDArray[np.uint64]
Places = NDArray[np.int32]

AT_ONCE = np.uint64(64)
NINE = np.uint64(9)
TOGETHER = 4096  # cells
ONES: Word = np.uint64(0x0101010101010101)
SEVENS: Word = np.uint64(0x7F7F7F7F7F7F7F7F)
HIGH_BITS: Word = np.uint64(0x8080808080808080)
ZEROS: Word = ONES * np.uint64(0x30)
NEWLINES: Word = ONES * np.uint64(NEWLINE)
POINTS: Word = ONES * np.uint64(0x30 ^ 0x2E)  # a point, where digits are counted from 0
ABOVE_NINE: Word = ONES * np.uint64(0x76)
BRUIJN: Word = np.uint64(0x03F79D71B4CB0A89)  # multiplied by 2^k, its six highest bits are different for each k
GATHER: Word = np.uint64(0x0102040810204080)  # brings the lowest bits of eight bytes together
PLACE_OF_BIT = np.zeros(64, dtype=np.uint64)
for _k in range(64):
    PLACE_OF_BIT[((0x03F79D71B4CB0A89 << _k) & 0xFFFFFFFFFFFFFFFF) >> 58] = _k
TENS = np.array([10.0**k for k in range(8)])


def room_for_ends(columns: int, rows: int) -> Places:
    """Return the array that `ends_of_cells` writes to. It is made once: new memory costs more than writing to it."""
    return np.empty(rows * columns + int(AT_ONCE), dtype=np.int32)


def ends_of_cells(text: Bytes, start: int, stop: int, delimiter: int, columns: int, places: Places) -> Places | None:
    """Return where each cell of the next rows ends, a row of places for each; None if they are not all alike.

    After `stop` must come newlines, at least as many bytes as are looked at together.
    """
    rows = (len(places) - int(AT_ONCE)) // columns
    most = rows * columns
    count = find_ends(text, start, stop, ONES * np.uint64(delimiter), most, places)
    whole = min(rows, count // columns)
    beyond = text[places[whole * columns : min(count, most)]]  # of a row that is not whole, or of an empty line
    if not whole or NEWLINE in beyond or not are_alike(text, ends := places[: whole * columns].reshape(whole, columns)):
        return None
    return ends


@compiled("u8(u8,u8)")
def bytes_like(word: Word, eight: Word) -> Word:
    """Return the highest bit of each byte of the word that is the same in `eight`; every other bit is 0. O(1)."""
    other = word ^ eight
    return ~(((other & SEVENS) + SEVENS) | other | SEVENS)


@compiled("i8(u1[::1],u8,u8,u8,u8,i4[::1])")
def find_ends(text: Bytes, start: Word, stop: Word, delimiters: Word, most: Word, ends: Places) -> int:
    """Write the places of delimiters and newlines until there are `most` or more; return how many. O(bytes)."""
    count: Word = np.uint64(0)
    i = start
    while i < stop and count < most:
        found: Word = np.uint64(0)  # a bit for each of the next 64 bytes
        for k in range(np.uint64(0), EIGHT):
            word = eight_bytes(text, i + k * EIGHT)
            like = bytes_like(word, delimiters) | bytes_like(word, NEWLINES)
            found |= (((like >> np.uint64(7)) * GATHER) >> np.uint64(56)) << (k * EIGHT)
        while found:
            ends[count] = i + PLACE_OF_BIT[((found & (~found + ONE)) * BRUIJN) >> np.uint64(58)]
            count += ONE
            found &= found - ONE
        i += AT_ONCE
    while count > 0 and ends[count - ONE] >= stop:
        count -= ONE
    return int(count)


@compiled("b1(u1[::1],i4[:,::1])")
def are_alike(text: Bytes, ends: Places) -> bool:
    """Return whether the last cell of every row, and no other, ends with a newline. O(1) a cell."""
    last = ends.shape[1] - 1
    wrong = 0
    for t in range(len(ends)):
        for column in range(last):
            wrong += text[ends[t, column]] == NEWLINE
        wrong += text[ends[t, last]] != NEWLINE
    return wrong == 0


@compiled("void(u1[::1],u8,i4[::1],u8[::1],u8[::1],u8[::1])")
def last_eight_bytes(text: Bytes, start: Word, ends: Places, words: Words, lengths: Words, signs: Words) -> None:
    """Write the last eight bytes that end each cell, its length without the sign, and its sign. O(1) a cell."""
    first = start
    for k in range(ends.size):
        end = np.uint64(ends[k])
        words[k] = (
            eight_bytes(text, end - EIGHT)
            if end >= EIGHT
            else eight_bytes(text, np.uint64(0)) << ((EIGHT - end) * EIGHT)
        )
        sign = np.uint64(text[first] == MINUS)
        length = end - first - sign
        lengths[k] = length - np.uint64((length == NINE) & (text[first + sign] == ZERO))  # a zero in front says nothing
        signs[k] = sign
        first = end + ONE


@compiled("void(u8[::1],u8[::1],u8[::1],f8[::1])")
def short_numbers(words: Words, lengths: Words, signs: Words, values: Vector) -> None:
    """Write the number of each cell of at most eight bytes and a sign, NaN for all others. O(1) a cell.

    Without a branch: what was before the cell is cut off, and the digits before the point are moved over it. The
    mantissa and the power of ten are exact, so that their quotient is rounded once.
    """
    for k in range(values.size):
        digits = (words[k] ^ ZEROS) & (~np.uint64(0) << ((np.uint64(64) - lengths[k] * EIGHT) & np.uint64(63)))
        points = bytes_like(digits, POINTS)
        point = (points & (~points + ONE)) >> np.uint64(7)  # the lowest bit of the point's byte
        pointed = np.uint64(point != 0)
        before = point - pointed
        digits = (digits & ~(before | (point * np.uint64(0xFF)))) | ((digits & before) << EIGHT)
        wrong = ((digits + ABOVE_NINE) | digits) & HIGH_BITS
        behind = pointed * (np.uint64(7) - ((point * np.uint64(0x0001020304050607)) >> np.uint64(56)))
        value = float(eight_digits(digits)) / TENS[behind] * (1.0 - 2.0 * float(signs[k]))
        plain = (wrong == 0) & (lengths[k] > pointed) & (lengths[k] <= EIGHT)
        values[k] = value if plain else np.nan


@compiled(f"u8(u1[::1],u8,u8,u1,i4[:,::1],f8[::1],i8,{ROW_ARRAYS})")
def put_cells(
    text: Bytes, first: Word, stop: Word, delimiter: int, ends: Places, values: Vector, row: int, arrays: RowArrays
) -> Word:
    """Write each cell's value to its array, parsing those that are NaN in `values`; return where the next row begins.

    The arrays are those of `parse_cells.read_rows`.
    """
    kinds, places, numbers, labels, spans, starts, odd, outcome = arrays
    cell = 0
    for t in range(ends.shape[0]):
        starts[row] = first
        for column in range(ends.shape[1]):
            kind = kinds[column]
            end = np.uint64(ends[t, column])
            if kind <= LABEL:
                value = values[cell]
                if value != value:
                    value, _ = read_cell(text, first, stop, delimiter)
                    if end == first or (end == first + ONE and text[first] == RETURN):
                        outcome[4] = 1
                    elif value != value:
                        strange = outcome[3]
                        odd[strange, 0], odd[strange, 1], odd[strange, 2], odd[strange, 3] = row, column, first, end
                        outcome[3] += 1
                if kind == NUMBER:
                    numbers[row, places[column]] = value
                else:
                    labels[row] = value
            elif kind == TEXT:
                spans[row, places[column], 0], spans[row, places[column], 1] = first, end
            first = end + ONE
            cell += 1
        row += 1
    return first


@compiled(f"i8(u1[::1],u8,u8,u1,i4[:,::1],{ROW_ARRAYS})")
def read_regular_rows(text: Bytes, start: Word, stop: Word, delimiter: int, ends: Places, arrays: RowArrays) -> int:
    """Do what `parse_cells.read_rows` does for rows whose cells end at `ends`, some rows at a time. O(bytes)."""
    columns = ends.shape[1]
    some = max(1, TOGETHER // columns)
    words, lengths = np.empty(some * columns, np.uint64), np.empty(some * columns, np.uint64)
    signs, values = np.empty(some * columns, np.uint64), np.empty(some * columns)
    first = start
    outcome = arrays[-1]
    outcome[3] = 0
    for row in range(0, ends.shape[0], some):
        part = ends[row : row + some]
        cells = part.size
        last_eight_bytes(text, first, part.reshape(cells), words[:cells], lengths[:cells], signs[:cells])
        short_numbers(words[:cells], lengths[:cells], signs[:cells], values[:cells])
        first = put_cells(text, first, stop, delimiter, part, values[:cells], row, arrays)
    outcome[0] = first
    return len(ends)
