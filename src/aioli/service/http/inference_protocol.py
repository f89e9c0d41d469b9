"""Answers the Open Inference Protocol, version 2, for clients of KServe, MLServer and Triton: dense rows.

A request with an id keeps its rows, the only one under the id itself and the k-th of several under `id/k`, so that
their labels may be learned later; it needs a token that may write. One without an id changes nothing. Rows of a fleet
have their keys in a second tensor, `key`, of BYTES or INT64.
"""

import json
from collections.abc import Sequence

import numpy as np
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from aioli import __version__
from aioli.errors import AioliError
from aioli.service.http.access import WRITE
from aioli.service.http.bodies import MOST_AT_ONCE, decoded
from aioli.service.http.gate import RIGHTS
from aioli.service.http.grouping import Grouping
from aioli.service.http.key_tensor import KEY, Keys, keys_in
from aioli.service.http.play import BODY
from aioli.service.model import Answer
from aioli.service.operations import Predict, Predicted
from aioli.service.refusals import BadRequest, Forbidden, ServiceRefused, Unprocessable
from aioli.snapshots.json_values import JsonMapping, JsonObject

__all__ = ["inference_routes"]

TYPES = {"FP64": "<f8", "FP32": "<f4", "INT64": "<i8", "INT32": "<i4", "INT16": "<i2", "INT8": "i1", "UINT8": "u1"}
HEADER = "inference-header-content-length"
LARGEST = 1 << 24  # numbers of one request
ONE_TENSOR = "inputs is a list of one tensor, of shape [rows, columns], and of one named key for rows of a fleet"
Rows = list[list[float]]


def inference_routes(grouping: Grouping) -> list[Route]:
    """Return the addresses of the protocol."""
    engine = grouping.engine

    async def server(_: Request) -> Response:
        return JSONResponse({"name": "aioli", "version": __version__, "extensions": ["binary_tensor_data"]})

    async def live(_: Request) -> Response:
        return JSONResponse({"live": True})

    async def ready(_: Request) -> Response:
        good = engine.failure is None
        return JSONResponse({"ready": good}, 200 if good else 503)

    async def model(request: Request) -> Response:
        served = engine.served(request.path_params["name"])
        classes = served.model.label_count
        outputs = [{"name": "probability", "datatype": "FP64", "shape": [-1] if classes is None else [-1, -1]}]
        inputs: list[JsonObject] = [{"name": "row", "datatype": "FP64", "shape": [-1, served.model.width or -1]}]
        inputs += [{"name": KEY, "datatype": "BYTES", "shape": [-1]}] if served.model.keyed else []
        told = {"name": served.record.name, "versions": ["1"], "platform": "aioli", "inputs": inputs}
        return JSONResponse({**told, "outputs": outputs})

    async def model_ready(request: Request) -> Response:
        served = engine.served(request.path_params["name"])
        return JSONResponse({"name": served.record.name, "ready": True})

    async def infer(request: Request) -> Response:
        name = request.path_params["name"]
        model = engine.served(name).model
        body, rows, keys = _rows_in(request.scope[BODY], request.headers.get(HEADER))
        identity = body.get("id")
        if identity is None or identity == "":
            try:
                answers = [model.predict(row, key) for row, key in zip(rows, keys, strict=True)]
            except AioliError as error:
                raise Unprocessable(str(error)) from None
        elif not isinstance(identity, str):
            raise BadRequest("the id of a request is a text; send one, or none")
        elif request.scope[RIGHTS] != WRITE:
            raise Forbidden("this token may read, and a request with an id keeps its rows; leave out the id")
        else:
            names = [identity] if len(rows) == 1 else [f"{identity}/{k}" for k in range(len(rows))]
            asked = [Predict(name, each, row, key) for each, row, key in zip(names, rows, keys, strict=True)]
            answers = [_answer_of(outcome) for outcome in await grouping.play(asked)]
        told = {"model_name": name, "model_version": "1", "outputs": [_output(answers)]}
        return JSONResponse(told | ({"id": identity} if identity else {}))

    return [
        Route("/v2", server, methods=["GET"]),
        Route("/v2/health/live", live, methods=["GET"]),
        Route("/v2/health/ready", ready, methods=["GET"]),
        Route("/v2/models/{name}", model, methods=["GET"]),
        Route("/v2/models/{name}/ready", model_ready, methods=["GET"]),
        Route("/v2/models/{name}/infer", infer, methods=["POST"]),
    ]


