"""`aioli run`: predict, score, learn, row by row; a table or a moving line on the way, and a summary at the end."""

import gc
import json
import sys
import time
from contextlib import closing, nullcontext, suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from aioli.commands.display import Display
from aioli.commands.learner_spec import learner_by_name
from aioli.commands.output_paths import check_apart
from aioli.commands.summary import check_both_classes, finish, label_names
from aioli.evaluate.loop import Playing
from aioli.snapshots.tree import Snapshot
from aioli.snapshots.whole_files import check_target
from aioli.store.checkpoints import Checkpoints
from aioli.store.models import save_model, why_not_saved
from aioli.store.predictions import Spool, check_ending
from aioli.streams.files.byte_source import STANDARD_INPUT
from aioli.streams.filestream import FileStream, Reading
from aioli.streams.protocol import Stream
from aioli.streams.synthetic_stream import SCHEME, SyntheticStream

__all__ = ["Options", "check_label", "make_learner", "run_stream"]


@dataclass(frozen=True)
class Options:
    """What `aioli run` was asked for.

    Attributes
    ----------
    source
        A file, a folder, `-` for standard input, or `synthetic:NAME`.
    rows, seed
        Of a synthetic stream.
    predictions, save, report
        Files to write.
    checkpoint, resume, every
        A folder to keep the run's state in, whether to go on from there, and the seconds between two checkpoints.
    """

    source: str
    reading: Reading = field(default_factory=Reading)
    learner: str = "Auto"
    rows: int = 10_000
    seed: int = 0
    predictions: str | None = None
    save: str | None = None
    report: str | None = None
    checkpoint: str | None = None
    resume: bool = False
    every: float = 10.0
    as_json: bool = False

    @property
    def name(self) -> str:
        """What the stream is called in a sentence."""
        return "standard input" if self.source == STANDARD_INPUT else self.source

    def stream(self, snapshot: Snapshot | None = None) -> FileStream | SyntheticStream:
        """Open the stream at its beginning, or where the snapshot was taken."""
        if self.source.startswith(SCHEME):
            return SyntheticStream(self.source, self.rows, self.seed, snapshot)
        return FileStream(self.source, self.reading, snapshot)

    def fingerprint(self) -> dict[str, Any]:
        """What must be the same for a run to go on."""
        told = {"source": self.source, "learner": self.learner, "rows": self.rows, "seed": self.seed}
        written = {"predictions": self.predictions is not None, "report": self.report is not None}
        plain: dict[str, Any] = json.loads(json.dumps({**told, **written, **asdict(self.reading)}))
        return plain


def run_stream(options: Options) -> None:
    """Play the stream to its end, and write all that was asked for."""
    if options.resume and options.checkpoint is None:
        raise ValueError("--resume needs --checkpoint DIR: the folder that the run was kept in")
    check_apart([options.source], [options.save, options.report, options.predictions])
    for path in (options.save, options.report):
        if path is not None:
            check_target(path)
    if options.predictions is not None:
        check_ending(options.predictions)
    kept = None
    if options.checkpoint is not None:
        kept = Checkpoints(options.checkpoint, options.fingerprint(), options.resume)
    try:
        _run(options, kept)
    finally:
        if kept is not None:
            kept.close()


def _run(options: Options, kept: Checkpoints | None) -> None:
    stream = options.stream(None if kept is None else kept.stream)
    with closing(stream):
        check_label(options, stream)
        learner = make_learner(options, stream) if kept is None or kept.found is None else kept.learner()
        if isinstance(stream, SyntheticStream):
            stream.learner = learner
        with _spool(options, kept) as spool:
            playing = Playing(stream, learner, spool, watched=options.report is not None)
            if kept is not None:
                kept.restore(playing)
            _play(options, playing, kept)
    if kept is not None:
        kept.remove()
    check_both_classes(options.name, playing, label_names(stream))


def _play(options: Options, playing: Playing, kept: Checkpoints | None) -> None:
    if not gc.isenabled():  # all that was loaded stays: never look through it again
        gc.freeze()
        gc.enable()
    display = Display(None if options.as_json else sys.stdout)
    display.start(playing)
    begun = playing.rows
    try:
        written = time.perf_counter()
        for _ in playing.tables():
            display.show(playing)
            if kept is not None and time.perf_counter() - written >= options.every:
                kept.keep(playing)
                written = time.perf_counter()
        playing.settle()
        seconds = display.seconds
        display.end(playing)
        if not playing.rows:
            raise ValueError(f"{options.name}: has a header but no row; there is nothing to learn from")
        finish(options, playing, seconds, (playing.rows - begun) / max(seconds, 1e-9))
    except BaseException as error:
        display.wipe()
        _leave(options, playing, kept, error)
        raise
    finally:
        playing.close()


def _leave(options: Options, playing: Playing, kept: Checkpoints | None, error: BaseException) -> None:
    """Something went wrong, or the user has had enough: keep what was learned, where that was asked for, and say so."""
    playing.settle()
    if not playing.rows:
        return
    said = [f"{playing.rows:,} rows were learned"]
    if kept is not None:
        if playing.whole:
            with suppress(OSError, ValueError):  # the checkpoint before stays
                kept.keep(playing)
        if kept.rows:
            which = "them" if kept.rows == playing.rows else f"the first {kept.rows:,}"
            said.append(f"go on from {which} with --checkpoint {options.checkpoint} --resume")
        else:
            said.append("no checkpoint could be written")
    if options.save is not None:
        said.append(_saved(options.save, playing))
    error.add_note("; ".join(said))


def _saved(path: str, playing: Playing) -> str:
    if playing.torn:
        return "the model was not saved: it was in the middle of a row"
    try:
        save_model(path, playing.learner, playing.taught)
    except (OSError, ValueError):
        return f"the model could not be saved in {path}"
    return f"the model is in {path}"


def check_label(options: Options, stream: Stream) -> None:
    """Refuse a stream without labels."""
    if stream.label is None:
        raise ValueError(f"{options.name}: say which column is the label (--label NAME, or --label -1 for the last)")


def make_learner(options: Options, stream: Stream) -> Any:
    """The learner at its defaults; its radius is the synthetic stream's, where both have one."""
    radius = stream.law.radius if isinstance(stream, SyntheticStream) else None
    usual = {} if radius is None else {"radius": radius}
    learner = learner_by_name(options.learner, **usual)
    reason = why_not_saved(learner)
    if reason is not None and (options.save or options.checkpoint):
        raise ValueError(reason)
    return learner


def _spool(options: Options, kept: Checkpoints | None) -> Any:
    if options.predictions is None:
        return nullcontext()
    if kept is not None:
        return kept.spool()
    return Spool.beside(options.predictions)
