"""A stream played from the command line: predict, score, learn, and a summary at the end."""

import inspect
import json
import time
from typing import Any

import aioli
from aioli.evaluate.hindsight import best_in_ball
from aioli.evaluate.progressive import Checkpoint, progressive
from aioli.evaluate.scores import AUC, Brier, Calibration
from aioli.learners.protocol import Learner
from aioli.streams.laws import Stream
from aioli.streams.synthetic import STREAMS, named

__all__ = ["LEARNERS", "run_stream"]

LEARNERS = ("Auto", "AIOLI", "OGD", "ONS", "FTRL", "AWV", "EKF", "Foster")
SCHEME = "synthetic:"
AFFORDABLE = 20_000_000  # numbers that the comparator may hold in memory at once


def run_stream(source: str, rows: int = 10_000, seed: int = 0, learner: str = "Auto", as_json: bool = False) -> None:
    """Play a synthetic stream by name, print a table as it goes and a summary, or one JSON object."""
    stream = _stream(source)
    player = _learner(learner, stream)
    brier, auc, calibration = Brier(), AUC(), Calibration()
    begin = time.perf_counter()
    if not as_json:
        print(f"{stream.name}: {stream.formula}\n")
        print(f"{'rows':>9} {'log loss':>10} {'base rate':>10} {'accuracy':>9} {'certificate':>12}")
    last: Checkpoint | None = None
    for last in progressive(player, stream.blocks(rows, seed), scores=[brier, auc, calibration]):
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
        "regret": _regret(stream, rows, seed, last),
        "rows_per_second": rows / seconds,
    }
    print(json.dumps(summary) if as_json else "\n" + "\n".join(_told(name, value) for name, value in summary.items()))


def _stream(source: str) -> Stream:
    if not source.startswith(SCHEME):
        raise ValueError(f"{source}: give {SCHEME}NAME, where NAME is one of {', '.join(STREAMS)}")
    return named(source.removeprefix(SCHEME))


def _learner(name: str, stream: Stream) -> Learner:
    """The learner at its defaults; its radius is the stream's, where both have one."""
    homes = {known.lower(): known for known in LEARNERS}
    if name.lower() not in homes:
        raise ValueError(f"there is no learner called {name!r}; give one of {', '.join(LEARNERS)}")
    make: Any = getattr(aioli, homes[name.lower()])
    known = inspect.signature(make).parameters
    learner: Learner = make(radius=stream.radius) if "radius" in known and stream.radius is not None else make()
    return learner


def _regret(stream: Stream, rows: int, seed: int, last: Checkpoint) -> float | None:
    """Nats over the best fixed model of the stream's ball, intercept included; None where there is none to compare."""
    if stream.radius is None or rows * stream.width > AFFORDABLE:
        return None
    X, y = stream.take(rows, seed)
    return last.rows * last.log_loss - best_in_ball(X, y, stream.radius).loss


def _line(point: Checkpoint) -> str:
    proven = "" if point.certificate is None else f"{point.certificate:7.1f} nats"
    return f"{point.rows:9d} {point.log_loss:10.4f} {point.base_rate:10.4f} {point.accuracy:9.1%} {proven}"


def _told(name: str, value: float | None) -> str:
    text = "–" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
    return f"{name.replace('_', ' '):>16}  {text}"
