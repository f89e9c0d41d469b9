"""Learners of kernels go on where a category comes that no block before had."""

import json
from pathlib import Path

import numpy as np
import pytest

from aioli.cli import main
from aioli.streams import blocks
from aioli.streams.files import byte_window


@pytest.mark.parametrize("learner", ["Nystrom(points=8)", "RandomFeatures(features=8)"])
def test_a_new_category_late_in_the_file_has_a_place(
    learner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(byte_window, "BLOCK", 1 << 12)
    monkeypatch.setattr(blocks, "ROWS", 100)
    rng = np.random.default_rng(0)
    lines = [f"{rng.normal():.3f},{'xyz'[t % 3] if t < 1500 else 'new'},{t % 2}" for t in range(1600)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["a,c,y", *lines]))
    assert main(["run", str(path), "--label", "y", "--learner", learner, "--no-regret", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["rows"], told["features"]) == (1600, 5)
