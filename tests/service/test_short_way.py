"""The short way of a request answers what the application answers, whole or in parts, alone or behind others."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from served_games import ROWS

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("httptools")
import httptools
import uvicorn
from serving import InProcess
from uvicorn.server import ServerState

from aioli.service.http.play import Play
from aioli.service.http.slow_clients import Connections, limited_protocol


class Wire(asyncio.Transport):
    """Keeps what was written; knows an address, and can be closed."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)})
        self.written, self.closed, self.closed_first = bytearray(), False, False

    def write(self, data: "bytes | bytearray | memoryview[Any]") -> None:
        self.written += data

    def close(self) -> None:
        self.closed = True

    abort = close

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        return

    resume_reading = pause_reading


class Answers:
    """Takes the answers on a wire apart."""

    def __init__(self, data: bytes) -> None:
        self.found: list[tuple[int, dict[str, str], Any]] = []
        while data:
            self._head: dict[str, str] = {}
            self._body = b""
            parser = httptools.HttpResponseParser(self)
            head, _, rest = data.partition(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            parser.feed_data(head + b"\r\n\r\n" + rest[:length])
            self.found.append((parser.get_status_code(), self._head, json.loads(self._body)))
            data = rest[length:]

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head[name.decode().lower()] = value.decode()

    def on_body(self, body: bytes) -> None:
        self._body += body


@pytest.fixture
def app(tmp_path: Path) -> Iterator[InProcess]:
    made = InProcess(tmp_path / "folder", largest_body=3000)
    made.post("/models/m", {"learner": "AIOLI"})
    yield made
    made.close()


def talk(app: InProcess, *parts: bytes, before: Callable[[Any], None] = lambda _: None) -> tuple[Wire, list[Any]]:
    """Send parts to a connection of its own, the event loop turning in between; return the wire and its answers."""
    wire = Wire()

    async def converse() -> None:
        config = uvicorn.Config(app.gate, ws="none", lifespan="off", log_config=None, proxy_headers=False)
        config.load()
        connection = limited_protocol(Connections(), app.gate)(config=config, server_state=ServerState(), app_state={})  # type: ignore[call-arg]  # uvicorn's keywords
        connection.connection_made(wire)
        before(connection)
        for part in parts:
            assert isinstance(connection, asyncio.Protocol)
            connection.data_received(part)
            for _ in range(30):
                await asyncio.sleep(0)
        wire.closed_first = wire.closed
        connection.connection_lost(None)

    asyncio.run(converse())
    return wire, Answers(bytes(wire.written)).found


def asks(app: InProcess, path: str, body: object, *lines: str, token: str | None = None, version: str = "1.1") -> bytes:
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    bearer = app.token if token is None else token
    head = [f"POST {path} HTTP/{version}", "Host: x", f"Content-Length: {len(sent)}", *lines]
    head += [f"Authorization: Bearer {bearer}"] if bearer else []
    return "\r\n".join([*head, "", ""]).encode() + sent


ROW = {"id": "a", "row": ROWS[0]}


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Lists the requests that took the application's way instead."""
    long: list[str] = []
    usual = Play.__call__

    async def seen(self: Play, scope: Any, receive: Any, send: Any) -> None:
        long.append(scope["path"])
        await usual(self, scope, receive, send)

    monkeypatch.setattr(Play, "__call__", seen)
    return long


REQUESTS: list[tuple[str, object, dict[str, str]]] = [
    ("/models/m/predict", ROW, {}),
    ("/models/m/predict", ROW, {}),
    ("/models/m/predict", {**ROW, "certificate": True}, {}),
    ("/models/m/predict", {"rows": [{"id": "b", "row": ROWS[1]}, {"id": "c", "row": [1.0]}]}, {}),
    ("/models/m/learn", {"id": "b", "label": 1}, {}),
    ("/models/m/learn", {"id": "b", "label": 0}, {}),
    ("/models/m/learn", {"id": "never", "label": 0}, {}),
    ("/models/m/learn", {"labels": [{"id": "a", "label": 0}, {"id": "b", "label": 1}]}, {}),
    ("/models/none/learn", {"id": "b", "label": 0}, {}),
    ("/models/m/predict", b"[1, 2", {}),
    ("/models/m/predict", b"\xff", {}),
    ("/models/m/predict", {"id": "d", "row": [1.0] * 3000}, {}),
    ("/models/m/predict", ROW, {"token": ""}),
    ("/models/m/predict", ROW, {"token": "aioli_wrong"}),
    ("/models/m/predict", ROW, {"token": "read"}),
]


def test_both_ways_answer_the_same(app: InProcess, short: list[str], tmp_path: Path) -> None:
    other = InProcess(tmp_path / "other", largest_body=3000)
    other.post("/models/m", {"learner": "AIOLI"})
    for path, body, more in REQUESTS:
        own = {"token": app.read_token} if more.get("token") == "read" else more
        theirs = {"token": other.read_token} if more.get("token") == "read" else more
        wire, ((status, headers, told),) = talk(app, asks(app, path, body, **own))
        del short[:]
        answer = other.post(path, body, **theirs)
        assert (status, told) == (answer.status, answer.told), path
        assert {name: value for name, value in headers.items() if name != "x-request-id"} == {
            name: value for name, value in answer.headers.items() if name != "x-request-id"
        }
        assert headers["x-request-id"]
        assert not wire.closed_first
    lines = [json.loads(line) for line in app.log.read_text().splitlines()]
    assert [line["status"] for line in lines] == [
        json.loads(line)["status"] for line in other.log.read_text().splitlines()
    ]
    other.close()


def test_a_request_that_comes_whole_takes_the_short_way(app: InProcess, short: list[str]) -> None:
    _, answers = talk(app, asks(app, "/models/m/predict", ROW), asks(app, "/models/m/learn", {"id": "a", "label": 1}))
    assert [told for _, _, told in answers] == [{"id": "a", "probability": 0.5}, {"id": "a", "label": 1}]
    assert short == []


def test_a_request_that_comes_in_parts_goes_on_through_the_application(app: InProcess, short: list[str]) -> None:
    asked = asks(app, "/models/m/predict", ROW)
    for t, cut in enumerate((10, asked.index(b"\r\n\r\n") + 2, asked.index(b"\r\n\r\n") + 4, len(asked) - 3)):
        _, ((status, _, told),) = talk(app, asked[:cut], asked[cut:])
        assert (status, told["probability"]) == (200, 0.5), t
    assert short == ["/models/m/predict"] * 2, "a body that came apart from its headers"


def test_requests_behind_one_that_is_not_answered_yet_wait_for_it(app: InProcess, short: list[str]) -> None:
    learn, get = asks(app, "/models/m/learn", {"id": "a", "label": 1}), b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    _, answers = talk(app, asks(app, "/models/m/predict", ROW) + learn + get + learn)
    assert [status for status, _, _ in answers] == [200] * 4
    assert [told.get("label", told.get("status")) for _, _, told in answers] == [None, 1, "alive", 1]
    assert answers[3][2]["repeated"]
    assert len(short) == 2


@pytest.mark.parametrize(("version", "lines"), [("1.0", ()), ("1.1", ("Connection: close",))])
def test_a_connection_that_is_not_kept_is_closed_after_its_answer(
    app: InProcess, version: str, lines: tuple[str, ...]
) -> None:
    wire, ((status, headers, _),) = talk(app, asks(app, "/models/m/predict", ROW, *lines, version=version))
    assert (status, headers["connection"], wire.closed_first) == (200, "close", True)


def test_what_the_short_way_does_not_know_takes_the_other(app: InProcess, short: list[str]) -> None:
    asked = asks(app, "/models/%6d/predict", ROW)
    _, ((status, _, _),) = talk(app, asked)
    assert status == 200
    _, ((status, _, _),) = talk(app, asks(app, "/models/m/predict?x=1", ROW))
    assert status == 200
    _, ((status, _, _),) = talk(app, asks(app, "/models/m/other", ROW))
    assert status == 404
    assert len(short) == 2


def test_a_client_that_is_gone_or_does_not_read_gets_nothing_more(app: InProcess) -> None:
    def end(connection: Any) -> None:
        connection.transport.closed = True

    _, answers = talk(app, asks(app, "/models/m/predict", ROW), before=end)
    assert answers == []
    _, answers = talk(app, asks(app, "/models/m/predict", ROW), before=lambda connection: connection.pause_writing())
    assert answers == [], "what is not read waits in the application, not in memory"


def test_a_service_that_ends_answers_first(app: InProcess) -> None:
    asked = asks(app, "/models/m/predict", ROW)
    wire = Wire()

    async def converse() -> None:
        config = uvicorn.Config(app.gate, ws="none", lifespan="off", log_config=None, proxy_headers=False)
        config.load()
        connection: Any = limited_protocol(Connections(), app.gate)(  # type: ignore[call-arg]  # uvicorn's keywords
            config=config, server_state=ServerState(), app_state={}
        )
        connection.connection_made(wire)
        connection.data_received(asked)
        connection.shutdown()
        assert not wire.closed
        for _ in range(5):
            await asyncio.sleep(0)
        assert wire.closed

    asyncio.run(converse())
    ((status, headers, _),) = Answers(bytes(wire.written)).found
    assert (status, headers["connection"]) == (200, "close")


def test_an_engine_that_fails_is_a_500_for_all_of_its_group(app: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ArithmeticError("broken")

    monkeypatch.setattr(app.engine, "play", broken)
    _, ((status, _, told),) = talk(app, asks(app, "/models/m/predict", ROW))
    assert (status, told["error"]["code"]) == (500, "internal")
    assert "ArithmeticError" in app.log.read_text()


def test_a_connection_that_asks_for_nothing_more_is_idle_until_it_asks(app: InProcess) -> None:
    connections: list[Any] = []
    begun = asks(app, "/models/m/learn", {"id": "a", "label": 1})[:20]
    for parts, idle in (((), False), ((asks(app, "/models/m/predict", ROW),), True), ((asks(app, "/", {}),), True)):
        talk(app, *parts, before=connections.append)
        now = connections[-1].loop.time()
        assert not connections[-1].is_idle(now)
        assert connections[-1].is_idle(now + 31.0) == idle
        talk(app, *parts, begun, before=connections.append)
        assert not connections[-1].is_idle(now + 31.0)
        assert connections[-1].is_late(now + 31.0)  # its headers are due
