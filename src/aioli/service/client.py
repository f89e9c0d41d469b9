"""Calls a service from Python, waiting or asynchronously: typed, with retries, and nothing to install.

A call that got no answer is made again: the service knows an id that it has seen, so that nothing happens twice.

    with Client("http://127.0.0.1:8477", token) as client:
        client.create("fraud", learner="Auto")
        client.predict("fraud", "order-1", {"amount": 12.5, "country": "FR"}).probability
        client.learn("fraud", "order-1", 0)
"""

import asyncio
import http.client
import time
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from aioli.errors import ParameterRefused
from aioli.service.client_calls import (
    Call,
    GivenRow,
    Key,
    Label,
    Learning,
    Prediction,
    RequestRefused,
    ServiceUnreachable,
    body_or_patience,
    create_call,
    learn_call,
    learn_many_call,
    learning_in,
    many_in,
    predict_call,
    predict_many_call,
    prediction_in,
    told_in,
)
from aioli.snapshots.json_values import JsonObject

__all__ = ["AsyncClient", "Client", "Learning", "Prediction", "RequestRefused", "ServiceUnreachable"]

FIRST_WAIT = 0.05  # seconds before the first retry, doubled for each further one
LONGEST_ANSWER = 1 << 30  # bytes


class _Address:
    """Where a service is, and how patiently it is asked."""

    def __init__(self, address: str, token: str, retries: int = 5, seconds: float = 30.0) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or parts.hostname is None:
            raise ParameterRefused.unlike("address", address, "such as http://127.0.0.1:8477")
        self.secure = parts.scheme == "https"
        self.host, self.port = parts.hostname, parts.port or (443 if self.secure else 80)
        self.prefix = parts.path.rstrip("/")
        self.retries, self.seconds = retries, seconds
        self.headers = {"Authorization": f"Bearer {token}", "Host": parts.netloc}

    def waits(self) -> Iterable[float]:
        """Yield the seconds to wait before each retry."""
        return (FIRST_WAIT * 2.0**k for k in range(self.retries))


