r"""Delimited text to numbers, compiled: one pass over the bytes, each byte looked at once.

A cell of a column of numbers that is written plainly, such as `-12.5e3`, becomes the float64 nearest to it, the same
that Python's `float` gives. A cell that is not (`NA`, too long, no number at all) is left to Python: its place is noted
in `odd`. A cell of any other column is noted as a span of bytes.
"""

from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.compiling import Matrix, Vector, compiled

__all__ = ["ENDED", "LABEL", "NUMBER", "RAGGED", "SKIPPED", "TEXT", "read_rows"]

Bytes = NDArray[np.uint8]
Integers = NDArray[np.int64]
Word = Any  # an unsigned integer of 64 bits, such as a place in the text: Numba need not ask whether it is negative

NUMBER, LABEL, TEXT, SKIPPED = range(4)  # what becomes of a column
RowArrays: TypeAlias = "tuple[Integers, NDArray[np.uint64], Matrix, Vector, Integers, Integers, Integers, Integers]"
ROW_ARRAYS = "Tuple((i8[::1],u8[::1],f8[:,::1],f8[::1],i8[:,:,::1],i8[::1],i8[:,::1],i8[::1]))"
ENDED, RAGGED = range(2)  # why reading stopped: no whole row is left (or no room for one), or a row of another width

NEWLINE, RETURN, SPACE, QUOTE, PLUS, MINUS, POINT, ZERO = 10, 13, 32, 34, 43, 45, 46, 48
MOST_DIGITS = 18  # of a number that 64 bits hold with its sign
WIDEST_POWER = 60  # 10 to such a power is kept as a sum of two float64: beyond, numbers are rare, and left to Python
EXACT_POWER = 22  # 10^22 is the last power of ten that float64 holds exactly

TEN_TO = np.array([10**k for k in range(20)], dtype=np.uint64)
ONE: Word = np.uint64(1)
EIGHT: Word = np.uint64(8)
ROOM = 80  # bytes beyond the end that may be looked at, 64 of them together
_POWERS = [Fraction(10) ** k for k in range(-WIDEST_POWER, WIDEST_POWER + 1)]
_HIGH = np.array([float(power) for power in _POWERS])
_LOW = np.array([float(power - Fraction(float(power))) for power in _POWERS])


@compiled("f8(i8,i8)")
def decimal(mantissa: Word, power: Word) -> float:
    r"""Return the float64 nearest to $\mathrm{mantissa}\cdot10^\mathrm{power}$, NaN where rounding is in doubt. O(1).

    Both factors are below $2^{53}$: one rounding. Otherwise the product of two sums of two float64 (Dekker 1971),
    good to $2^{-100}$, decides, unless it lies too close to the middle between two float64.
    """
    if 0 <= mantissa < 9007199254740992 and -EXACT_POWER <= power <= EXACT_POWER:
        if power < 0:
            return float(mantissa) / float(_HIGH[WIDEST_POWER - power])
        return float(mantissa) * float(_HIGH[WIDEST_POWER + power])
    if not -WIDEST_POWER <= power <= WIDEST_POWER:
        return np.nan
    a = float(mantissa)
    rest = float(mantissa - int(a))
    b, b_rest = _HIGH[WIDEST_POWER + power], _LOW[WIDEST_POWER + power]
    product = a * b
    a_high = a * 134217729.0
    a_high = a_high - (a_high - a)
    b_high = b * 134217729.0
    b_high = b_high - (b_high - b)
    a_low, b_low = a - a_high, b - b_high
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    error += a * b_rest + rest * b
    doubt = product * 1e-28
    nearest = product + (error - doubt)
    return nearest if nearest == product + (error + doubt) else np.nan


@compiled("u8(u1[::1],u8)")
def eight_bytes(text: Bytes, i: Word) -> Word:
    """Return `text[i:i+8]` as one number, the first byte lowest: the compiler makes a single load of it."""
    word: Word = np.uint64(text[i])
    for k in range(ONE, EIGHT):
        word |= np.uint64(text[i + k]) << (EIGHT * k)
    return word


