"""What is remembered of a file that was read, so that a run that is resumed notices when the file is another.

The name, the size, when it was last written, and a SHA-256 over blocks from all of the file: a file of any size costs
the same. Whether any byte has changed only the time can tell, so a file that was written since counts as another.
"""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from aioli.errors import FileRefused, SnapshotRefused
from aioli.snapshots.tree import Plain, Snapshot

__all__ = ["Mark", "check_unchanged", "mark_of"]

BLOCKS, BLOCK = 16, 4096

Mark: TypeAlias = dict[str, Plain]


def mark_of(path: Path) -> Mark:
    """Return what is remembered of a file. O(1)."""
    with path.open("rb") as file:
        found = os.fstat(file.fileno())
        digest = hashlib.sha256()
        for k in range(BLOCKS):
            file.seek(max(found.st_size - BLOCK, 0) * k // (BLOCKS - 1))
            digest.update(file.read(BLOCK))
    return {
        "name": path.name,
        "size": found.st_size,
        "written": found.st_mtime_ns,
        "sample": digest.hexdigest(),
    }


def check_unchanged(name: str, then: Plain, now: Sequence[Mark], mended: bool = False) -> None:
    """Refuse files that are not those of which these marks were taken; `name` is what was given to be read.

    The last of them may have changed where it was to be `mended`.
    """
    if isinstance(then, str) or not isinstance(then, Sequence):
        raise SnapshotRefused(f"in a Run, 'files' is {then!r}, not a list")
    for k, plain in enumerate(then):
        if not isinstance(plain, dict):
            raise SnapshotRefused(f"in a Run, a file is {plain!r}")
        mark = Snapshot("File", plain)
        file = mark.text("name")
        if k >= len(now) or now[k]["name"] != file:
            there = f", and {now[k]['name']!r} is in its place" if k < len(now) else ""
            what = f"the file {file!r}, which the run had read, is gone{there}"
        elif mended and k == len(then) - 1:
            continue
        elif now[k]["size"] != mark.whole("size"):
            what = f"the file {file!r} had {mark.whole('size'):,} bytes, and now has {now[k]['size']:,}"
        elif now[k]["sample"] != mark.text("sample"):
            what = f"what is in the file {file!r} has changed"
        elif now[k]["written"] != mark.whole("written"):
            seconds = mark.whole("written") / 1e9
            what = (
                f"the file {file!r} was written again since; if it is the same, give it back its time "
                f"(touch -d @{seconds:.9f})"
            )
        else:
            continue
        raise FileRefused(f"{name}: {what}; put it back, or begin without --resume, in another folder", path=name)
