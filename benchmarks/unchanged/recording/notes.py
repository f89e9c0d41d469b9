"""Notes of a scenario: named values, each kept as an array that compares bit for bit."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["COMPILE", "FAILED", "Notes", "Record", "Scenario", "Values", "read_record", "write_record"]

Values = dict[str, Any]  # name -> array
Record = dict[str, Values]  # by the name of the scenario

COMPILE = "--compile"  # the word that asks to play for the sake of compiling alone
FAILED = "failed"  # the name of a traceback, in a scenario that raised


class Notes:
    """Values by name, in the order in which they were noted."""

    def __init__(self) -> None:
        self.values: Values = {}

    def note(self, name: str, value: object) -> None:
        """Keep a number, a text, bytes, an array or a sequence; a mapping as its keys and its values."""
        if isinstance(value, Mapping):
            self.note(f"{name}, keys", [str(key) for key in value])
            self.note(f"{name}, values", list(value.values()))
            return
        if name in self.values:
            raise KeyError(f"{name!r} is noted twice")
        if isinstance(value, bytes):
            self.values[name] = np.frombuffer(value, dtype=np.uint8)
            return
        array = np.array("None") if value is None else np.asarray(value)
        if array.dtype.kind not in "biufU":
            raise TypeError(f"{name!r} is {value!r}, which does not compare bit for bit")
        self.values[name] = array


Scenario = Callable[[Notes], None]


def write_record(path: Path, record: Record) -> None:
    """Write all values one after the other, with a list of what lies where: thousands of files would be larger."""
    index: dict[str, dict[str, Any]] = {}
    parts: list[bytes] = []
    for scenario, values in record.items():
        index[scenario] = {name: [array.dtype.str, array.shape] for name, array in values.items()}
        parts += [array.tobytes() for array in values.values()]
    with path.open("wb") as file:
        np.savez_compressed(
            file, index=np.array(json.dumps(index)), content=np.frombuffer(b"".join(parts), dtype=np.uint8)
        )


def read_record(path: Path) -> Record:
    """Read what `write_record` wrote."""
    with np.load(path) as stored:
        index, content = json.loads(str(stored["index"])), stored["content"].tobytes()
    record: Record = {}
    first = 0
    for scenario, values in index.items():
        record[scenario] = {}
        for name, (kind, shape) in values.items():
            dtype = np.dtype(kind)
            last = first + dtype.itemsize * int(np.prod(shape, dtype=int))
            record[scenario][name] = np.frombuffer(content[first:last], dtype=dtype).reshape(shape)
            first = last
    return record
