"""The log in a PostgreSQL server, which is started where tests are thorough: the same engine, the same promises."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from served_games import learns, one, play_late, predicts, state_of
from thoroughness import FULL

from aioli import AIOLI
from aioli.service.backup import copy_until
from aioli.service.engine import Engine
from aioli.service.model import ServedModel
from aioli.service.operations import Learn, Learned, Predict
from aioli.service.refusals import StoreUnavailable
from aioli.service.replay import verify
from aioli.store.event_log import StoreFailed
from aioli.store.opening import open_store
from aioli.store.postgres_log import PostgresLog
from aioli.store.sqlite_log import SqliteLog
from benchmarks.postgres_server import MISSING, database, found

pytest.importorskip("psycopg")
pytestmark = [
    pytest.mark.skipif(not FULL, reason="this system has servers started by `make thorough` alone"),
    pytest.mark.skipif(found() is None, reason=MISSING),
]


@pytest.fixture
def address() -> Iterator[str]:
    with database() as given:
        yield given


def test_a_log_in_a_database_is_a_log(address: str, tmp_path: Path) -> None:
    engine = Engine(open_store(address), every=20)
    engine.create("clicks", ServedModel(AIOLI()))
    play_late(engine, 64)
    assert one(engine, Learn("clicks", "r0", 1)).__class__.__name__ in ("Learned", "LabelConflict")
    before, waiting = state_of(engine), list(engine.models["clicks"].waiting)
    with pytest.raises(StoreFailed, match="another service writes here"):
        open_store(address)
    reader = open_store(address, writer=False)
    with pytest.raises(StoreFailed, match="read-only"):
        reader.add_token("hash", "read", 0.0)
    engine.store.close()
    again = Engine(open_store(address), every=20)
    assert state_of(again) == before
    assert list(again.models["clicks"].waiting) == waiting
    assert verify(again.store, again.models["clicks"].record.number).equal
    target = SqliteLog(tmp_path)
    copy_until(reader, target)
    assert state_of(Engine(target)) == before
    again.create("other", ServedModel(AIOLI()))
    again.delete("clicks")
    assert [record.name for record in again.store.models()] == ["other"]


def test_a_connection_that_is_lost_is_refused_once_and_opened_anew(address: str) -> None:
    engine = Engine(open_store(address))
    engine.create("clicks", ServedModel(AIOLI()))
    engine.play(predicts(range(4)))
    before = state_of(engine)
    reader = open_store(address, writer=False)
    assert isinstance(reader, PostgresLog)
    kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename = 'aioli'"
    reader._rows(kill)
    outcomes = engine.play([*learns([1]), Predict("clicks", "new", [1.0, 2.0, 3.0])])
    assert all(isinstance(outcome, StoreUnavailable) for outcome in outcomes)
    assert state_of(engine) == before
    assert one(engine, Learn("clicks", "r1", 1)) == Learned("r1", 1)
    assert verify(engine.store, 1).equal
