import csv
import io
import math

import numpy as np
import pytest
from file_reading import gzipped
from hypothesis import example, given
from hypothesis import strategies as st

from aioli.numerics.compiling import Vector
from aioli.streams.files import byte_window, parse_cells
from aioli.streams.files.byte_source import Source
from aioli.streams.files.delimited import Delimited
from aioli.streams.files.table import CATEGORY, ReadAs, Table


def read_all(texts: list[str]) -> tuple[Vector, set[int]]:
    """One column of numbers by the compiled reader, and which rows it leaves to Python."""
    data = "".join(f"{text}\n" for text in texts).encode()
    text = np.frombuffer(bytearray(data + b"\n" * parse_cells.ROOM), dtype=np.uint8)
    n = len(texts)
    numbers, labels, spans = np.empty((n, 1)), np.empty(n), np.empty((n, 0, 2), dtype=np.int64)
    starts, odd, outcome = np.empty(n, dtype=np.int64), np.empty((n, 4), dtype=np.int64), np.zeros(5, dtype=np.int64)
    kinds, places = np.array([parse_cells.NUMBER]), np.zeros(1, dtype=np.uint64)
    arrays = kinds, places, numbers, labels, spans, starts, odd, outcome
    count = parse_cells.read_rows(text, 0, len(data), ord(","), arrays)
    assert count == n
    return numbers[:, 0], set(odd[: outcome[3], 0].tolist())


def check_exact(texts: list[str], left_to_python: float) -> None:
    """What the compiled reader reads is bit for bit what Python reads; it leaves at most such a part to Python."""
    numbers, odd = read_all(texts)
    for t, (text, number) in enumerate(zip(texts, numbers.tolist(), strict=True)):
        if t in odd:
            assert math.isnan(number)
        else:
            assert number == float(text), text
            assert math.copysign(1.0, number) == math.copysign(1.0, float(text)), text
    assert len(odd) <= left_to_python * len(texts)


PLAIN = st.from_regex(r"[+-]?([0-9]{1,18}\.?|[0-9]{0,9}\.[0-9]{1,9})([eE][+-]?[0-9]{1,2})?", fullmatch=True)


@given(st.lists(PLAIN, min_size=1, max_size=50))
@example(["9007199254740993", "9007199254740992.5", "0.1", "1e23", "8.5e22", "-0", "+.5", "5.", "00000000001"])
@example(["999999999999999999", "1.00000000000000011102230246251565", "123456789012345678e-40", "1e-60", "1e60"])
def test_a_plain_number_is_the_float_that_python_reads(texts: list[str]) -> None:
    check_exact(texts, left_to_python=1.0)


def test_numbers_of_many_digits_and_all_exponents_are_exact_and_nearly_all_are_compiled() -> None:
    rng = np.random.default_rng(0)
    texts = []
    for _ in range(40_000):
        digits = str(rng.integers(0, 10 ** rng.integers(1, 19)))
        point = int(rng.integers(0, len(digits) + 1))
        power = f"e{rng.integers(-40, 40)}" if rng.random() < 0.5 else ""
        texts.append(f"{'-' if rng.random() < 0.5 else ''}{digits[:point]}.{digits[point:]}{power}")
    check_exact(texts, left_to_python=0.15)  # integer parts of 17 and 18 digits


def test_floats_that_python_writes_come_back_bit_for_bit() -> None:
    rng = np.random.default_rng(1)
    near = [repr(x) for x in (rng.normal(size=20_000) * 10.0 ** rng.integers(-12, 12, size=20_000)).tolist()]
    check_exact(near, left_to_python=0.0)
    bits = rng.integers(0, 2**64, size=20_000, dtype=np.uint64).view(np.float64)
    check_exact([repr(x) for x in bits[np.isfinite(bits)].tolist()], left_to_python=1.0)


@pytest.mark.parametrize(
    "text", ["1e", "1e+", "e5", ".", "+", "--1", "1.2.3", "1x", "0x10", "1_0", "inf", "1e999", "١"]
)
def test_what_is_no_plain_number_is_left_to_python(text: str) -> None:
    numbers, odd = read_all(["1", text, "2"])
    assert odd == {1}
    np.testing.assert_array_equal(numbers, [1.0, np.nan, 2.0])


@pytest.mark.parametrize("text", ['"2.5"', " 2.5", "2.5 ", '  "2.5"  ', "2.5\r", '"2.5"\r', ' "2.5" \r'])
def test_quotes_and_spaces_around_a_number_change_nothing(text: str) -> None:
    numbers, odd = read_all(["1", text, "2"])
    assert (numbers.tolist(), odd) == ([1.0, 2.5, 2.0], set())


@pytest.mark.parametrize("text", ['2.5"', '" 2.5"', '""2.5""', '"2"5', '"2.5"3', "2 5", " ", '""'])
def test_what_is_wrapped_strangely_is_left_to_python(text: str) -> None:
    numbers, odd = read_all(["1", text, "2"])
    assert odd == {1}
    np.testing.assert_array_equal(numbers, [1.0, np.nan, 2.0])


NAMES = ["a", "b", "c"]
CELL = st.text(alphabet=st.sampled_from('ab1,"\n\r;é '), max_size=6)


@given(
    rows=st.lists(st.tuples(CELL, CELL, CELL), max_size=12),
    block=st.integers(1, 40),
    ends=st.sampled_from(["\n", "\r\n"]),
    last=st.booleans(),
    packed=st.booleans(),
)
def test_quoted_cells_are_those_that_were_written_wherever_blocks_end(
    rows: list[tuple[str, str, str]],
    block: int,
    ends: str,
    last: bool,
    packed: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    written = io.StringIO()
    writer = csv.writer(written, quoting=csv.QUOTE_ALL, lineterminator=ends)
    writer.writerows([NAMES, *rows])
    text = written.getvalue() if last else written.getvalue().removesuffix(ends)
    path = tmp_path_factory.mktemp("cells") / "a.csv"
    path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(byte_window, "BLOCK", block)
        reader = Delimited(Source(str(gzipped(path, 2) if packed else path)))
        read = reader.tables(ReadAs(dict.fromkeys(NAMES, CATEGORY)), None)
        tables = [table for table in read if isinstance(table, Table)]
    found = [tuple(table.texts[name][t] for name in NAMES) for table in tables for t in range(len(table))]
    assert found == [tuple(None if cell.strip() == "" else cell for cell in row) for row in rows]
