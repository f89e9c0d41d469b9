"""Shortens the way of a request to predict or to learn: from the parser of a connection to the gate, and back.

uvicorn makes a task, an event, a dictionary and two messages for each request, which together cost more than a row and
its commit. A small POST that has come whole, on a connection that owes no other answer, needs none of them. Every other
request takes uvicorn's way through the application, which answers the same.
"""

from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from aioli.service.http.answers import Headers
from aioli.service.http.gate import Gate
from aioli.service.http.play import Play

__all__ = ["ShortWay"]


class _Nobody:
    """Is told of what nobody waits for."""

    def set(self) -> None:
        return None


class _Owed(RequestResponseCycle):
    """An answer that a connection owes: requests behind it wait until it is complete."""

    def __init__(self, keep_alive: bool) -> None:
        self.keep_alive = keep_alive
        self.disconnected = self.response_complete = False
        self.message_event = _Nobody()  # type: ignore[assignment]  # nobody waits for it


class ShortWay(HttpToolsProtocol):
    """A connection that takes requests to predict and to learn to the gate itself.

    Attributes
    ----------
    gate
        Who answers; None takes every request uvicorn's way.
    """

    gate: ClassVar[Gate | None] = None
    _play: Play | None = None  # of the request whose body is being read
    _model = ""
    _body: tuple[bytes, ...] = ()
    _token: bytes | None = None  # the authorization that the request has

    def on_message_begin(self) -> None:
        """Forget the request before; what uvicorn needs of this one is made when it is known to go its way."""
        self.url = b""
        self.headers = []
        self.expect_100_continue = False
        self._token = None

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header."""
        name = name.lower()
        self.headers.append((name, value))
        if name == b"authorization":
            self._token = value
        elif name == b"expect":
            self.expect_100_continue = value.lower() == b"100-continue"

    def on_headers_complete(self) -> None:
        """Choose the way."""
        self._play = self._short_play()
        if self._play is None:
            self._go_on()

    def _short_play(self) -> Play | None:
        """Return who answers, where the request can go the short way once its body has come."""
        if self.gate is None or self.expect_100_continue or self.flow.write_paused:
            return None
        if self.cycle is not None and not self.cycle.response_complete:
            return None
        parts = self.url.split(b"/")
        if (
            len(parts) != 4
            or parts[1] != b"models"
            or parts[0]
            or b"%" in parts[2]
            or self.parser.get_method() != b"POST"
        ):
            return None
        play = self.gate.plays.get(parts[3].decode("latin-1"))
        if play is None or self.parser.should_upgrade() or not parts[2].isascii():
            return None
        self._model, self._body = parts[2].decode(), ()
        return play

    def _go_on(self) -> None:
        """Take uvicorn's way from the headers on."""
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expects
        self.headers.extend(headers)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Keep the body, or a part of it."""
        if self._play is None:
            super().on_body(body)
        else:
            self._body += (body,)

    def on_message_complete(self) -> None:
        """Have the whole request answered."""
        if self._play is None:
            super().on_message_complete()
            return
        play, self._play = self._play, None
        owed = _Owed(self.parser.get_http_version() != "1.0" and self.parser.should_keep_alive())
        self.cycle = owed

        def answered(status: int, headers: Headers, body: bytes) -> None:
            self._answer(owed, status, headers, body)

        address = self.client[0] if self.client else ""
        assert self.gate is not None
        self.gate.play(play, self._model, self._token, address, b"".join(self._body), answered)

    def data_received(self, data: bytes) -> None:
        """Read what has come; a request whose body has not come whole goes uvicorn's way."""
        super().data_received(data)
        if self._play is not None:
            self._play, body = None, self._body
            if not self.transport.is_closing():
                self._go_on()
                for part in body:
                    super().on_body(part)

    def _answer(self, owed: _Owed, status: int, headers: Headers, body: bytes) -> None:
        """Write an answer, and go on with the request behind it, if one has come."""
        owed.response_complete = True
        if owed.disconnected or self.transport.is_closing():
            return
        lines = [b"%b: %b\r\n" % header for header in headers]
        if not owed.keep_alive:
            lines.append(b"connection: close\r\n")
        head = STATUS_LINE[status], b"".join(lines)
        self.transport.write(b"%b%bcontent-length: %d\r\n\r\n%b" % (*head, len(body), body))
        if not owed.keep_alive:
            self.transport.close()
        self.on_response_complete()
