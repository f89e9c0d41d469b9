"""Encodes labels as the bytes that the log holds: a small JSON object.

>>> label_to_bytes(LearnedLabel("spam", 2.0))
b'{"label": "spam", "weight": 2.0}'
>>> label_from_bytes(b'{"label": 1, "joined": true}')
LearnedLabel(label=1, weight=1.0, joined=True)
"""

import json
from typing import NamedTuple

from aioli.outcomes.class_labels import Label

__all__ = ["LearnedLabel", "label_from_bytes", "label_to_bytes"]


class LearnedLabel(NamedTuple):
    """A label that was learned, with its weight, and whether it was learned in one call with the label before."""

    label: Label
    weight: float = 1.0
    joined: bool = False


def label_to_bytes(learned: LearnedLabel) -> bytes:
    """Encode a label; what is as usual is left out."""
    told: dict[str, Label] = {"label": learned.label}
    if learned.weight != 1.0:
        told["weight"] = learned.weight
    if learned.joined:
        told["joined"] = True
    return json.dumps(told).encode()


def label_from_bytes(data: bytes) -> LearnedLabel:
    """Decode a label that `label_to_bytes` encoded."""
    told = json.loads(data)
    return LearnedLabel(told["label"], told.get("weight", 1.0), told.get("joined", False))
