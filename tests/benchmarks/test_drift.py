"""The generators of drifting streams, and the table of who played them."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("river")

from benchmarks import drift  # behind the skip


@pytest.mark.parametrize(
    "name", ["Agrawal, abrupt", "SEA, gradual", "LED, abrupt", "hyperplane", "moving radial bases"]
)
def test_a_generator_gives_the_same_numbers_and_both_labels_every_time(name: str) -> None:
    X, y = drift.drifting_stream(name, 80)
    again, _ = drift.drifting_stream(name, 80)
    np.testing.assert_array_equal(X, again)
    assert X.shape[0] == 80
    assert np.isfinite(X).all()
    assert set(y.tolist()) == {0.0, 1.0}


def test_what_was_played_is_kept_and_the_table_counts_who_is_below(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--out", str(tmp_path), "--rows", "60", "--only", "STAGGER, abrupt"]
    drift.main([*asked, "--methods", "river-hat"])
    assert "STAGGER, abrupt river-hat:" in capsys.readouterr().out
    drift.main([*asked, "--methods", "river-hat", "river-sgd-0.1"])
    told = capsys.readouterr().out
    assert "STAGGER, abrupt river-hat:" not in told  # played before
    assert "| STAGGER, abrupt |" in told
    assert "Auto below every other on 0 of 0" in told
