"""How many requests a second a service answers on one core, durably: `wrk` asks, 16 and 64 connections, 20 columns.

    python -m benchmarks.service [--seconds 10] [--sync full] [--learner '{"learner": "Auto", "parameters": …}']

The server is kept to one core (`taskset`), and wrk to another. Beside it: the bare library, one announce or learn after
the other; and `vw --daemon` on the same rows, where the program is installed. Processor time a request tells more than
requests a second where other programs use the machine too.
"""

import argparse
import asyncio
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from aioli import Auto
from aioli.service.client import Client

__all__ = ["Load", "main"]

WIDTH = 20
WARM = 500  # rows predicted and learned before anything is measured
PATIENCE = 120.0  # seconds for a server to start
SCRIPT = """
wrk.method = "POST"
wrk.headers["Authorization"] = "Bearer " .. os.getenv("TOKEN")
wrk.headers["Content-Type"] = "application/json"
local mixed = os.getenv("KIND") == "mixed"
local base = os.getenv("KIND") .. "-"
local sent, rows, labels = 0, 0, 1 -- wrk itself asks for a first request that is not sent
local rowset = {}
function init(args)
  math.randomseed(1)
  for k = 1, 997 do
    local t = {}
    for j = 1, 20 do t[j] = string.format("%.6f", math.random() * 2 - 1) end
    rowset[k] = table.concat(t, ",")
  end
end
function request()
  sent = sent + 1
  if mixed and sent > 1000 and sent % 2 == 0 then
    labels = labels + 1
    return wrk.format(nil, "/models/m/learn", nil, '{"id":"' .. base .. labels .. '","label":' .. labels % 2 .. "}")
  end
  rows = rows + 1
  local row = rowset[rows % 997 + 1]
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

    def __init__(self, folder: str, sync: str, model: dict[str, object]) -> None:
        log = Path(folder) / "log"
        pinned = ["taskset", "-c", "0"] if shutil.which("taskset") else []
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
            self._process = subprocess.Popen([*pinned, *command], stdout=subprocess.PIPE, stderr=out, text=True)
        try:
            self.address = self._started(log)
            assert self._process.stdout is not None
            self.token = self._process.stdout.readline().split()[-1]
            with Client(self.address, self.token, seconds=PATIENCE) as client:
                client.create("m", waiting={"most": 10**7}, **model)
                X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(WARM, WIDTH)).tolist()
                client.predict_many("m", [(f"warm-{t}", row) for t, row in enumerate(X)])
                client.learn_many("m", [(f"warm-{t}", int(row[0] > 0.0)) for t, row in enumerate(X)])
                client.predict("m", "first", X[0])
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
            pinned = ["taskset", "-c", "1"] if shutil.which("taskset") and (os.cpu_count() or 1) > 1 else []
            asked = [*pinned, "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", script.name, self.address]
            before = self._cpu()
            environment = {**os.environ, "TOKEN": self.token, "KIND": kind}
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


def bare_library(rows: int = 5000) -> tuple[float, float]:
    """Return announcements, and rounds of announcing and learning, a second of Auto(budget="fast") by itself."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(rows, WIDTH))
    y = (X[:, 0] > 0.0).astype(float).tolist()
    learner = Auto(budget="fast")
    learner.learn_many(X[:WARM], y[:WARM])
    learner.learn(X[0], y[0], announced=learner.announce(X[0]))
    begin = time.perf_counter()
    announced = [learner.announce(x) for x in X]
    middle = time.perf_counter()
    for x, label, ticket in zip(X, y, announced, strict=True):
        learner.learn(x, label, announced=ticket)
    end = time.perf_counter()
    return rows / (middle - begin), 2.0 * rows / (end - begin)


def vw_daemon(connections: int, seconds: float) -> float | None:
    """Return lines a second that `vw --daemon` answers, not durably; None where it is not installed."""
    if shutil.which("vw") is None:
        return None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        "vw",
        "--daemon",
        "--foreground",
        "--num_children",
        "1",
        "--port",
        str(port),
        "--loss_function",
        "logistic",
    ]
    process = subprocess.Popen([*command, "--quiet"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(1.0)
        return asyncio.run(_ask_vw(port, connections, seconds))
    finally:
        process.kill()
        process.wait(30.0)


async def _ask_vw(port: int, connections: int, seconds: float) -> float:
    values = " ".join(f"x{j}:0.{j}5" for j in range(WIDTH))
    line = f"1 | {values}\n".encode()
    until = time.perf_counter() + seconds

    async def one() -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        count = 0
        while time.perf_counter() < until:
            writer.write(line)
            await asyncio.wait_for(reader.readline(), 30.0)
            count += 1
        writer.close()
        return count

    counts = await asyncio.gather(*(one() for _ in range(connections)))
    return sum(counts) / seconds


def main() -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=10, metavar="S", help="of each load (default: 10)")
    parser.add_argument("--sync", choices=("normal", "full"), default="normal")
    usual = '{"learner": "Auto", "parameters": {"budget": "fast"}}'
    parser.add_argument("--learner", default=usual, metavar="JSON", help=f"the model (default: {usual})")
    given = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("wrk is not installed: apt-get install wrk")
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder, given.sync, json.loads(given.learner))
        try:
            loads = {
                "durable predict, 16 connections": server.load("predict", 16, given.seconds),
                "durable predict + learn, 64 connections": server.load("mixed", 64, given.seconds),
            }
        finally:
            server.end()
    print(f"{'':42}{'requests/s':>11}{'p50 ms':>9}{'p99 ms':>9}{'cpu µs':>9}{'refused':>9}")
    for name, load in loads.items():
        print(f"{name:42}{load.rate:11,.0f}{load.p50:9.2f}{load.p99:9.2f}{load.cpu:9.1f}{load.refused:9,}")
    announced, played = bare_library()
    print(f"{'bare library, announce':42}{announced:11,.0f}")
    print(f"{'bare library, announce + learn':42}{played:11,.0f}")
    for connections in (16, 64):
        lines = vw_daemon(connections, given.seconds)
        told = "not installed" if lines is None else f"{lines:,.0f}"
        print(f"{f'vw --daemon, {connections} connections, not durable':42}{told:>11}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
