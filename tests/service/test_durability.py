"""What was answered survives: restarts, faults of the store, and going back in time; the state is the log's replay."""

import json
import shlex
import sqlite3
from pathlib import Path

import pytest
from served_games import ROWS, engine_in, learns, one, play_late, predicts, state_of, with_model

from aioli import AIOLI, Auto
from aioli.cli import main
from aioli.errors import FileRefused, SnapshotRefused
from aioli.service.backup import copy_until
from aioli.service.engine import Engine
from aioli.service.model import ServedModel
from aioli.service.operations import Learn, Learned, Predict, Predicted
from aioli.service.refusals import StoreUnavailable
from aioli.service.replay import model_at, verify
from aioli.snapshots.codec import to_bytes
from aioli.store.event_log import StoreFailed
from aioli.store.log_export import export_log
from aioli.store.row_codec import row_from_bytes
from aioli.store.sqlite_log import FILE, SqliteLog, back_up


@pytest.mark.parametrize("every", [5, 20_000])
@pytest.mark.parametrize("kind", ["arrays", "objects", "classes", "auto"])
def test_a_restart_goes_on_bit_for_bit(kind: str, every: int, tmp_path: Path) -> None:
    learner = {"classes": Auto(classes="any"), "auto": Auto(budget="fast")}.get(kind, AIOLI())
    engine = with_model(tmp_path, model=ServedModel(learner), every=every)
    for t in range(30):
        row = {"a": ROWS[t][0], "b": "xyz"[t % 3] if t > 9 else "x"} if kind == "objects" else ROWS[t]
        engine.play([Predict("clicks", f"r{t}", row)])
        if t > 6:
            engine.play([Learn("clicks", f"r{t - 7 + 2 * (t % 2)}", t % 2)])
    before, waiting = state_of(engine), list(engine.models["clicks"].waiting)
    engine.store.close()  # as a killed process leaves it: no last snapshot
    again = engine_in(tmp_path)
    assert state_of(again) == before
    assert list(again.models["clicks"].waiting) == waiting
    assert verify(again.store, 1) == (52, 0, True)
    outcome = one(again, Learn("clicks", waiting[0], 1))
    assert isinstance(outcome, Learned)
    again.close()
    assert engine_in(tmp_path).models["clicks"].counts["replayed"] == 0


def test_the_state_can_be_had_as_of_any_entry(tmp_path: Path) -> None:
    engine = with_model(tmp_path, every=20)
    states = {}
    for first in range(0, 80, 8):
        engine.play(predicts(range(first, first + 8)))
        engine.play(learns(range(first, first + 4)))
        states[engine.store.last[0]] = state_of(engine)
    for until, state in states.items():
        assert to_bytes(model_at(engine.store, 1, until).snapshot()) == state


def test_a_service_is_restored_to_a_point_in_time(tmp_path: Path) -> None:
    now = [1000.0]
    engine = engine_in(tmp_path / "service", every=10, clock=lambda: now[0])
    engine.create("clicks", ServedModel(AIOLI()))
    play_late(engine, 40)
    then, waiting = state_of(engine), list(engine.models["clicks"].waiting)
    engine.store.add_token("hash", "write", 0.0)
    now[0] = 2000.0
    engine.create("later", ServedModel(AIOLI()))
    engine.play([*predicts(range(40, 60)), *predicts(range(9), "later")])
    back_up(tmp_path / "service", tmp_path / "backup")
    target = SqliteLog(tmp_path / "restored")
    copy_until(SqliteLog(tmp_path / "backup", writer=False), target, time=1500.0)
    restored = Engine(target)
    assert list(restored.models) == ["clicks"]
    assert state_of(restored) == then
    assert list(restored.models["clicks"].waiting) == waiting
    assert restored.store.tokens() == {"hash": "write"}
    assert verify(target, restored.models["clicks"].record.number).equal


def test_a_backup_goes_over_nothing(tmp_path: Path) -> None:
    with_model(tmp_path / "service").close()
    back_up(tmp_path / "service", tmp_path / "backup")
    with pytest.raises(FileRefused, match="holds a service already"):
        back_up(tmp_path / "service", tmp_path / "backup")
    with pytest.raises(FileRefused, match="holds no service"):
        back_up(tmp_path / "nothing", tmp_path / "other")


