"""The report as a document: well-formed, alone, harmless, complete where there are data and silent where not."""

import math
import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from records import RECORDS, aioli_record, auto_record, largest_record, one_row_record, plain_record

from aioli.report.page import page, write_page
from aioli.report.record import Column, Histogram, Point, Record, Summary, Threshold, Weight
from aioli.report.svg import Scale

CHARTS = [
    "running-loss",
    "recent-loss",
    "certificate",
    "mixture",
    "reliability",
    "histogram",
    "roc",
    "precision-recall",
    "weights",
    "columns",
]
VOID = {"meta", "br", "img", "input", "link", "hr"}


class Document(HTMLParser):
    """Every element with its attributes; complains of one that is not closed in its turn."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(attrs) == len(dict(attrs)), f"an attribute of <{tag}> came twice"
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data

    def charts(self) -> list[str | None]:
        return [attributes.get("id") for tag, attributes in self.elements if tag == "figure"]


@pytest.fixture(scope="module", params=sorted(RECORDS))
def record(request: pytest.FixtureRequest) -> Record:
    return RECORDS[request.param]()


@pytest.fixture(scope="module")
def html(record: Record) -> str:
    return page(record)


def test_every_element_is_closed_and_every_id_is_its_own(html: str) -> None:
    elements = Document(html).elements
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    referred = {
        reference
        for _, attributes in elements
        for name in ("aria-labelledby", "aria-describedby")
        for reference in (attributes.get(name) or "").split()
    }
    assert referred <= set(ids)


def test_every_drawing_is_xml_with_a_title_and_a_description_and_only_finite_numbers(html: str) -> None:
    for drawing in re.findall(r"<svg.*?</svg>", html, re.DOTALL):
        root = ElementTree.fromstring(drawing)
        if "plot" in root.attrib["class"]:
            assert root[0].tag == "title"
            assert root[0].text
            assert root[1].tag == "desc"
            assert root[1].text
        assert not re.search(r"\b(nan|inf)\b", " ".join(" ".join(part.attrib.values()) for part in root.iter()))


def test_a_page_is_small_and_asks_nothing_of_anybody(html: str) -> None:
    assert len(html.encode()) < 1_500_000
    for tag, attributes in Document(html).elements:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base", "form", "image", "use"}
        assert not {"src", "href", "srcset", "action", "onclick", "onload", "onerror"} & set(attributes)
    style = (files("aioli.report") / "page.css").read_text("utf-8")
    assert not re.search(r"url\(|@import|https?:", style)
    assert "http" not in html


def test_the_page_of_a_usual_run_is_smaller_than_a_photograph() -> None:
    assert len(page(auto_record(4000)).encode()) < 200_000


def test_hostile_names_are_words_and_nothing_else() -> None:
    html = page(largest_record())
    document = Document(html)
    assert [tag for tag, _ in document.elements].count("script") == 1
    assert "img" not in {tag for tag, _ in document.elements}
    assert "<script>alert(1)</script>" in document.words
    assert not set("\u202e\x00\ud800") & set(html)


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_text_whatever_breaks_out_of_its_place(one: str, other: str) -> None:
    given_names = Record(one, other, Summary(3, 0.5), positive=one, negative=other, version=one, notes=[one, other])
    weights, columns = [Weight(one, 1.0, 0.1)], [Column(other, one, note=other)]
    points = [Point(n, 0.5, peers={one: 0.5}, weights={other: 1.0}) for n in (1, 2)]
    full = replace(given_names, weights=weights, columns=columns, history=points, histogram=Histogram([1], [1]))
    harmless = replace(full, title="a", learner="b()", positive="c", negative="d", version="e", notes=["f", "g"])
    harmless = replace(harmless, weights=[Weight("h", 1.0, 0.1)], columns=[Column("i", "j", note="k")])
    harmless = replace(harmless, history=[replace(p, peers={"l": 0.5}, weights={"m": 1.0}) for p in points])
    tags = [[tag for tag, _ in Document(page(made)).elements] for made in (full, harmless)]
    # a cell, a key or a version that is empty has nothing to show and may be left out, never anything added
    assert len(tags[0]) <= len(tags[1])
    page(full).encode("utf-8")


def test_all_charts_are_there_where_all_data_are() -> None:
    assert Document(page(largest_record())).charts() == CHARTS


def test_what_was_not_measured_has_no_place() -> None:
    assert "mixture" not in Document(page(aioli_record(2000))).charts()
    plain = page(plain_record())
    assert Document(plain).charts() == ["running-loss", "recent-loss", "reliability", "histogram"]
    assert "AUC" not in Document(plain).words
    assert "Certificate" not in Document(plain).words
    one = Document(page(one_row_record()))
    assert one.charts() == []
    assert "0.693" in one.words
    assert "What was learned" not in one.words


@pytest.mark.parametrize(
    ("chart", "without"),
    [
        ("mixture", {"history": [Point(n, 0.5, 0.5, 0.6, 3.0, 1.0) for n in (1, 2, 3)]}),
        ("certificate", {"history": [Point(n, 0.5, 0.5, 0.6) for n in (1, 2, 3)]}),
        ("recent-loss", {"history": [Point(n, 0.5, None, 0.6) for n in (1, 2, 3)]}),
        ("running-loss", {"history": [Point(n, math.nan, None, None) for n in (1, 2, 3)]}),
        ("reliability", {"reliability": []}),
        ("histogram", {"histogram": None}),
        ("histogram", {"histogram": Histogram([0, 0], [0, 0])}),
        ("roc", {"thresholds": []}),
        ("roc", {"thresholds": [Threshold(0.5, 1.0, None, 1.0), Threshold(0.1, 1.0, None, 1.0)]}),
        ("precision-recall", {"thresholds": [Threshold(0.5, None, 0.1, 0.0), Threshold(0.1, None, 1.0, 0.0)]}),
        ("weights", {"weights": [Weight("a", math.nan), Weight("b", 0.0)]}),
        ("columns", {"columns": []}),
    ],
)
def test_a_chart_without_data_is_left_out(chart: str, without: dict[str, Any]) -> None:
    assert chart in CHARTS
    assert chart not in Document(page(replace(largest_record(), **without))).charts()


def test_a_wide_table_says_how_much_of_it_is_not_shown() -> None:
    words = Document(page(largest_record())).words
    assert "The first 100 of 500 columns" in words
    assert "The other 470 are smaller" in words


def test_a_constant_loss_and_a_long_run_are_drawn() -> None:
    points = [Point(10**k, 0.25, 0.25, 0.25, 7.0, 7.0) for k in range(10)]
    html = page(replace(plain_record(), history=points))
    assert {"running-loss", "recent-loss", "certificate"} <= set(Document(html).charts())
    assert "1 G" in Document(html).words


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_page_that_cannot_be_written_leaves_the_old_one_and_nothing_else(
    step: str, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.html"
    path.write_text("older")

    def fail(*_: object) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(os, step, fail)
        with pytest.raises(type(error)):
            write_page(path, one_row_record())
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("report.html", "older")]
    write_page(path, one_row_record())
    assert path.read_text("utf-8") == page(one_row_record())
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


def test_a_path_that_cannot_hold_a_page_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*missing; make it"):
        write_page(tmp_path / "missing" / "report.html", one_row_record())
    with pytest.raises(ValueError, match="is not a file; give another path"):
        write_page(tmp_path, one_row_record())
    assert list(tmp_path.iterdir()) == []


def test_a_link_to_a_page_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "true.html").write_text("older")
    (tmp_path / "link.html").symlink_to(tmp_path / "true.html")
    write_page(tmp_path / "link.html", one_row_record())
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "true.html").read_text("utf-8") == page(one_row_record())


@given(st.floats(-1e299, 1e299), st.floats(-1e299, 1e299), st.booleans())
@example(4.4662237014799024e21, 2.4844194011020504e-287, True)
def test_ticks_are_within_their_scale_and_have_room(one: float, other: float, logarithmic: bool) -> None:
    scale = Scale.over(min(one, other), max(one, other), 40.0, 400.0, logarithmic)
    ticks = scale.ticks(60.0)
    places = [scale(tick) for tick in ticks]
    assert all(40.0 - 1e-3 <= place <= 400.0 + 1e-3 for place in places)
    assert all(b - a >= 0.8 * 60.0 - 1e-3 for a, b in pairwise(places))


def luminance(colour: str) -> float:
    """Of WCAG 2."""
    parts = [int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_words_and_lines_stand_out_in_both_themes() -> None:
    style = (files("aioli.report") / "page.css").read_text("utf-8")
    colours = re.findall(r"--(\w+): light-dark\((#\w{6}), (#\w{6})\)", style)
    for theme in (1, 2):
        of = {row[0]: luminance(row[theme]) for row in colours}
        for name in of.keys() - {"ground", "card", "rule"}:
            least = 4.5 if name in {"ink", "quiet", "s0"} else 3.0  # WCAG AA: text, and what a drawing is made of
            for ground in ("ground", "card"):
                dark, light = sorted((of[name], of[ground]))
                assert (light + 0.05) / (dark + 0.05) >= least, (name, ground, theme)
