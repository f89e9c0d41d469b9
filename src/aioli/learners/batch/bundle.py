"""Several learners in one file: each writes itself, and the bundle holds what they wrote."""

import importlib
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aioli.numerics.compiling import Vector
from aioli.snapshots.legacy_files import read_file, write_file

__all__ = ["pack", "unpack"]

Header = dict[str, Any]
Tensors = dict[str, Vector]


def pack(learners: Sequence[Any]) -> tuple[list[Header], Tensors]:
    """The header that each learner's own `save` writes, and the arrays of all, those of the i-th named `i/…`."""
    headers: list[Header] = []
    tensors: Tensors = {}
    with tempfile.TemporaryDirectory() as folder:
        for i, learner in enumerate(learners):
            if not hasattr(learner, "save"):
                raise ValueError(
                    f"{type(learner).__name__} has no save(), so what holds it cannot be saved either; pickle it"
                )
            learner.save(Path(folder) / str(i))
            header, arrays = read_file(Path(folder) / str(i), type(learner).__name__)
            headers.append(header)
            tensors |= {f"{i}/{name}": array for name, array in arrays.items()}
    return headers, tensors


def unpack(headers: Sequence[Header], tensors: Tensors) -> list[Any]:
    """The learners that `pack` took, each made by the `load` of a class that aioli itself names."""
    aioli = importlib.import_module("aioli")
    learners = []
    with tempfile.TemporaryDirectory() as folder:
        for i, header in enumerate(headers):
            kind: Any = getattr(aioli, header["learner"]) if header["learner"] in aioli.__all__ else None
            if not hasattr(kind, "load"):
                raise ValueError(f"it holds a {header['learner']!r}, which this version does not know")
            arrays = {name.removeprefix(f"{i}/"): tensors[name] for name in tensors if name.startswith(f"{i}/")}
            write_file(Path(folder) / str(i), header, arrays)
            learners.append(kind.load(Path(folder) / str(i)))
    return learners
