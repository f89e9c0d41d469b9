"""Rounds of a frame that are kept: read again as they were, and by no other game."""

from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from aioli import AIOLI
from aioli.engines import spark_model
from aioli.engines.frame_rounds import KeptRounds
from aioli.engines.shards import Part, learn_in_shards, learn_shard, merge_shards
from aioli.engines.spark_frames import FrameColumns
from aioli.engines.spark_model import learn_frame
from aioli.errors import ParameterRefused, SnapshotRefused
from aioli.snapshots.codec import to_bytes

COLUMNS = FrameColumns(order="seq", label="y", features=["a", "b"])
ENDS, COUNTS = [8, 20], {3: 30, 0: 25}


def learners() -> list[bytes]:
    """A fresh learner, and what became of it in two rounds."""
    rng, learner = np.random.default_rng(0), AIOLI()
    homes = [to_bytes(learner.snapshot())]
    for _ in range(2):
        learner.learn_many(rng.normal(size=(16, 2)), rng.integers(0, 2, size=16))
        homes.append(to_bytes(learner.snapshot()))
    return homes


def test_rounds_are_read_again_as_they_were(tmp_path: Path) -> None:
    homes = learners()
    folder = tmp_path / "new" / "rounds"
    for done in (0, 1):
        rounds = KeptRounds(folder, homes[0], COLUMNS, ENDS, COUNTS)
        assert rounds.snapshots == homes[: done + 1]
        rounds.add(homes[done + 1])
    assert KeptRounds(folder, homes[0], COLUMNS, ENDS, COUNTS).snapshots == homes
    assert KeptRounds(None, homes[0], COLUMNS, ENDS, COUNTS).snapshots == homes[:1]


class RowsInProcess:
    """Stands for a frame of Spark's: two shards of rows, learned by the functions that executors call."""

    dtypes: ClassVar = [("seq", "bigint")]

    def __init__(self, lost_in: int) -> None:
        rng = np.random.default_rng(1)
        self.parts: list[Part] = [(rng.normal(size=(n, 2)), rng.integers(0, 2, size=n)) for n in (30, 25)]
        self.lost_in, self.played = lost_in, list[int]()

    def persist(self) -> None:
        """Do what a frame does in memory: nothing."""

    unpersist = persist

    def groupBy(self, _column: str) -> "RowsInProcess":
        return self

    def round(self, _rows: object, _columns: object, number: int, waiting: dict[int, int], since: bytes) -> bytes:
        self.played.append(number)
        if number == self.lost_in:
            raise OSError("the driver is gone")
        start = [0, *ENDS][number]
        pieces = [(X[start : start + waiting[i]], y[start : start + waiting[i]]) for i, (X, y) in enumerate(self.parts)]
        return merge_shards([learn_shard(since, piece)[0] for piece in pieces], since)


def test_a_driver_that_is_lost_between_rounds_goes_on_behind_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner, rows = AIOLI(radius=2.0), RowsInProcess(lost_in=1)
    counts = {i: len(y) for i, (_, y) in enumerate(rows.parts)}
    monkeypatch.setattr(spark_model, "_in_shards", lambda *_: (rows, list(counts)))
    monkeypatch.setattr(spark_model, "_counts", lambda *_: counts)
    monkeypatch.setattr(spark_model, "_by_group", lambda *_, steps, **__: steps)
    monkeypatch.setattr(spark_model, "_round", rows.round)
    call = partial(learn_frame, rows, COLUMNS, learner, 2, ENDS, checkpoint=tmp_path)
    with pytest.raises(OSError, match="the driver is gone") as lost:
        call()
    assert lost.value.__notes__ == [
        "1 rounds of the frame were done; the learner given is as it was: call again with the same checkpoint to go on "
        "from there"
    ]
    rows.lost_in = -1
    run = call()
    assert rows.played == [0, 1, 1, 2]
    expected = learn_in_shards(learner, rows.parts, ENDS)
    assert isinstance(run.learner, AIOLI)
    assert isinstance(expected.learner, AIOLI)
    assert to_bytes(run.learner.snapshot()) == to_bytes(expected.learner.snapshot())
    assert run.merges == expected.merges == len(run.announced) == 3
    assert call().learner.rounds == 55
    assert rows.played == [0, 1, 1, 2]


def test_rounds_of_another_game_are_refused(tmp_path: Path) -> None:
    fresh, after, _ = learners()
    KeptRounds(tmp_path, fresh, COLUMNS, ENDS, COUNTS).add(after)
    fewer = FrameColumns(order="seq", label="y", features=["a"])
    for told, game in {
        "from another learner": (after, COLUMNS, ENDS, COUNTS),
        "of other columns": (fresh, fewer, ENDS, COUNTS),
        "by another schedule": (fresh, COLUMNS, [8], COUNTS),
        "of other rows or shards": (fresh, COLUMNS, ENDS, {3: 30, 0: 26}),
    }.items():
        with pytest.raises(ParameterRefused, match=f"a round {told}; give the same call as before, or a fresh folder"):
            KeptRounds(tmp_path, *game)
    (tmp_path / "round-0001.aioli").write_bytes(b"cut short")
    with pytest.raises(SnapshotRefused, match=r"round-0001\.aioli: damaged"):
        KeptRounds(tmp_path, fresh, COLUMNS, ENDS, COUNTS)
