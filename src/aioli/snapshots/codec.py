"""Snapshots as bytes: a safetensors file with a JSON header. Open, versioned, checked, and no code runs on reading.

The header has one entry, "aioli": a JSON object of the format's number, the version of the library, the tree of kinds
and plain values, and a SHA-256 of these and of every array. An array's name in the file is its path in the tree. Equal
snapshots are equal bytes.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load

from aioli import __version__
from aioli.errors import SnapshotRefused
from aioli.snapshots.json_values import JsonObject
from aioli.snapshots.pieces import DTYPES, ArrayInPieces, bytes_of, file_header, in_order
from aioli.snapshots.tree import Array, Snapshot
from aioli.snapshots.whole_files import replacing

__all__ = [
    "DAMAGED",
    "FORMAT",
    "decoded",
    "from_bytes",
    "header_of",
    "read_snapshot",
    "readable_head",
    "require_file",
    "to_bytes",
    "write_snapshot",
]

FORMAT = 2  # 1 was never released
HEADER = "aioli"
SEPARATOR = "/"
DAMAGED = "damaged, cut short, or not a model file"


def write_snapshot(path: str | os.PathLike[str], snapshot: Snapshot) -> None:
    """Write a snapshot to a file, whole or not at all; its arrays in pieces are never in memory as a whole."""
    head, arrays = _encoded(snapshot)  # what cannot be written is refused before the file is made
    with replacing(path) as file:
        file.write(head)
        for array in arrays:
            file.writelines(bytes_of(array))


def read_snapshot(path: str | os.PathLike[str]) -> Snapshot:
    """Read a file that `write_snapshot` wrote; anything else is a `ValueError` that says why."""
    require_file(path)
    try:
        return from_bytes(Path(path).read_bytes())
    except (OSError, SnapshotRefused) as error:
        raise SnapshotRefused(f"{path}: {error}") from error


def require_file(path: str | os.PathLike[str]) -> None:
    """Raise `FileNotFoundError`, which says what to give, where there is no file of this name."""
    if not Path(path).is_file():
        what = "is a folder" if Path(path).is_dir() else "there is no such file"
        raise FileNotFoundError(f"{path}: {what}; give a file that save() wrote")


def to_bytes(snapshot: Snapshot) -> bytes:
    """Encode a snapshot; one with a NaN or infinity is refused, since the object it is of is damaged."""
    head, arrays = _encoded(snapshot)
    return b"".join([head, *(piece for array in arrays for piece in bytes_of(array))])


def _encoded(snapshot: Snapshot) -> tuple[bytes, list[ArrayInPieces]]:
    """Return what a snapshot's file begins with, and the arrays that follow, in order."""
    arrays = dict(_arrays(snapshot))
    return file_header(arrays, {HEADER: _head(snapshot, arrays)}), [arrays[name] for name in in_order(arrays)]


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
    head = {"format": FORMAT, "version": __version__, "sha256": _digest(tree, arrays)}
    return json.dumps(head)[:-1] + f', "snapshot": {tree}}}'


