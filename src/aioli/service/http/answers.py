"""Answers as JSON, text or bytes."""

import json

from starlette.types import Send

from aioli.service.refusals import ServiceRefused, TooMany, Unauthorised
from aioli.snapshots.json_values import JsonObject

__all__ = ["refusal_answer", "refusal_body", "send_answer", "send_bytes"]

JSON = (b"content-type", b"application/json")


async def send_answer(send: Send, status: int, told: object, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
    """Send an answer of JSON."""
    await send_bytes(send, status, json.dumps(told, allow_nan=False).encode(), (JSON, *headers))


async def send_bytes(send: Send, status: int, body: bytes, headers: tuple[tuple[bytes, bytes], ...]) -> None:
    """Send an answer of bytes."""
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


def refusal_body(refused: ServiceRefused, path: str) -> JsonObject:
    """Return a refusal as its answer has it: the Open Inference Protocol asks for a plain text."""
    return {"error": str(refused) if path.startswith("/v2/") else {"code": refused.code, "message": str(refused)}}


async def refusal_answer(refused: ServiceRefused, path: str, send: Send) -> None:
    """Send a refusal."""
    headers: tuple[tuple[bytes, bytes], ...] = ()
    if isinstance(refused, Unauthorised):
        headers = ((b"www-authenticate", b'Basic realm="aioli", charset="UTF-8"'),)
    elif isinstance(refused, TooMany):
        headers = ((b"retry-after", b"1"),)
    await send_answer(send, refused.status, refusal_body(refused, path), headers)
