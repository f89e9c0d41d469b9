"""A real server in a process of its own, on a free loopback port; it is always killed, and nothing waits for long."""

import asyncio
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from patience import PATIENCE

from aioli.service.engine import Engine
from aioli.store.sqlite_log import SqliteLog


class Answer(NamedTuple):
    status: int
    told: Any
    headers: dict[str, str]


class InProcess:
    """The application without a server, asked by calls of its own protocol: what needs no socket is tested here too."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        from aioli.service.http.access import READ, WRITE, make_token
        from aioli.service.http.app import make_app
        from aioli.service.http.gate import Settings
        from aioli.service.http.grouping import Grouping
        from aioli.service.http.watch import RequestLog

        self.engine = Engine(SqliteLog(folder, sync="normal"))
        self.token, self.read_token = (make_token(self.engine.store, rights) for rights in (WRITE, READ))
        self.log = folder.with_suffix(".log")
        self._out = self.log.open("w")
        self.gate = make_app(Grouping(self.engine), Settings(**settings), RequestLog(every=True, out=self._out))

    def ask(self, method: str, path: str, body: object = None, token: str | None = None, **headers: str) -> Answer:
        """Ask once."""
        sent = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        bearer = self.token if token is None else token
        if bearer:
            headers["Authorization"] = f"Bearer {bearer}"
        headers["Content-Length"] = str(len(sent))
        scope = {
            "type": "http",
            "method": method,
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
            "client": ("127.0.0.1", 1),
        }
        answered: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": sent, "more_body": False}

        async def send(message: Any) -> None:
            answered.append(message)

        async def call() -> None:
            await self.gate(scope, receive, send)

        asyncio.run(call())
        told = {name.decode(): value.decode() for name, value in answered[0]["headers"]}
        data = b"".join(message["body"] for message in answered[1:])
        is_json = told.get("content-type") == "application/json"
        return Answer(answered[0]["status"], json.loads(data) if is_json else data, told)

    def post(self, path: str, body: object = None, **more: Any) -> Answer:
        return self.ask("POST", path, body, **more)

    def get(self, path: str, **more: Any) -> Answer:
        return self.ask("GET", path, **more)

    def close(self) -> None:
        self.engine.close()
        self._out.close()


class Server:
    """A running `aioli serve`, its tokens, and ways to ask it."""

    def __init__(self, folder: Path, *options: str, token: str = "", read_token: str = "") -> None:
        command = [sys.executable, "-m", "aioli", "serve", "--folder", str(folder), "--port", "0", *options]
        self.log = folder.with_suffix(".log")
        with self.log.open("ab") as log:
            start = log.tell()
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=os.environ, text=True)
        self.told, self.token, self.read_token = "", token, read_token
        try:
            self.port = self._wait(start)
            if not token:
                assert self.process.stdout is not None
                self.told = self.process.stdout.readline() + self.process.stdout.readline()
                self.token, self.read_token = (line.split()[-1] for line in self.told.splitlines())
        except BaseException:
            self.kill()
            raise

    def _wait(self, start: int) -> int:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            for line in self.log.read_bytes()[start:].splitlines():
                if b'"started"' in line:
                    return int(json.loads(line)["address"].rpartition(":")[2])
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise RuntimeError(f"the server did not start: {self.log.read_text()}")

    def ask(self, method: str, path: str, body: object = None, token: str | None = None, **headers: str) -> Answer:
        """Ask once, over a connection of its own."""
        sent = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        bearer = self.token if token is None else token
        if bearer:
            headers["Authorization"] = f"Bearer {bearer}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, sent, headers)
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        is_json = answer.headers.get_content_type() == "application/json"
        return Answer(answer.status, json.loads(data) if is_json else data, dict(answer.headers))

    def post(self, path: str, body: object = None, **more: Any) -> Answer:
        return self.ask("POST", path, body, **more)

    def get(self, path: str, **more: Any) -> Answer:
        return self.ask("GET", path, **more)

    def kill(self) -> None:
        """Kill it as -9 does."""
        self.process.kill()
        self.process.wait(PATIENCE)
        if self.process.stdout is not None:
            self.process.stdout.close()

    def end(self) -> int:
        """Tell it to end, and return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(PATIENCE)
        finally:
            self.kill()


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[Server]:
    server = Server(folder, *options)
    try:
        yield server
    finally:
        server.kill()
