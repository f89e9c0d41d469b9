"""`aioli serve`: the service over HTTP, and the commands around its log: backup, restore, export, verify, tokens."""

import asyncio
import gc
import os
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aioli.errors import AioliError, ParameterRefused
from aioli.service.backup import copy_until
from aioli.service.engine import EVERY, Engine
from aioli.service.follower import Follower
from aioli.service.replay import model_at, verify
from aioli.service.waiting import Limits
from aioli.store.event_log import ModelRecord, Store
from aioli.store.log_export import export_log
from aioli.store.opening import open_store
from aioli.store.sqlite_log import back_up

if TYPE_CHECKING:
    from aioli.service.http.gate import Settings
    from aioli.service.http.grouping import Grouping

__all__ = [
    "ServeOptions",
    "backup_service",
    "export_service",
    "make_service_token",
    "restore_service",
    "serve",
    "verify_service",
]


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """The options of `aioli serve`.

    Attributes
    ----------
    folder
        Where the log is kept: a folder, or the address of a PostgreSQL database.
    host, port, remote
        Where to listen; 0 takes a free port. An address beyond this machine needs `remote`.
    sync
        "normal" survives the death of the process, "full" also a loss of power.
    every
        How many entries of the log lie between two snapshots.
    limits
        How many rows of a model may wait for their label, and how long, where the model does not say.
    largest_body, rate, connections
        Limits of a request's bytes, of requests a second of one token, and of open connections.
    log_requests
        Whether every request is logged, not only those that were refused or failed.
    follow
        Seconds between two looks at the log of another process, which this one follows and does not write to.
    vw_port, vw_model
        The port for Vowpal Wabbit's text, None for none, and the model that plays its lines.
    """

    folder: str = "aioli-service"
    host: str = "127.0.0.1"
    port: int = 8477
    remote: bool = False
    sync: str = "normal"
    every: int = EVERY
    limits: Limits = field(default_factory=Limits)
    largest_body: int = 4 << 20
    rate: float = 50_000.0
    connections: int = 1000
    log_requests: bool = False
    follow: float | None = None
    vw_port: int | None = None
    vw_model: str = "vw"

    @property
    def settings(self) -> "Settings":
        """The limits of requests."""
        from aioli.service.http.gate import Settings

        return Settings(largest_body=self.largest_body, rate=self.rate)


def serve(options: ServeOptions) -> None:
    """Serve until the process is told to end; at the first start, make tokens and show them."""
    _require_extra()
    from aioli.service.http.access import READ, WRITE, make_token
    from aioli.service.http.app import make_app
    from aioli.service.http.grouping import Grouping
    from aioli.service.http.server import listen, run_server
    from aioli.service.http.slow_clients import Connections
    from aioli.service.http.watch import RequestLog

    for name, value in (("every", options.every), ("rate", options.rate), ("connections", options.connections)):
        if value < 1:
            raise ParameterRefused.unlike(name, value, "at least 1")
    gc.freeze()  # what was loaded is no garbage; the command had switched the collector off
    gc.set_threshold(20_000, 20, 50)  # requests leave little that is circular
    gc.enable()
    listening = listen(options.host, options.port, options.remote)
    with listening:
        follows = options.follow is not None
        store = open_store(options.folder, options.sync, writer=not follows)
        if not follows and not store.tokens():
            print(f"write token: {make_token(store, WRITE)}")
            print(f"read token:  {make_token(store, READ)}")
            print("They are shown once; only their hashes are kept.", flush=True)
        engine = Follower(store) if follows else Engine(store, options.limits, options.every)
        log = RequestLog(options.log_requests)
        try:
            port = listening.getsockname()[1]
            address = f"http://{options.host}:{port}"

            async def begun() -> None:
                if isinstance(engine, Follower) and options.follow is not None:
                    _follow(engine, options.follow)
                vowpal = None if options.vw_port is None else await start_vowpal(grouping, options)
                replayed = sum(served.counts["replayed"] for served in engine.models.values())
                told = {"address": address, "models": len(engine.models), "replayed": replayed, "pid": os.getpid()}
                log.write("started", **told, **({} if vowpal is None else {"vw_port": vowpal}))

            grouping = Grouping(engine)
            app = make_app(grouping, options.settings, log)
            run_server(app, listening, Connections(most=options.connections), begun, log)
        finally:
            engine.close()
        log.write("ended", models=len(engine.models))


