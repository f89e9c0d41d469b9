"""The paths that a command reads and writes: no result goes over what is read, or over another result."""

from collections.abc import Iterable
from pathlib import Path

from aioli.streams.files.formats import FORMATS

__all__ = ["check_apart"]

ENDINGS = tuple(
    f".{ending}" for endings in FORMATS.values() for ending in endings
)  # of files that a folder is read for


def check_apart(read: Iterable[str], written: Iterable[str | None]) -> None:
    """Refuse to write over what is read, or among the files of a folder that is read, or one result over another."""
    targets = [Path(path).resolve() for path in written if path is not None]
    for name in read:
        source = Path(name).resolve()
        for target in targets:
            if target == source or (target.exists() and source.exists() and target.samefile(source)):
                raise ValueError(f"{target}: is what is read, and would be lost; give another path to write to")
            if target.parent == source and target.name.lower().endswith(ENDINGS):
                raise ValueError(f"{target}: is in the folder that is read; give a path outside of it to write to")
    if len(set(targets)) < len(targets):
        twice = next(target for k, target in enumerate(targets) if target in targets[:k])
        raise ValueError(f"{twice}: is to be written twice; give each result a path of its own")
