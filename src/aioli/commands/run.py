"""`aioli run`: predict, score, learn, row by row; a table or a moving line on the way, and a summary at the end."""

import gc
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from aioli.commands.display import RunDisplay
from aioli.commands.guest_files import guest_from
from aioli.commands.learner_spec import learner_for, show_to_adversary
from aioli.commands.options import STANDARD_OUTPUT, RunOptions, check_answers
from aioli.commands.output_paths import check_apart, check_outside, check_page
from aioli.commands.printed_predictions import PrintedPredictions
from aioli.commands.second_compiler import compile_beside
from aioli.commands.summary import check_both_classes, check_rows, write_results
from aioli.errors import AioliError, FileRefused, RowRefused
from aioli.evaluate.delayed import LatePlayer
from aioli.evaluate.keyed_player import KeyedLearner
from aioli.evaluate.loop import Announced, Observer
from aioli.evaluate.run import Run
from aioli.learners.protocol import AnyLearner
from aioli.snapshots.tree import Snapshot
from aioli.snapshots.whole_files import check_target
from aioli.store.checkpoints import Checkpoints
from aioli.store.models import load_model, require_saves, save_model
from aioli.store.predictions import check_ending
from aioli.store.spool import Spool
from aioli.streams.file_snapshots import going_on_with
from aioli.streams.filestream import FileStream

if TYPE_CHECKING:
    from aioli.evaluate.key_scores import KeyScores
    from aioli.evaluate.keyed_player import KeyedLearner, KeyedPlayer

__all__ = ["run_stream"]


def run_stream(options: RunOptions) -> None:
    """Run `aioli run`: play the stream to its end, then write the model, predictions and report asked for."""
    _ = options.lateness  # refused before anything is written
    if options.guests and (options.model or options.by or options.save or options.checkpoint):
        raise AioliError(
            "--guest plays in a run of its own: leave out --model, --by, --save and --checkpoint (files hold no code)"
        )
    if options.resume and options.checkpoint is None:
        raise AioliError("--resume needs --checkpoint DIR: the folder that the run was kept in")
    printed = options.predictions == STANDARD_OUTPUT
    if printed and options.as_json:
        raise AioliError("--predictions - and --json both print; leave out one of them")
    results = [options.save, options.report, None if printed else options.predictions]
    read = [options.source] if options.labels is None else [options.source, options.labels]
    check_apart(read, results)
    if options.checkpoint is not None:
        check_outside(options.checkpoint, [*read, *results])
    for path in (options.save, options.report):
        if path is not None:
            check_target(path)
    check_page(options.report)
    if options.predictions is not None and not printed:
        check_ending(options.predictions)
    if options.checkpoint is None:
        _run(options, None)
        return
    with closing(Checkpoints(options.checkpoint, options.fingerprint(), options.resume)) as kept:
        _run(options, kept)


def _run(options: RunOptions, kept: Checkpoints | None) -> None:
    late = options.lateness
    earlier, taught = (None, None) if options.model is None else _earlier(options.model)
    if taught is not None and options.reading.label is None:
        options = replace(options, reading=replace(options.reading, label=taught.optional_text("label")))
    resumed = None if kept is None else kept.stream
    stream = options.stream(going_on_with(taught) if resumed is None and taught is not None else resumed)
    with closing(stream):
        keyed, player, by_key = _fleet(options, kept)
        learner: AnyLearner | None = keyed or (None if kept is None else kept.learner) or earlier
        guests = [guest_from(path, options.trust) for path in options.guests]
        learner = learner or learner_for(options.learner, stream, options.told_classes, guests)
        if options.own_process:
            compile_beside(learner)
        if options.save or options.checkpoint:
            require_saves(learner)
        show_to_adversary(stream, learner)
        check_answers(stream, late)
        keys = stream.keys if isinstance(stream, FileStream) else []
        with _spool(options, kept, keys) as spool:
            told: list[Observer] = [one for one in (spool, by_key) if one is not None]
            if options.predictions == STANDARD_OUTPUT:
                told.append(PrintedPredictions(stream.labels, sys.stdout, keys))
            run = Run(
                stream,
                learner,
                told if late is None else [],
                with_extremes=options.report is not None,
                delay=late,
                player=player,
                by_key=by_key,
                tolerant=options.reading.tolerant,
            )
            if isinstance(run.player, LatePlayer):
                run.player.record = partial(_announce, told)  # in the order of the rows, whatever that of the labels
            if kept is not None:
                kept.restore(run)
            with closing(run):
                _play(options, run, spool, kept)
    if kept is not None:
        kept.remove()
    check_both_classes(options.name, run)


