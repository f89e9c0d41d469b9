"""Kill -9 a service under load, again and again, and check after each that nothing it had answered is lost.

    python -m benchmarks.service_kills --kills 200
    python -m benchmarks.service_kills --kills 20 --learner Auto --threads 12     # rows and labels in runs
    python -m benchmarks.service_kills --kills 20 --postgres     # a server of its own, by Debian's package
    python -m benchmarks.service_kills --kills 20 --store postgresql://user:password@host/database

Several threads predict and learn without pause. The server is killed at a random moment, started again on the same log,
and then: every row that was answered has the same answer, every label that was answered was learned, none was learned
twice, and the state from which a restart goes on is the replay of the log from its first row, bit for bit. After the
last kill the whole log is played once more, and must hold all that was found in it after each.
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
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from aioli.learners.announcements import Announcement
from aioli.service.client import Client, RequestRefused, ServiceUnreachable
from aioli.service.model import ServedModel
from aioli.service.replay import model_at, replay, verify
from aioli.snapshots.codec import from_bytes, to_bytes
from aioli.store.event_log import Event, Store
from aioli.store.label_codec import label_from_bytes
from aioli.store.opening import open_store
from aioli.store.row_codec import AnnouncedRow, row_from_bytes
from benchmarks.postgres_server import database

__all__ = ["Kills", "kill_often"]

MODEL = "clicks"
WIDTH = 5
PATIENCE = 600.0  # seconds for a start, or for an answer that must be compiled first


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
        self._client, self._name, self._rng = (
            Client(address, token, retries=0, seconds=PATIENCE),
            name,
            random.Random(name),
        )
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


def kill_often(
    kills: int, place: str, threads: int = 4, seed: int = 0, longest: float = 0.3, learner: str = "AIOLI"
) -> Kills:
    """Kill a service so many times and count what was wrong; `place` is a new folder, or the address of a database."""
    rng = random.Random(seed)
    logs = Path(tempfile.mkdtemp())
    log, check = logs / "server.log", _Check(place)
    try:
        server = _Server(place, log)
        for kill in range(kills):
            try:
                server.wait()
                if not kill:
                    with Client(server.address, server.token, seconds=PATIENCE) as client:
                        client.create(MODEL, learner=learner, waiting={"most": 10**6})
                loads = [_Load(server.address, server.token, f"{kill}-{t}") for t in range(threads)]
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
            if kill + 1 < kills:
                server = _Server(place, log, server.token)  # which reads and writes nothing new while this one checks
            try:
                check.after_kill(loads)
            except BaseException:
                server.kill()
                raise
        return check.found(kills)
    finally:
        shutil.rmtree(logs, ignore_errors=True)


class _Check:
    """Plays the log further after each kill, from its first row on, and counts what is not as it must be."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._model: ServedModel | None = None
        self._rows: dict[str, AnnouncedRow] = {}  # that wait for their labels
        self._last = self._entries = 0
        self._learned: set[str] = set()
        self._counts = [0] * 6

    def after_kill(self, loads: Sequence[_Load]) -> None:
        """Look for all that was answered since the kill before, and compare the states."""
        store = open_store(self._place, writer=False)
        number = store.models()[0].number
        rows = {name: p for load in loads for name, (_, p) in load.rows.items()}
        labels = {name: label for load in loads for name, label in load.labels.items()}
        announced, told, twice, unlike = self._play(store, number)
        lost_rows = sum(announced.get(name) != p for name, p in rows.items())
        lost_labels = sum(told.get(name) != label for name, label in labels.items())
        assert self._model is not None
        equal = to_bytes(self._model.snapshot()) == to_bytes(model_at(store, number).snapshot())
        store.close()
        found = (len(rows), len(labels), lost_rows, lost_labels, twice, int(bool(unlike) or not equal))
        self._counts = [a + b for a, b in zip(self._counts, found, strict=True)]

    def _play(self, store: Store, number: int) -> tuple[dict[str, float], dict[str, int], int, int]:
        """Play the new entries; return their rows and labels, and how many came twice or were announced otherwise."""
        if self._model is None:
            origin = store.origin(number)
            self._model = ServedModel.restore(from_bytes(origin.data))
            first = list(store.entries(number, until=origin.sequence))
            self._rows = {entry.id: row_from_bytes(entry.body) for entry in first if entry.event == Event.ROW}
            self._last, self._entries = origin.sequence, len(first)
        announced = {name: _probability(row) for name, row in self._rows.items()}
        told: dict[str, int] = {}
        twice = 0
        entries = list(store.entries(number, after=self._last))
        for entry in entries:
            if entry.event == Event.ROW:
                self._rows[entry.id] = row = row_from_bytes(entry.body)
                announced[entry.id] = _probability(row)
            else:
                twice += entry.id in self._learned
                self._learned.add(entry.id)
                told[entry.id] = int(label_from_bytes(entry.body).label)
        played = replay(self._model, entries, self._rows.__getitem__)
        for name in told:
            self._rows.pop(name, None)
        self._last, self._entries = max(self._last, played.last), self._entries + len(entries)
        return announced, told, twice, played.unlike

    def found(self, kills: int) -> Kills:
        """Play the whole log once more, and return what was found."""
        store = open_store(self._place, writer=False)
        number = store.models()[0].number
        whole = verify(store, number)
        entries = sum(1 for _ in store.entries(number))
        store.close()
        self._counts[5] += int(bool(whole.unlike) or not whole.equal or entries != self._entries)
        return Kills(kills, *self._counts)


