"""Reads the keys of a fleet's rows from a tensor of the Open Inference Protocol: texts (BYTES) or integers (INT64).

>>> keys_in({"name": "key", "datatype": "BYTES", "shape": [2], "data": ["ann", "ben"]}, b"")
['ann', 'ben']
>>> keys_in({"name": "key", "datatype": "BYTES", "shape": [2]}, b"\\x03\\0\\0\\0ann\\x03\\0\\0\\0ben")
['ann', 'ben']
"""

import struct
from typing import TypeAlias

import numpy as np

from aioli.service.http.bodies import key_of_body
from aioli.service.refusals import BadRequest
from aioli.snapshots.json_values import JsonMapping
from aioli.store.row_codec import RowKey

__all__ = ["KEY", "Keys", "keys_in"]

KEY = "key"
Keys: TypeAlias = list[RowKey | None]
LENGTH = struct.Struct("<I")  # of a text, in front of it


def keys_in(tensor: JsonMapping, raw: bytes) -> Keys:
    """Return the keys of a tensor, written as JSON, or as bytes behind it."""
    kind = tensor.get("datatype")
    if kind not in ("BYTES", "INT64"):
        raise BadRequest(f"the datatype of keys is {str(kind)[:40]!r}; give BYTES or INT64")
    if "data" in tensor:
        data = tensor["data"]
        if not isinstance(data, list):
            raise BadRequest("the data of a tensor of keys is a list, a key for each row")
        return [key_of_body(key) for key in data]
    if kind == "INT64":
        return [key_of_body(key) for key in np.frombuffer(raw[: len(raw) // 8 * 8], "<i8").tolist()]
    return [key_of_body(text) for text in _texts(raw)]


def _texts(raw: bytes) -> list[str]:
    """Return the texts of a tensor of BYTES: each behind its length."""
    texts, place = [], 0
    try:
        while place < len(raw):
            end = place + LENGTH.size + LENGTH.unpack_from(raw, place)[0]
            if end > len(raw):
                raise ValueError("a key is longer than the tensor")
            texts.append(raw[place + LENGTH.size : end].decode())
            place = end
    except (struct.error, ValueError) as error:
        raise BadRequest(f"the tensor of keys is no BYTES ({error}); send each text behind its length") from None
    return texts
