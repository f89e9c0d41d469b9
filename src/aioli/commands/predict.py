"""`aioli predict`: the probabilities of new rows, from a model that `aioli run --save` wrote; nothing is learned."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from aioli.commands.display import told
from aioli.commands.models import load_model
from aioli.commands.predictions import Spool, check_ending, write_predictions
from aioli.evaluate.scoreboard import Scoreboard
from aioli.streams.files.table import CATEGORY, DATE, NUMBER
from aioli.streams.filestream import FileStream, Reading

__all__ = ["predict_file"]


def predict_file(source: str, model: str, reading: Reading, out: str | None = None, as_json: bool = False) -> None:
    """Write every row's probability to a file, or print it; where the file has the label, say how good they are.

    A column is read as it was when the model was taught; columns that it has not seen are left out, and a category
    that it has not seen counts as none.
    """
    if out is not None:
        check_ending(out)
    learner, taught = load_model(model)
    if not taught:
        raise ValueError(f"{model}: does not say from which columns it was taught; save it with aioli run --save")
    if learner.n_features_ is None:
        raise ValueError(f"{model}: has learned from no row yet")
    stream = _same_columns(source, reading, taught)
    board = Scoreboard()
    names = (str(taught["labels"]["negative"] or "0"), str(taught["labels"]["positive"] or "1"))
    if out is None:
        for p in _announced(stream, learner, board, None):
            sys.stdout.writelines(f"{value!r}\n" for value in p.tolist())
        return
    path = Path(out).absolute()
    spool = Spool(path.with_name(f".{path.name}.part"))
    try:
        rows = sum(len(p) for p in _announced(stream, learner, board, spool))
        write_predictions(out, spool, names)
    finally:
        spool.close(remove=True)
    summary: dict[str, Any] = {"rows": rows, "predictions": out}
    if board.rows:
        summary |= {"log_loss": board.log_loss, "brier": board.brier, "accuracy": board.accuracy}
        summary |= {"auc": board.auc, "ece": board.ece}
    print(json.dumps(summary) if as_json else told(summary))


def _announced(stream: FileStream, learner: Any, board: Scoreboard, spool: Spool | None) -> Any:
    for batch in stream:
        X = batch.X[:, : learner.n_features_]
        p = learner.predict_many(X)
        if batch.y is not None:
            board.update(p, batch.y)
        if spool is not None:
            spool.add(p, batch.y)
        yield p


def _same_columns(source: str, reading: Reading, taught: dict[str, Any]) -> FileStream:
    """The stream with each column as the model knows it; the label only where it is asked for, or there."""
    state = {**taught, "position": None}
    kinds = taught["encoder"].get("kinds")
    if kinds is None:  # features by name: the file says all
        return FileStream(source, reading, state)
    probe = FileStream(source, replace(reading, label=None))
    found = set(probe.kinds)
    probe.close()
    absent = [name for name, kind in kinds.items() if name not in found and kind != "skipped"]
    if absent:
        raise ValueError(f"{source}: has no column {absent[0]!r}, from which the model was taught; give such a column")
    label = reading.label or (taught["label"] if taught["label"] in found else None)
    wanted = {kind: tuple(name for name in kinds if kinds[name] == kind) for kind in (NUMBER, CATEGORY, DATE)}
    other = tuple(name for name in found if kinds.get(name, "skipped") == "skipped" and name != label)
    return FileStream(
        source,
        replace(reading, label=label, number=wanted[NUMBER], category=wanted[CATEGORY], date=wanted[DATE], skip=other),
        state,
    )
