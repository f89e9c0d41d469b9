"""The types of what `json.loads` gives, for those who read it: each value is checked where it is used."""

from collections.abc import Mapping
from typing import Any, TypeAlias

__all__ = ["JsonMapping", "JsonObject"]

JsonObject: TypeAlias = dict[str, Any]  # an object of JSON, to be read or written
JsonMapping: TypeAlias = Mapping[str, Any]  # one that is only read