def _answer_of(outcome: object) -> Answer:
    if isinstance(outcome, ServiceRefused):
        raise outcome
    assert isinstance(outcome, Predicted)
    return outcome.answer


def _output(answers: Sequence[Answer]) -> JsonObject:
    if answers[0].probability is not None:
        shape, data = [len(answers)], [answer.probability for answer in answers]
        return {"name": "probability", "datatype": "FP64", "shape": shape, "data": data}
    widest = max(len(answer.probabilities) for answer in answers)
    padded = [[*answer.probabilities, *[0.0] * (widest - len(answer.probabilities))] for answer in answers]
    flat = [value for row in padded for value in row]
    classes = {"classes": list(answers[-1].classes)}
    shape = [len(answers), widest]
    return {"name": "probability", "datatype": "FP64", "shape": shape, "data": flat, "parameters": classes}


def _rows_in(body: bytes, head: str | None) -> tuple[JsonObject, Rows, Keys]:
    """Return the request, the rows of its input, and their keys, None where it has no tensor of keys.

    Tensors are written as JSON, or as bytes behind it, one after the other.
    """
    size = len(body)
    if head is not None:
        if not head.isdigit() or not 0 < int(head) <= len(body):
            raise BadRequest(f"the header {HEADER} is {head[:40]!r}; it must be the length of the JSON part")
        size = int(head)
    request, raw = decoded(body[:size]), body[size:]
    inputs = request.get("inputs")
    if not isinstance(inputs, list) or not all(isinstance(tensor, dict) for tensor in inputs):
        raise BadRequest(ONE_TENSOR)
    tensors = list(zip(inputs, _raw_parts(inputs, raw), strict=True))
    keyed = [tensors.pop(t) for t in (1, 0) if len(tensors) == 2 and inputs[t].get("name") == KEY]
    if len(tensors) != 1:
        raise BadRequest(ONE_TENSOR)
    ((tensor, data),) = tensors
    shape, kind = tensor.get("shape"), tensor.get("datatype")
    if not isinstance(kind, str) or kind not in TYPES:
        raise BadRequest(f"the datatype is {str(kind)[:40]!r}; give one of {', '.join(TYPES)}")
    wide = _shape(shape)
    values = _flat(tensor["data"]) if "data" in tensor else _numbers_in(data, kind)
    if len(values) != wide[0] * wide[1]:
        raise BadRequest(f"the tensor has {len(values):,} values for the shape {list(wide)}; send rows × columns")
    keys: Keys = [None] * wide[0]
    if keyed:
        keys = keys_in(*keyed[0])
        if len(keys) != wide[0]:
            raise BadRequest(f"{wide[0]:,} rows came with {len(keys):,} keys; send one for each row")
    return request, [values[t * wide[1] : (t + 1) * wide[1]] for t in range(wide[0])], keys


def _raw_parts(inputs: Sequence[JsonMapping], raw: bytes) -> list[bytes]:
    """Return the bytes of each tensor: as many as it says, or all that are left."""
    parts, place = [], 0
    for tensor in inputs:
        parameters = tensor.get("parameters")
        told = parameters.get("binary_data_size") if isinstance(parameters, dict) else None
        size = 0 if "data" in tensor else told if type(told) is int and told >= 0 else len(raw) - place
        parts.append(raw[place : place + size])
        place += size
    return parts


def _shape(given: object) -> tuple[int, int]:
    """Return rows and columns; a tensor of one dimension is one row."""
    if isinstance(given, list) and len(given) in (1, 2) and all(type(n) is int and n > 0 for n in given):
        rows, columns = given if len(given) == 2 else (1, given[0])
        if rows <= MOST_AT_ONCE and rows * columns <= LARGEST:
            return rows, columns
    raise BadRequest(f"the shape must be [rows, columns], at most {MOST_AT_ONCE:,} rows")


def _numbers_in(raw: bytes, kind: str) -> list[float]:
    size = np.dtype(TYPES[kind]).itemsize
    return list(np.frombuffer(raw[: len(raw) // size * size], TYPES[kind]).astype(np.float64).tolist())


def _flat(data: object) -> list[float]:
    """Return the numbers of nested lists, in order."""
    if not isinstance(data, list):
        raise BadRequest("the data of a tensor is a list of numbers")
    flat: list[float] = []
    for part in data:
        flat += part if isinstance(part, list) else [part]
    if not set(map(type, flat)) <= {int, float}:
        raise BadRequest(f"the data of a tensor holds what is no number: {json.dumps(flat[0], default=str)[:40]}")
    return flat
