"""The report of K classes: what is on it, and how it is seen in a true browser, at a desk and on a phone."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import MISSING, Browser, browsing, found
from class_records import CLASS_RECORDS, forty, ten
from test_page_in_browser import DESK, MEASURE, PHONE, check_plot

from aioli.report.class_page import class_page, write_class_page


@pytest.mark.parametrize("name", sorted(CLASS_RECORDS))
def test_a_page_holds_no_text_that_runs_and_no_number_that_is_none(name: str) -> None:
    html = class_page(CLASS_RECORDS[name]())
    assert html.count("<script") == 1
    assert "<img" not in html
    assert not re.search(r'="[^"]*\b(nan|inf)\b', html)


def test_ten_classes_have_their_numbers_in_the_matrix_and_forty_only_colours() -> None:
    assert class_page(ten()).count('class="within') >= 100
    assert 'class="within' not in class_page(forty())


def test_classes_are_in_the_order_in_which_people_count() -> None:
    names = list(forty().classes)
    assert names.index("object 2") < names.index("object 10")
    assert list(ten().classes) == [str(k) for k in range(10)]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as opened:
        yield opened


@pytest.mark.skipif(found() is None, reason=MISSING)
@pytest.mark.parametrize("name", sorted(CLASS_RECORDS))
def test_every_chart_of_the_classes_is_seen_whole(name: str, browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_class_page(path, CLASS_RECORDS[name]())
    for width, scheme in ((DESK, "light"), (PHONE, "dark")):
        browser.open(path, width, scheme=scheme)
        seen = browser.evaluate(MEASURE)
        assert browser.complaints == []
        assert browser.asked_for == [path.as_uri()]
        assert seen["page"] <= width, "the page scrolls sideways"
        assert all(seen["tiles"]), "a number is wider than its tile"
        for chart in seen["charts"]:
            assert 0.0 <= chart["left"] <= chart["right"] <= width
            for plot in chart["plots"]:
                assert chart["left"] <= plot["left"] <= plot["right"] <= chart["right"]
                check_plot(plot)
    if name in ("ten", "forty", "three hundred"):
        names = {chart["name"] for chart in seen["charts"]}
        assert {"confusion", "classes", "shares", "drift", "confidence", "sureness", "class-reliability"} <= names


@pytest.mark.skipif(found() is None, reason=MISSING)
def test_the_pointer_is_told_what_a_cell_says(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_class_page(path, forty())
    browser.open(path, DESK, height=1600)
    cell = browser.evaluate(
        "(({ left, top, width, height }) => [left + width / 2, top + height / 2])"
        "(document.querySelector('#confusion .wide .cell').getBoundingClientRect())"
    )
    browser.point_at(*cell)
    told = browser.evaluate("document.getElementById('tooltip').textContent")
    assert re.fullmatch(r".* came\n.* was likeliest\n[\d,]+ of [\d,]+ rows, [\d.]+%", told)
