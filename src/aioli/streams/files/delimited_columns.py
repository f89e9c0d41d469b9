"""Plans the columns of delimited text: their names, made distinct, and what the compiled reader does with each."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from aioli.streams.files import parse_cells
from aioli.streams.files.cell_values import POINT
from aioli.streams.files.parse_cells import Integers
from aioli.streams.files.table import NUMBER, SKIPPED

__all__ = ["numbered_names", "plan_columns"]


def plan_columns(
    names: list[str], kinds: dict[str, str], label: str | None, notations: Mapping[str, str]
) -> tuple[Integers, NDArray[np.uint64], list[str], list[str]]:
    """Return what the compiled reader does with each column and where to, and which are numbers and texts."""
    codes, places = [], []
    numbers: list[str] = []
    texts: list[str] = []
    for name in names:
        kind = kinds[name]
        if kind == SKIPPED:
            codes.append(parse_cells.SKIPPED)
            places.append(0)
        elif kind != NUMBER or (name != label and notations.get(name, POINT) != POINT):
            codes.append(parse_cells.TEXT)
            places.append(len(texts))
            texts.append(name)
        elif name == label:
            codes.append(parse_cells.LABEL)
            places.append(0)
        else:
            codes.append(parse_cells.NUMBER)
            places.append(len(numbers))
            numbers.append(name)
    return np.array(codes), np.array(places, dtype=np.uint64), numbers, texts


def numbered_names(names: list[str]) -> list[str]:
    """Return the names, each that comes again with a number behind it: "a", "a (2)"."""
    distinct: dict[str, None] = {}
    counts: dict[str, int] = {}
    for name in names:
        free, count = name, counts.get(name, 1)
        while free in distinct:
            count += 1
            free = f"{name} ({count})"
        counts[name] = count
        distinct[free] = None
    return list(distinct)
