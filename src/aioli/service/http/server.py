"""Runs the application under uvicorn: limits of connections, slow clients, an orderly end."""

import logging
import signal
import socket
from collections.abc import Awaitable, Callable

import uvicorn

from aioli.errors import ParameterRefused
from aioli.service.http.gate import Gate
from aioli.service.http.slow_clients import Connections, limited_protocol
from aioli.service.http.watch import RequestLog, ServerMessages

__all__ = ["listen", "run_server"]

LOOPBACK = ("127.0.0.1", "::1", "localhost")
END_SECONDS = 10  # for requests that are being answered when the server is told to end


def listen(host: str, port: int, elsewhere: bool = False) -> socket.socket:
    """Return a socket that listens; an address beyond this machine must be asked for."""
    if host not in LOOPBACK and not elsewhere:
        raise ParameterRefused(
            f"{host} can be reached from other machines, and tokens would go there in the clear; put a proxy with TLS "
            "in front and serve on 127.0.0.1, or say --allow-remote",
            parameter="host",
            value=host,
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise OSError(error.errno, error.strerror, f"{host}:{port}") from None
    listening.set_inheritable(True)
    return listening


def run_server(
    app: Gate,
    listening: socket.socket,
    connections: Connections,
    begun: Callable[[], Awaitable[None]],
    log: RequestLog,
) -> None:
    """Serve until the process is told to end; what is being answered then is answered first."""
    config = uvicorn.Config(
        app,
        http=limited_protocol(connections, app),
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        backlog=2048,
        timeout_keep_alive=int(connections.idle_seconds),
        timeout_graceful_shutdown=END_SECONDS,
    )
    logging.getLogger("uvicorn.error").addHandler(ServerMessages(log))
    # uvicorn raises the signal again once it has ended in order: that must not cut off what comes after.
    before = {number: signal.signal(number, _nothing) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        _Server(config, begun).run(sockets=[listening])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _nothing(_number: int, _frame: object) -> None:
    return None


class _Server(uvicorn.Server):
    """Tells when it has begun to listen."""

    def __init__(self, config: uvicorn.Config, begun: Callable[[], Awaitable[None]]) -> None:
        super().__init__(config)
        self._begun = begun

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        await self._begun()