@compiled("u8(u8)")
def eight_digits(digits: Word) -> Word:
    """Return the number whose digits are the eight bytes, the last highest: added in pairs, fours and eights. O(1)."""
    pairs = digits * np.uint64(10) + (digits >> EIGHT)
    low = (pairs & np.uint64(0x000000FF000000FF)) * np.uint64(0x000F424000000064)
    high = ((pairs >> np.uint64(16)) & np.uint64(0x000000FF000000FF)) * np.uint64(0x0000271000000001)
    return (low + high) >> np.uint64(32)


@compiled("UniTuple(u8,2)(u8)")
def leading_digits(word: Word) -> tuple[Word, Word]:
    r"""Return how many of the eight bytes are digits before the first that is none, and their number. O(1).

    Bytes are compared and shifted to the right place all eight at a time, so that numbers of different lengths take
    no branch.
    """
    digits = word ^ np.uint64(0x3030303030303030)
    others = ((digits + np.uint64(0x7676767676767676)) | digits) & np.uint64(0x8080808080808080)
    lowest = others & (~others + ONE)
    count = ((lowest >> np.uint64(7)) * np.uint64(0x0001020304050607)) >> np.uint64(56) if others else EIGHT
    digits = (digits << (np.uint64(56) - ((count - ONE) & np.uint64(7)) * EIGHT)) if count else np.uint64(0)
    return count, eight_digits(digits)


@compiled("u8(u1[::1],u8,u8,u1)")
def end_of_cell(text: Bytes, i: Word, stop: Word, delimiter: int) -> Word:
    """Return where the cell that begins at i ends: at its delimiter or newline, or at `stop`. O(its length)."""
    if i < stop and text[i] == QUOTE:
        i += ONE
        while i < stop:
            if text[i] == QUOTE:
                if text[i + ONE] != QUOTE:
                    break
                i += ONE
            i += ONE
    while i < stop and text[i] != delimiter and text[i] != NEWLINE:
        i += ONE
    return i


@compiled("u8(u1[::1],u8)")
def leading_zeros(text: Bytes, i: Word) -> Word:
    """Return with how many zeros the number at i begins, before and behind its point. O(their number)."""
    zeros: Word = np.uint64(0)
    while text[i] == ZERO or text[i] == POINT:
        zeros += ONE if text[i] == ZERO else np.uint64(0)
        i += ONE
    return zeros


@compiled("Tuple((f8,u8))(u1[::1],u8)")
def read_number(text: Bytes, i: Word) -> tuple[float, Word]:
    """Return the number that is written at i, NaN if there is no plain one, and where it ends. O(its length)."""
    negative = text[i] == MINUS
    i += ONE if negative or text[i] == PLUS else np.uint64(0)
    first = i
    digits, mantissa = leading_digits(eight_bytes(text, i))
    i += digits
    if digits == EIGHT:
        more, rest = leading_digits(eight_bytes(text, i))
        mantissa = mantissa * TEN_TO[more] + rest
        digits += more
        i += more
    places: Word = np.uint64(0)
    if text[i] == POINT:
        i += ONE
        places, fraction = leading_digits(eight_bytes(text, i))
        mantissa = mantissa * TEN_TO[places] + fraction
        i += places
        while places >= EIGHT and np.uint8(text[i] - np.uint8(48)) < 10:
            mantissa = mantissa * np.uint64(10) + np.uint64(text[i] - np.uint8(48))
            i += ONE
            places += ONE
        digits += places
    power: Any = -np.int64(places)
    if (text[i] | np.uint8(32)) == 101 and digits:  # e or E
        at = i + ONE
        down = text[at] == MINUS
        if down or text[at] == PLUS:
            at += ONE
        raised: Any = np.int64(0)
        count, exponent = leading_digits(eight_bytes(text, at))
        if 0 < count < 6:
            raised = np.int64(exponent)
            i = at + count
        power += -raised if down else raised
    if digits > MOST_DIGITS:
        digits -= leading_zeros(text, first)
    if digits == 0 or digits > MOST_DIGITS:
        return np.nan, i
    value = decimal(np.int64(mantissa), power)
    return -value if negative else value, i


