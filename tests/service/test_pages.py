"""The live pages: what they show, and that they renew themselves, in a true browser at a desk and on a phone."""

import sys
from pathlib import Path

import pytest
from served_games import LABELS, ROWS, one, with_model
from thoroughness import FULL

from aioli import AIOLI
from aioli.service.model import ServedModel
from aioli.service.operations import Learn, Predict
from aioli.service.pages import index_page, model_page

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
from browser import MISSING, browsing, found

LATENCIES = [("predict", 0.001, 0.005), ("learn", None, None), ("status", 0.5, 2.5), ("infer", 0.5, float("inf"))]


def test_a_page_shows_what_waits_and_the_charts_of_a_report(tmp_path: Path) -> None:
    engine = with_model(tmp_path)
    served = engine.models["clicks"]
    new = model_page(served, engine.now(), LATENCIES)
    assert "Rows waiting" in new
    assert "<figure" not in new
    for t in range(120):
        engine.play([Predict("clicks", f"r{t}", ROWS[t])])
        if t % 3:
            one(engine, Learn("clicks", f"r{t}", LABELS[t]))
    html = model_page(served, engine.now(), LATENCIES)
    for said in (
        "Running log loss",
        "Are the probabilities honest?",
        "≤ 5 ms",
        "≤ 2.5 s",
        "over a minute",
        "at most 100,000 wait",
        "Drift alarms",
    ):
        assert said in html
    engine.create("kinds", ServedModel(AIOLI(classes="any")))
    for t in range(30):
        engine.play([Predict("kinds", f"r{t}", ROWS[t]), Learn("kinds", f"r{t}", "<script>" if t % 2 else "b")])
    assert "<script>\n" in model_page(engine.models["kinds"], engine.now())
    assert "&lt;script&gt;" in model_page(engine.models["kinds"], engine.now())
    index = index_page(list(engine.models.values()), engine.now(), LATENCIES)
    assert 'href="/models/kinds/page"' in index


@pytest.mark.skipif(not FULL, reason="this system has servers started by `make thorough` alone")
@pytest.mark.skipif(found() is None, reason=MISSING)
@pytest.mark.parametrize("width", [1280, 375])
def test_the_page_renews_itself_in_a_browser(width: int, tmp_path: Path) -> None:
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    pytest.importorskip("httptools")
    from serving import serving

    with serving(tmp_path / "folder") as server, browsing() as browser:
        server.post("/models/clicks", {"learner": "AIOLI"})
        rows = [{"id": f"r{t}", "row": row} for t, row in enumerate(ROWS[:200])]
        server.post("/models/clicks/predict", {"rows": rows})
        browser.ask("Network.setExtraHTTPHeaders", headers={"Authorization": f"Bearer {server.read_token}"})
        browser.open_address(f"http://127.0.0.1:{server.port}/models/clicks/page", width)
        tile = "[...document.querySelectorAll('.tiles div')].find((d) => d.textContent.startsWith('Rows waiting'))"
        value = f"{tile}.querySelector('.value').textContent"
        assert browser.evaluate(value) == "200"
        labels = [{"id": f"r{t}", "label": label} for t, label in enumerate(LABELS[:150])]
        server.post("/models/clicks/learn", {"labels": labels})
        changed = "new Promise((done) => document.addEventListener('aioli:changed', () => done(1), { once: true }))"
        assert browser.evaluate(f"(dispatchEvent(new Event('aioli:renew')), {changed})") == 1
        assert browser.evaluate(value) == "50"
        assert browser.evaluate("document.querySelectorAll('figure svg').length") >= 4
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        assert browser.evaluate("document.querySelectorAll('svg title').length") == 0, "tooltips are prepared anew"
        assert browser.complaints == []
        browser.open_address(f"http://127.0.0.1:{server.port}/", width)
        assert browser.evaluate("document.querySelector('td').textContent") == "150"
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        assert browser.complaints == []
