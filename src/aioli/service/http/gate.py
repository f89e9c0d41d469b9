"""Lets every request through one gate: a request id, a token, the limits of size, rate and time; and its log line."""

import asyncio
import itertools
import json
import secrets
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aioli.service.http.access import Access
from aioli.service.http.answers import (
    JSON,
    Headers,
    failure_body,
    refusal_answer,
    refusal_body,
    refusal_headers,
    send_answer,
)
from aioli.service.http.play import BODY, Play
from aioli.service.http.watch import RequestLog, Requests
from aioli.service.refusals import BadRequest, ServiceRefused, TooLarge

__all__ = ["RIGHTS", "Answered", "Gate", "Settings"]

RIGHTS = "aioli.rights"  # where the scope of a request has what its token may do
OPEN = {"/health": "health", "/ready": "ready", "/v2/health/live": "health", "/v2/health/ready": "ready"}
READING_POSTS = ("/infer",)  # what changes nothing unless it has an id, and is looked at where it is answered
WITHOUT_BODY = ("GET", "HEAD", "OPTIONS")
Answered: TypeAlias = Callable[[int, Headers, bytes], None]  # takes the status, the headers and the body of an answer


class Settings(NamedTuple):
    """The limits of requests: bytes of a body, seconds that it may take to come, requests a second of one token."""

    largest_body: int = 4 << 20
    body_seconds: float = 10.0
    rate: float = 50_000.0


class Gate:
    """Wraps an application: only what may pass reaches it, with its body read.

    Attributes
    ----------
    plays
        What is asked most, by the last part of its address: a connection takes such a request to `play` at once.
    """

    def __init__(
        self,
        app: ASGIApp,
        plays: Mapping[str, Play],
        access: Access,
        settings: Settings,
        requests: Requests,
        log: RequestLog,
    ) -> None:
        self._app, self.plays, self._access, self._settings = app, plays, access, settings
        self._requests, self._log = requests, log
        self._prefix, self._numbers = secrets.token_hex(4), itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        identity = f"{self._prefix}-{next(self._numbers)}"
        stamp = (b"x-request-id", identity.encode())
        status, begun = 500, False

        async def stamped(message: Message) -> None:
            nonlocal status, begun
            if message["type"] == "http.response.start":
                status, begun = message["status"], True
                message["headers"].append(stamp)
            await send(message)

        path, method = scope["path"], scope["method"]
        try:
            header, length = _headers(scope)
            if path not in OPEN:
                client = scope.get("client")
                writes = method not in WITHOUT_BODY and not path.endswith(READING_POSTS)
                scope[RIGHTS] = self._access.check(header, writes, client[0] if client else "")
            if method not in WITHOUT_BODY:
                scope[BODY] = await self._body(receive, length)
            await self._app(scope, receive, stamped)
        except ServiceRefused as refused:
            await refusal_answer(refused, path, stamped)
        except Exception as error:
            self._failed(identity, path, error)
            if not begun:
                await send_answer(stamped, 500, failure_body(identity))
        self._count(_kind_of(path), identity, method, path, status, started)

    def play(self, play: Play, model: str, header: bytes | None, address: str, body: bytes, answered: Answered) -> None:
        """Answer one whole request to predict or to learn, as the application would: `answered` is called once."""
        started = time.perf_counter()
        identity = f"{self._prefix}-{next(self._numbers)}"
        own: Headers = (JSON, (b"x-request-id", identity.encode()))

        def told(answer: bytes | Exception) -> None:
            path = f"/models/{model}/{play.kind}"
            status, headers = 200, own
            if isinstance(answer, bytes):
                data = answer
            elif isinstance(answer, ServiceRefused):
                status, headers = answer.status, (*refusal_headers(answer), *headers)
                data = json.dumps(refusal_body(answer, path), allow_nan=False).encode()
            else:
                self._failed(identity, path, answer)
                status, data = 500, json.dumps(failure_body(identity)).encode()
            self._count(play.kind, identity, "POST", path, status, started)
            answered(status, headers, data)

        try:
            self._access.check(header, True, address)
            self._check_size(len(body))
            play.begin(model, body, told)
        except Exception as error:
            told(error)

    def _failed(self, identity: str, path: str, error: Exception) -> None:
        self._log.write("failed", request=identity, path=path, error=f"{type(error).__name__}: {error}")

    def _count(self, kind: str, identity: str, method: str, path: str, status: int, started: float) -> None:
        took = time.perf_counter() - started
        self._requests.count(kind, status, took)
        if self._log.every or status >= 400:
            line = {"method": method, "path": path, "status": status, "ms": round(1e3 * took, 3)}
            self._log.write("request", request=identity, **line)

    def _check_size(self, length: int) -> None:
        most = self._settings.largest_body
        if length > most:
            raise TooLarge(f"the body has {length:,} bytes, and {most:,} are read; send smaller batches")

    async def _body(self, receive: Receive, length: int | None) -> bytes:
        """Return the whole body; one that is too long, or comes too slowly, is refused."""
        most = self._settings.largest_body
        self._check_size(length or 0)
        message: Message = await receive() if length else {"body": b"", "more_body": length is None}
        body: bytes = message.get("body", b"")
        if not message.get("more_body"):
            return body
        parts, size = [body], len(body)
        try:
            async with asyncio.timeout(self._settings.body_seconds):
                while message.get("more_body"):
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise BadRequest("the client went away before its body was whole")
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > most:
                        raise TooLarge(f"the body has more than {most:,} bytes; send smaller batches")
        except TimeoutError:
            raise BadRequest(
                f"the body took more than {self._settings.body_seconds:g} s to come; send it at once"
            ) from None
        return b"".join(parts)


def _headers(scope: Scope) -> tuple[bytes | None, int | None]:
    """Return the authorization, and how long the body is said to be: 0 where there is none."""
    header, length, chunked = None, 0, False
    for name, value in scope["headers"]:
        if name == b"authorization":
            header = value
        elif name == b"content-length":
            length = int(value) if value.isdigit() else 0
        elif name == b"transfer-encoding":
            chunked = True
    return header, None if chunked else length


def _kind_of(path: str) -> str:
    """Return the endpoint of a path for the metrics, without the names that clients choose."""
    if path in OPEN:
        return OPEN[path]
    parts = path.strip("/").split("/")
    if parts[0] == "v2":
        return "infer" if parts[-1] == "infer" else "v2"
    if parts[0] == "models" and len(parts) <= 3:
        last = parts[2] if len(parts) == 3 else "model"
        return last if last in ("predict", "learn", "snapshot", "page", "model") else "other"
    return parts[0] if parts[0] in ("metrics", "openapi.json", "") else "other"
