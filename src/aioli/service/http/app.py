"""Makes the application: which address is answered by what."""

from collections.abc import Awaitable, Callable, Mapping

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from aioli import __version__
from aioli.service.engine import Engine
from aioli.service.http.access import Access
from aioli.service.http.answers import refusal_body
from aioli.service.http.bodies import decoded, model_from_body, model_from_file
from aioli.service.http.gate import Gate, Settings
from aioli.service.http.grouping import Grouping
from aioli.service.http.inference_protocol import inference_routes
from aioli.service.http.openapi import document
from aioli.service.http.page_routes import page_routes
from aioli.service.http.play import BODY, Play
from aioli.service.http.watch import RequestLog, Requests, metrics
from aioli.service.refusals import ServiceRefused
from aioli.service.status import status_of
from aioli.snapshots.codec import to_bytes

__all__ = ["make_app"]

BYTES = "application/octet-stream"
NO_STORE = {"cache-control": "no-store"}


class _Front:
    """Takes requests to predict and learn the short way, and hands all others on: a router costs as much as a row."""

    def __init__(self, plays: Mapping[str, Play], rest: ASGIApp) -> None:
        self._plays, self._rest = plays, rest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http" and scope["method"] == "POST":
            parts = scope["path"].split("/")
            if len(parts) == 4 and parts[1] == "models" and parts[3] in self._plays:
                scope["path_params"] = {"name": parts[2]}
                await self._plays[parts[3]](scope, receive, send)
                return
        await self._rest(scope, receive, send)


class _Answers:
    """What the other addresses answer."""

    def __init__(self, engine: Engine, requests: Requests, grouping: Grouping) -> None:
        self._engine, self._requests, self._grouping = engine, requests, grouping

    async def health(self, _: Request) -> Response:
        return JSONResponse({"status": "alive"})

    async def ready(self, _: Request) -> Response:
        failing = self._engine.failure is not None
        return JSONResponse({"status": "store failing" if failing else "ready"}, 503 if failing else 200)

    async def metrics(self, _: Request) -> Response:
        text = metrics(self._engine, self._requests, self._grouping)
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    async def openapi(self, _: Request) -> Response:
        return JSONResponse(document())

    async def models(self, _: Request) -> Response:
        served = self._engine.models.items()
        told = [{"name": n, "labels_learned": s.model.rounds, "rows_waiting": len(s.waiting)} for n, s in served]
        stale = self._engine.stale_seconds
        return JSONResponse({"version": __version__, "stale_seconds": stale, "models": told})

    async def create(self, request: Request) -> Response:
        name, body = request.path_params["name"], request.scope[BODY]
        if request.headers.get("content-type", "").startswith(BYTES):
            served = self._engine.create(name, model_from_file(body))
        else:
            model, limits = model_from_body(decoded(body) if body else {})
            served = self._engine.create(name, model, limits)
        return JSONResponse(status_of(served, self._engine.now()), 201)

    async def status(self, request: Request) -> Response:
        served = self._engine.served(request.path_params["name"])
        return JSONResponse(status_of(served, self._engine.now()), headers=NO_STORE)

    async def delete(self, request: Request) -> Response:
        self._engine.delete(request.path_params["name"])
        return JSONResponse({"deleted": request.path_params["name"]})

    async def snapshot(self, request: Request) -> Response:
        served = self._engine.served(request.path_params["name"])
        name = f'attachment; filename="{served.record.name}.aioli"'
        headers = {"content-disposition": name, "x-last-entry": str(served.last), **NO_STORE}
        return Response(to_bytes(served.model.model_file()), media_type=BYTES, headers=headers)


def make_app(
    grouping: Grouping,
    settings: Settings = Settings(),  # noqa: B008, immutable
    log: RequestLog | None = None,
) -> Gate:
    """Return the application of a service over an engine's groups."""
    engine, requests = grouping.engine, Requests()
    answers = _Answers(engine, requests, grouping)
    plays = {kind: Play(kind, grouping) for kind in ("predict", "learn")}
    routes = [
        *(Route(f"/models/{{name}}/{kind}", play, methods=["POST"]) for kind, play in plays.items()),
        Route("/models/{name}", answers.create, methods=["POST"]),
        Route("/models/{name}", answers.status, methods=["GET"]),
        Route("/models/{name}", answers.delete, methods=["DELETE"]),
        Route("/models/{name}/snapshot", answers.snapshot, methods=["GET"]),
        Route("/models", answers.models, methods=["GET"]),
        Route("/metrics", answers.metrics, methods=["GET"]),
        Route("/health", answers.health, methods=["GET"]),
        Route("/ready", answers.ready, methods=["GET"]),
        Route("/openapi.json", answers.openapi, methods=["GET"]),
        *page_routes(engine, requests),
        *inference_routes(grouping),
    ]
    handlers: dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
        HTTPException: _as_json,
        ServiceRefused: _passed_on,
    }
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False
    access = Access(engine.store, settings.rate)
    return Gate(_Front(plays, app), plays, access, settings, requests, log or RequestLog())


async def _as_json(_: Request, error: Exception) -> Response:
    """Answer an address or a method that is not there."""
    assert isinstance(error, HTTPException)
    code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "refused")
    told = {"error": {"code": code, "message": f"{error.detail}; see /openapi.json"}}
    return JSONResponse(told, error.status_code, headers=error.headers)


async def _passed_on(request: Request, error: Exception) -> Response:
    """Answer a refusal."""
    assert isinstance(error, ServiceRefused)
    return JSONResponse(refusal_body(error, request.url.path), error.status)
