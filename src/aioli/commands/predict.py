"""`aioli predict` writes the probabilities of new rows by a model that `aioli run --save` wrote; it learns nothing."""

import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TextIO

import numpy as np

from aioli.commands.class_predict import announced_classes, class_names, class_summary_of
from aioli.commands.display import as_json as json_of
from aioli.commands.display import as_lines
from aioli.commands.output_paths import check_apart
from aioli.errors import AioliError, FileRefused, ParameterRefused
from aioli.evaluate.class_scores import ClassScores
from aioli.evaluate.column_effects import Contribution
from aioli.evaluate.explaining import Explainer
from aioli.evaluate.keyed_player import KeyedLearner, keys_by
from aioli.evaluate.sums import Scores
from aioli.learners.protocol import ClassLearner, Learner, knows_classes, plays_two_classes
from aioli.numerics.compiling import Vector
from aioli.snapshots.tree import Snapshot
from aioli.store.class_frames import Frame
from aioli.store.class_predictions import csv_lines
from aioli.store.models import load_model
from aioli.store.predictions import check_ending, write_predictions
from aioli.store.spool import Spool
from aioli.streams.encoding import column_kinds
from aioli.streams.file_snapshots import for_another_file
from aioli.streams.files.table import SKIPPED, Features
from aioli.streams.filestream import FileStream
from aioli.streams.labels import Labels
from aioli.streams.protocol import Keys
from aioli.streams.reading import Reading

__all__ = ["predict_file"]


def predict_file(
    source: str,
    model: str,
    reading: Reading,
    out: str | None = None,
    as_json: bool = False,
    top: int | None = None,
    explain: int = 0,
    by: str | None = None,
) -> None:
    """Write every row's probability to a file, or print it; where the file has the label, say how good they are.

    A file of one model a key needs the column of the keys, the one that it was taught by or the first of
    `reading.key`; a key that it has not seen is predicted as a new one.

    A column is read as it was when the model was taught; columns that it has not seen are left out, and a category
    that it has not seen counts as none. With `as_json` only the summary is printed. A model of K classes has a column
    for each, or a line for each of the `top` likeliest. `explain` is how many columns to print beside a row's
    probability: those that add most to its log-odds, or take most from them.
    """
    check_apart([source, model], [out])
    if out is not None:
        check_ending(out)
    learner, taught = load_model(model)
    if taught is None or taught.kind != "FileStream":
        raise ValueError(
            f"{model}: does not say from which columns it was taught; teach it with aioli run FILE --save {model}"
        )
    if not learner.rounds:
        raise ValueError(f"{model}: has learned from no row yet")
    summary: dict[str, object]
    if isinstance(learner, KeyedLearner):
        reading = _by_key(model, reading, taught, by)
        if explain:
            raise ParameterRefused("--explain is for one model, not one a key", parameter="explain", value=explain)
    elif by is not None:
        raise ParameterRefused(f"--by is for one model a key, and {model} is one model", parameter="by", value=by)
    if knows_classes(learner):
        if explain:
            raise ParameterRefused("--explain is for models of two classes", parameter="explain", value=explain)
        with _same_columns(source, reading, taught) as stream, _spool(out, stream.keys) as spool:
            summary = _predict_classes(stream, learner, spool, out, None if as_json else sys.stdout, top)
    else:
        assert plays_two_classes(learner)
        if top is not None:
            raise AioliError(f"--top is for models of more than two classes, and {model} is of two")
        explainer = _explainer(model, learner, taught, out, as_json) if explain else None
        summary = _predict_two(source, reading, taught, learner, out, as_json, explainer, explain)
    if as_json:
        print(json_of(summary))
    elif out is not None:
        print(as_lines(summary))


def _predict_two(
    source: str,
    reading: Reading,
    taught: Snapshot,
    learner: Learner,
    out: str | None,
    as_json: bool,
    explainer: Explainer | None,
    explain: int,
) -> dict[str, object]:
    """Write or print the probabilities of a model of two classes; return the summary."""
    scores = Scores()
    names = Labels.restore(taught.part("labels")).names
    rows = 0
    with _same_columns(source, reading, taught) as stream, _spool(out, stream.keys) as spool:
        for p, X in _announced(stream, learner, scores, spool):
            rows += len(p)
            if explainer is not None:
                for t, value in enumerate(p.tolist()):
                    print(_explained(value, explainer.of_row(X[[t]])[:explain]))
            elif out is None and not as_json:
                sys.stdout.writelines(f"{value!r}\n" for value in p.tolist())
        if out is not None:
            assert spool is not None
            write_predictions(out, spool, names)
    summary: dict[str, object] = {"rows": rows, "predictions": out}
    if scores.rows:
        summary |= {"log_loss": scores.log_loss, "brier": scores.brier, "accuracy": scores.accuracy}
        summary |= {"auc": scores.auc, "ece": scores.ece}
    return summary | _skipped(stream)


