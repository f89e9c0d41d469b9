"""Makes the calls of both clients, and reads their answers."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Self, TypeAlias, TypeVar
from urllib.parse import quote

from aioli.errors import AioliError, ParameterRefused
from aioli.snapshots.json_values import JsonMapping, JsonObject

__all__ = [
    "Call",
    "GivenRow",
    "Key",
    "Label",
    "Learning",
    "Prediction",
    "RequestRefused",
    "ServiceUnreachable",
    "body_or_patience",
    "create_call",
    "learn_call",
    "learn_many_call",
    "learning_in",
    "many_in",
    "predict_call",
    "predict_many_call",
    "prediction_in",
    "told_in",
]

GivenRow: TypeAlias = Sequence[float] | JsonMapping
Label: TypeAlias = str | int | float | bool
Key: TypeAlias = str | int
Told = TypeVar("Told")
AGAIN = (429, 503)  # what asks for patience


class RequestRefused(AioliError):
    """The service refused a request; nothing was changed.

    Attributes
    ----------
    code, status
        What it is, for programs (docs/service.md has the list), and the status of the answer.
    """

    def __init__(self, message: str, code: str, status: int) -> None:
        super().__init__(message)
        self.code, self.status = code, status


class ServiceUnreachable(AioliError):
    """No answer came, however often it was asked; whether the call was done is not known, and it may be made again."""

    @classmethod
    def by(cls, host: str, port: int, error: BaseException) -> Self:
        """Return the error, of what went wrong."""
        return cls(f"{host}:{port}: no answer came ({type(error).__name__}: {error}); see that the service runs")


class Prediction(NamedTuple):
    """What was announced for a row: a probability of two classes, or one for each of many."""

    id: str
    probability: float | None
    classes: Sequence[Label] = ()
    probabilities: Sequence[float] = ()
    repeated: bool = False


class Learning(NamedTuple):
    """A label that was learned."""

    id: str
    label: Label
    repeated: bool = False


class Call(NamedTuple):
    """A request; `again` says whether it may be made twice without harm."""

    method: str
    path: str
    body: bytes = b""
    kind: str = "application/json"
    again: bool = True


def create_call(model: str, given: JsonMapping) -> Call:
    """Return the call that makes a model."""
    return Call("POST", _path(model), json.dumps(given, allow_nan=False).encode(), again=False)


def predict_call(model: str, name: str, row: GivenRow, key: Key | None) -> Call:
    """Return the call that announces a row."""
    return _posted(model, "predict", _row(name, row, key))


def predict_many_call(model: str, rows: Iterable[tuple[str, GivenRow]], keys: Iterable[Key] | None) -> Call:
    """Return the call that announces many rows."""
    given = list(rows)
    every: list[Key | None] = [None] * len(given) if keys is None else list(keys)
    if len(every) != len(given):
        raise ParameterRefused(f"{len(given)} rows came with {len(every)} keys", parameter="keys", value=len(every))
    told = [_row(name, row, key) for (name, row), key in zip(given, every, strict=True)]
    return _posted(model, "predict", {"rows": told})


def learn_call(model: str, name: str, label: Label, weight: float) -> Call:
    """Return the call that tells a label."""
    return _posted(model, "learn", {"id": name, "label": label, "weight": weight})


def learn_many_call(model: str, labels: Iterable[tuple[str, Label]]) -> Call:
    """Return the call that tells many labels."""
    return _posted(model, "learn", {"labels": [{"id": name, "label": label} for name, label in labels]})


def told_in(body: bytes) -> JsonObject:
    """Return the object of an answer."""
    told = json.loads(body)
    return told if isinstance(told, dict) else {}


def refused_in(status: int, body: bytes) -> RequestRefused:
    """Return the refusal of an answer, whatever it is made of."""
    try:
        error = json.loads(body)["error"]
        return RequestRefused(str(error["message"]), str(error["code"]), status)
    except (ValueError, KeyError, TypeError):
        return RequestRefused(f"the service answered {status}: {body[:200]!r}", "refused", status)


def body_or_patience(status: int, body: bytes) -> bytes | RequestRefused:
    """Return the body of a good answer, or the refusal of one that asks for patience; raise any other refusal."""
    if status < 400:
        return body
    refused = refused_in(status, body)
    if status in AGAIN:
        return refused
    raise refused


def prediction_in(told: JsonMapping) -> Prediction:
    """Return the prediction of an answer."""
    classes, probabilities = told.get("classes", ()), told.get("probabilities", ())
    return Prediction(told["id"], told.get("probability"), classes, probabilities, told.get("repeated", False))


def learning_in(told: JsonMapping) -> Learning:
    """Return what was learned, of an answer."""
    return Learning(told["id"], told["label"], told.get("repeated", False))


def many_in(told: JsonMapping, read: Callable[[JsonMapping], Told]) -> "list[Told | RequestRefused]":
    """Return what each part of an answer says."""
    return [_refused_part(part) if "error" in part else read(part) for part in told["results"]]


def _refused_part(part: JsonMapping) -> RequestRefused:
    return RequestRefused(part["error"]["message"], part["error"]["code"], 200)


def _posted(model: str, kind: str, body: JsonMapping) -> Call:
    return Call("POST", f"{_path(model)}/{kind}", json.dumps(body, allow_nan=False).encode())


def _path(model: str) -> str:
    return f"/models/{quote(model, safe='')}"


def _row(name: str, row: GivenRow, key: Key | None) -> JsonObject:
    values = dict(row) if isinstance(row, Mapping) else [float(value) for value in row]
    return {"id": name, "row": values} | ({} if key is None else {"key": key})
