"""How many requests a second a service answers on one core, durably: `wrk` asks, 16 and 64 connections, 20 columns.

    python -m benchmarks.service [--seconds 10] [--sync full] [--learner '{"learner": "Auto", "parameters": …}']

The server is kept to one core (`taskset`), and wrk to another. Beside it, in the same run: the bare library, one
announce or learn after the other; and `vw --daemon` (the program, or the wheel `vowpalwabbit`), which keeps nothing and
knows no ids. "mixed" is as many rows as labels. Processor time a request tells more than requests a second where other
programs use the machine too.

Labels follow a logistic law of all 20 columns. With `--one-column` they follow the first alone: then `Auto` plays a
second ensemble on the columns that matter, which is the most that it has to pay for.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from aioli.learners.by_name import make_learner
from aioli.learners.protocol import learns_late, plays_two_classes
from aioli.numerics.compiling import Matrix
from aioli.numerics.logistic import sigmoid_many
from aioli.service.client import Client
from benchmarks.vw_daemon import ask_vw, is_installed

__all__ = ["Load", "main"]

WIDTH = 20
WARM = 500  # rows predicted and learned before anything is measured
ROWS = 2000  # that the bare library plays
LAW = [0.3 * (-1) ** j * (1 + j % 5) for j in range(WIDTH)]  # log-odds a unit of each column
FIRST_ALONE = [8.0] + [0.0] * (WIDTH - 1)
MODELS = (
    '{"learner": "Auto", "parameters": {"budget": "fast"}}',
    '{"learner": "AIOLI"}',
    '{"learner": "Auto"}',
)
PATIENCE = 120.0  # seconds for a server to start
SCRIPT = """
wrk.method = "POST"
wrk.headers["Authorization"] = "Bearer " .. os.getenv("TOKEN")
wrk.headers["Content-Type"] = "application/json"
local mixed = os.getenv("KIND") == "mixed"
local base = os.getenv("KIND") .. "-"
local sent, rows, labels = 0, 0, 1 -- wrk itself asks for a first request that is not sent
local rowset, labelset, law = {}, {}, {}
for each in os.getenv("LAW"):gmatch("[^,]+") do law[#law + 1] = tonumber(each) end
function init(args)
  math.randomseed(1)
  for k = 0, 996 do
    local t, logit = {}, 0
    for j = 1, #law do
      local x = math.random() * 2 - 1
      t[j] = string.format("%.6f", x)
      logit = logit + law[j] * x
    end
    rowset[k] = table.concat(t, ",")
    labelset[k] = math.random() < 1 / (1 + math.exp(-logit)) and 1 or 0
  end
end
function request()
  sent = sent + 1
  if mixed and sent > 1000 and sent % 2 == 0 then
    labels = labels + 1
    local label = labelset[labels % 997]
    return wrk.format(nil, "/models/m/learn", nil, '{"id":"' .. base .. labels .. '","label":' .. label .. "}")
  end
  rows = rows + 1
  local row = rowset[rows % 997]
  return wrk.format(nil, "/models/m/predict", nil, '{"id":"' .. base .. rows .. '","row":[' .. row .. "]}")
end
function done(summary, latency)
  io.write(string.format("RESULT %d %d %d %f %f\\n", summary.requests, summary.duration, summary.errors.status,
    latency:percentile(50), latency:percentile(99)))
end
"""


class Load(NamedTuple):
    """What a load came to: requests a second, milliseconds, microseconds of processor time a request, refusals."""

    rate: float
    p50: float
    p99: float
    cpu: float
    refused: int


class Server:
    """A service on one core, with a model that has begun to learn."""

    def __init__(self, folder: str, sync: str, model: dict[str, Any], law: list[float]) -> None:
        self.law = law
        log = Path(folder) / "log"
        command = [
            sys.executable,
            "-m",
            "aioli",
            "serve",
            "--folder",
            f"{folder}/service",
            "--port",
            "0",
            "--sync",
            sync,
        ]
        with log.open("wb") as out:
            self._process = subprocess.Popen([*pinned_to(0), *command], stdout=subprocess.PIPE, stderr=out, text=True)
        try:
            self.address = self._started(log)
            assert self._process.stdout is not None
            self.token = self._process.stdout.readline().split()[-1]
            with Client(self.address, self.token, seconds=PATIENCE) as client:
                client.create("m", waiting={"most": 10**7}, **model)
                X, y = _rows(WARM, law)
                client.predict_many("m", [(f"warm-{t}", row) for t, row in enumerate(X.tolist())])
                client.learn_many("m", [(f"warm-{t}", label) for t, label in enumerate(y)])
                client.predict("m", "first", X[0].tolist())
                client.learn("m", "first", 1)
        except BaseException:
            self.end()
            raise

    def _started(self, log: Path) -> str:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self._process.poll() is None:
            for line in log.read_text().splitlines():
                if '"started"' in line:
                    return str(json.loads(line)["address"])
            time.sleep(0.02)
        raise RuntimeError(f"the service did not start: {log.read_text()}")

    def load(self, kind: str, connections: int, seconds: int) -> Load:
        """Ask without pause over so many connections."""
        with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
            script.write(SCRIPT)
            script.flush()
            asked = [*pinned_to(1), "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", script.name, self.address]
            before = self._cpu()
            law = ",".join(map(str, self.law))
            environment = {**os.environ, "TOKEN": self.token, "KIND": kind, "LAW": law}
            done = subprocess.run(asked, check=True, capture_output=True, text=True, env=environment, timeout=600)
        spent = self._cpu() - before
        found = re.search(r"RESULT (\d+) (\d+) (\d+) (\S+) (\S+)", done.stdout)
        assert found is not None, done.stdout
        requests = int(found[1])
        rate, cpu = requests / (int(found[2]) / 1e6), 1e6 * spent / requests
        return Load(rate, float(found[4]) / 1e3, float(found[5]) / 1e3, cpu, int(found[3]))

    def _cpu(self) -> float:
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        """End it in order, or at once."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(30.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
        if self._process.stdout is not None:
            self._process.stdout.close()


def bare_library(model: dict[str, Any], rows: int, law: list[float]) -> tuple[float, float]:
    """Return announcements, and announcements and labels together, a second of a learner by itself."""
    X, y = _rows(rows + WARM, law)
    learner = make_learner(model["learner"], model.get("parameters", {}))
    assert plays_two_classes(learner)
    assert learns_late(learner)
    learner.learn_many(X[:WARM], y[:WARM])
    learner.learn(X[0], y[0], announced=learner.announce(X[0]))
    begin = time.perf_counter()
    announced = [learner.announce(x) for x in X[WARM:]]
    middle = time.perf_counter()
    for x, label, ticket in zip(X[WARM:], y[WARM:], announced, strict=True):
        learner.learn(x, label, announced=ticket)
    end = time.perf_counter()
    return rows / (middle - begin), 2.0 * rows / (end - begin)


def _rows(count: int, law: list[float]) -> tuple[Matrix, list[int]]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(count, WIDTH))
    return X, (rng.random(count) < sigmoid_many(X @ np.array(law))).astype(int).tolist()


