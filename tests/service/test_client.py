"""The clients against a server of a few lines that answers, refuses, closes and hangs as it is told."""

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest
from patience import PATIENCE

from aioli.errors import ParameterRefused
from aioli.service.client import AsyncClient, Client, Learning, Prediction, RequestRefused, ServiceUnreachable

GOOD = {"id": "a", "probability": 0.25}
BUSY = {"error": {"code": "too_many", "message": "wait"}}


class Handler(BaseHTTPRequestHandler):
    """Answers by a script: a status and what is told; None closes the connection without an answer."""

    protocol_version = "HTTP/1.1"
    script: ClassVar[list[tuple[int, Any] | None]] = []
    asked: ClassVar[list[tuple[str, str, Any]]] = []

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.asked.append((self.command, self.path, json.loads(body) if body else None))
        told = self.script.pop(0)
        if told is None:
            self.close_connection = True
            return
        data = json.dumps(told[1]).encode()
        self.send_response(told[0])
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_DELETE = _answer

    def log_message(self, *_: Any) -> None:
        return


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr("aioli.service.client.FIRST_WAIT", 0.001)
    Handler.script.clear()
    Handler.asked.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join(PATIENCE)


def test_a_call_that_got_no_answer_is_made_again(address: str) -> None:
    Handler.script[:] = [None, (503, BUSY), (429, BUSY), (200, GOOD), (200, {"id": "a", "label": 1, "repeated": True})]
    with Client(address, "token", seconds=PATIENCE) as client:
        assert client.predict("m", "a", [1.0, 2.0]) == Prediction("a", 0.25)
        assert client.learn("m", "a", 1) == Learning("a", 1, True)
    assert [asked[2] for asked in Handler.asked[:4]] == [{"id": "a", "row": [1.0, 2.0]}] * 4


def test_a_refusal_is_raised_at_once(address: str) -> None:
    Handler.script[:] = [(409, {"error": {"code": "label_conflict", "message": "another label"}})]
    with (
        Client(address, "token", seconds=PATIENCE) as client,
        pytest.raises(RequestRefused, match="another") as refused,
    ):
        client.learn("m", "a", 0)
    assert (refused.value.code, refused.value.status) == ("label_conflict", 409)
    assert len(Handler.asked) == 1


def test_what_may_not_be_done_twice_is_not_made_again(address: str) -> None:
    Handler.script[:] = [None, None]
    with Client(address, "token", seconds=PATIENCE) as client:
        with pytest.raises(ServiceUnreachable, match="see that the service runs"):
            client.create("m", learner="AIOLI")
        with pytest.raises(ServiceUnreachable):
            client.delete("m")
    assert len(Handler.asked) == 2


def test_patience_has_an_end(address: str) -> None:
    Handler.script[:] = [(503, BUSY)] * 3
    with Client(address, "token", retries=2, seconds=PATIENCE) as client, pytest.raises(RequestRefused, match="wait"):
        client.status("m")
    assert len(Handler.asked) == 3
    with pytest.raises(ParameterRefused):
        Client("ftp://here", "token")


def test_many_are_answered_one_by_one(address: str) -> None:
    refused = {"error": {"code": "row_conflict", "message": "another row"}}
    Handler.script[:] = [(200, {"results": [GOOD, refused]}), (200, {"results": [{"id": "a", "label": 1}]})]
    with Client(address, "token", seconds=PATIENCE) as client:
        first, second = client.predict_many("m", [("a", [1.0]), ("b", {"x": "y"})])
        assert first == Prediction("a", 0.25)
        assert isinstance(second, RequestRefused)
        assert client.learn_many("m", [("a", 1)]) == [Learning("a", 1)]


def test_calls_without_waiting_are_the_same_calls(address: str) -> None:
    async def ask() -> None:
        async with AsyncClient(address, "token", seconds=PATIENCE) as client:
            assert await client.predict("m", "a", {"x": 1}) == Prediction("a", 0.25)
            several = await asyncio.gather(*(client.predict("m", "a", [1.0]) for _ in range(5)))
            assert several == [Prediction("a", 0.25)] * 5
            with pytest.raises(RequestRefused):
                await client.learn("m", "a", 1)

    Handler.script[:] = [None, (503, BUSY), *[(200, GOOD)] * 6, (404, {"error": {"code": "x", "message": "y"}})]
    asyncio.run(ask())