def _fleet(
    options: RunOptions, kept: Checkpoints | None
) -> "tuple[KeyedLearner | None, KeyedPlayer | None, KeyScores | None]":
    """Return one model a key, who plays them and the scores by key, where they were asked for."""
    if options.by is None:
        return None, None, None
    from aioli.commands.by_key import fleet_for
    from aioli.evaluate.key_scores import KeyScores
    from aioli.evaluate.keyed_player import KeyedPlayer

    found = None if kept is None else kept.found
    scores = KeyScores() if found is None else KeyScores.restore(found.part("keys"))
    learner = fleet_for(options, found)
    return learner, KeyedPlayer(learner), scores


def _announce(told: Sequence[Observer], announced: Announced) -> None:
    """Tell observers of rows when they are announced; y is NaN where a row has no label."""
    for observer in told:
        observer.predicted(announced)


def _earlier(model: str) -> tuple[AnyLearner, Snapshot]:
    """Return the learner of a saved model and the stream's snapshot that it was taught on."""
    learner, taught = load_model(model)
    if isinstance(learner, KeyedLearner):
        raise AioliError(f"{model}: holds one model a key, which --model does not go on with; read it with Fleet.load")
    if taught is None or taught.kind != "FileStream":
        raise AioliError(
            f"{model}: does not say from which columns it was taught; teach it with aioli run FILE --save {model}"
        )
    return learner, taught


def _play(options: RunOptions, run: Run, spool: Spool | None, kept: Checkpoints | None) -> None:
    if not gc.isenabled():  # all that was loaded stays: never look through it again
        gc.freeze()
        gc.enable()
    quiet = options.as_json or options.predictions == STANDARD_OUTPUT
    display = RunDisplay(run, None if quiet else sys.stdout)
    begun = run.rows
    try:
        written = time.perf_counter()
        for _ in run.tables():
            display.show()
            if kept is not None and time.perf_counter() - written >= options.every:
                kept.keep(run)
                written = time.perf_counter()
        run.scoring.settle()
        seconds = display.seconds
        display.end()
        check_rows(options.name, run)
        write_results(options, run, spool, seconds, (run.rows - begun) / max(seconds, 1e-9))
    except BaseException as error:
        display.wipe()
        _leave(options, run, kept, error)
        raise


def _leave(options: RunOptions, run: Run, kept: Checkpoints | None, error: BaseException) -> None:
    """On an error or Ctrl-C, write the checkpoint and the model asked for, and note on the error what was kept."""
    run.scoring.settle()
    if not run.rows:
        return
    said = [f"{run.rows:,} rows were learned"]
    if kept is not None:
        if run.whole:
            with suppress(OSError, ValueError):  # the checkpoint before stays
                kept.keep(run, to_mend=isinstance(error, (FileRefused, RowRefused)))
        if kept.rows:
            which = "them" if kept.rows == run.rows else f"the first {kept.rows:,}"
            said.append(f"go on from {which} with --checkpoint {options.checkpoint} --resume")
        else:
            said.append("no checkpoint could be written")
    if options.save is not None:
        said.append(_saved(options.save, run))
    error.add_note("; ".join(said))


def _saved(path: str, run: Run) -> str:
    if run.torn:
        return "the model was not saved: it was in the middle of a row"
    try:
        save_model(path, run.learner, run.taught)
    except (OSError, ValueError):
        return f"the model could not be saved in {path}"
    return f"the model is in {path}"


def _spool(options: RunOptions, kept: Checkpoints | None, keys: Sequence[str]) -> AbstractContextManager[Spool | None]:
    if options.predictions in (None, STANDARD_OUTPUT):
        return nullcontext()
    return kept.spool(keys) if kept is not None else Spool.beside(options.predictions, keys)
