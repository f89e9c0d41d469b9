"""The report as people see it: in a true browser, at a buffer and on a phone, in the light and in the dark."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import MISSING, Browser, browsing, found
from records import RECORDS

from aioli.report.page import write_page

DESK, TABLET, PHONE, SMALL_PHONE = 1280, 768, 375, 360
SMALLEST_PLOT = 150  # pixels, either way: below it nobody reads a chart

# Each visible drawing and its words, where they are on the screen; a word counts where it is not empty.
MEASURE = """(() => {
  const box = (element) => {
    const { left, top, right, bottom, width, height } = element.getBoundingClientRect();
    return { left, top, right, bottom, width, height };
  };
  const seen = (element) => element.getClientRects().length > 0;
  const words = (svg) => [...svg.querySelectorAll("text")].filter((text) => text.textContent)
    .map((text) => ({ said: text.textContent, ...box(text) }));
  return {
    page: document.documentElement.scrollWidth,
    window: innerWidth,
    ground: getComputedStyle(document.documentElement).backgroundColor,
    tiles: [...document.querySelectorAll(".tiles .value")].map((tile) => tile.scrollWidth <= tile.clientWidth),
    charts: [...document.querySelectorAll("figure")].map((figure) => ({
      name: figure.id,
      ...box(figure),
      plots: [...figure.querySelectorAll("svg.plot")].filter(seen).map((svg) => ({ ...box(svg), words: words(svg) })),
      marks: [...figure.querySelectorAll("svg .line, svg .area, svg .bar, svg .dot")].filter(seen).length,
      table: [...figure.querySelectorAll("table")].filter(seen).length,
    })),
  };
})()"""

pytestmark = pytest.mark.skipif(found() is None, reason=MISSING)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    paths = {name: folder / f"{name}.html" for name in RECORDS}
    for name, path in paths.items():
        write_page(path, RECORDS[name]())
    return paths


def overlap(one: dict[str, float], other: dict[str, float]) -> bool:
    return (
        min(one["right"], other["right"]) - max(one["left"], other["left"]) > 1.0
        and min(one["bottom"], other["bottom"]) - max(one["top"], other["top"]) > 3.0  # letters leave air above them
    )


def check_plot(plot: dict[str, Any]) -> None:
    assert plot["width"] >= SMALLEST_PLOT
    assert plot["height"] >= SMALLEST_PLOT
    for i, word in enumerate(plot["words"]):
        assert plot["left"] - 1.0 <= word["left"]
        assert word["right"] <= plot["right"] + 1.0, word["said"]
        assert word["bottom"] <= plot["bottom"] + 3.0
        for other in plot["words"][:i]:
            assert not overlap(word, other), (word["said"], other["said"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [DESK, TABLET, PHONE, SMALL_PHONE])
@pytest.mark.parametrize("name", sorted(RECORDS))
def test_every_chart_is_seen_whole(
    name: str, width: int, scheme: str, browser: Browser, pages: dict[str, Path]
) -> None:
    browser.open(pages[name], width, scheme=scheme)
    seen = browser.evaluate(MEASURE)
    assert browser.complaints == []
    assert browser.asked_for == [pages[name].as_uri()]
    assert seen["window"] == width
    assert seen["page"] <= width, "the page scrolls sideways"
    assert all(seen["tiles"]), "a number is wider than its tile"
    for chart in seen["charts"]:
        assert chart["left"] >= 0.0
        assert chart["right"] <= width
        assert chart["table"] + len(chart["plots"]) == 1, chart["name"]
        assert chart["marks"] or chart["name"] in ("columns", "decisions")
        for plot in chart["plots"]:
            assert chart["left"] <= plot["left"]
            assert plot["right"] <= chart["right"]
            check_plot(plot)
    red = int(re.findall(r"\d+", seen["ground"])[0])
    assert red < 64 if scheme == "dark" else red > 192


def test_the_page_is_the_same_without_scripts(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["auto"], DESK)
    with_scripts = browser.evaluate(MEASURE)
    browser.open(pages["auto"], DESK, scripts=False)
    assert browser.evaluate("document.getElementById('theme').hidden"), "a button that does nothing"
    assert browser.evaluate(MEASURE) == with_scripts


def test_the_first_screen_has_the_numbers_and_the_running_loss(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["auto"], DESK, height=800)
    chart = browser.evaluate(MEASURE)["charts"][0]
    assert chart["name"] == "running-loss"
    assert chart["bottom"] <= 800
    assert browser.evaluate("document.querySelector('.tiles').getBoundingClientRect().bottom") <= chart["top"]


def test_the_pointer_is_told_the_numbers(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["auto"], DESK)
    box = browser.evaluate(MEASURE)["charts"][0]["plots"][0]
    said = "(({ hidden, textContent }) => hidden ? '' : textContent)(document.getElementById('tooltip'))"
    assert browser.evaluate(said) == ""
    browser.point_at(box["right"] - 26.0, (box["top"] + box["bottom"]) / 2.0)
    told = browser.evaluate(said)
    assert told.startswith("20,000 rows\n")
    assert " Auto" in told
    browser.point_at(5.0, 5.0)
    assert browser.evaluate(said) == ""


def test_the_button_turns_the_light_off_and_on(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["one row"], DESK, scheme="light")
    grounds = [browser.evaluate(MEASURE)["ground"]]
    for _ in range(2):
        browser.evaluate("document.getElementById('theme').click()")
        grounds.append(browser.evaluate(MEASURE)["ground"])
    assert grounds[0] == grounds[2] != grounds[1]
    assert browser.complaints == []


def test_a_printed_page_is_light_and_fits(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["auto"], 794, scheme="dark")  # A4 at 96 dots an inch
    browser.ask("Emulation.setEmulatedMedia", media="print")
    seen = browser.evaluate(MEASURE)
    browser.ask("Emulation.setEmulatedMedia", media="")
    assert int(re.findall(r"\d+", seen["ground"])[0]) > 192
    assert seen["page"] <= 794
