"""Reads rows as requests have them: numbers in order, or an object of named values."""

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypeGuard

from aioli.snapshots.json_values import JsonMapping

__all__ = ["GivenRow", "as_json", "is_object"]

GivenRow: TypeAlias = Sequence[float] | JsonMapping


def is_object(row: GivenRow) -> TypeGuard[JsonMapping]:
    """Return whether a row is an object of named values; a list, as most are, skips the slower check."""
    return type(row) is not list and isinstance(row, Mapping)


def as_json(row: JsonMapping) -> bytes:
    """Return an object as the log keeps it."""
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
