"""Examples in docstrings and documents run in a folder of their own: what they save is not left behind."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _away_from_the_sources(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(tmp_path)
