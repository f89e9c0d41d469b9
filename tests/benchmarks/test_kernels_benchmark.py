"""The benchmark of kernel learners prints its tables and draws its figure."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import kernels


def test_it_prints_both_tables_and_draws_the_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "SIZES", (8, 16))
    kernels.main(["--rows", "200", "--out", str(tmp_path / "kernels.png")])
    printed = capsys.readouterr().out
    assert "| bananas | 200 | " in printed
    assert "| rings | 200 | " in printed
    assert "| first 2,000 rows | exact | D = 8 | 16 | m = 8 | 16 |" in printed
    assert (tmp_path / "kernels.png").read_bytes().startswith(b"\x89PNG")


def test_other_streams_come_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = kernels.rings(50)
    np.savetxt(tmp_path / "mine.csv", np.column_stack([X, y]), delimiter=",", header="a,b,label", comments="")
    kernels.main(["--streams", str(tmp_path), "--only", "mine"])
    assert "| mine | 50 | " in capsys.readouterr().out
