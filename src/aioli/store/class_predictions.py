"""Writes predictions of K classes as files: one column a class, or the few likeliest of each row."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, repeat
from typing import BinaryIO, NamedTuple

import numpy as np

from aioli.numerics.compiling import Matrix
from aioli.outcomes.class_labels import Codes
from aioli.store.class_frames import Frame
from aioli.store.file_formats import as_text, distinct_names, no_formula, parquet_modules

__all__ = ["csv_lines", "write_class_predictions"]

Frames = Iterable[Frame]
Cells = list[Iterable[object]]  # the cells of each column of a file
AT_ONCE = 1 << 13  # rows of a piece
NOBODY = -1
NO_KEYS: Iterable[Sequence[str | None]] = repeat(())


def csv_lines(
    frames: Frames,
    classes: Sequence[str],
    top: int | None,
    key_names: Sequence[str] = (),
    keys: Iterable[Sequence[str | None]] = NO_KEYS,
) -> Iterator[str]:
    """Yield the lines of a CSV file, the header first: a column a class, or a line for each of the `top` likeliest.

    The keys that are carried beside the rows are the last columns.
    """
    classes = [no_formula(name) for name in classes]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    head = _columns(classes, top)
    writer.writerow([*head, *distinct_names(key_names, head)])
    for (row, P, code, order), carried in zip(_rows(frames, len(classes)), keys, strict=False):
        label = "" if code < 0 else classes[code]
        behind = [no_formula(text or "") for text in carried]
        if top is None:
            writer.writerow([row, _named(order, classes) or "", *(repr(p) for p in P), label, *behind])
        else:
            for rank, k in enumerate(order[:top], 1):
                writer.writerow([row, rank, classes[k], repr(P[k]), label, *behind])
        if text.tell() > 1 << 16:
            yield text.getvalue()
            text.seek(0)
            text.truncate()
    yield text.getvalue()


def _columns(classes: Sequence[str], top: int | None) -> list[str]:
    wide = ["row", "likeliest", *(f"p_{name}" for name in classes), "label"]
    return wide if top is None else ["row", "rank", "class", "probability", "label"]


def write_class_predictions(
    file: BinaryIO,
    ending: str,
    frames: Frames,
    classes: Sequence[str],
    top: int | None,
    key_names: Sequence[str] = (),
    keys: Iterable[Sequence[str | None]] = NO_KEYS,
) -> None:
    """Write the predictions in the format of a file's ending."""
    if ending == ".parquet":
        _write_parquet(file, _Predictions(frames, classes, top, key_names, keys))
    elif ending == ".jsonl":
        _write_jsonl(file, _Predictions(frames, classes, top, key_names, keys))
    else:
        with as_text(file) as out:
            out.writelines(csv_lines(frames, classes, top, key_names, keys))


class _Predictions(NamedTuple):
    """What is written: the arguments of `write_class_predictions`."""

    frames: Frames
    classes: Sequence[str]
    top: int | None
    key_names: Sequence[str]
    keys: Iterable[Sequence[str | None]]


def _write_jsonl(file: BinaryIO, given: _Predictions) -> None:
    """Write a JSON object a row, its probabilities by class; with `top`, those of the likeliest, in their order."""
    frames, classes, top, key_names, keys = given
    names = distinct_names(key_names, ("row", "likeliest", "probabilities", "label"))
    with as_text(file) as out:
        for (row, P, code, order), carried in zip(_rows(frames, len(classes)), keys, strict=False):
            shown = range(len(classes)) if top is None else order[:top]
            entry = {
                "row": row,
                "likeliest": _named(order, classes),
                "probabilities": {classes[k]: P[k] for k in shown},
                "label": None if code < 0 else classes[code],
                **dict(zip(names, carried, strict=True)),
            }
            out.write(json.dumps(entry, ensure_ascii=False) + "\n")


