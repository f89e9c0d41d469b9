"""Kill -9 a service under load, again and again, and check after each that nothing it had answered is lost.

    python -m benchmarks.service_kills --kills 200
    python -m benchmarks.service_kills --kills 20 --store postgresql://user:password@host/database

Several threads predict and learn without pause. The server is killed at a random moment, started again on the same log,
and then: every row that was answered has the same answer, every label that was answered was learned, none was learned
twice, and the state is the replay of the log from its first row, bit for bit.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from aioli.service.client import Client, RequestRefused, ServiceUnreachable
from aioli.service.replay import verify
from aioli.store.event_log import Event, Store
from aioli.store.opening import open_store

__all__ = ["Kills", "kill_often"]

MODEL = "clicks"
WIDTH = 5
PATIENCE = 120.0  # seconds for a start


class Kills(NamedTuple):
    """What was found: how much was answered, and how often something was wrong."""

    kills: int
    rows: int
    labels: int
    lost_rows: int
    lost_labels: int
    learned_twice: int
    other_states: int

    @property
    def clean(self) -> bool:
        """Whether nothing was lost or done twice, and every state was the replay of its log."""
        return not any(self[3:])


class _Load(threading.Thread):
    """Predicts rows and tells labels until the server is gone; remembers what was answered."""

    def __init__(self, address: str, token: str, name: str) -> None:
        super().__init__(daemon=True)
        self._client, self._name, self._rng = Client(address, token, retries=0), name, random.Random(name)
        self.rows: dict[str, tuple[list[float], float]] = {}
        self.labels: dict[str, int] = {}

    def run(self) -> None:
        with self._client:
            self._ask()

    def _ask(self) -> None:
        waiting: list[str] = []
        for t in range(10**9):
            name, row = f"{self._name}-{t}", [self._rng.gauss(0.0, 1.0) for _ in range(WIDTH)]
            try:
                told = self._client.predict(MODEL, name, row)
                assert told.probability is not None
                self.rows[name] = row, told.probability
                waiting.append(name)
                if len(waiting) > 3:
                    late = waiting.pop(self._rng.randrange(len(waiting)))
                    label = int(self.rows[late][0][0] > 0.0)
                    self._client.learn(MODEL, late, label)
                    self.labels[late] = label
            except (ServiceUnreachable, RequestRefused):
                return


def kill_often(kills: int, place: str, threads: int = 4, seed: int = 0, longest: float = 0.3) -> Kills:
    """Kill a service so many times and count what was wrong; `place` is a new folder, or the address of a database."""
    rng = random.Random(seed)
    token = ""
    totals = [0] * 6
    logs = Path(tempfile.mkdtemp())
    try:
        for kill in range(kills):
            server = _Server(place, logs / "server.log", token)
            token = server.token
            try:
                if not kill:
                    with Client(server.address, token) as client:
                        client.create(MODEL, learner="AIOLI", waiting={"most": 10**6})
                loads = [_Load(server.address, token, f"{kill}-{t}") for t in range(threads)]
                for load in loads:
                    load.start()
                end = time.monotonic() + PATIENCE
                while not any(load.labels for load in loads) and time.monotonic() < end:
                    time.sleep(0.01)  # the first request of a process loads compiled code
                time.sleep(rng.uniform(0.02, longest))
            finally:
                server.kill()
            for load in loads:
                load.join(PATIENCE)
            totals = [a + b for a, b in zip(totals, _check(place, loads), strict=True)]
    finally:
        shutil.rmtree(logs, ignore_errors=True)
    return Kills(kills, *totals)


def _check(place: str, loads: Sequence[_Load]) -> tuple[int, int, int, int, int, int]:
    """Return rows and labels answered, and how many of each were lost, learned twice, or in another state."""
    store = open_store(place, writer=False)
    number = store.models()[0].number
    rows = {name: value for load in loads for name, value in load.rows.items()}
    labels = {name: label for load in loads for name, label in load.labels.items()}
    lost_rows = sum(not _has_row(store, number, name, p) for name, (_, p) in rows.items())
    lost_labels = sum(not _has_label(store, number, name, label) for name, label in labels.items())
    told = [entry.id for entry in store.entries(number) if entry.event == Event.LABEL]
    found = verify(store, number)
    store.close()
    wrong = int(bool(found.unlike) or not found.equal)
    return len(rows), len(labels), lost_rows, lost_labels, len(told) - len(set(told)), wrong


def _has_row(store: Store, number: int, name: str, p: float) -> bool:
    from aioli.learners.announcements import Announcement
    from aioli.store.row_codec import row_from_bytes

    entries = store.find(number, [name]).get(name, [])
    if not entries:
        return False
    announced = row_from_bytes(entries[0].body).announced
    return isinstance(announced, Announcement) and announced.probability == p


def _has_label(store: Store, number: int, name: str, label: int) -> bool:
    entries = store.find(number, [name]).get(name, [])
    return any(entry.event == Event.LABEL and json.loads(entry.body)["label"] == label for entry in entries)


class _Server:
    """A service in a process of its own."""

    def __init__(self, place: str, log: Path, token: str) -> None:
        log.write_bytes(b"")
        command = [sys.executable, "-m", "aioli", "serve", "--folder", place, "--port", "0", "--snapshot-every", "500"]
        with log.open("ab") as out:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=out, env=os.environ, text=True)
        self.token = token
        try:
            self.address = self._wait(log)
            if not token:
                assert self._process.stdout is not None
                self.token = self._process.stdout.readline().split()[-1]
        except BaseException:
            self.kill()
            raise

    def _wait(self, log: Path) -> str:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self._process.poll() is None:
            for line in log.read_text().splitlines():
                told: dict[str, Any] = json.loads(line) if line.startswith("{") else {}
                if told.get("event") == "started":
                    return str(told["address"])
            time.sleep(0.01)
        raise RuntimeError(f"the service did not start: {log.read_text()}")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(PATIENCE)
        if self._process.stdout is not None:
            self._process.stdout.close()


def main() -> int:
    """Kill, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, metavar="N")
    parser.add_argument("--store", metavar="ADDRESS", help="of a PostgreSQL database that is empty; default: SQLite")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the moments of the kills")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = kill_often(given.kills, given.store or str(Path(folder) / "service"), seed=given.seed)
    for name, value in found._asdict().items():
        print(f"{name.replace('_', ' '):14} {value:9,}")
    print("nothing lost, nothing twice, every state the replay of its log" if found.clean else "NOT clean")
    return not found.clean


if __name__ == "__main__":
    sys.exit(main())
