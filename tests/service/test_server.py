"""A server in a process of its own: sockets that hold it, signals, and kills; started where tests are thorough."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import PATIENCE
from serving import Server, serving
from thoroughness import FULL

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("httptools")
pytestmark = pytest.mark.skipif(not FULL, reason="this system has servers started by `make thorough` alone")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("service") / "folder", "--connections", "40") as running:
        yield running


def test_more_connections_than_are_allowed_are_closed_and_others_served(server: Server) -> None:
    sockets: list[socket.socket] = []
    try:
        sockets += [socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) for _ in range(60)]
        closed = 0
        for one in sockets[45:]:
            one.settimeout(PATIENCE)
            try:
                closed += one.recv(1) == b""
            except ConnectionError:
                closed += 1
        assert closed == 15
    finally:
        for one in sockets:
            one.close()
    for _ in range(6000):  # until the server has seen them go
        try:
            answer = server.get("/health")
            break
        except (ConnectionError, OSError):
            time.sleep(0.05)
    assert answer.status == 200


def test_ten_thousand_open_sockets_do_not_keep_others_out(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 10_500:
        pytest.skip(f"this system allows {hard} open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (10_500, hard))
    sockets: list[socket.socket] = []
    try:
        with serving(tmp_path / "folder", "--connections", "50") as crowded:
            sockets += [socket.create_connection(("127.0.0.1", crowded.port), timeout=PATIENCE) for _ in range(10_000)]
            for one in sockets:
                one.close()
            answers = (_health_or_none(crowded) for _ in range(6000))
            assert next(answer for answer in answers if answer is not None) == 200
    finally:
        for one in sockets:
            one.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def _health_or_none(server: Server) -> int | None:
    try:
        return server.get("/health").status
    except OSError:
        time.sleep(0.05)
        return None


def test_endless_headers_are_cut_off(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as one:
        one.sendall(b"GET /health HTTP/1.1\r\n")
        with pytest.raises(ConnectionError):
            _send_headers(one, 50_000)


def _send_headers(one: socket.socket, count: int) -> None:
    for _ in range(count):
        one.sendall(b"X-Y: " + b"z" * 1000 + b"\r\n")
        time.sleep(0.001)


def test_a_service_that_is_killed_or_told_to_end_goes_on(tmp_path: Path) -> None:
    first = Server(tmp_path / "folder")
    try:
        first.post("/models/m", {"learner": "AIOLI"})
        rows = [{"id": f"r{t}", "row": [float(t), 1.0]} for t in range(10)]
        told = first.post("/models/m/predict", {"rows": rows}).told
        first.post("/models/m/learn", {"id": "r3", "label": 1})
        before = first.get("/models/m/snapshot").told
    finally:
        first.kill()
    again = Server(tmp_path / "folder", token=first.token)
    try:
        assert again.get("/models/m/snapshot").told == before
        repeated = again.post("/models/m/predict", {"rows": rows}).told
        for one, other in zip(told["results"], repeated["results"], strict=True):
            assert other == one | {"repeated": True}
        assert again.post("/models/m/learn", {"id": "r3", "label": 1}).told["repeated"]
        assert again.end() == 0
    finally:
        again.kill()
    assert '"ended"' in again.log.read_text()