def _predict_classes(
    stream: FileStream,
    learner: ClassLearner,
    spool: Spool | None,
    out: str | None,
    printed: TextIO | None,
    top: int | None,
) -> dict[str, object]:
    """Write or print the probabilities of a model of K classes; return the summary."""
    scores, names, rows = ClassScores(learner.classes_, declared=True), class_names(learner), 0
    carried: deque[tuple[str | None, ...]] = deque()

    def frames() -> Iterator[Frame]:
        nonlocal rows
        for frame, keys in announced_classes(stream, learner, scores):
            rows += len(frame.codes)
            if spool is not None:
                spool.add_classes(frame.P, frame.codes.astype(np.float64), keys)
            carried.extend(keys or ())
            yield frame

    if out is not None and spool is not None:
        deque(frames(), maxlen=0)
        write_predictions(out, spool, names, top=top)
    elif printed is not None:
        printed.writelines(csv_lines(frames(), names, top, stream.keys, _one_by_one(carried)))
    else:
        deque(frames(), maxlen=0)
    return {"rows": rows, "predictions": out, **class_summary_of(scores), **_skipped(stream)}


def _one_by_one(carried: deque[tuple[str | None, ...]]) -> Iterator[Sequence[str | None]]:
    """Yield the keys of row after row, none where none are carried."""
    while True:
        yield carried.popleft() if carried else ()


def _skipped(stream: FileStream) -> dict[str, object]:
    """Return what is told of rows that were left out; nothing where there are none."""
    return {"skipped": str(stream.skipped)} if stream.skipped.count else {}


def _explainer(model: str, learner: Learner, taught: Snapshot, out: str | None, as_json: bool) -> Explainer:
    if out is not None or as_json:
        raise ParameterRefused("--explain prints; leave out --out and --json", parameter="explain")
    found = Explainer.of_model(learner, taught)
    if found is None:
        raise FileRefused(
            f"{model}: knows nothing of the rows that taught it; save it again with aioli run", path=model
        )
    return found


def _explained(p: float, parts: Sequence[Contribution]) -> str:
    """Return a row's probability, and what each column adds to its log-odds."""
    said = "; ".join(f"{part.name} = {part.value} {part.log_odds:+.2f}" for part in parts)
    return f"{p:.4f}  {said}".rstrip()


def _announced(
    stream: FileStream, learner: Learner, scores: Scores, spool: Spool | None
) -> Iterator[tuple[Vector, Features]]:
    """Yield the probabilities and the rows of each table, scored where it has labels."""
    for batch in stream:
        X, y = batch.X[:, : learner.n_features_], batch.y
        p = _said(learner, X, batch.keys)
        if y is not None:
            known = ~np.isnan(y)
            scores.count(np.ascontiguousarray(p[known]), np.ascontiguousarray(y[known]))
        if spool is not None:
            spool.add(p, y, batch.keys)
        yield p, X


def _same_columns(source: str, reading: Reading, taught: Snapshot) -> FileStream:
    """Return the stream with each column as the model knows it; the label too, where it is there and not skipped."""
    stream = FileStream(source, reading, for_another_file(taught))
    stream.require_known_column()
    label = taught.optional_text("label")
    if stream.label is None and label is not None and label in stream.kinds and label not in reading.skip:
        stream.label = label
        stream.kinds[label] = column_kinds(taught).get(label, stream.kinds[label])
    return stream


def _by_key(model: str, reading: Reading, taught: Snapshot, by: str | None) -> Reading:
    """Return how a file is read whose rows are predicted by key: the column of the keys first among those carried."""
    known = taught.texts("carried") if by is None and "carried" in taught.values else None
    column = known[0] if known else by
    if column is None:
        raise FileRefused(f"{model}: does not say by which column it was taught; name it with --by COLUMN", path=model)
    if column_kinds(taught).get(column, SKIPPED) != SKIPPED:
        message = f"--by is {column!r}, a column that the models have learned from; name the one that has the keys"
        raise ParameterRefused(message, parameter="by", value=column)
    return replace(reading, key=(column, *(name for name in reading.key if name != column)))


def _said(learner: Learner, X: Features, keys: Keys | None) -> Vector:
    """Return the probability of each row, by its key's model where there is one a key."""
    return (
        learner.fleet.predict_many(keys_by(keys), X) if isinstance(learner, KeyedLearner) else learner.predict_many(X)
    )


def _spool(out: str | None, keys: Sequence[str]) -> AbstractContextManager[Spool | None]:
    return nullcontext() if out is None else Spool.beside(out, keys)
