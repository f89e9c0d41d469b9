"""States on disk: safetensors and a JSON header. Open, versioned, checked, and no code runs on load."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from aioli import __version__
from aioli.numerics.compiling import Vector
from aioli.snapshots.whole_files import replacing

__all__ = ["FORMAT", "read_any", "read_file", "write_file"]

FORMAT = 1
Header = dict[str, Any]
Tensors = dict[str, Vector]


def write_file(path: str | os.PathLike[str], header: Header, tensors: Tensors) -> None:
    """Write header and arrays, whole or not at all: there is always the old file or the new one."""
    path = Path(path)
    for name, tensor in tensors.items():
        if not np.isfinite(tensor).all():
            raise ValueError(f"{path}: not written, since {name!r} is not finite: the learner is damaged")
    text = json.dumps({"format": FORMAT, "version": __version__, **header}, sort_keys=True)
    contiguous = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    metadata = {"aioli": text, "sha256": _digest(text, contiguous)}
    with replacing(path) as temporary:
        save_file(contiguous, temporary, metadata=metadata)


def read_file(path: str | os.PathLike[str], learner: str) -> tuple[Header, Tensors]:
    """Read a file of such a learner that `write_file` wrote; anything else is a `ValueError` that says why."""
    header, tensors = read_any(path)
    if header.get("learner") != learner:
        raise ValueError(f"{path}: holds a learner of type {header.get('learner')!r}, not {learner!r}")
    return header, tensors


def read_any(path: str | os.PathLike[str]) -> tuple[Header, Tensors]:
    """Read a file that `write_file` wrote, of whatever learner."""
    if not Path(path).is_file():
        what = "is a folder" if Path(path).is_dir() else "there is no such file"
        raise FileNotFoundError(f"{path}: {what}; give a file that save() wrote")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, it is no dictionary
    except (SafetensorError, OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{path}: damaged, cut short, or not a model file ({error}); save it again") from error
    if "aioli" not in metadata:
        raise ValueError(f"{path}: a safetensors file, but not one that aioli wrote")
    try:
        header = json.loads(metadata["aioli"])
        version = header["format"]
        if not isinstance(version, int) or version < 1:
            raise ValueError(f"format {version!r}")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"{path}: its header is damaged ({error}); save the model again") from error
    if version > FORMAT:
        raise ValueError(
            f"{path}: format {version}, written by aioli {header.get('version')}; this is aioli {__version__}, "
            f"which reads formats up to {FORMAT}: upgrade aioli-online"
        )
    if metadata.get("sha256") != _digest(metadata["aioli"], tensors):
        raise ValueError(f"{path}: its contents do not match their checksum: the file is damaged; save the model again")
    for name, tensor in tensors.items():
        if tensor.dtype != np.float64 or not np.isfinite(tensor).all():
            raise ValueError(f"{path}: its array {name!r} is not of finite float64 numbers; save the model again")
    return header, tensors


def _digest(text: str, tensors: Tensors) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        digest.update(f"{name}{tensors[name].dtype}{tensors[name].shape}".encode())
        digest.update(tensors[name].data.cast("B") if tensors[name].size else b"")
    return digest.hexdigest()
