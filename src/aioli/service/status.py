"""Reports how a served model stands, in plain values: counts, scores over time, drift, certificate."""

import math

from aioli.evaluate.class_scores import ClassScores
from aioli.evaluate.history import Number
from aioli.evaluate.keyed_player import KeyedLearner
from aioli.learners.protocol import Capability, certifies
from aioli.service.model import ServedModel
from aioli.service.served import Served
from aioli.snapshots.json_values import JsonObject
from aioli.store.row_codec import RowKey

__all__ = ["certificate_of", "status_of"]


def status_of(served: Served, now: float) -> JsonObject:
    """Return all that is told of a model."""
    model, waiting, limits = served.model, served.waiting, served.waiting.limits
    told: JsonObject = {
        "name": served.record.name,
        "learner": repr(model.learner),
        "made": served.record.made,
        "labels_learned": model.rounds,
        "columns": model.width,
        "last_entry": served.last,
        "waiting": {
            "rows": len(waiting),
            "most": limits.most,
            "seconds": limits.seconds,
            "oldest_seconds": waiting.oldest_age(now),
        },
        "outcomes": dict(served.counts),
        "certificate": certificate_of(model),
        "scores": _scores(model),
        "history": [
            {"labels": point.rows, "log_loss": _number(point.log_loss), "base_rate": _number(point.base_rate)}
            | {"recent": _number(point.recent), "certificate": _number(point.certificate)}
            for point in model.tally.history
        ],
        "drift": [
            {"label": change.row, "before": change.before, "after": change.after} for change in model.tally.changes()
        ],
    }
    if model.keyed:
        told["keys"] = model.model_count
    if model.encoder is not None:
        told["kinds"] = dict(model.encoder.kinds)
    return told


def certificate_of(model: ServedModel, key: RowKey | None = None) -> float | None:
    """Return nats of regret that are proven not to have been exceeded, in a fleet by a key; None if none are proven."""
    learner = model.learner
    if isinstance(learner, KeyedLearner):
        known = key is not None and key in learner.fleet
        return _number(float(learner.fleet.certificate(key))) if known else None
    proves = Capability.CERTIFIES in learner.capabilities and model.rounds > 0
    return _number(float(learner.certificate())) if proves and certifies(learner) else None


def _scores(model: ServedModel) -> dict[str, Number]:
    scores = model.tally.scores
    if not model.tally.heard:
        return {}
    names = ["log_loss", "base_rate", "brier", "accuracy", "auc", "ece"]
    values = (scores.log_loss, scores.base_rate, scores.brier, scores.accuracy, scores.auc, scores.ece)
    told = {name: _number(value) for name, value in zip(names, values, strict=True)}
    return told | ({"classes": len(scores.classes)} if isinstance(scores, ClassScores) else {})


def _number(value: Number) -> Number:
    """Return a number as JSON can hold it: None in place of what is not finite."""
    return None if value is None or not math.isfinite(value) else float(value)
