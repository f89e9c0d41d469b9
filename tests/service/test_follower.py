"""Processes that only predict: they follow the log of the one that learns, and say how far behind they may be."""

from pathlib import Path

import pytest
from served_games import ROWS, learns, one, play_late, predicts, state_of, with_model

from aioli import AIOLI
from aioli.service.follower import Follower
from aioli.service.model import ServedModel
from aioli.service.operations import Learn
from aioli.service.refusals import Forbidden
from aioli.store.sqlite_log import SqliteLog


def test_a_follower_becomes_what_the_log_says(tmp_path: Path) -> None:
    now = [1000.0]
    engine = with_model(tmp_path, every=30)
    follower = Follower(SqliteLog(tmp_path, writer=False), clock=lambda: now[0])
    play_late(engine, 40)
    engine.create("other", ServedModel(AIOLI()))
    now[0] = 1003.0
    assert follower.stale_seconds == 3.0
    assert follower.served("clicks").model.rounds == 0
    follower.refresh()
    assert follower.stale_seconds == 0.0
    assert list(follower.models) == ["clicks", "other"]
    for group in (learns(range(20, 30)), predicts(range(200, 210)), learns([203, 201])):
        engine.play(group)
        follower.refresh()
        assert state_of(follower) == state_of(engine)
        assert list(follower.models["clicks"].waiting) == list(engine.models["clicks"].waiting)
    engine.delete("other")
    follower.refresh()
    assert list(follower.models) == ["clicks"]
    answer = follower.served("clicks").model.predict(ROWS[300])
    assert answer == engine.served("clicks").model.predict(ROWS[300])


def test_a_follower_changes_nothing(tmp_path: Path) -> None:
    engine = with_model(tmp_path)
    engine.play(predicts(range(3)))
    follower = Follower(SqliteLog(tmp_path, writer=False))
    assert isinstance(one(follower, Learn("clicks", "r1", 1)), Forbidden)
    with pytest.raises(Forbidden, match="ask the one that writes"):
        follower.create("new", ServedModel(AIOLI()))
    with pytest.raises(Forbidden):
        follower.delete("clicks")
    assert len(list(engine.store.entries(1))) == 3
