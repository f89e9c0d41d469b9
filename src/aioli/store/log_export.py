"""Writes the log of a model as two Parquet files that `aioli run` plays to the same numbers: rows, and labels.

Both have the id and the number of the entry as a time, so that labels come between the rows as they did. Rows hold the
features that the learner saw; one that came later is 0 before. Rows of a fleet have their keys too, as JSON, and are
played by `Fleet.learn` with the log-odds of `Fleet.predict_logit` (docs/service.md).
"""

import json
import os
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from aioli.errors import FileRefused
from aioli.snapshots.whole_files import check_target, os_errors_naming, replacing
from aioli.store.event_log import Event, Store
from aioli.store.file_formats import parquet_modules
from aioli.store.label_codec import label_from_bytes
from aioli.store.row_codec import AnnouncedRow, row_from_bytes

__all__ = ["ID", "LABEL", "SEQUENCE", "Exported", "export_log"]

ID, SEQUENCE, LABEL, KEY = "id", "sequence", "label", "key"
AT_ONCE = 4096  # rows of a group of the file


class Exported(NamedTuple):
    """How many rows and labels were written, and the command that plays them; empty of a fleet."""

    rows: int
    labels: int
    command: str


def export_log(
    store: Store,
    model: int,
    rows: str | os.PathLike[str],
    labels: str | os.PathLike[str],
    features: Sequence[str],
    learner: str,
    until: int | None = None,
    keyed: bool = False,
) -> Exported:
    """Write the rows and the labels of a model's log, each file whole or not at all.

    `features` are the names of the learner's features, `learner` is the text that makes the learner anew, and `keyed`
    says that it is a fleet.
    """
    arrow, parquet = parquet_modules()
    for path in (rows, labels):
        check_target(os.fspath(path))
    taken = {ID, SEQUENCE, LABEL, *([KEY] if keyed else [])}
    names = [f"{name} (feature)" if name in taken else name for name in features]
    types = [(ID, arrow.string()), (SEQUENCE, arrow.float64())]
    key_type = [(KEY, arrow.string())] if keyed else []
    schema = arrow.schema([*types, *key_type, *((name, arrow.float64()) for name in names)])
    counted = 0
    with os_errors_naming(rows), replacing(rows) as file, parquet.ParquetWriter(file, schema) as writer:
        ids: list[str] = []
        numbers: list[float] = []
        found: list[AnnouncedRow] = []

        def write() -> None:
            X = np.zeros((len(found), len(names)))
            for t, row in enumerate(found):
                X[t, : row.x.shape[-1]] = row.x if isinstance(row.x, np.ndarray) else row.x.toarray()[0]
            keys = [[json.dumps(row.key) for row in found]] if keyed else []
            writer.write_table(arrow.table([ids, numbers, *keys, *X.T.copy()], schema=schema))
            ids.clear()
            numbers.clear()
            found.clear()

        for entry in store.entries(model, until=until):
            if entry.event == Event.ROW:
                ids.append(entry.id)
                numbers.append(float(entry.sequence))
                found.append(row_from_bytes(entry.body))
                counted += 1
                if len(found) == AT_ONCE:
                    write()
        if found:
            write()
    told = [entry for entry in store.entries(model, until=until) if entry.event == Event.LABEL]
    values = [label_from_bytes(entry.body) for entry in told]
    if any(value.weight != 1.0 for value in values):
        raise FileRefused("labels of this model have weights, which `aioli run` does not join", path=os.fspath(labels))
    columns = [[entry.id for entry in told], [float(entry.sequence) for entry in told]]
    texts = [str(value.label) for value in values]
    with os_errors_naming(labels), replacing(labels) as file:
        table = arrow.table([*columns, texts], schema=arrow.schema([*types, (LABEL, arrow.string())]))
        parquet.write_table(table, file)
    command = (
        f"aioli run {os.fspath(rows)} --labels {os.fspath(labels)} --label {LABEL} --key {ID} --time {SEQUENCE} "
        f"--skip {SEQUENCE} --positive 1 --learner '{learner}'"
    )
    return Exported(counted, len(told), "" if keyed else command)