class Client(_Address):
    """Asks a service and waits for its answers; one thread uses it at a time.

    Parameters
    ----------
    address
        Such as http://127.0.0.1:8477.
    token
        One that `aioli serve` showed.
    retries
        How often a call is made again where no answer came, or the service asked for patience (429, 503).
    seconds
        How long an answer may take.
    """

    _connection: http.client.HTTPConnection | None = None

    def create(self, model: str, **given: object) -> JsonObject:
        """Make a model: `learner`, `parameters`, `columns`, `labels`, `waiting`, as in docs/service.md."""
        return self._told(create_call(model, given))

    def upload(self, model: str, file: bytes) -> JsonObject:
        """Make a model from the bytes of a file that `aioli run --save` or a learner's `save` wrote."""
        return self._told(Call("POST", f"/models/{model}", file, kind="application/octet-stream", again=False))

    def predict(self, model: str, id: str, row: GivenRow, key: Key | None = None) -> Prediction:
        """Return the probability of a row, which waits under this id for its label; a row of a fleet has a key."""
        return prediction_in(self._told(predict_call(model, id, row, key)))

    def learn(self, model: str, id: str, label: Label, weight: float = 1.0) -> Learning:
        """Tell the label of the row of an id."""
        return learning_in(self._told(learn_call(model, id, label, weight)))

    def predict_many(
        self, model: str, rows: Iterable[tuple[str, GivenRow]], keys: Iterable[Key] | None = None
    ) -> list[Prediction | RequestRefused]:
        """Return a prediction, or the refusal, of each row, given with its id; of a fleet, with a key for each row."""
        return many_in(self._told(predict_many_call(model, rows, keys)), prediction_in)

    def learn_many(self, model: str, labels: Iterable[tuple[str, Label]]) -> list[Learning | RequestRefused]:
        """Tell many labels, each with the id of its row."""
        return many_in(self._told(learn_many_call(model, labels)), learning_in)

    def status(self, model: str) -> JsonObject:
        """Return how a model stands: scores over time, drift, certificate, rows that wait."""
        return self._told(Call("GET", f"/models/{model}"))

    def models(self) -> list[JsonObject]:
        """Return the models in service."""
        return list(self._told(Call("GET", "/models"))["models"])

    def snapshot(self, model: str) -> bytes:
        """Return the model as the bytes of a file."""
        return self._asked(Call("GET", f"/models/{model}/snapshot"))

    def delete(self, model: str) -> None:
        """Delete a model and its log."""
        self._told(Call("DELETE", f"/models/{model}", again=False))

    def _told(self, call: Call) -> JsonObject:
        return told_in(self._asked(call))

    def _asked(self, call: Call) -> bytes:
        waits = iter(self.waits() if call.again else ())
        while True:
            try:
                told = body_or_patience(*self._ask(call))
            except (OSError, http.client.HTTPException) as error:
                self.close()
                problem: RequestRefused | ServiceUnreachable = ServiceUnreachable.by(self.host, self.port, error)
            else:
                if isinstance(told, bytes):
                    return told
                problem = told
            time.sleep(_next_wait(waits, problem))

    def _ask(self, call: Call) -> tuple[int, bytes]:
        if self._connection is None:
            kind = http.client.HTTPSConnection if self.secure else http.client.HTTPConnection
            self._connection = kind(self.host, self.port, timeout=self.seconds)
        headers = {**self.headers, "Content-Type": call.kind}
        self._connection.request(call.method, self.prefix + call.path, call.body, headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(_Address):
    """Asks a service without blocking the event loop: the methods of `Client`, to be awaited.

    Calls may be made side by side: each takes a connection that is free, or a new one.
    """

    def __init__(self, address: str, token: str, retries: int = 5, seconds: float = 30.0) -> None:
        super().__init__(address, token, retries, seconds)
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def create(self, model: str, **given: object) -> JsonObject:
        """Make a model."""
        return told_in(await self._asked(create_call(model, given)))

    async def predict(self, model: str, id: str, row: GivenRow, key: Key | None = None) -> Prediction:
        """Return the probability of a row, which waits under this id for its label; a row of a fleet has a key."""
        return prediction_in(told_in(await self._asked(predict_call(model, id, row, key))))

    async def learn(self, model: str, id: str, label: Label, weight: float = 1.0) -> Learning:
        """Tell the label of the row of an id."""
        return learning_in(told_in(await self._asked(learn_call(model, id, label, weight))))

    async def predict_many(
        self, model: str, rows: Iterable[tuple[str, GivenRow]], keys: Iterable[Key] | None = None
    ) -> list[Prediction | RequestRefused]:
        """Return a prediction, or the refusal, of each row; of a fleet, with a key for each row."""
        return many_in(told_in(await self._asked(predict_many_call(model, rows, keys))), prediction_in)

    async def learn_many(self, model: str, labels: Iterable[tuple[str, Label]]) -> list[Learning | RequestRefused]:
        """Tell many labels, each with the id of its row."""
        return many_in(told_in(await self._asked(learn_many_call(model, labels))), learning_in)

    async def status(self, model: str) -> JsonObject:
        """Return how a model stands."""
        return told_in(await self._asked(Call("GET", f"/models/{model}")))

    async def snapshot(self, model: str) -> bytes:
        """Return the model as the bytes of a file."""
        return await self._asked(Call("GET", f"/models/{model}/snapshot"))

    async def delete(self, model: str) -> None:
        """Delete a model and its log."""
        await self._asked(Call("DELETE", f"/models/{model}", again=False))

    async def _asked(self, call: Call) -> bytes:
        waits = iter(self.waits() if call.again else ())
        while True:
            try:
                async with asyncio.timeout(self.seconds):
                    told = body_or_patience(*await self._ask(call))
            except RequestRefused:
                raise
            except (OSError, EOFError, ValueError) as error:
                problem: RequestRefused | ServiceUnreachable = ServiceUnreachable.by(self.host, self.port, error)
            else:
                if isinstance(told, bytes):
                    return told
                problem = told
            await asyncio.sleep(_next_wait(waits, problem))

    async def _ask(self, call: Call) -> tuple[int, bytes]:
        if self._free:
            reader, writer = self._free.pop()
        else:
            reader, writer = await asyncio.open_connection(self.host, self.port, ssl=True if self.secure else None)
        whole = False
        try:
            writer.write(self._request(call))
            await writer.drain()
            head = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
            headers = dict(line.lower().split(b": ", 1) for line in head[1:] if b": " in line)
            length = int(headers[b"content-length"])
            if not 0 <= length <= LONGEST_ANSWER:
                raise ValueError(f"an answer of {length} bytes")
            body = await reader.readexactly(length)
            whole = headers.get(b"connection") != b"close"
            return int(head[0].split()[1]), body
        except (KeyError, IndexError) as error:
            raise ValueError(f"the answer is not of the service ({error!r})") from None
        finally:
            if whole:
                self._free.append((reader, writer))
            else:
                writer.close()

    def _request(self, call: Call) -> bytes:
        lines = [f"{call.method} {self.prefix}{call.path} HTTP/1.1", f"Content-Type: {call.kind}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        lines.append(f"Content-Length: {len(call.body)}")
        return "\r\n".join([*lines, "", ""]).encode() + call.body

    async def close(self) -> None:
        """Close all connections."""
        for _, writer in self._free:
            writer.close()
        self._free.clear()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        await self.close()


def _next_wait(waits: Iterator[float], problem: Exception) -> float:
    """Return how many seconds to wait before the call is made again; raise the problem where no try is left."""
    wait = next(waits, None)
    if wait is None:
        raise problem
    return wait
