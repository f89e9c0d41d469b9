"""Snapshots as bytes: a safetensors file with a JSON header. Open, versioned, checked, and no code runs on reading.

The header has one entry, "aioli": a JSON object of the format's number, the version of the library, the tree of kinds
and plain values, and a SHA-256 of these and of every array. An array's name in the file is its path in the tree. Equal
snapshots are equal bytes.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from aioli import __version__
from aioli.errors import SnapshotRefused
from aioli.snapshots.json_values import JsonObject
from aioli.snapshots.pieces import DTYPES, ArrayInPieces, bytes_of, file_header, in_order
from aioli.snapshots.tree import Array, Snapshot
from aioli.snapshots.whole_files import replacing

__all__ = ["FORMAT", "from_bytes", "read_snapshot", "to_bytes", "write_snapshot"]

FORMAT = 2  # 1 was never released
HEADER = "aioli"
SEPARATOR = "/"


def write_snapshot(
    path: str | os.PathLike[str], snapshot: Snapshot, large: Mapping[str, ArrayInPieces] | None = None
) -> None:
    """Write a snapshot to a file, whole or not at all.

    `large` has arrays that are written piece by piece, by their path in the tree: the snapshot's own of that name is
    left out. The file is what `to_bytes` of the whole snapshot is.
    """
    if large is None:
        data = to_bytes(snapshot)
        with replacing(path) as file:
            file.write(data)
        return
    arrays = {name: large[name] if name in large else ArrayInPieces.of(array) for name, array in _arrays(snapshot)}
    head = file_header(arrays, {HEADER: _head(snapshot, arrays)})
    with replacing(path) as file:
        file.write(head)
        for name in in_order(arrays):
            for piece in bytes_of(arrays[name]):
                file.write(piece)


def read_snapshot(path: str | os.PathLike[str]) -> Snapshot:
    """Read a file that `write_snapshot` wrote; anything else is a `ValueError` that says why."""
    if not Path(path).is_file():
        what = "is a folder" if Path(path).is_dir() else "there is no such file"
        raise FileNotFoundError(f"{path}: {what}; give a file that save() wrote")
    try:
        return from_bytes(Path(path).read_bytes())
    except (OSError, SnapshotRefused) as error:
        raise SnapshotRefused(f"{path}: {error}") from error


def to_bytes(snapshot: Snapshot) -> bytes:
    """Encode a snapshot; one with a NaN or infinity is refused, since the object it is of is damaged."""
    arrays = {path: np.ascontiguousarray(array) for path, array in _arrays(snapshot)}
    text = _head(snapshot, {path: ArrayInPieces.of(array) for path, array in arrays.items()})
    return save(dict(sorted(arrays.items())), metadata={HEADER: text})


def _head(snapshot: Snapshot, arrays: Mapping[str, ArrayInPieces]) -> str:
    """Return the JSON of the header's one entry; a snapshot that cannot be written is refused."""
    for path, array in arrays.items():
        if array.dtype not in DTYPES:
            raise SnapshotRefused(f"not written, since {path!r} is of {array.dtype}")
        if not all(np.isfinite(piece).all() for piece in array.make()):
            raise SnapshotRefused(f"not written, since {path!r} is not finite: its owner is damaged")
    try:
        tree = _text(_tree(snapshot))
    except (TypeError, ValueError) as error:
        raise SnapshotRefused(f"not written, since a value is none that JSON has ({error})") from error
    head = {"format": FORMAT, "version": __version__, "sha256": _digest_of_pieces(tree, arrays)}
    return json.dumps(head)[:-1] + f', "snapshot": {tree}}}'


