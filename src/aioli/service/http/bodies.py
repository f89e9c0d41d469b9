"""Parses request bodies into operations: every value is checked before anything is done with it."""

import json
import math

from aioli.errors import AioliError, KeyRefused
from aioli.learners.by_name import make_learner
from aioli.learners.protocol import AnyLearner
from aioli.service.keyed import FLEET, key_in, make_fleet
from aioli.service.model import ServedModel
from aioli.service.operations import Learn, Learned, Operation, Outcome, Predict, Predicted
from aioli.service.refusals import BadRequest, ServiceRefused, Unprocessable
from aioli.service.waiting import Limits
from aioli.snapshots.codec import from_bytes
from aioli.snapshots.json_values import JsonMapping, JsonObject
from aioli.store.row_codec import RowKey
from aioli.streams.row_encoder import RowEncoder

__all__ = [
    "MOST_AT_ONCE",
    "decoded",
    "key_of_body",
    "model_from_body",
    "model_from_file",
    "operations_of",
    "outcome_as_bytes",
    "outcome_as_json",
]

MOST_AT_ONCE = 10_000  # rows or labels of one request
MODEL_KEYS = ("learner", "parameters", "columns", "labels", "waiting")


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


_quoted = json.encoder.encode_basestring_ascii
_decoder = json.JSONDecoder(parse_constant=_no_constant)


def decoded(body: bytes) -> JsonObject:
    """Return the JSON object of a body, or refuse what is none."""
    try:
        found = _decoder.decode(body.decode())
    except UnicodeDecodeError:
        raise BadRequest("the body is not UTF-8; send JSON in UTF-8") from None
    except RecursionError:
        raise BadRequest("the body is nested too deeply; send a flat object") from None
    except ValueError as error:
        raise BadRequest(f"the body is no JSON ({error}); send an object") from None
    if type(found) is not dict:
        raise BadRequest("the body is no JSON object; send an object")
    return found


def operations_of(kind: str, model: str, body: JsonMapping) -> tuple[list[Operation], bool]:
    """Return the operations of a predict or learn request, and whether it was one of many."""
    many = body.get("rows" if kind == "predict" else "labels")
    make = _predict if kind == "predict" else _learn
    if many is None:
        return [make(model, body)], False
    if not isinstance(many, list) or not 0 < len(many) <= MOST_AT_ONCE:
        raise BadRequest(f"rows and labels come as lists of 1 to {MOST_AT_ONCE:,} objects; send more requests")
    return [make(model, part) for part in many], True


def _predict(model: str, body: object) -> Predict:
    if isinstance(body, dict) and type(name := body.get("id")) is str:
        row = body.get("row")
        if type(row) is list or type(row) is dict:
            return Predict(model, name, row, key_of_body(body.get("key")))
    raise BadRequest('to predict, send {"id": "a text", "row": [numbers] or {"column": value}}')


def key_of_body(given: object) -> RowKey | None:
    """Return the key of a row of a fleet, None where there is none, or refuse what is no key."""
    try:
        return None if given is None else key_in(given)
    except KeyRefused as error:
        raise BadRequest(str(error)) from None


def _learn(model: str, body: object) -> Learn:
    if isinstance(body, dict) and type(name := body.get("id")) is str and "label" in body:
        label, weight = body["label"], body.get("weight", 1.0)
        whole = isinstance(weight, int | float) and not isinstance(weight, bool) and _is_finite(weight)
        if whole and isinstance(label, str | int | float):
            return Learn(model, name, label, float(weight))
    raise BadRequest('to learn, send {"id": "a text", "label": a label} with a "weight" above 0 where it is not 1')


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def outcome_as_json(outcome: Outcome) -> JsonObject:
    """Return an outcome as its answer has it."""
    if isinstance(outcome, Predicted):
        told: JsonObject = {"id": outcome.id}
        if outcome.answer.probability is None:
            told |= {"classes": list(outcome.answer.classes), "probabilities": list(outcome.answer.probabilities)}
        else:
            told["probability"] = outcome.answer.probability
    elif isinstance(outcome, Learned):
        told = {"id": outcome.id, "label": outcome.label}
    else:
        return {"error": {"code": outcome.code, "message": str(outcome)}}
    if outcome.repeated:
        told["repeated"] = True
    return told


def outcome_as_bytes(outcome: Outcome) -> bytes:
    """Return an outcome as the bytes of its answer; the usual one, a new probability, in a hurry."""
    if isinstance(outcome, Predicted) and outcome.answer.probability is not None and not outcome.repeated:
        return f'{{"id": {_quoted(outcome.id)}, "probability": {outcome.answer.probability!r}}}'.encode()
    return json.dumps(outcome_as_json(outcome), allow_nan=False).encode()


def model_from_body(body: JsonMapping) -> tuple[ServedModel, Limits | None]:
    """Return the model that a request writes, and the limits of its waiting rows, where it gives any."""
    unknown = [key for key in body if key not in MODEL_KEYS]
    if unknown:
        raise BadRequest(f"a model has no {unknown[0]!r}; it has {', '.join(MODEL_KEYS)}")
    name, parameters, columns = body.get("learner", "Auto"), body.get("parameters", {}), body.get("columns")
    labels, waiting = body.get("labels"), body.get("waiting")
    if not isinstance(name, str) or not isinstance(parameters, dict):
        raise BadRequest('a learner is a name, and its parameters an object: {"learner": "Auto", "parameters": {}}')
    if columns is not None and not (_is_object_of_texts(columns) and columns):
        raise BadRequest('columns are an object of kinds: {"age": "number", "city": "category"}')
    if labels is not None and not (isinstance(labels, list) and len(labels) == 2 and all(map(_is_label, labels))):
        raise BadRequest('labels are the two classes, the negative one first: ["ham", "spam"]')
    if waiting is not None and not (isinstance(waiting, dict) and waiting.keys() <= {"most", "seconds"}):
        raise BadRequest('waiting is {"most": rows, "seconds": age}')
    try:
        is_fleet = name.lower() == FLEET.lower()
        learner: AnyLearner = make_fleet(parameters) if is_fleet else make_learner(name, parameters)
        encoder = None if columns is None else RowEncoder(columns)
        model = ServedModel(learner, encoder, None if labels is None else (labels[0], labels[1]))
        usual = Limits()
        limits = None
        if waiting is not None:
            limits = Limits.checked(waiting.get("most", usual.most), waiting.get("seconds", usual.seconds))
    except ServiceRefused:
        raise
    except (AioliError, ValueError, TypeError, OverflowError, MemoryError) as error:
        raise Unprocessable(f"{error}") from None
    return model, limits


def model_from_file(data: bytes) -> ServedModel:
    """Return the model of a file that `aioli run --save` or a learner's `save` wrote; no code of it is run."""
    try:
        return ServedModel.from_model_file(from_bytes(data))
    except (AioliError, ValueError, TypeError, KeyError, OverflowError, MemoryError) as error:
        raise Unprocessable(f"the model file is refused: {error}") from None


def _is_label(value: object) -> bool:
    return isinstance(value, str | int | float)


def _is_object_of_texts(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(kind, str) for kind in value.values())