@compiled("Tuple((f8,u8))(u1[::1],u8,u8,u1)")
def read_wrapped(text: Bytes, first: Word, stop: Word, delimiter: int) -> tuple[float, Word]:
    """Return the number in a cell with quotes or spaces around it, NaN if there is none; and the cell's end."""
    i = first
    while text[i] == SPACE and delimiter != SPACE:
        i += ONE
    quoted = text[i] == QUOTE
    value, i = read_number(text, i + ONE if quoted else i)
    if quoted:
        value = value if text[i] == QUOTE else np.nan
        i += ONE
    while text[i] == SPACE and delimiter != SPACE:
        i += ONE
    if text[i] == RETURN and text[i + ONE] == NEWLINE:
        i += ONE
    if value == value and (text[i] == delimiter or text[i] == NEWLINE):
        return value, i
    return np.nan, end_of_cell(text, first, stop, delimiter)


@compiled("Tuple((f8,u8))(u1[::1],u8,u8,u1)")
def read_cell(text: Bytes, first: Word, stop: Word, delimiter: int) -> tuple[float, Word]:
    """Return the number in the cell that begins at `first`, NaN if there is none; and the cell's end. O(its length)."""
    value, i = read_number(text, first)
    if text[i] == RETURN and text[i + ONE] == NEWLINE:
        i += ONE
    if (text[i] == delimiter or text[i] == NEWLINE) and value == value:
        return value, i
    return read_wrapped(text, first, stop, delimiter)


@compiled(f"i8(u1[::1],u8,u8,u1,{ROW_ARRAYS})")
def read_rows(text: Bytes, start: Word, stop: Word, delimiter: int, arrays: RowArrays) -> Word:
    """Read whole rows of `text[start:stop]` into the arrays, as many as they hold; return how many. O(bytes).

    After `stop` must come ROOM newlines. `kinds` says what becomes of each column and `places` which column of
    `numbers` or `spans` that is. `outcome` says where the next row begins, why reading stopped, how many
    cells a ragged row has, how many odd cells there are: (row, column, first byte, end), NaN in their place; and
    whether there are empty ones, which are NaN too.
    """
    kinds, places, numbers, labels, spans, starts, odd, outcome = arrays
    i = start
    row: Word = np.uint64(0)
    strange: Word = np.uint64(0)
    outcome[1] = ENDED
    while row < starts.size and i < stop:
        if text[i] == NEWLINE:  # an empty line is no row
            i += ONE
            continue
        if text[i] == RETURN and text[i + ONE] == NEWLINE:
            if i + ONE == stop:
                break
            i += ONE
            continue
        begin = i
        strange_before = strange
        for column in range(np.uint64(kinds.size)):
            kind = kinds[column]
            first = i
            if kind <= LABEL:
                value, i = read_cell(text, i, stop, delimiter)
                if i == first:
                    outcome[4] = 1
                elif value != value:
                    odd[strange, 0], odd[strange, 1], odd[strange, 2], odd[strange, 3] = row, column, first, i
                    strange += ONE
                if kind == NUMBER:
                    numbers[row, places[column]] = value
                else:
                    labels[row] = value
            else:
                i = end_of_cell(text, i, stop, delimiter)
                if kind == TEXT:
                    spans[row, places[column], 0], spans[row, places[column], 1] = first, i
            if i >= stop:
                outcome[0], outcome[3] = begin, strange_before  # the row goes on beyond what has been read
                return row
            if (text[i] == NEWLINE) != (column == kinds.size - 1):
                outcome[0], outcome[2], outcome[3] = begin, column + ONE, strange_before
                while text[i] != NEWLINE:
                    i = end_of_cell(text, i + ONE, stop, delimiter)
                    outcome[2] += 1
                if i < stop:  # otherwise the row goes on, and its cells are counted when all of it has come
                    outcome[1] = RAGGED
                return row
            i += ONE
        starts[row] = begin
        row += ONE
    outcome[0], outcome[3] = i, strange
    return row
