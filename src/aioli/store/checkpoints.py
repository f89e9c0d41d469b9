"""Keeps checkpoints of a run, which may be killed at any moment and resumed: one file, replaced atomically."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from aioli.errors import FileRefused
from aioli.evaluate.background import RowSample
from aioli.evaluate.class_scores import ClassScores
from aioli.evaluate.delayed import LatePlayer
from aioli.evaluate.run import Run
from aioli.evaluate.windows import Windows
from aioli.learners.protocol import AnyLearner
from aioli.learners.registry import restore_any_learner
from aioli.snapshots.codec import read_snapshot, write_snapshot
from aioli.snapshots.tree import Plain, Snapshot
from aioli.snapshots.whole_files import clear_parts, os_errors_naming
from aioli.store.folder_lock import FolderLock
from aioli.store.models import require_saves
from aioli.store.points import plain_point, points_from
from aioli.store.spool import KEYS, Kept, Spool
from aioli.streams.files.marks import check_unchanged
from aioli.streams.skipped_rows import SkippedRows

__all__ = ["OWN_FILES", "Checkpoints"]

STATE, PREDICTIONS = "run.aioli", "predictions.spool"
OWN_FILES = (STATE, PREDICTIONS, PREDICTIONS + KEYS)  # what a checkpoint's folder holds, and loses when the run is over


class Checkpoints:
    """Locks a folder for one run, writes the run's last checkpoint there, and restores a run from it.

    The learner, the scores, the history, the rows that wait for their labels and the place in the stream are of the
    very same moment; the predictions may have gone further when the run was killed, and are cut back to it.

    Parameters
    ----------
    run
        The options of the run; a checkpoint of other options is refused.
    resume
        Whether to resume from a checkpoint that the folder holds; if False, such a folder is refused.
    """

    def __init__(self, folder: str, run: Mapping[str, Plain], resume: bool) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise FileRefused(f"{folder}: is a file; give a folder for the checkpoint", path=folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            self._lock = FolderLock(self.folder)
        except BlockingIOError:
            raise FileRefused(
                f"{folder}: another run is keeping its checkpoint here; give another folder", path=folder
            ) from None
        self.run = run
        self.found: Snapshot | None = None
        self._spool: Spool | None = None
        try:
            self._find(resume)
        except BaseException:
            self.close()
            raise

    def _find(self, resume: bool) -> None:
        path = self.folder / STATE
        clear_parts(path)
        if not path.exists():
            return
        if not resume:
            raise FileRefused(
                f"{self.folder}: holds the checkpoint of a run; go on with --resume, or give another folder",
                path=str(self.folder),
            )
        found = read_snapshot(path).of("Run")
        then = found.mapping("run")
        for name, value in self.run.items():
            if name not in then or then[name] != value:
                raise FileRefused(
                    f"{self.folder}: is the checkpoint of another run, whose {name} was {then.get(name)!r}, not "
                    f"{value!r}; give the same arguments, or another folder",
                    path=str(self.folder),
                )
        self.found = found

    @property
    def rows(self) -> int:
        """How many rows had been learned at the checkpoint; 0 where there is none."""
        return 0 if self.found is None else self.found.whole("rows")

    @property
    def stream(self) -> Snapshot | None:
        """The snapshot to open the stream with; None to open it at its beginning, as within the first table."""
        snapshot = None if self.found is None else self.found.part("stream")
        return None if snapshot is None or snapshot.values.get("position") is None else snapshot

    @property
    def learner(self) -> AnyLearner | None:
        """The learner of the checkpoint; None where there is none."""
        return None if self.found is None else restore_any_learner(self.found.part("learner"))

    def spool(self, keys: Sequence[str] = ()) -> Spool:
        """Open the spool of predictions, truncated to the checkpoint's rows; `keep` syncs it before each checkpoint."""
        kept = Kept() if self.found is None else _kept_predictions(self.found)
        self._spool = Spool(self.folder / PREDICTIONS, kept, keys=keys)
        return self._spool

    def restore(self, run: Run) -> None:
        """Put scores, history and position of the checkpoint into a new run; do nothing where there is none.

        A run whose files are not those that the checkpoint's had read is refused.
        """
        if self.found is None:
            return
        files = self.found.values.get("files")
        count = len(files) if isinstance(files, Sequence) else 0
        check_unchanged(run.stream.name, files, run.stream.marks(count), self.found.values.get("to mend") is True)
        counted = self.found.part("scores")
        kind = ClassScores if counted.kind == ClassScores.__name__ else type(run.scoring.scores)
        run.scoring.scores = kind.restore(counted)
        if isinstance(run.player, LatePlayer):
            run.player.waiting = type(run.player.waiting).restore(self.found.part("waiting"))
        run.history.points = points_from(self.found.values.get("history"), "Run")
        run.rows, run.within = self.found.whole("rows"), self.found.whole("within")
        run.known = self.found.parts.get("known", run.before)
        if run.skipped is not None:
            run.skipped = SkippedRows.restore(self.found)
        if "windows" in self.found.parts:
            run.scoring.windows = Windows.restore(self.found.part("windows"))
        if "sample" in self.found.parts:
            run.sample.go_on_from(RowSample.restore(self.found.part("sample")))
        if run.extremes is not None:
            run.extremes.table = self.found.array("extremes", (4, None)).copy()

    def keep(self, run: Run, to_mend: bool = False) -> None:
        """Write a checkpoint of the run; where that fails, the one before stays.

        `to_mend` says that the run stopped at a row that cannot be read: the file that it is in may then be another
        when the run goes on.
        """
        if self._spool is not None:
            self._spool.sync()
        parts = {
            "learner": require_saves(run.learner).snapshot(),
            "scores": run.scores.snapshot(),
            "stream": run.before,
            "sample": run.sample.snapshot(),
            "windows": run.scoring.windows.snapshot(),
        }
        if isinstance(run.player, LatePlayer):
            parts["waiting"] = run.player.waiting.snapshot()
        if run.by_key is not None:
            parts["keys"] = run.by_key.snapshot()
        if run.known is not run.before:
            parts["known"] = run.known  # as wide as the learner
        history = [plain_point(point) for point in run.history.points]
        values: dict[str, Plain] = {"run": dict(self.run), "rows": run.rows, "within": run.within, "history": history}
        values["files"], values["to mend"] = run.stream.marks(), to_mend
        if run.skipped is not None and run.skipped.count:
            values["skipped"] = run.skipped.plain()
        if self._spool is not None:
            values |= _plain_predictions(self._spool.kept, run.rows)
        arrays = {} if run.extremes is None else {"extremes": run.extremes.table.copy()}
        snapshot = Snapshot("Run", values, arrays, parts)
        with os_errors_naming(self.folder):
            write_snapshot(self.folder / STATE, snapshot)
        self.found = snapshot

    def remove(self) -> None:
        """Delete the checkpoint, once the run is over."""
        (self.folder / STATE).unlink(missing_ok=True)

    def close(self) -> None:
        """Release the folder; the predictions stay there only beside a checkpoint."""
        clear_parts(self.folder / STATE)
        if not (self.folder / STATE).exists():
            for name in (PREDICTIONS, PREDICTIONS + KEYS):
                (self.folder / name).unlink(missing_ok=True)
        self._lock.release()


def _plain_predictions(kept: Kept, rows: int) -> dict[str, Plain]:
    """Return what the spool holds; rows and frames are told only where they are not those of the run."""
    more: dict[str, Plain] = {} if kept.rows == rows else {"rows_of_two": kept.rows, "frames": kept.frames}
    more |= {} if kept.keys_checksum is None else {"keys": kept.keys, "keys_checksum": kept.keys_checksum}
    return {"predictions": kept.checksum, **more}


def _kept_predictions(found: Snapshot) -> Kept:
    """Return what the spool of a checkpoint held."""
    checksum = found.optional_text("predictions")
    keys = found.whole("keys") if "keys" in found.values else 0
    keys_checksum = found.optional_text("keys_checksum") if "keys" in found.values else None
    if "frames" not in found.values:
        return Kept(found.whole("rows"), 0, checksum, keys, keys_checksum)
    return Kept(found.whole("rows_of_two"), found.whole("frames"), checksum, keys, keys_checksum)