def from_bytes(data: bytes) -> Snapshot:
    """Decode a snapshot; bytes that `to_bytes` did not make are a `SnapshotRefused` that says why."""
    head = readable_head(header_of(data[:8], lambda size: data[8 : 8 + size], len(data)))
    try:
        arrays = load(data)
    except (SafetensorError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise SnapshotRefused(f"{DAMAGED} ({error}); save it again") from error
    return decoded(head, arrays, {})


def decoded(head: JsonObject, arrays: Mapping[str, Array], pieces: Mapping[str, ArrayInPieces]) -> Snapshot:
    """Return the snapshot of a readable head and its arrays, as a whole or in pieces; refuse what does not belong."""
    try:
        tree = _text(head.get("snapshot"))
    except (ValueError, RecursionError) as error:
        raise SnapshotRefused(f"its header is damaged ({error}); save the model again") from error
    every = {path: ArrayInPieces.of(array) for path, array in arrays.items()} | dict(pieces)
    if head.get("sha256") != _digest(tree, every):
        raise SnapshotRefused("its contents do not match their checksum: the file is damaged; save the model again")
    for path, array in every.items():
        if array.dtype not in DTYPES or not all(np.isfinite(piece).all() for piece in array.make()):
            raise SnapshotRefused(f"its array {path!r} is not of finite numbers; save the model again")
    try:
        snapshot = _snapshot_of(head["snapshot"], arrays, pieces, "")
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise SnapshotRefused(f"its header is damaged ({error!r}); save the model again") from error
    unknown = every.keys() - {path for path, _ in _arrays(snapshot)}
    if unknown:
        raise SnapshotRefused(f"its arrays {sorted(unknown)} belong to nothing; save the model again")
    return snapshot


def header_of(begin: bytes, read: Callable[[int], bytes], room: int) -> JsonObject:
    """Return the JSON object at the head of a file of so many bytes, which begins with that object's length."""
    size = int.from_bytes(begin, "little")
    if len(begin) < 8 or size > room - 8:
        raise SnapshotRefused(f"{DAMAGED}; save it again")
    try:
        header = json.loads(read(size))
        if not isinstance(header, dict):
            raise TypeError(f"{type(header).__name__}")
        return header
    except (ValueError, TypeError, RecursionError) as error:
        raise SnapshotRefused(f"damaged, or not a model file ({error}); save it again") from error


def readable_head(header: JsonObject) -> JsonObject:
    """Return the JSON object of the one metadata entry, or refuse one that this version cannot read."""
    try:
        metadata = header.get("__metadata__", {})
        if HEADER not in metadata:
            raise SnapshotRefused("a safetensors file, but not one that aioli wrote")
        head = json.loads(metadata[HEADER])
        if not isinstance(head, dict):
            raise TypeError(f"{type(head).__name__}")
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, SnapshotRefused):
            raise
        raise SnapshotRefused(f"damaged, or not a model file ({error}); save it again") from error
    version = head.get("format")
    if not isinstance(version, int) or version < 1:
        raise SnapshotRefused(f"its header is damaged (format {version!r}); save the model again")
    if version != FORMAT:
        advice = "upgrade aioli-online" if version > FORMAT else "save the model again"
        raise SnapshotRefused(
            f"format {version}, written by aioli {head.get('version')}; this is aioli {__version__}, which reads "
            f"format {FORMAT}: {advice}"
        )
    return head


def _text(tree: object) -> str:
    """Return the tree as canonical JSON: equal trees are equal bytes."""
    return json.dumps(tree, sort_keys=True, allow_nan=False, separators=(",", ":"))


def _arrays(snapshot: Snapshot, prefix: str = "") -> Iterator[tuple[str, ArrayInPieces]]:
    for name, array in snapshot.arrays.items():
        yield prefix + name, ArrayInPieces.of(array)
    for name, pieces in snapshot.pieces.items():
        yield prefix + name, pieces
    for name, part in snapshot.parts.items():
        yield from _arrays(part, f"{prefix}{name}{SEPARATOR}")


def _tree(snapshot: Snapshot) -> JsonObject:
    """Return the snapshot as a tree for JSON, each array replaced by its name."""
    parts = {name: _tree(part) for name, part in snapshot.parts.items()}
    arrays = sorted([*snapshot.arrays, *snapshot.pieces])
    return {"kind": snapshot.kind, "values": dict(snapshot.values), "arrays": arrays, "parts": parts}


def _snapshot_of(
    tree: JsonObject, arrays: Mapping[str, Array], pieces: Mapping[str, ArrayInPieces], prefix: str
) -> Snapshot:
    parts = {
        name: _snapshot_of(part, arrays, pieces, f"{prefix}{name}{SEPARATOR}") for name, part in tree["parts"].items()
    }
    own = {name: arrays[prefix + name] for name in tree["arrays"] if prefix + name not in pieces}
    large = {name: pieces[prefix + name] for name in tree["arrays"] if prefix + name in pieces}
    return Snapshot(tree["kind"], dict(tree["values"]), own, parts, large)


def _digest(tree: str, arrays: Mapping[str, ArrayInPieces]) -> str:
    digest = hashlib.sha256(tree.encode())
    for path in sorted(arrays):
        array = arrays[path]
        digest.update(f"{path}{array.dtype}{array.shape}".encode())
        for piece in bytes_of(array):
            digest.update(piece)
    return digest.hexdigest()