def _write_parquet(file: BinaryIO, given: _Predictions) -> None:
    """Write a Parquet file, with the columns of the CSV file."""
    frames, classes, top, key_names, keys = given
    arrow, parquet = parquet_modules()
    number, text, whole = arrow.float64(), arrow.string(), arrow.int64()
    if top is None:
        fields = [("row", whole), ("likeliest", text), *((f"p_{name}", number) for name in classes), ("label", text)]
    else:
        fields = [("row", whole), ("rank", whole), ("class", text), ("probability", number), ("label", text)]
    carried = distinct_names(key_names, _columns(classes, top))
    schema, rows = arrow.schema([*fields, *((name, text) for name in carried)]), iter(keys)
    with parquet.ParquetWriter(file, schema) as writer:
        first = 1
        for P, codes, order in _pieces(frames, len(classes)):
            columns = (_wide if top is None else _long)(P, codes, order, classes, first, top or 0)
            ranks = 1 if top is None else min(top, order.shape[1])
            behind = zip(*islice(rows, len(codes)), strict=True)
            columns += [[text for text in column for _ in range(ranks)] for column in behind]
            arrays = [arrow.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
            writer.write_table(arrow.table(arrays, schema=schema))
            first += len(codes)


def _wide(P: Matrix, codes: list[int], order: Codes, classes: Sequence[str], first: int, _top: int) -> Cells:
    likeliest = [_named(ranked, classes) for ranked in order.tolist()]
    return [range(first, first + len(codes)), likeliest, *P.T.copy(), _names(codes, classes)]


def _long(P: Matrix, codes: list[int], order: Codes, classes: Sequence[str], first: int, top: int) -> Cells:
    order = order[:, :top]
    ranks = order.shape[1]
    rows = np.repeat(np.arange(first, first + len(codes)), ranks)
    names = [classes[k] for k in order.ravel().tolist()]
    labels = list(chain.from_iterable([label] * ranks for label in _names(codes, classes)))
    numbers = np.take_along_axis(P, order, axis=1).ravel()
    return [rows, np.tile(np.arange(1, ranks + 1), len(codes)), names, numbers, labels]


def _named(order: Sequence[int], classes: Sequence[str]) -> str | None:
    """Return the likeliest class; None where no class had come yet."""
    return None if order[0] == NOBODY else classes[order[0]]


def _names(codes: list[int], classes: Sequence[str]) -> list[str | None]:
    return [None if code < 0 else classes[code] for code in codes]


def _rows(frames: Frames, classes: int) -> Iterator[tuple[int, list[float], int, list[int]]]:
    """Yield each row's number, probabilities, label's code, and its classes from the likeliest to the least likely."""
    row = 0
    for P, codes, order in _pieces(frames, classes):
        for p, code, ranked in zip(P.tolist(), codes, order.tolist(), strict=True):
            row += 1
            yield row, p, code, ranked


def _pieces(frames: Frames, classes: int) -> Iterator[tuple[Matrix, list[int], Codes]]:
    """Yield probabilities as wide as all classes, codes, and the classes of each row from the likeliest on.

    A class that had not come yet had no probability. In the row where it first comes, its column holds the probability
    of something new: it is the last of its row, since nobody could have named it.
    """
    known, rows = np.zeros(classes, dtype=bool), 0
    for frame, codes in frames:
        for begin in range(0, len(codes), AT_ONCE):
            part = slice(begin, begin + AT_ONCE)
            P, labels = np.pad(frame[part], ((0, 0), (0, classes - frame.shape[1]))), codes[part]
            ranked = -P
            for k in set(labels[labels >= 0].tolist()) - set(np.flatnonzero(known).tolist()):
                t = int(np.argmax(labels == k))
                if not P[:t, k].any() and (rows + t or np.count_nonzero(P[0]) == 1):
                    ranked[t, k] = 1.0
            known |= P.any(axis=0)
            rows += len(labels)
            order = np.argsort(ranked, axis=1, kind="stable")
            order[ranked.min(axis=1) >= 0.0] = NOBODY
            yield P, labels.tolist(), order
