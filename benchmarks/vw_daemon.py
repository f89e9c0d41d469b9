"""`vw --daemon` under load: lines of features over TCP, each answered before the next is sent, on one core.

The program is Debian's or one on the path, or that inside of the wheel `vowpalwabbit`, which is the same code. A child
of the daemon serves one connection, so that it gets as many children as there are connections; all share one core.
"""

import importlib.util
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from aioli.numerics.compiling import Matrix

__all__ = ["Lines", "ask_vw", "is_installed"]

PATIENCE = 60.0  # seconds for the daemon to start
OPTIONS = ("--daemon", "--foreground", "--loss_function", "logistic", "--link", "logistic", "--quiet")
FROM_WHEEL = "import sys, pylibvw\nfrom vowpalwabbit import Workspace\npylibvw.vw.run_parser(Workspace(sys.argv[1]))"


class Lines(NamedTuple):
    """What was answered: lines a second, milliseconds, microseconds of processor time a line."""

    rate: float
    p50: float
    p99: float
    cpu: float


def is_installed() -> bool:
    """Return whether there is a `vw`, or the wheel that holds it."""
    return shutil.which("vw") is not None or importlib.util.find_spec("vowpalwabbit") is not None


def ask_vw(X: Matrix, labels: Sequence[int] | None, connections: int, seconds: float, pinned: Sequence[str]) -> Lines:
    """Ask a daemon of its own to predict rows, or to learn them too where there are labels."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    written = [*OPTIONS, "--port", str(port), "--num_children", str(connections)]
    program = ["vw", *written] if shutil.which("vw") else [sys.executable, "-c", FROM_WHEEL, " ".join(written)]
    silent = subprocess.DEVNULL
    process = subprocess.Popen([*pinned, *program], stdout=silent, stderr=silent, start_new_session=True)
    try:
        _wait_for(port)
        lines = [_line(x, None if labels is None else labels[t]) for t, x in enumerate(X)]
        before = _cpu_of_group(process.pid)
        took, latencies = _converse(port, lines, connections, seconds)
        spent = _cpu_of_group(process.pid) - before
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # the daemon and its children: a session of its own
        process.wait(30.0)
    p50, p99 = np.percentile(latencies, [50.0, 99.0]) * 1e3
    return Lines(len(latencies) / took, float(p50), float(p99), 1e6 * spent / len(latencies))


def _line(x: Sequence[float], label: int | None) -> bytes:
    features = " ".join(f"x{j}:{value:.6f}" for j, value in enumerate(x))
    return f"{'' if label is None else 2 * label - 1} | {features}\n".lstrip().encode()


def _wait_for(port: int) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("vw --daemon did not start")


def _converse(port: int, lines: Sequence[bytes], connections: int, seconds: float) -> tuple[float, list[float]]:
    """Send a line on every connection, and the next whenever an answer comes; return the seconds, and each latency."""
    latencies: list[float] = []
    sockets = [socket.create_connection(("127.0.0.1", port), PATIENCE) for _ in range(connections)]
    sent = dict.fromkeys(sockets, 0.0)
    with selectors.DefaultSelector() as waiting:
        for each in sockets:
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            waiting.register(each, selectors.EVENT_READ)
            each.sendall(lines[0])
            sent[each] = time.perf_counter()
        begin = now = time.perf_counter()
        count = 0
        while now - begin < seconds:
            for key, _ in waiting.select(1.0):
                answered = key.fileobj
                assert isinstance(answered, socket.socket)
                if not answered.recv(256).endswith(b"\n"):
                    raise RuntimeError("vw --daemon answered by half a line, or closed")
                now = time.perf_counter()
                latencies.append(now - sent[answered])
                count += 1
                answered.sendall(lines[count % len(lines)])
                sent[answered] = now
    for each in sockets:
        each.close()
    return now - begin, latencies


def _cpu_of_group(group: int) -> float:
    """Return the seconds of processor time that the processes of a group have used so far."""
    ticks = 0
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[2]) == group:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