def from_bytes(data: bytes) -> Snapshot:
    """Decode a snapshot; bytes that `to_bytes` did not make are a `SnapshotRefused` that says why."""
    header = _header(data)
    version = header.get("format")
    if not isinstance(version, int) or version < 1:
        raise SnapshotRefused(f"its header is damaged (format {version!r}); save the model again")
    if version != FORMAT:
        advice = "upgrade aioli-online" if version > FORMAT else "save the model again"
        raise SnapshotRefused(
            f"format {version}, written by aioli {header.get('version')}; this is aioli {__version__}, which reads "
            f"format {FORMAT}: {advice}"
        )
    try:
        arrays = load(data)
    except (SafetensorError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise SnapshotRefused(f"damaged, cut short, or not a model file ({error}); save it again") from error
    try:
        tree = _text(header.get("snapshot"))
    except (ValueError, RecursionError) as error:
        raise SnapshotRefused(f"its header is damaged ({error}); save the model again") from error
    if header.get("sha256") != _digest(tree, arrays):
        raise SnapshotRefused("its contents do not match their checksum: the file is damaged; save the model again")
    for path, array in arrays.items():
        if array.dtype.name not in DTYPES or not np.isfinite(array).all():
            raise SnapshotRefused(f"its array {path!r} is not of finite numbers; save the model again")
    try:
        snapshot = _snapshot_of(header["snapshot"], arrays, "")
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise SnapshotRefused(f"its header is damaged ({error!r}); save the model again") from error
    unknown = arrays.keys() - {path for path, _ in _arrays(snapshot)}
    if unknown:
        raise SnapshotRefused(f"its arrays {sorted(unknown)} belong to nothing; save the model again")
    return snapshot


def _header(data: bytes) -> JsonObject:
    """Return the JSON object of the one metadata entry. A safetensors file begins with the length of its header."""
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > len(data) - 8:
        raise SnapshotRefused("damaged, cut short, or not a model file; save it again")
    try:
        metadata = json.loads(data[8 : 8 + size]).get("__metadata__", {})
        if HEADER not in metadata:
            raise SnapshotRefused("a safetensors file, but not one that aioli wrote")
        header = json.loads(metadata[HEADER])
        if not isinstance(header, dict):
            raise TypeError(f"{type(header).__name__}")
        return header
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, SnapshotRefused):
            raise
        raise SnapshotRefused(f"damaged, or not a model file ({error}); save it again") from error


def _text(tree: object) -> str:
    """Return the tree as canonical JSON: equal trees are equal bytes."""
    return json.dumps(tree, sort_keys=True, allow_nan=False, separators=(",", ":"))


def _arrays(snapshot: Snapshot, prefix: str = "") -> Iterator[tuple[str, Array]]:
    for name, array in snapshot.arrays.items():
        yield prefix + name, array
    for name, part in snapshot.parts.items():
        yield from _arrays(part, f"{prefix}{name}{SEPARATOR}")


def _tree(snapshot: Snapshot) -> JsonObject:
    """Return the snapshot as a tree for JSON, each array replaced by its name."""
    parts = {name: _tree(part) for name, part in snapshot.parts.items()}
    arrays = sorted(snapshot.arrays)
    return {"kind": snapshot.kind, "values": dict(snapshot.values), "arrays": arrays, "parts": parts}


def _snapshot_of(tree: JsonObject, arrays: Mapping[str, Array], prefix: str) -> Snapshot:
    parts = {name: _snapshot_of(part, arrays, f"{prefix}{name}{SEPARATOR}") for name, part in tree["parts"].items()}
    own = {name: arrays[prefix + name] for name in tree["arrays"]}
    return Snapshot(tree["kind"], dict(tree["values"]), own, parts)


def _digest(tree: str, arrays: Mapping[str, NDArray[Any]]) -> str:
    return _digest_of_pieces(tree, {path: ArrayInPieces.of(array) for path, array in arrays.items()})


def _digest_of_pieces(tree: str, arrays: Mapping[str, ArrayInPieces]) -> str:
    digest = hashlib.sha256(tree.encode())
    for path in sorted(arrays):
        array = arrays[path]
        digest.update(f"{path}{array.dtype}{array.shape}".encode())
        for piece in bytes_of(array):
            digest.update(piece)
    return digest.hexdigest()
