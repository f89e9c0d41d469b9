"""A single row of plain values is encoded the short way to the bits of the long one, and leaves the same behind."""

import math
from datetime import date, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from aioli.streams.encoding import Encoder
from aioli.streams.row_encoder import RowEncoder
from aioli.streams.table_encoder import TableEncoder

NUMBERS = st.one_of(
    st.floats(-1e6, 1e6),
    st.integers(-5, 5),
    st.booleans(),
    st.sampled_from([None, math.nan, math.inf, np.float64(0.5), np.int64(3), "1,5", 10**400]),
)
WORDS = st.sampled_from(["red", "blue", "a=b", "", "NA", None, 3, True, "red ", "x"])
DAYS = st.sampled_from(
    [date(2024, 5, 1), datetime(2024, 5, 1, 13, 30), datetime(1969, 7, 20, 20, 17), None, "2024-05-01", 7]
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {"size": NUMBERS, "colour": WORDS},
        optional={"price": NUMBERS, "when": DAYS, "shop": WORDS, "late": NUMBERS, "later": WORDS},
    ),
    min_size=1,
    max_size=25,
)
FIRST = {"size": 1.5, "colour": "red", "price": 3.0, "when": date(2024, 1, 1), "shop": "x"}


def result_of(call: Any, row: Any) -> Any:
    """What is returned, or why it is refused."""
    try:
        return call(row)
    except ValueError as error:
        return str(error).replace("the data", "the row")


def assert_equal_results(found: Any, wanted: Any) -> None:
    if isinstance(wanted, str):
        assert found == wanted
    else:
        assert_array_equal(found, wanted)


def state_of(encoder: TableEncoder | RowEncoder) -> tuple[object, ...]:
    known = encoder._encoder
    assert known is not None
    snapshot = known.snapshot()
    return snapshot.values, snapshot.arrays["sums"].tolist()


@given(ROWS)
def test_a_dictionary_is_encoded_as_a_table_of_one_row_to_the_bit(rows: list[dict[str, Any]]) -> None:
    short, long = TableEncoder(), TableEncoder()
    for encoder in (short, long):
        encoder.encode([FIRST])
    for row in rows:
        assert_equal_results(result_of(short.transform, row), result_of(long.transform, [row]))
        mark = short.mark(), long.mark()
        quick = short.encode_row(row)
        found = result_of(short.encode, row) if quick is None else quick
        assert_equal_results(found, result_of(long.encode, [row]))
        if isinstance(found, str):
            short.undo(mark[0])
            long.undo(mark[1])
        assert state_of(short) == state_of(long)


JSON = ROWS.map(
    lambda rows: [
        {
            name: value.isoformat() if isinstance(value, date) else value
            for name, value in row.items()
            if not isinstance(value, np.generic) and value not in (math.inf, 10**400) and value == value
        }
        for row in rows
    ]
)


@given(JSON)
def test_a_service_encodes_plain_rows_as_it_did_without_the_short_way(rows: list[dict[str, Any]]) -> None:
    """Beside an encoder that knows no short way."""
    short, long = RowEncoder(), RowEncoder()
    for encoder in (short, long):
        encoder.encode(FIRST | {"when": "2024-01-01"})
    for row in rows:
        found = result_of(short.encode, row)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Encoder, "encode_row", lambda _self, _row: None)
            wanted = result_of(long.encode, row)
        assert_equal_results(found, wanted)
        if not isinstance(wanted, str):
            assert state_of(short) == state_of(long)


def test_most_rows_take_the_short_way() -> None:
    encoder = TableEncoder()
    encoder.encode([FIRST, {"size": None, "colour": None, "price": 2}])
    assert encoder.encode_row({"size": 2, "colour": "red", "price": None, "shop": "x"}) is None  # a first gap
    encoder.encode([{"size": 2.0, "colour": "red", "price": None, "when": None, "shop": None}])
    row = {"size": 2, "colour": "red", "price": None, "when": datetime(2024, 5, 1, 13, 30)}
    quick = encoder.encode_row(row)
    assert quick is not None
    assert_array_equal(encoder.transform([row]), encoder.transform(row))
    for unusual in ({"size": "2"}, {"colour": "green"}, {"other": 1}, {"when": "2024-05-01"}, {"size": [1]}):
        assert encoder.encode_row(unusual) is None


def test_a_column_called_as_a_mark_takes_a_table() -> None:
    encoder = TableEncoder()
    encoder.encode([{"x": 1.0, "y": 1.0}, {"x": None, "y": 2.0}])
    row = {"x": None, "y": 3.0, "x is missing": 5.0}
    assert_array_equal(encoder.encode([row]), encoder.transform(row))
    assert encoder.encode_row(row) is None


def test_what_is_undone_leaves_no_notation_and_no_sum() -> None:
    encoder = TableEncoder()
    encoder.encode([{"a": 1.0}])
    mark = encoder.mark()
    encoder.encode([{"a": 5.0, "size": "1,5"}, {"a": 1.0, "size": "2,25"}])
    encoder.undo(mark)
    rows = encoder.encode([{"a": None, "size": "1.234"}, {"a": 2.0, "size": "2.5"}])
    assert_array_equal(rows[:, encoder.features.index("size")], [1.234, 2.5])
    assert rows[0, 0] == 1.0