def pinned_to(core: int) -> list[str]:
    """Return what keeps a program to one core, where there are several."""
    return ["taskset", "-c", str(core)] if shutil.which("taskset") and (os.cpu_count() or 1) > core else []


def measure(model: dict[str, Any], sync: str, seconds: int, law: list[float]) -> Iterator[tuple[str, Sequence[float]]]:
    """Yield what is measured of a model and how it came out: the service, then the bare library."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder, sync, model, law)
        try:
            yield "durable predict, 16 connections", server.load("predict", 16, seconds)
            yield "durable predict + learn, 64 connections", server.load("mixed", 64, seconds)
        finally:
            server.end()
    announced, played = bare_library(model, ROWS, law)
    yield "bare library, predict", (announced,)
    yield "bare library, predict + learn", (played,)


def measure_vw(seconds: int, law: list[float]) -> Iterator[tuple[str, Sequence[float]]]:
    """Yield what `vw --daemon` answers: rows alone, and rows with their labels, which it learns at once."""
    X, y = _rows(997, law)
    yield "vw --daemon, predict, 16 connections", ask_vw(X, None, 16, seconds, pinned_to(0))
    yield "vw --daemon, predict and learn, 64", ask_vw(X, y, 64, seconds, pinned_to(0))


def main() -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=10, metavar="S", help="of each load (default: 10)")
    parser.add_argument("--sync", choices=("normal", "full"), default="normal")
    parser.add_argument("--learner", action="append", metavar="JSON", help=f"a model (default: {', '.join(MODELS)})")
    parser.add_argument("--one-column", action="store_true", help="labels follow the first column alone")
    given = parser.parse_args()
    law = FIRST_ALONE if given.one_column else LAW
    if shutil.which("wrk") is None:
        sys.exit("wrk is not installed: apt-get install wrk")
    heads = f"{'requests/s':>11}{'p50 ms':>9}{'p99 ms':>9}{'cpu µs':>9}{'refused':>9}"
    for text in given.learner or MODELS:
        print(f"{text}\n{'':42}{heads}")
        for name, told in measure(json.loads(text), given.sync, given.seconds, law):
            _print(name, told)
    print("Vowpal Wabbit")
    if not is_installed():
        print("  not installed: pip install vowpalwabbit")
        return 0
    for name, told in measure_vw(given.seconds, law):
        _print(name, told)
    return 0


def _print(name: str, told: Sequence[float]) -> None:
    rate, *more = told
    print(f"  {name:40}{rate:11,.0f}{''.join(f'{value:9,.2f}' for value in more)}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
