"""Engines over a folder, and games to play with them."""

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from aioli import AIOLI
from aioli.service.engine import Engine
from aioli.service.model import ServedModel
from aioli.service.operations import Learn, Operation, Outcome, Predict
from aioli.service.waiting import Limits
from aioli.snapshots.codec import to_bytes
from aioli.store.sqlite_log import SqliteLog

ROWS = np.random.default_rng(7).normal(size=(400, 3)).tolist()
LABELS = [int(row[0] + 0.3 * row[1] > 0.0) for row in ROWS]


def engine_in(folder: Path, every: int = 20_000, limits: Limits = Limits(), **more: Callable[[], float]) -> Engine:  # noqa: B008  (immutable)
    return Engine(SqliteLog(folder, sync="normal"), limits, every, **more)


def with_model(folder: Path, name: str = "clicks", model: ServedModel | None = None, every: int = 20_000) -> Engine:
    engine = engine_in(folder, every)
    engine.create(name, ServedModel(AIOLI()) if model is None else model)
    return engine


def predicts(rows: Iterable[int], model: str = "clicks") -> list[Operation]:
    return [Predict(model, f"r{t}", ROWS[t]) for t in rows]


def learns(rows: Iterable[int], model: str = "clicks") -> list[Operation]:
    return [Learn(model, f"r{t}", LABELS[t]) for t in rows]


def one(engine: Engine, operation: Operation) -> Outcome:
    (outcome,) = engine.play([operation])
    return outcome


def play_late(engine: Engine, rows: int, group: int = 8, delay: int = 24, model: str = "clicks") -> None:
    """Rows in groups, their labels some groups later, in the reverse order within a group."""
    for first in range(0, rows, group):
        engine.play(predicts(range(first, first + group), model))
        if first >= delay:
            engine.play(learns(reversed(range(first - delay, first - delay + group)), model))


def state_of(engine: Engine, model: str = "clicks") -> bytes:
    return to_bytes(engine.models[model].model.snapshot())
