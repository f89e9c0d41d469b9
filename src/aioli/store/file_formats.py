"""Holds what the files of predictions share: text in UTF-8, and the library that writes Parquet, which is an extra."""

import contextlib
import importlib
import io
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import BinaryIO

from aioli.streams.files.cell_values import as_number

__all__ = ["as_text", "csv_label", "distinct_names", "no_formula", "parquet_modules"]

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that a spreadsheet would compute


@contextlib.contextmanager
def as_text(file: BinaryIO) -> Iterator[io.TextIOWrapper]:
    """Return a context in which the file takes text, and which leaves it open."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
    try:
        yield text
    finally:
        text.detach()


def no_formula(name: str) -> str:
    """Return a label for a cell: one that a spreadsheet would take for a formula has an apostrophe before it.

    >>> [no_formula(name) for name in ("yes", "-1", "=1+1")]
    ['yes', '-1', "'=1+1"]
    """
    return f"'{name}" if name.startswith(FORMULA) and as_number(name) is None else name


def csv_label(name: str) -> str:
    """Return a label as a cell of CSV: quoted where it must be, and no formula."""
    name = no_formula(name)
    return f'"{name.replace(chr(34), chr(34) * 2)}"' if any(mark in name for mark in ',"\n\r') else name


def distinct_names(names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Return the names of further columns; one that is taken has " (key)" behind it.

    >>> distinct_names(["visit", "row"], ["row", "label"])
    ['visit', 'row (key)']
    """
    used, distinct = set(taken), []
    for name in names:
        while name in used:
            name += " (key)"
        used.add(name)
        distinct.append(name)
    return distinct


def parquet_modules() -> tuple[ModuleType, ModuleType]:
    """Return pyarrow and its writer of Parquet, or say what to install."""
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise ImportError("Parquet needs pyarrow: pip install 'aioli-online[files]', or write .csv or .jsonl") from None
