"""What people write in columns, and what it is taken for."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioli.streams.files.cell_values import COMMA, POINT, TIME, hours_in, is_missing, number_in
from aioli.streams.files.dates import DAY_FIRST, MONTH_FIRST, days_in
from aioli.streams.files.recognition import recognise
from aioli.streams.files.table import CATEGORY, DATE, NUMBER, TEXT, Texts


@pytest.mark.parametrize(
    ("text", "notation", "number"),
    [
        ("1,549.34", POINT, 1549.34),
        ("1.549,34", POINT, 1549.34),  # it can be read in one way only
        ("1,549", POINT, 1549.0),
        ("1,549", COMMA, 1.549),
        ("1.549", COMMA, 1549.0),
        ("1.549", POINT, 1.549),
        ("0,549", POINT, 0.549),
        ("14.7%", POINT, 14.7),
        ("14,7 %", COMMA, 14.7),
        ("$1,549.34", POINT, 1549.34),
        ("-$5", POINT, -5.0),
        ("$-5", POINT, -5.0),
        ("($1,549.34)", POINT, -1549.34),
        ("1 549,34 €", COMMA, 1549.34),
        ("1\u202f549\u00a0kr", COMMA, 1549.0),
        ("1’549.50 CHF", POINT, 1549.5),
        ("12,34,567.5", POINT, 1234567.5),
        ("−3", POINT, -3.0),
        ("1.5e3", POINT, 1500.0),
        ("true", POINT, 1.0),
        ("False", POINT, 0.0),
        ("14:30", TIME, 14.5),
        ("2:30 pm", TIME, 14.5),
        ("1,2,3", POINT, None),
        ("1,5491", POINT, 1.5491),
        ("12,34", POINT, 12.34),
        ("01,549.5", POINT, None),
        ("1e999", POINT, None),
        ("1_000", POINT, None),
        ("$5$", POINT, None),
        ("(5", POINT, None),
        ("five", POINT, None),
        ("192.168.0.1", POINT, None),
        ("25:61", TIME, None),
    ],
)
def test_a_number_is_what_people_mean_by_it(text: str, notation: str, number: float | None) -> None:
    assert number_in(text, notation) == number


NOON = 19753.5  # the 31st of January 2024 at noon, in days since 1970


@pytest.mark.parametrize(
    "text",
    [
        "2024-01-31T12:00:00Z",
        "2024-01-31 12:00",
        "2024/1/31 12:00:00.000",
        "2024-01-31T14:00:00+02:00",
        "20240131T120000",
        "31.01.2024 12:00",
        "31.1.24 12:00",
        "31/01/2024 12:00:00",
        "31-01-2024 12:00",
        "31 Jan 2024 12:00",
        "31-Jan-2024 12:00:00",
        "31/Jan/2024:13:00:00 +0100",
        "January 31, 2024 12:00 PM",
        "Wed, 31 Jan 2024 07:00:00 EST",
        "31st of January 2024 12:00",
    ],
)
def test_a_moment_is_the_same_however_it_is_written(text: str) -> None:
    assert days_in(text, DAY_FIRST) == NOON


def test_what_comes_first_in_a_date_is_as_the_column_has_it() -> None:
    assert days_in("01/31/2024 12:00", MONTH_FIRST) == NOON
    assert days_in("01/31/2024 12:00", DAY_FIRST) is None
    assert days_in("02/01/2024", MONTH_FIRST) == NOON + 0.5
    assert days_in("02/01/2024", DAY_FIRST) == NOON - 29.5
    assert days_in("31.02.2024", DAY_FIRST) is None


@pytest.mark.parametrize(
    ("values", "kind", "notation"),
    [
        (["1", "2.5", "", "NA", "-1e3"], NUMBER, POINT),
        (["1,549.34", "12.00"], NUMBER, POINT),
        (["1.549,34", "12,00"], NUMBER, COMMA),
        (["1", "2", "3", "#N/A", "4", "-"], NUMBER, POINT),
        ([*"12345678", "oops"], NUMBER, POINT),  # one of nine is a mistake
        (["1", "2", "3", "more"] * 9, CATEGORY, POINT),  # a quarter is none
        ([str(k / 8) for k in range(60)] + ["not told"] * 50, NUMBER, POINT),  # one word for what is missing
        (["01234", "99999"], CATEGORY, ""),
        (["07", "12"], NUMBER, POINT),
        (["01/31/2024", "02/01/2024"], DATE, MONTH_FIRST),
        (["31/01/2024", "02/01/2024"], DATE, DAY_FIRST),
        (["01.02.2024", "02.01.2024"], DATE, DAY_FIRST),
        (["01/02/2024", "02/01/2024"], DATE, MONTH_FIRST),
        (["14:30", "09:15:30"], NUMBER, TIME),
        (["true", "false"], NUMBER, POINT),
        (["yes", "no"], CATEGORY, ""),
        (
            [
                "a dull film that never ends",
                "what a joy it is",
                "one more of the kind",
                "see it now or never",
                "so so so so",
            ],
            TEXT,
            "",
        ),
        (["the same few words here"] * 9, CATEGORY, ""),
        ([None, ""], NUMBER, POINT),
    ],
)
def test_a_column_is_what_its_values_are(values: Texts, kind: str, notation: str) -> None:
    found = recognise({"c": values})["c"]
    assert (found.kind, found.notation) == (kind, notation)


def test_what_a_comma_means_in_one_column_the_others_decide() -> None:
    sure, doubtful = ["0,5", "12,25"], ["1,549", "2,300"]
    assert recognise({"a": doubtful})["a"].notation == POINT
    assert recognise({"a": doubtful, "b": sure})["a"].notation == COMMA
    assert recognise({"a": ["1.549", "2.300"], "b": sure})["a"].notation == COMMA


def test_what_was_asked_for_is_taken_as_it_is_written() -> None:
    found = recognise(
        {"a": ["x", "31/01/2024"], "b": ["0,5", "no"], "c": ["1", "2"]}, {"a": DATE, "b": NUMBER, "c": CATEGORY}
    )
    assert [str(column) for column in found.values()] == ["date (day first)", "number (decimal comma)", "category"]


@pytest.mark.parametrize(
    "token", ["", "NA", "n/a", "#N/A", "NaN", "null", "None", "-", "--", "?", "NULL", "\\N", "#DIV/0!", "NaT"]
)
def test_people_have_many_words_for_nothing(token: str) -> None:
    assert is_missing(token)


PIECES = st.sampled_from(
    [*"0123456789.,-+/:;()%$€ eE'", "\u202f", "NaN", "Jan", "pm", "GMT", "+02:00", "T", "2024", "٣", "\x00"]
)


@given(st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=80) | st.text(string.digits + ".,", max_size=400))
def test_any_text_is_a_finite_value_or_none(text: str) -> None:
    for notation in (POINT, COMMA, TIME):
        number = number_in(text, notation)
        assert number is None or abs(number) <= 1.8e308 or text.strip().lower() in ("nan", "+nan", "-nan")
    for order in ("", DAY_FIRST, MONTH_FIRST):
        days = days_in(text, order)
        assert days is None or -1e6 < days < 1e7
    assert hours_in(text) is None or hours_in(text) >= 0.0  # type: ignore[operator]  # None is told apart before


@given(
    st.dictionaries(st.text(max_size=3), st.lists(st.none() | st.text(max_size=20) | PIECES, max_size=12), max_size=4)
)
def test_any_sample_is_recognised_and_its_order_means_nothing(sample: dict[str, list[str | None]]) -> None:
    found = recognise(sample)
    assert recognise({name: sample[name][::-1] for name in reversed(sample)}) == found
    assert all(column.kind in (NUMBER, DATE, CATEGORY, TEXT) for column in found.values())
