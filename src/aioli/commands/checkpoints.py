"""A run that can be killed at any moment and taken up again: its whole state in one file, replaced at a stroke."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from aioli.commands.models import revive, taken_down
from aioli.commands.playing import Playing
from aioli.commands.predictions import Spool
from aioli.evaluate.scoreboard import Scoreboard
from aioli.report.record import Point
from aioli.state.files import read_any, write_file

__all__ = ["Checkpoints"]

STATE, PREDICTIONS = "run.aioli", "predictions.part"
LEARNER, SCORES, EXTREMES = "learner/", "scores/", "extremes"


class Checkpoints:
    """A folder that holds the last checkpoint of one run.

    The learner, the scores, the history and the place in the stream are of the very same rows; the predictions may
    have gone further when the run was killed, and are cut back to them.
    """

    def __init__(self, folder: str, run: dict[str, Any], resume: bool) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.run = run
        self.found: tuple[dict[str, Any], dict[str, Any]] | None = None
        path = self.folder / STATE
        if not path.exists():
            return
        if not resume:
            raise ValueError(f"{folder}: holds the checkpoint of a run; go on with --resume, or give another folder")
        header, tensors = read_any(path)
        if header.get("run") != run:
            other = {name: value for name, value in header.get("run", {}).items() if run.get(name) != value}
            raise ValueError(f"{folder}: is the checkpoint of another run, with {other}; give the same arguments")
        self.found = header, tensors

    @property
    def stream(self) -> dict[str, Any] | None:
        """Where the stream goes on."""
        return None if self.found is None else self.found[0]["stream"]

    def learner(self) -> Any:
        """The learner, as it was."""
        assert self.found is not None
        header, tensors = self.found
        own = {name.removeprefix(LEARNER): array for name, array in tensors.items() if name.startswith(LEARNER)}
        return revive(header["taught"], own, self.folder)

    def spool(self) -> Spool:
        """The predictions, cut back to the rows of the checkpoint."""
        return Spool(self.folder / PREDICTIONS, 0 if self.found is None else self.found[0]["rows"])

    def restore(self, playing: Playing) -> None:
        """Give a game its scores and its history back."""
        if self.found is None:
            return
        header, tensors = self.found
        scores = {name.removeprefix(SCORES): array for name, array in tensors.items() if name.startswith(SCORES)}
        playing.board = Scoreboard.restored(scores)
        playing.history = [Point(**point) for point in header["history"]]
        playing.rows = header["rows"]
        if playing.extremes is not None:
            playing.extremes.table = tensors[EXTREMES]

    def keep(self, playing: Playing) -> None:
        """Write a checkpoint: all of it, or the one before stays."""
        playing.settle()
        if playing.spool is not None:
            playing.spool.sync()
        taught, arrays = taken_down(playing.learner, self.folder)
        header = {
            "learner": "a run",
            "run": self.run,
            "taught": taught,
            "stream": playing.stream.state(),
            "rows": playing.rows,
            "history": [asdict(point) for point in playing.history],
        }
        tensors = {LEARNER + name: array for name, array in arrays.items()}
        if playing.extremes is not None:
            tensors[EXTREMES] = playing.extremes.table
        tensors |= {SCORES + name: array for name, array in playing.board.state().items()}
        write_file(self.folder / STATE, header, tensors)

    def remove(self) -> None:
        """The run is over."""
        (self.folder / STATE).unlink(missing_ok=True)
        (self.folder / PREDICTIONS).unlink(missing_ok=True)
