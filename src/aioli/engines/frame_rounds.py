"""Keeps the rounds of a frame that are done in a folder: a driver that was killed goes on after the last of them.

A round is a function of the rows and of the learner before it, so that going on from a file is going on bit for bit.
One file a round, written whole or not at all, says of which game it is: the learner all went on from, the columns, the
schedule, and how many rows each shard has.
"""

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from aioli.engines.spark_frames import FrameColumns
from aioli.errors import ParameterRefused
from aioli.snapshots.codec import from_bytes, read_snapshot, to_bytes, write_snapshot
from aioli.snapshots.tree import Plain, Snapshot

__all__ = ["KeptRounds"]


class KeptRounds:
    """Keeps what all shards became after each round, in files of a folder; without a folder, in memory alone.

    Parameters
    ----------
    folder
        Where the files are; it is made where it is missing. None keeps the rounds in memory alone.
    since
        The snapshot of the learner that all went on from.
    columns, ends, counts
        The columns, the schedule, and the rows of each shard.

    Attributes
    ----------
    snapshots
        The snapshot before the first round, and after every round that is done.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None,
        since: bytes,
        columns: FrameColumns,
        ends: Sequence[int],
        counts: Mapping[int, int],
    ) -> None:
        self.snapshots = [since]
        self._folder = None if folder is None else Path(folder)
        self._game: dict[str, Plain] = {
            "since": hashlib.sha256(since).hexdigest(),
            "columns": [columns.order, columns.label, *columns.features],
            "ends": list(ends),
            "counts": [list(pair) for pair in counts.items()],
        }
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            while self._file(len(self.snapshots)).exists():
                self.snapshots.append(self._read(self._file(len(self.snapshots))))

    def add(self, snapshot: bytes) -> None:
        """Keep the snapshot of the merged learner after the next round."""
        if self._folder is not None:
            parts = {"learner": from_bytes(snapshot)}
            write_snapshot(self._file(len(self.snapshots)), Snapshot("FrameRound", self._game, parts=parts))
        self.snapshots.append(snapshot)

    def _file(self, number: int) -> Path:
        assert self._folder is not None
        return self._folder / f"round-{number:04d}.aioli"

    def _read(self, path: Path) -> bytes:
        given = read_snapshot(path).of("FrameRound")
        for name, value in self._game.items():
            if given.values.get(name) != value:
                what = {"since": "from another learner", "columns": "of other columns", "ends": "by another schedule"}
                message = (
                    f"{path}: a round {what.get(name, 'of other rows or shards')}; give the same call as before, or a "
                    "fresh folder as checkpoint (nothing was learned)"
                )
                raise ParameterRefused(message, parameter="checkpoint", value=str(path.parent))
        return to_bytes(given.part("learner"))
