"""Columns that are read and are no features: how much each row counts, when it came, and keys carried beside it."""

from dataclasses import dataclass, replace

import numpy as np

from aioli.errors import FileRefused
from aioli.numerics.compiling import Vector
from aioli.streams.files.table import CATEGORY, NUMBER, Table, Texts
from aioli.streams.files.where import row_refused
from aioli.streams.protocol import Keys

__all__ = ["Aside", "bad_weights", "rows_like", "set_aside"]


@dataclass(frozen=True)
class Aside:
    """Which columns are set aside: the weight, the time where it is no feature, the keys."""

    weight: str | None = None
    time: str | None = None
    keys: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """All of them."""
        return [name for name in (self.weight, self.time, *self.keys) if name is not None]

    @property
    def asked(self) -> dict[str, str]:
        """What they must be: weights are numbers, keys are as they are written."""
        return ({} if self.weight is None else {self.weight: NUMBER}) | dict.fromkeys(self.keys, CATEGORY)


def bad_weights(table: Table, column: str) -> dict[int, FileRefused]:
    """Return what refuses the rows whose weight is missing, is no number or is below 0."""
    values = table.numbers[:, table.names.index(column)]
    wrong = np.flatnonzero(~((values >= 0.0) & np.isfinite(values))).tolist()
    cells = table.unreadable.get(column, {})
    bad = {}
    for t in wrong:
        came = repr(cells[t]) if t in cells else "missing" if np.isnan(values[t]) else f"{values[t]:g}"
        problem = f"the weight is {came}; give a number that is at least 0, or drop the row"
        bad[t] = row_refused(table.where, t, problem, column, alone=True)
    return bad


def set_aside(table: Table, aside: Aside) -> tuple[Table, Vector | None, Keys | None]:
    """Return the table without these columns, what each row counts, and the keys of each row."""
    weights, columns = table.weights, aside.columns
    if aside.weight is not None:
        weights = np.ascontiguousarray(table.numbers[:, table.names.index(aside.weight)])
    kept = [j for j, name in enumerate(table.names) if name not in columns]
    numbers = table.numbers if len(kept) == len(table.names) else np.ascontiguousarray(table.numbers[:, kept])
    rest = replace(
        table,
        names=[table.names[j] for j in kept],
        numbers=numbers,
        texts={name: cells for name, cells in table.texts.items() if name not in columns},
        days={name: days for name, days in table.days.items() if name not in columns},
        unreadable={name: cells for name, cells in table.unreadable.items() if name not in columns},
    )
    if not aside.keys:
        return rest, weights, None
    none: Texts = [None] * len(table)
    return rest, weights, list(zip(*(table.texts.get(name, none) for name in aside.keys), strict=True))


def rows_like(labels: Vector | Texts, row: int) -> list[int]:
    """Return the rows that have the label of this one."""
    return [t for t, label in enumerate(labels) if label == labels[row]]
