"""`aioli run --report`: a page with every chart, whose regret stays below its certificate all along."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from command_files import write_visits

from aioli.cli import main
from aioli.report import page

CHARTS = {
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
}


@pytest.mark.parametrize("learner", ["AIOLI", "Auto"])
@pytest.mark.parametrize("scale", [True, False])
def test_the_page_has_every_chart_and_regret_stays_below_the_certificate(
    learner: str, scale: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    records: list[Any] = []
    draw = page.page

    def watch(record: Any) -> str:
        records.append(record)
        return draw(record)

    monkeypatch.setattr(page, "page", watch)
    out = tmp_path / "page.html"
    asked = ["--label", "bought", "--learner", learner, "--report", str(out), "--json", *["--scale"] * scale]
    assert main(["run", str(write_visits(tmp_path / "visits.csv", 1200)), *asked]) == 0
    told = json.loads(capsys.readouterr().out)
    html = out.read_text("utf-8")
    charts = set(re.findall(r'<(?:figure|section)[^>]* id="([a-z-]+)"', html))
    assert charts >= CHARTS - ({"mixture"} if learner == "AIOLI" else set())
    for word in ("colour", "size is missing", "visits.csv", "date"):
        assert word in html

    (record,) = records
    assert any("no probability at all" in note for note in record.notes) == (told["clipped"] > 0)
    assert (told["clipped"] > 0) == (learner == "AIOLI" and not scale)  # days since 1970 are far from 1
    measured = [point for point in record.history if point.regret is not None]
    assert len(measured) > 20
    assert all(point.regret <= point.certificate for point in measured)
    assert record.history[-1].regret == told["regret"]
    assert record.history[-1].rows == 1200
    columns = {column.name: column for column in record.columns}
    assert {name: column.kind for name, column in columns.items()} == {
        "x": "number",
        "size": "number",
        "colour": "category",
        "day": "date",
    }
    assert 0.05 < columns["size"].missing < 0.15
    assert columns["colour"].categories == 9
    assert columns["x"].least < columns["x"].mean < columns["x"].greatest
