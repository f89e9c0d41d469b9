"""Writes the OpenAPI document of the service."""

from aioli import __version__
from aioli.service.http.bodies import MOST_AT_ONCE
from aioli.service.http.inference_protocol import TYPES
from aioli.service.keyed import LONGEST_KEY
from aioli.service.names import LONGEST_ID
from aioli.snapshots.json_values import JsonObject

__all__ = ["document"]

NAME = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"}
ID = {"type": "string", "minLength": 1, "maxLength": LONGEST_ID}
LABEL = {"oneOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]}
ROW = {
    "oneOf": [
        {"type": "array", "items": {"type": "number"}, "minItems": 1},
        {"type": "object", "minProperties": 1, "description": "Named numbers, texts, dates; null where missing."},
    ]
}
KEY = {
    "description": "Of a row of a fleet: whose model plays it.",
    "oneOf": [{"type": "string", "minLength": 1, "maxLength": LONGEST_KEY}, {"type": "integer"}],
}
PREDICT = {"type": "object", "required": ["id", "row"], "properties": {"id": ID, "key": KEY, "row": ROW}}
LEARN = {
    "type": "object",
    "required": ["id", "label"],
    "properties": {"id": ID, "label": LABEL, "weight": {"type": "number", "exclusiveMinimum": 0}},
}
CREATE = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "learner": {"type": "string", "default": "Auto", "examples": ["Auto", "AIOLI", "Fleet"]},
        "parameters": {"type": "object"},
        "columns": {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {"enum": ["number", "category", "date", "text", "skip"]},
        },
        "labels": {"type": "array", "items": LABEL, "minItems": 2, "maxItems": 2},
        "waiting": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "most": {"type": "integer", "minimum": 1, "maximum": 10**8},
                "seconds": {"type": "number", "exclusiveMinimum": 0, "maximum": 1e10},
            },
        },
    },
}
TENSOR = {
    "type": "object",
    "required": ["name", "datatype", "shape"],
    "properties": {
        "name": {"type": "string"},
        "datatype": {"enum": [*TYPES, "BYTES"]},
        "shape": {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 1, "maxItems": 2},
        "data": {"type": "array"},
    },
}
INFER = {
    "type": "object",
    "required": ["inputs"],
    "properties": {"id": ID, "inputs": {"type": "array", "items": TENSOR, "minItems": 1, "maxItems": 2}},
}
REFUSAL = {
    "type": "object",
    "required": ["code", "message"],
    "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
}
TEXT = {"type": "string", "description": "Where the address is one of the Open Inference Protocol."}
ERROR = {"type": "object", "required": ["error"], "properties": {"error": {"oneOf": [REFUSAL, TEXT]}}}
FILE = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
MEANINGS = {
    400: "The request is not what is taken here.",
    401: "No token, or one that is not known.",
    403: "The token may read, not write.",
    404: "There is no such model, or no row of this id was predicted.",
    409: "The name, or the id with another row or label, is taken.",
    410: "The row waited too long for its label.",
    413: "The body is too long.",
    422: "The learner refuses the row, the label or the model.",
    429: "Too many requests.",
    503: "The store failed; nothing was kept.",
}
READS = (401, 404, 429)
WRITES = (400, 401, 403, 404, 409, 410, 413, 422, 429, 503)


def document() -> JsonObject:
    """Return the document."""
    name = {"name": "name", "in": "path", "required": True, "schema": NAME}
    told = {"type": "object"}
    create = _operation("Make a model", told, WRITES, CREATE, status=201, required=False)
    create["requestBody"]["content"] |= FILE
    return {
        "openapi": "3.1.0",
        "info": {"title": "aioli", "version": __version__, "description": "Predict by id now, learn by id later."},
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}],
        "paths": {
            "/models": {"get": _operation("The models in service", told, READS)},
            "/models/{name}": {
                "parameters": [name],
                "post": create,
                "get": _operation("Scores over time, drift, certificate, rows that wait", told, READS),
                "delete": _operation("Delete a model and its log", told, (401, 403, 404, 429, 503)),
            },
            "/models/{name}/predict": {
                "parameters": [name],
                "post": _operation("Announce a row, or many", told, WRITES, _one_or_many(PREDICT, "rows")),
            },
            "/models/{name}/learn": {
                "parameters": [name],
                "post": _operation("Learn the label of a row, or many", told, WRITES, _one_or_many(LEARN, "labels")),
            },
            "/models/{name}/snapshot": {
                "parameters": [name],
                "get": _operation("The model as a file", None, READS),
            },
            "/models/{name}/page": {
                "parameters": [name],
                "get": _operation("The live page of a model", None, READS),
            },
            "/": {"get": _operation("The live page of all models", None, (401, 429))},
            "/v2": {"get": _operation("The server, by the Open Inference Protocol", told, (401, 429))},
            "/v2/health/live": {"get": _operation("Whether the server runs", told, ()) | {"security": []}},
            "/v2/health/ready": {
                "get": _operation("Whether the store can be written", told, (503,)) | {"security": []}
            },
            "/v2/models/{name}": {
                "parameters": [name],
                "get": _operation("The inputs and outputs of a model", told, READS),
            },
            "/v2/models/{name}/ready": {
                "parameters": [name],
                "get": _operation("Whether a model is served", told, READS),
            },
            "/v2/models/{name}/infer": {
                "parameters": [name],
                "post": _operation("Predict rows; those of a request with an id are kept", told, WRITES, INFER),
            },
            "/metrics": {"get": _operation("Counts for Prometheus", None, (401, 429))},
            "/health": {"get": _operation("Whether the server runs", told, ()) | {"security": []}},
            "/ready": {"get": _operation("Whether the store can be written", told, (503,)) | {"security": []}},
            "/openapi.json": {"get": _operation("This document", told, (401, 429))},
        },
    }


def _one_or_many(one: JsonObject, key: str) -> JsonObject:
    many = {"type": "array", "items": one, "minItems": 1, "maxItems": MOST_AT_ONCE}
    return {"anyOf": [one, {"type": "object", "required": [key], "properties": {key: many}}]}


def _operation(
    summary: str,
    told: JsonObject | None,
    refusals: tuple[int, ...],
    body: JsonObject | None = None,
    status: int = 200,
    required: bool = True,
) -> JsonObject:
    good: JsonObject = {"description": summary}
    if told is not None:
        good["content"] = {"application/json": {"schema": told}}
    answers = {str(status): good}
    for code in refusals:
        schema = {"application/json": {"schema": {"type": "object"} if code == 503 else ERROR}}
        answers[str(code)] = {"description": MEANINGS[code], "content": schema}
    found: JsonObject = {"summary": summary, "responses": answers}
    if body is not None:
        found["requestBody"] = {"required": required, "content": {"application/json": {"schema": body}}}
    return found
