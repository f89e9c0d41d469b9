"""A stream played from the command line: predict, score, learn, and a summary at the end."""

import inspect
import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import aioli
from aioli.evaluate.hindsight import best_in_ball
from aioli.evaluate.progressive import Checkpoint, progressive
from aioli.evaluate.scores import AUC, Brier, Calibration
from aioli.learners.protocol import Learner
from aioli.numerics.compiling import Matrix, Vector
from aioli.streams.laws import Stream
from aioli.streams.synthetic import STREAMS, named

__all__ = ["LEARNERS", "run_stream"]

LEARNERS = ("Auto", "AIOLI", "OGD", "ONS", "FTRL", "AWV", "EKF", "Foster")
SCHEME = "synthetic:"
ADVERSARY = "adversary"
AFFORDABLE = 20_000_000  # numbers that the comparator may hold in memory at once


def run_stream(source: str, rows: int = 10_000, seed: int = 0, learner: str = "Auto", as_json: bool = False) -> None:
    """Play a synthetic stream by name, print a table as it goes and a summary, or one JSON object."""
    stream = _stream(source)
    player = _learner(learner, stream)
    labels: list[Vector] = []
    hostile = source == SCHEME + ADVERSARY
    blocks = _hostile_blocks(player, stream, rows, seed) if hostile else stream.blocks(rows, seed)
    brier, auc, calibration = Brier(), AUC(), Calibration()
    begin = time.perf_counter()
    if not as_json:
        print(f"{stream.name}: {stream.formula}\n")
        print(f"{'rows':>9} {'log loss':>10} {'base rate':>10} {'accuracy':>9} {'certificate':>12}")
    last: Checkpoint | None = None
    for last in progressive(player, _noted(blocks, labels), scores=[brier, auc, calibration]):
        if not as_json:
            print(_line(last), flush=True)
    assert last is not None  # there is at least one row
    seconds = time.perf_counter() - begin
    summary: dict[str, Any] = {
        "rows": last.rows,
        "log_loss": last.log_loss,
        "base_rate": last.base_rate,
        "brier": brier.value,
        "accuracy": last.accuracy,
        "auc": auc.value,
        "auc_error": auc.error,
        "ece": calibration.value,
        "certificate": last.certificate,
        "regret": _regret(stream, rows, seed, np.concatenate(labels), last),
        "rows_per_second": rows / seconds,
    }
    print(json.dumps(summary) if as_json else "\n" + "\n".join(_told(name, value) for name, value in summary.items()))


def _stream(source: str) -> Stream:
    if not source.startswith(SCHEME):
        raise ValueError(f"{source}: give {SCHEME}NAME, where NAME is one of {', '.join([*STREAMS, ADVERSARY])}")
    if source == SCHEME + ADVERSARY:
        formula = "rows of the logistic stream; each label is the one to which the learner gave less"
        return replace(named("logistic"), name=ADVERSARY, formula=formula)
    return named(source.removeprefix(SCHEME))


def _hostile_blocks(player: Learner, stream: Stream, rows: int, seed: int) -> Iterator[tuple[Matrix, Vector]]:
    """Row after row, with the label that hurts most: the learner is asked once the row before has been learned."""
    for X, _ in stream.blocks(rows, seed):
        for x in X:
            yield x[None, :], np.array([float(player.predict(x) < 0.5)])


def _noted(blocks: Iterable[tuple[Matrix, Vector]], labels: list[Vector]) -> Iterator[tuple[Matrix, Vector]]:
    """The blocks, their labels kept: those of an adversary are known only once they have come."""
    for X, y in blocks:
        labels.append(y)
        yield X, y


def _learner(name: str, stream: Stream) -> Learner:
    """The learner at its defaults; its radius is the stream's, where both have one."""
    homes = {known.lower(): known for known in LEARNERS}
    if name.lower() not in homes:
        raise ValueError(f"there is no learner called {name!r}; give one of {', '.join(LEARNERS)}")
    make: Any = getattr(aioli, homes[name.lower()])
    known = inspect.signature(make).parameters
    learner: Learner = make(radius=stream.radius) if "radius" in known and stream.radius is not None else make()
    return learner


def _regret(stream: Stream, rows: int, seed: int, y: Vector, last: Checkpoint) -> float | None:
    """Nats over the best fixed model of the stream's ball, intercept included; None where there is none to compare."""
    if stream.radius is None or rows * stream.width > AFFORDABLE:
        return None
    X, _ = stream.take(rows, seed)
    return last.rows * last.log_loss - best_in_ball(X, y, stream.radius).loss


def _line(point: Checkpoint) -> str:
    proven = "" if point.certificate is None else f"{point.certificate:7.1f} nats"
    return f"{point.rows:9d} {point.log_loss:10.4f} {point.base_rate:10.4f} {point.accuracy:9.1%} {proven}"


def _told(name: str, value: float | None) -> str:
    text = "–" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
    return f"{name.replace('_', ' '):>16}  {text}"