def _follow(engine: Follower, seconds: float) -> None:
    """Read the log again and again, so many seconds after the last time."""
    engine.refresh()
    asyncio.get_running_loop().call_later(seconds, _follow, engine, seconds)


async def start_vowpal(grouping: "Grouping", options: ServeOptions) -> int:
    """Listen for Vowpal Wabbit's text, with a model that is made where it is not there; return the port."""
    from aioli.learners.auto.auto import Auto
    from aioli.service.model import ServedModel
    from aioli.service.vowpal_port import listen_for_vowpal
    from aioli.streams.row_encoder import RowEncoder

    if options.vw_model not in grouping.engine.models:
        grouping.engine.create(options.vw_model, ServedModel(Auto(), RowEncoder()))
    return await listen_for_vowpal(grouping, options.vw_model, options.vw_port or 0)


def restore_service(backup: str, folder: str, time: float | None, entry: int | None) -> None:
    """Make a service's folder from a backup, as of its end, a time or an entry of the log."""
    source, target = open_store(backup, writer=False), open_store(folder)
    if target.models() or target.tokens():
        raise AioliError(f"{folder}: holds a service already; give a new folder, or an empty database")
    for name, count in copy_until(source, target, until=entry, time=time).items():
        print(f"{name}: {count:,} entries")
    source.close()
    target.close()


def export_service(folder: str, name: str, rows: str, labels: str) -> None:
    """Write the log of a model as two Parquet files, and print the command that plays them."""
    store = open_store(folder, writer=False)
    number = _record(store, name).number
    model = model_at(store, number)
    width = model.width or 0
    features = [f"x{j + 1}" for j in range(width)] if model.encoder is None else model.encoder.features
    exported = export_log(store, number, rows, labels, features, _written(repr(model.learner)), keyed=model.keyed)
    print(f"{exported.rows:,} rows, {exported.labels:,} labels")
    lines = "a fleet: docs/service.md has the lines of Python that play it to the same numbers, from"
    print(exported.command or f"{lines} fleet = {repr(model.learner).partition('  #')[0]}")
    store.close()


def verify_service(folder: str) -> int:
    """Play the log of every model from its first row; return 1 where a state is not what the log says."""
    store = open_store(folder, writer=False)
    status = 0
    for record in store.models():
        found = verify(store, record.number)
        good = found.equal and not found.unlike
        said = "the state is the replay of the log, bit for bit" if good else "the state is NOT the replay of the log"
        print(f"{record.name}: {found.entries:,} entries, {found.unlike:,} announced otherwise; {said}")
        status |= not good
    store.close()
    return status


def make_service_token(folder: str, rights: str) -> None:
    """Make another token; a service that runs knows it after its next start."""
    from aioli.service.http.access import make_token

    store = open_store(folder)
    print(make_token(store, rights))
    store.close()


def backup_service(folder: str, target: str) -> None:
    """Copy the log of a service, which may be running, to a new folder."""
    back_up(folder, target)
    print(f"{folder} is copied to {target}", file=sys.stderr)


def _record(store: Store, name: str) -> ModelRecord:
    found = {record.name: record for record in store.models()}
    if name not in found:
        raise AioliError(f"there is no model {name!r}; the service has {', '.join(found) or 'none'}")
    return found[name]


def _written(learner: str) -> str:
    """Return a learner's `repr` as an option takes it."""
    return learner.replace("'", '"')


def _require_extra() -> None:
    try:
        import httptools
        import starlette
        import uvicorn
    except ImportError as error:
        raise ImportError(f"serving needs {error.name}: pip install 'aioli-online[serve]'") from None
    del httptools, starlette, uvicorn
