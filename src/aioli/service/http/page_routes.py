"""Routes the addresses of the live pages."""

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from aioli.service.engine import Engine
from aioli.service.http.watch import Requests
from aioli.service.pages import Latencies, index_page, model_page

__all__ = ["page_routes"]

HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


def page_routes(engine: Engine, requests: Requests) -> list[Route]:
    """Return the addresses of the pages."""

    def latencies() -> Latencies:
        return [(kind, requests.quantile(kind, 0.5), requests.quantile(kind, 0.99)) for kind in ("predict", "learn")]

    async def index(_: Request) -> Response:
        return HTMLResponse(index_page(list(engine.models.values()), engine.now(), latencies()), headers=HEADERS)

    async def model(request: Request) -> Response:
        served = engine.served(request.path_params["name"])
        return HTMLResponse(model_page(served, engine.now(), latencies()), headers=HEADERS)

    return [Route("/", index, methods=["GET"]), Route("/models/{name}/page", model, methods=["GET"])]
