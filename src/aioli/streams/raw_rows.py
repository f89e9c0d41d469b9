"""Rows of a file as other libraries are given them: numbers by name, and words as they are written."""

import re
from typing import TypeAlias

import numpy as np

from aioli.streams.files.table import TEXT, Table

__all__ = ["RawRow", "raw_rows"]

RawRow: TypeAlias = dict[str, float | str]
WORD = re.compile(r"\w+")


def raw_rows(table: Table, kinds: dict[str, str]) -> list[RawRow]:
    """Return each row by the names of its columns: numbers, days as numbers, categories; what is missing is absent.

    A word of free text is a category of its own.

    >>> from aioli.streams.files.where import Numbered
    >>> where = Numbered("a.csv", "line", [2])
    >>> table = Table(["size"], np.array([[1.5]]), {"colour": ["red"], "note": ["Sold out"]}, None, where, {})
    >>> raw_rows(table, {"size": "number", "colour": "category", "note": "text"})
    [{'size': 1.5, 'colour': 'red', 'note: sold': '1', 'note: out': '1'}]
    """
    rows: list[RawRow] = [{} for _ in range(len(table))]
    numbers = dict(zip(table.names, table.numbers.T, strict=True)) | table.days
    for name, values in numbers.items():
        for row, value, gone in zip(rows, values.tolist(), np.isnan(values).tolist(), strict=True):
            if not gone:
                row[name] = value
    for name, texts in table.texts.items():
        words = kinds.get(name) == TEXT
        for row, text in zip(rows, texts, strict=True):
            if text is not None and words:
                row.update((f"{name}: {word}", "1") for word in WORD.findall(text.lower()))
            elif text is not None:
                row[name] = text
    return rows
