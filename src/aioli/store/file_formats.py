"""What the files of predictions share: text in UTF-8, and the library that writes Parquet, which is an extra."""

import contextlib
import importlib
import io
from collections.abc import Iterator
from typing import Any, BinaryIO

__all__ = ["as_text", "parquet_modules"]


@contextlib.contextmanager
def as_text(file: BinaryIO) -> Iterator[io.TextIOWrapper]:
    """Return a context in which the file takes text, and which leaves it open."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
    try:
        yield text
    finally:
        text.detach()


def parquet_modules() -> tuple[Any, Any]:
    """Return pyarrow and its writer of Parquet, or say what to install."""
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise ImportError("Parquet needs pyarrow: pip install 'aioli-online[files]', or write .csv or .jsonl") from None