def _probability(row: AnnouncedRow) -> float:
    assert isinstance(row.announced, Announcement)
    return row.announced.probability


class _Server:
    """A service in a process of its own."""

    def __init__(self, place: str, log: Path, token: str = "") -> None:
        log.write_bytes(b"")
        command = [sys.executable, "-m", "aioli", "serve", "--folder", place, "--port", "0", "--snapshot-every", "500"]
        with log.open("ab") as out:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=out, env=os.environ, text=True)
        self._log, self.token, self.address = log, token, ""

    def wait(self) -> None:
        """Wait until it listens; at the first start, read the token that it shows."""
        self.address = self._started()
        if not self.token:
            assert self._process.stdout is not None
            self.token = self._process.stdout.readline().split()[-1]

    def _started(self) -> str:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self._process.poll() is None:
            for line in self._log.read_text().splitlines():
                told: dict[str, Any] = json.loads(line) if line.startswith("{") else {}
                if told.get("event") == "started":
                    return str(told["address"])
            time.sleep(0.01)
        raise RuntimeError(f"the service did not start: {self._log.read_text()}")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(PATIENCE)
        if self._process.stdout is not None:
            self._process.stdout.close()


def main() -> int:
    """Kill, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, metavar="N")
    stores = parser.add_mutually_exclusive_group()
    stores.add_argument("--store", metavar="ADDRESS", help="of a PostgreSQL database that is empty; default: SQLite")
    stores.add_argument("--postgres", action="store_true", help="start a PostgreSQL server of its own, and end it")
    parser.add_argument("--learner", default="AIOLI", metavar="NAME", help="that is served (default: AIOLI)")
    parser.add_argument("--threads", type=int, default=4, metavar="N", help="that ask without pause (default: 4)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the moments of the kills")
    given = parser.parse_args()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, database() if given.postgres else nullcontext(given.store) as store:
        place = store or str(Path(folder) / "service")
        found = kill_often(given.kills, place, given.threads, given.seed, learner=given.learner)
    for name, value in found._asdict().items():
        print(f"{name.replace('_', ' '):14} {value:9,}")
    print(f"{'seconds':14} {time.monotonic() - begin:9,.0f}")
    print("nothing lost, nothing twice, every state the replay of its log" if found.clean else "NOT clean")
    return not found.clean


if __name__ == "__main__":
    sys.exit(main())
