"""Scoring in a thread: a wait that is interrupted loses no piece."""

import threading
from concurrent.futures import Future

import numpy as np
import pytest

from aioli.evaluate.loop import Announced
from aioli.evaluate.scoring import Scoring


def press_ctrl_c(_: object) -> None:
    raise KeyboardInterrupt


def test_ctrl_c_while_scores_are_waited_for_loses_no_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checkpoint that an interrupted run leaves must have the scores of all of its rows."""
    scoring, go_on, count = Scoring(), threading.Event(), Scoring._count

    def count_slowly(self: Scoring, announced: Announced) -> None:
        go_on.wait()
        count(self, announced)

    monkeypatch.setattr(Scoring, "_count", count_slowly)
    scoring.played(Announced(np.full(7, 0.5), np.ones(7)), 7)
    with monkeypatch.context() as interrupted:
        interrupted.setattr(Future, "result", press_ctrl_c)
        with pytest.raises(KeyboardInterrupt):
            scoring.settle()
    threading.Timer(0.05, go_on.set).start()
    scoring.settle()
    assert scoring.scores.rows == 7
    scoring.close()