def test_where_the_disk_is_full_nothing_has_happened(tmp_path: Path) -> None:
    engine = with_model(tmp_path)
    play_late(engine, 40)
    before = state_of(engine)
    store = engine.store
    assert isinstance(store, SqliteLog)
    pages = store._database.execute("PRAGMA page_count").fetchone()[0]
    store._database.execute(f"PRAGMA max_page_count = {pages}")
    operations = [Predict("clicks", f"big{t}", ROWS[t]) for t in range(400)]
    outcomes = engine.play(operations)
    assert all(isinstance(outcome, StoreUnavailable) for outcome in outcomes)
    assert "make room on the disk" in str(outcomes[0])
    assert engine.failure is not None
    assert state_of(engine) == before
    store._database.execute("PRAGMA max_page_count = 1000000")
    assert all(isinstance(outcome, Predicted) for outcome in engine.play(operations))
    assert engine.failure is None
    assert verify(store, 1).equal


def test_where_the_store_is_locked_nothing_has_happened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aioli.store.sqlite_log.PATIENCE", 0.01)
    engine = with_model(tmp_path)
    engine.play(predicts(range(4)))
    before = state_of(engine)
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    (outcome,) = engine.play([Learn("clicks", "r1", 1)])
    assert isinstance(outcome, StoreUnavailable)
    assert "locked" in str(outcome)
    assert state_of(engine) == before
    other.execute("ROLLBACK")
    assert one(engine, Learn("clicks", "r1", 1)) == Learned("r1", 1)


def test_a_log_that_cannot_even_be_read_refuses_until_it_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = with_model(tmp_path)
    engine.play(predicts(range(4)))
    before = state_of(engine)

    def broken(*_: object) -> None:
        raise StoreFailed("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr(engine.store, "append", broken)
        patch.setattr(engine.store, "snapshot", broken)
        for _ in range(2):
            assert isinstance(one(engine, Learn("clicks", "r1", 1)), StoreUnavailable)
    assert one(engine, Learn("clicks", "r1", 1)) == Learned("r1", 1)
    assert engine.models["clicks"].model.rounds == 1
    assert state_of(engine) != before


def test_a_clock_that_is_set_back_does_not_turn_the_log_back(tmp_path: Path) -> None:
    now = [1000.0]
    engine = engine_in(tmp_path, clock=lambda: now[0])
    engine.create("clicks", ServedModel(AIOLI()))
    engine.play(predicts(range(4)))
    now[0] = 10.0
    engine.play(learns(range(2)))
    engine.store.close()
    again = engine_in(tmp_path, clock=lambda: now[0])
    again.play(learns(range(2, 4)))
    times = [entry.time for entry in again.store.entries(1)]
    assert times == [1000.0] * 8
    assert again.clock_steps_back
    assert verify(again.store, 1).equal


def test_a_log_that_was_half_written_ends_with_its_last_whole_group(tmp_path: Path) -> None:
    engine = with_model(tmp_path / "a")
    play_late(engine, 40)
    before = state_of(engine)
    whole = {name: (tmp_path / "a" / name).read_bytes() for name in (FILE, f"{FILE}-wal")}
    engine.play(predicts(range(300, 340)))
    longer = (tmp_path / "a" / f"{FILE}-wal").read_bytes()
    assert len(longer) > len(whole[f"{FILE}-wal"])
    for cut in (len(longer) - 1, len(longer) - 5000, len(whole[f"{FILE}-wal"]) + 100):
        folder = tmp_path / f"cut{cut}"
        folder.mkdir()
        (folder / FILE).write_bytes(whole[FILE])
        (folder / f"{FILE}-wal").write_bytes(longer[:cut])
        again = engine_in(folder)
        assert state_of(again) == before
        assert verify(again.store, 1).equal
        again.store.close()


def test_an_entry_that_is_damaged_is_refused_with_words() -> None:
    for data in (b"", b"short", b"\x09" + bytes(100)):
        with pytest.raises(SnapshotRefused, match="restore a backup"):
            row_from_bytes(data)


def test_one_process_writes_to_a_folder(tmp_path: Path) -> None:
    engine = with_model(tmp_path)
    with pytest.raises(FileRefused, match="another service"):
        SqliteLog(tmp_path)
    reader = SqliteLog(tmp_path, writer=False)
    engine.play(predicts(range(3)))
    assert len(list(reader.entries(1))) == 3
    with pytest.raises(StoreFailed, match="readonly"):
        reader.append(list(engine.store.entries(1)))


def test_the_log_is_exported_as_files_that_the_command_plays_to_the_same_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    engine = with_model(tmp_path / "service")
    play_late(engine, 160)
    model = engine.models["clicks"].model
    rows, labels = tmp_path / "rows.parquet", tmp_path / "labels.parquet"
    exported = export_log(engine.store, 1, rows, labels, ["x", "y", "z"], "AIOLI")
    assert (exported.rows, exported.labels) == (160, 136)
    assert main([*shlex.split(exported.command)[1:], "--json", "--no-regret"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["log_loss"] == model.tally.scores.log_loss
    assert told["base_rate"] == model.tally.scores.base_rate
    assert told["rows_without_label"] == 24
