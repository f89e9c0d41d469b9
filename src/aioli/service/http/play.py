"""Answers requests to predict and to learn, the most frequent: from the bytes of a request to those of its answer."""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import TypeAlias

from starlette.types import Receive, Scope, Send

from aioli.service.http.answers import send_bytes
from aioli.service.http.bodies import decoded, key_of_body, operations_of, outcome_as_bytes, outcome_as_json
from aioli.service.http.grouping import Grouping, teller
from aioli.service.operations import Outcome
from aioli.service.refusals import ServiceRefused
from aioli.service.status import certificate_of
from aioli.snapshots.json_values import JsonMapping, JsonObject

__all__ = ["BODY", "JSON_KIND", "Play", "Told"]

BODY = "aioli.body"  # where the scope of a request has its body
JSON_KIND = ((b"content-type", b"application/json"),)
Told: TypeAlias = Callable[[bytes | Exception], None]  # takes the body of a good answer, or what went wrong


class Play:
    """Answers requests to predict, or to learn, one row or many, once the outcome is durable."""

    def __init__(self, kind: str, grouping: Grouping) -> None:
        self.kind, self._grouping = kind, grouping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002  (the signature of ASGI)
        """Answer one request of an application."""
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.begin(scope["path_params"]["name"], scope[BODY], teller(answer))
        await send_bytes(send, 200, await answer, JSON_KIND)

    def begin(self, model: str, data: bytes, told: Told) -> None:
        """Begin to answer; `told` is called when the outcome is durable. Raises what can be refused at once."""
        body = decoded(data)
        operations, many = operations_of(self.kind, model, body)
        self._grouping.engine.served(model)

        def played(outcomes: Sequence[Outcome] | Exception) -> None:
            if isinstance(outcomes, Exception):
                told(outcomes)
                return
            try:
                answer = self._answer(model, body, many, outcomes)
            except Exception as error:  # others of the group must be told too
                told(error)
            else:
                told(answer)

        self._grouping.submit(operations, played)

    def _answer(self, model: str, body: JsonMapping, many: bool, outcomes: Sequence[Outcome]) -> bytes:
        certified = "certificate" in body and body["certificate"] is True and self.kind == "predict"
        if not many:
            (outcome,) = outcomes
            if isinstance(outcome, ServiceRefused):
                raise outcome
            if not certified:
                return outcome_as_bytes(outcome)
            told: JsonObject = outcome_as_json(outcome)
        else:
            told = {"results": [outcome_as_json(outcome) for outcome in outcomes]}
        if certified:
            key = key_of_body(body.get("key"))
            told["certificate"] = certificate_of(self._grouping.engine.served(model).model, key)
        return json.dumps(told, allow_nan=False).encode()
