"""A run that can be killed at any moment and taken up again: its whole state in one file, replaced at a stroke."""

import os
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from aioli.evaluate.history import Point
from aioli.evaluate.loop import Playing
from aioli.evaluate.sums import Scores
from aioli.snapshots.legacy_files import read_any, write_file
from aioli.snapshots.tree import Snapshot
from aioli.snapshots.whole_files import naming
from aioli.store.folder_lock import FolderLock
from aioli.store.models import as_text, from_text, revive, taken_down
from aioli.store.predictions import Spool

__all__ = ["Checkpoints"]

STATE, PREDICTIONS = "run.aioli", "predictions.spool"
WORKSHOP = ".unfinished"  # a folder for what is being written, to be thrown away
LEARNER, SCORES, EXTREMES = "learner/", "scores/", "extremes"


class Checkpoints:
    """A folder that holds the last checkpoint of one run, and belongs to it while it lasts.

    The learner, the scores, the history and the place in the stream are of the very same rows; the predictions may
    have gone further when the run was killed, and are cut back to them.
    """

    def __init__(self, folder: str, run: dict[str, Any], resume: bool) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"{folder}: is a file; give a folder for the checkpoint")
        self.folder.mkdir(parents=True, exist_ok=True)
        self._workshop = self.folder / WORKSHOP
        try:
            self._lock = FolderLock(self.folder)
        except BlockingIOError:
            raise ValueError(f"{folder}: another run is keeping its checkpoint here; give another folder") from None
        self.run = run
        self.found: tuple[dict[str, Any], dict[str, Any]] | None = None
        try:
            self._look(resume)
        except BaseException:
            self.close()
            raise

    def _look(self, resume: bool) -> None:
        self._clear()
        path = self.folder / STATE
        if not path.exists():
            return
        if not resume:
            raise ValueError(
                f"{self.folder}: holds the checkpoint of a run; go on with --resume, or give another folder"
            )
        header, tensors = read_any(path)
        then = header.get("run") or {}
        other = [name for name in self.run if name not in then or then[name] != self.run[name]]
        if other:
            name = other[0]
            raise ValueError(
                f"{self.folder}: is the checkpoint of another run, whose {name} was {then.get(name)!r}, not "
                f"{self.run[name]!r}; give the same arguments, or another folder"
            )
        self.found = header, tensors

    @property
    def rows(self) -> int:
        """How many rows the checkpoint in the folder has learned; 0 if there is none."""
        return 0 if self.found is None else int(self.found[0]["rows"])

    @property
    def stream(self) -> Snapshot | None:
        """Where the stream goes on; None at its beginning, as when a run was left in the middle of the first table."""
        snapshot = None if self.found is None else from_text(self.found[0]["stream"])
        return None if snapshot is None or snapshot.values.get("position") is None else snapshot

    def learner(self) -> Any:
        """The learner, as it was."""
        assert self.found is not None
        header, tensors = self.found
        own = {name.removeprefix(LEARNER): array for name, array in tensors.items() if name.startswith(LEARNER)}
        self._workshop.mkdir(exist_ok=True)
        return revive(header["taught"], own, self._workshop)

    def spool(self) -> Spool:
        """The predictions, cut back to the rows of the checkpoint."""
        return Spool(self.folder / PREDICTIONS, self.rows)

    def restore(self, playing: Playing) -> None:
        """Give a game its scores and its history back."""
        if self.found is None:
            return
        header, tensors = self.found
        scores = {name.removeprefix(SCORES): array for name, array in tensors.items() if name.startswith(SCORES)}
        playing.board = Scores.restore(Snapshot("Scores", {}, scores))
        playing.history = [Point(**point) for point in header["history"]]
        playing.rows, playing.within = header["rows"], header["within"]
        playing.known = from_text(header.get("known")) or playing.before
        if playing.extremes is not None:
            playing.extremes.table = tensors[EXTREMES]

    def keep(self, playing: Playing) -> None:
        """Write a checkpoint: all of it, or the one before stays."""
        playing.settle()
        if playing.spool is not None:
            playing.spool.sync()
        with naming(self.folder):
            self._workshop.mkdir(exist_ok=True)
            taught, arrays = taken_down(playing.learner, self._workshop)
        header = {
            "learner": "a run",
            "run": self.run,
            "taught": taught,
            "stream": as_text(playing.before),
            "known": None if playing.known is playing.before else as_text(playing.known),  # as wide as the learner
            "within": playing.within,
            "rows": playing.rows,
            "history": [asdict(point) for point in playing.history],
        }
        tensors = {LEARNER + name: array for name, array in arrays.items()}
        if playing.extremes is not None:
            tensors[EXTREMES] = playing.extremes.table
        tensors |= {SCORES + name: array for name, array in playing.board.snapshot().arrays.items()}
        with naming(self.folder):
            write_file(self._workshop / STATE, header, tensors)
            os.replace(self._workshop / STATE, self.folder / STATE)
            self._lock.sync()  # the rename itself
        self.found = header, tensors

    def remove(self) -> None:
        """The run is over."""
        (self.folder / STATE).unlink(missing_ok=True)

    def _clear(self) -> None:
        """Take away what a run was writing when it was killed."""
        shutil.rmtree(self._workshop, ignore_errors=True)

    def close(self) -> None:
        """Leave the folder to others, with a checkpoint and its predictions or with nothing."""
        self._clear()
        if not (self.folder / STATE).exists():
            (self.folder / PREDICTIONS).unlink(missing_ok=True)
        self._lock.release()
