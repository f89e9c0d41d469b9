"""Cells of delimited text as texts and labels; what cannot be read refuses its row, or marks it as bad."""

import numpy as np

from aioli.errors import FileRefused
from aioli.streams.files.byte_window import Places
from aioli.streams.files.cell_values import as_number, is_missing
from aioli.streams.files.parse_cells import Integers
from aioli.streams.files.table import Texts
from aioli.streams.files.text_reader import NOT_UTF8
from aioli.streams.files.where import row_refused

__all__ = ["cell_text", "label_in", "refuse_row", "texts_of"]


def label_in(text: str | None, name: str, where: Places, row: int) -> float:
    """Return a label of a column of numbers, NaN where it is missing."""
    value = np.nan if text is None or is_missing(text) else as_number(text)
    if value is None or abs(value) == np.inf:
        wrong = "no number" if value is None else "not finite"
        problem = (
            f"{text!r} is {wrong}, and this was the label's column so far; mend it, or read the column as categories "
            f"(--category {name!r})"
        )
        raise row_refused(where, row, problem, name)
    return value


def refuse_row(error: FileRefused, row: int, bad: dict[int, str] | None) -> None:
    """Raise what refuses a row, or add it to the bad ones."""
    if bad is None:
        raise error
    bad.setdefault(row, str(error))


def texts_of(whole: bytes, spans: Integers, name: str, where: Places, label: bool, bad: dict[int, str] | None) -> Texts:
    """Return the cells of a column. Most are repeated, and are decoded once."""
    known: dict[bytes, str | None] = {}
    texts: Texts = []
    for t, (first, end) in enumerate(spans.tolist()):
        raw = whole[first:end]
        if raw not in known:
            try:
                known[raw] = cell_text(raw, name, where, t, label)
            except FileRefused as error:
                refuse_row(error, t, bad)
        texts.append(known.get(raw))
    return texts


def cell_text(raw: bytes, name: str, where: Places, row: int, label: bool = False) -> str | None:
    """Return the text of a cell without its quotes; None if the cell says that there is no value."""
    raw = raw.strip(b" \t\r")
    if raw[:1] == b'"' and raw[-1:] == b'"' and len(raw) > 1:
        raw = raw[1:-1].replace(b'""', b'"')
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise row_refused(where, row, f"{raw[:40]!r} {NOT_UTF8}", name) from None
    return None if is_missing(text, label) else text
