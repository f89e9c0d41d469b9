"""Counts requests, for Prometheus, and logs them, a JSON object a line."""

import json
import logging
import sys
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import TextIO

from aioli import __version__
from aioli.service.engine import Engine
from aioli.service.http.grouping import Grouping

__all__ = ["RequestLog", "Requests", "ServerMessages", "metrics"]

BOUNDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)  # seconds


class Requests:
    """Counts requests by kind and status, and how long they took."""

    def __init__(self) -> None:
        self.started = time.time()
        self.counts: Counter[tuple[str, int]] = Counter()
        self.seconds: dict[str, list[int]] = {}
        self.sums: defaultdict[str, float] = defaultdict(float)

    def count(self, kind: str, status: int, seconds: float) -> None:
        """Take in one request."""
        self.counts[kind, status] += 1
        if kind not in self.seconds:
            self.seconds[kind] = [0] * (len(BOUNDS) + 1)
        self.seconds[kind][bisect_left(BOUNDS, seconds)] += 1
        self.sums[kind] += seconds

    def quantile(self, kind: str, q: float) -> float | None:
        """Return the bound of seconds below which this part of a kind's requests was answered; None if none came."""
        counts = self.seconds.get(kind)
        if counts is None:
            return None
        wanted, seen = q * sum(counts), 0
        for bound, count in zip((*BOUNDS, float("inf")), counts, strict=True):
            seen += count
            if seen >= wanted:
                return bound
        return None


class RequestLog:
    """Writes a JSON object a line: requests that were refused or failed, or all; and what happens to the service.

    Parameters
    ----------
    every
        Whether requests that went well are written too.
    """

    def __init__(self, every: bool = False, out: TextIO | None = None) -> None:
        self.every = every
        self._out = out

    def write(self, event: str, **values: object) -> None:
        """Write one line."""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
        print(json.dumps({"time": f"{stamp}Z", "event": event, **values}), file=self._out or sys.stderr, flush=True)


class ServerMessages(logging.Handler):
    """Writes what the server itself has to say, as of requests that are no HTTP, into the same log."""

    def __init__(self, log: RequestLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write one message."""
        self._log.write("server", level=record.levelname.lower(), message=record.getMessage())


def metrics(engine: Engine, requests: Requests, grouping: Grouping) -> str:
    """Return all that is counted in the text format of Prometheus."""
    return "".join(_lines(engine, requests, grouping))


def _lines(engine: Engine, requests: Requests, grouping: Grouping) -> Iterator[str]:
    yield from _metric("info", "gauge", "Of this server.", {f'version="{__version__}"': 1})
    yield from _metric("start_time_seconds", "gauge", "When the server started.", {"": requests.started})
    counted = {f'endpoint="{kind}",status="{status}"': count for (kind, status), count in requests.counts.items()}
    yield from _metric("requests_total", "counter", "Requests answered.", counted)
    yield "# HELP aioli_request_seconds How long requests took.\n# TYPE aioli_request_seconds histogram\n"
    for kind, counts in requests.seconds.items():
        seen = 0
        for bound, count in zip((*BOUNDS, "+Inf"), counts, strict=True):
            seen += count
            yield f'aioli_request_seconds_bucket{{endpoint="{kind}",le="{bound}"}} {seen}\n'
        yield f'aioli_request_seconds_sum{{endpoint="{kind}"}} {requests.sums[kind]!r}\n'
        yield f'aioli_request_seconds_count{{endpoint="{kind}"}} {seen}\n'
    yield from _metric("groups_total", "counter", "Commits of the log.", {"": grouping.groups})
    yield from _metric("operations_total", "counter", "Rows and labels that came.", {"": grouping.operations})
    yield from _metric(
        "store_failing", "gauge", "1 where the last commit failed.", {"": int(engine.failure is not None)}
    )
    yield from _metric(
        "clock_steps_back_total", "counter", "Times the clock was behind the log.", {"": engine.clock_steps_back}
    )
    yield from _metric("stale_seconds", "gauge", "Since the log was read.", {"": engine.stale_seconds})
    models = [(f'model="{name}"', served) for name, served in engine.models.items()]
    now = engine.now()
    of_models: tuple[tuple[str, str, str, Callable[..., float]], ...] = (
        ("labels_learned", "counter", "Labels learned, ever.", lambda s: s.model.rounds),
        ("rows_waiting", "gauge", "Rows that wait for their label.", lambda s: len(s.waiting)),
        ("rows_waiting_most", "gauge", "Rows that may wait.", lambda s: s.waiting.limits.most),
        ("oldest_row_seconds", "gauge", "How long the oldest row has waited.", lambda s: s.waiting.oldest_age(now)),
        ("rows_expired_total", "counter", "Rows let go without a label.", lambda s: s.counts["expired"]),
        ("log_loss", "gauge", "Mean log loss of what was announced.", lambda s: s.model.tally.scores.log_loss),
        (
            "drift_alarms",
            "gauge",
            "Places where the loss has changed by a step.",
            lambda s: len(s.model.tally.changes()),
        ),
        ("models_of_keys", "gauge", "Models of a fleet, one a key; 1 of any other.", lambda s: s.model.model_count),
    )
    for name, kind, text, value in of_models:
        yield from _metric(name, kind, text, {label: value(served) for label, served in models})
    done = {f'{label},outcome="{what}"': n for label, served in models for what, n in served.counts.items()}
    yield from _metric("outcomes_total", "counter", "What became of rows and labels.", done)


def _metric(name: str, kind: str, text: str, values: Mapping[str, float]) -> Iterator[str]:
    yield f"# HELP aioli_{name} {text}\n# TYPE aioli_{name} {kind}\n"
    for labels, value in values.items():
        yield f"aioli_{name}{{{labels}}} {value!r}\n" if labels else f"aioli_{name} {value!r}\n"
