"""A learner with the columns that it was taught on, in one file: what `--save` writes and `aioli predict` reads."""

import base64
import contextlib
import importlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aioli
from aioli.numerics.compiling import Vector
from aioli.snapshots.codec import from_bytes, to_bytes
from aioli.snapshots.legacy_files import read_any, write_file
from aioli.snapshots.tree import Snapshot
from aioli.snapshots.whole_files import naming

__all__ = ["load_model", "revive", "save_model", "taken_down", "why_not_saved"]


def why_not_saved(learner: Any) -> str | None:
    """Why a learner cannot be written to a file; None if it can."""
    if hasattr(learner, "save"):
        return None
    return f"{type(learner).__name__} cannot be saved; use AIOLI or Auto, or leave out --save and --checkpoint"


def save_model(path: str | os.PathLike[str], learner: Any, stream: Snapshot) -> None:
    """Write the learner and the state of its stream, whole or not at all. `learner.load` reads the file too."""
    with naming(path):
        header, tensors = taken_down(learner, Path(path).absolute().parent)
        write_file(path, {**header, "stream": as_text(stream)}, tensors)


def load_model(path: str | os.PathLike[str]) -> tuple[Any, Snapshot | None]:
    """The learner, and the snapshot of the stream that it was taught on, None where it was saved without one."""
    header, _ = read_any(path)
    return _class_of(header, path).load(path), from_text(header.get("stream"))


def as_text(stream: Snapshot) -> str:
    """Return the snapshot of a stream as text for a header of the old format."""
    return base64.b85encode(to_bytes(stream)).decode()


def from_text(text: str | None) -> Snapshot | None:
    """Return the snapshot of a stream that `as_text` wrote."""
    return None if text is None else from_bytes(base64.b85decode(text))


def taken_down(learner: Any, folder: Path) -> tuple[dict[str, Any], dict[str, Vector]]:
    """What `save` would write, as header and arrays."""
    with _passing(folder) as temporary:
        learner.save(temporary)
        return read_any(temporary)


def revive(header: dict[str, Any], tensors: dict[str, Vector], folder: Path) -> Any:
    """The learner that was taken down."""
    with _passing(folder) as temporary:
        write_file(temporary, header, tensors)
        return _class_of(header, temporary).load(temporary)


@contextlib.contextmanager
def _passing(folder: Path) -> Iterator[str]:
    """The name of a file that is gone at the end."""
    handle, temporary = tempfile.mkstemp(prefix=".aioli-", suffix=".part", dir=folder)
    os.close(handle)
    try:
        yield temporary
    finally:
        os.unlink(temporary)


def _class_of(header: dict[str, Any], path: str | os.PathLike[str]) -> Any:
    name = str(header.get("learner"))
    if name not in aioli.__all__:
        raise ValueError(f"{path}: holds a learner of type {name!r}, which this version of aioli does not know")
    return getattr(importlib.import_module("aioli"), name)
