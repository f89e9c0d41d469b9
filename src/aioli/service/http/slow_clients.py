"""Closes connections that hold the server without asking anything: too many, too slow, or with endless headers."""

import asyncio
from dataclasses import dataclass
from typing import Any

from aioli.service.http.gate import Gate
from aioli.service.http.short_way import ShortWay

__all__ = ["Connections", "limited_protocol"]

LARGEST_HEAD = 64 << 10  # bytes of the first line and the headers of a request
SWEEP = 1.0  # seconds between two looks at all connections


@dataclass
class Connections:
    """The limits of connections, and how many there are.

    Attributes
    ----------
    most
        How many may be open; more are closed at once.
    head_seconds
        How long the headers of a request may take, from the connection or the first byte on.
    exchange_seconds
        How long a request may take from its headers to the last byte of the answer.
    idle_seconds
        How long a connection is kept after an answer.
    open, refused, closed
        How many there are, were too many, and were too slow.
    """

    most: int = 1000
    head_seconds: float = 10.0
    exchange_seconds: float = 60.0
    idle_seconds: float = 30.0
    open: int = 0
    refused: int = 0
    closed: int = 0


def limited_protocol(connections: Connections, answers: Gate) -> type[asyncio.Protocol]:
    """Return uvicorn's protocol of HTTP with these limits, and a short way to what is asked most."""

    class LimitedProtocol(ShortWay):
        """A connection that is closed where it asks for nothing in time."""

        gate = answers
        sweeping = False

        def __init__(self, *args: Any, **more: Any) -> None:
            super().__init__(*args, **more)
            self._counted = False
            self._head_since: float | None = None  # while headers are due
            self._asked_at: float | None = None  # while an answer is due
            self._idle_since: float | None = None  # while nothing is due
            self._head_bytes = 0

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # what TCP servers give
            super().connection_made(transport)
            if connections.open >= connections.most:
                connections.refused += 1
                transport.abort()
                return
            connections.open += 1
            self._counted = True
            self._head_since = self.loop.time()
            if not LimitedProtocol.sweeping:
                LimitedProtocol.sweeping = True
                self.loop.call_later(SWEEP, _sweep, self.connections, self.loop, self.loop.time() + SWEEP)

        def connection_lost(self, exc: Exception | None) -> None:
            if self._counted:
                connections.open -= 1
                self._counted = False
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self._head_since is None and self._asked_at is None:
                self._head_since, self._idle_since = self.loop.time(), None
            super().data_received(data)
            if self._head_since is not None:
                self._head_bytes += len(data)
                if self._head_bytes > LARGEST_HEAD:
                    connections.closed += 1
                    self.transport.abort()

        def on_headers_complete(self) -> None:
            self._head_since, self._head_bytes = None, 0
            self._asked_at = self.loop.time()
            super().on_headers_complete()

        def on_response_complete(self) -> None:
            self._asked_at = None
            if self.pipeline or self.transport.is_closing():
                super().on_response_complete()
                return
            self.server_state.total_requests += 1  # as uvicorn does, whose timer for each answer costs more
            self.flow.resume_reading()
            self._idle_since = self.loop.time()

        def excuse(self, seconds: float) -> None:
            """Do not count time in which the server itself was busy, as with compiling."""
            self._head_since = None if self._head_since is None else self._head_since + seconds
            self._asked_at = None if self._asked_at is None else self._asked_at + seconds
            self._idle_since = None if self._idle_since is None else self._idle_since + seconds

        def is_late(self, now: float) -> bool:
            """Return whether headers or an answer have been due for too long."""
            if self._head_since is not None and now - self._head_since > connections.head_seconds:
                return True
            return self._asked_at is not None and now - self._asked_at > connections.exchange_seconds

        def is_idle(self, now: float) -> bool:
            """Return whether nothing has been asked for long, and nothing is due."""
            return self._idle_since is not None and now - self._idle_since > connections.idle_seconds

    def _sweep(every: Any, loop: asyncio.AbstractEventLoop, expected: float) -> None:
        now = loop.time()
        for connection in list(every):
            if isinstance(connection, LimitedProtocol):
                connection.excuse(now - expected)
                if connection.is_late(now):
                    connections.closed += 1
                    connection.transport.abort()
                elif connection.is_idle(now):
                    connection.transport.close()
        loop.call_later(SWEEP, _sweep, every, loop, now + SWEEP)

    return LimitedProtocol
