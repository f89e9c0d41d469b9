"""Makes answers of JSON, text or bytes."""

import json
from typing import TypeAlias

from starlette.types import Send

from aioli.service.refusals import ServiceRefused, TooMany, Unauthorised
from aioli.snapshots.json_values import JsonObject

__all__ = [
    "JSON",
    "Headers",
    "failure_body",
    "refusal_answer",
    "refusal_body",
    "refusal_headers",
    "send_answer",
    "send_bytes",
]

Headers: TypeAlias = tuple[tuple[bytes, bytes], ...]
JSON = (b"content-type", b"application/json")


async def send_answer(send: Send, status: int, told: object, headers: Headers = ()) -> None:
    """Send an answer of JSON."""
    await send_bytes(send, status, json.dumps(told, allow_nan=False).encode(), (JSON, *headers))


async def send_bytes(send: Send, status: int, body: bytes, headers: Headers) -> None:
    """Send an answer of bytes."""
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


def refusal_body(refused: ServiceRefused, path: str) -> JsonObject:
    """Return a refusal as its answer has it: the Open Inference Protocol asks for a plain text."""
    return {"error": str(refused) if path.startswith("/v2/") else {"code": refused.code, "message": str(refused)}}


def refusal_headers(refused: ServiceRefused) -> Headers:
    """Return the headers that go with a refusal, besides the kind of its body."""
    if isinstance(refused, Unauthorised):
        return ((b"www-authenticate", b'Basic realm="aioli", charset="UTF-8"'),)
    return ((b"retry-after", b"1"),) if isinstance(refused, TooMany) else ()


async def refusal_answer(refused: ServiceRefused, path: str, send: Send) -> None:
    """Send a refusal."""
    await send_answer(send, refused.status, refusal_body(refused, path), refusal_headers(refused))


def failure_body(identity: str) -> JsonObject:
    """Return the answer where the server itself failed."""
    return {"error": {"code": "internal", "message": f"the server failed; see its log for {identity}"}}
