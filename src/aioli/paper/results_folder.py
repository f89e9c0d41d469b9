"""The folder that results go to: tables, figures, and the numbers of finished runs."""

import csv
import importlib
import io
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from aioli import __version__
from aioli.snapshots.tree import Plain

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from matplotlib.figure import Figure

__all__ = ["ResultsFolder", "key_of"]

Cells: TypeAlias = dict[str, Plain]  # a row of a table: its values by name


class ResultsFolder:
    """A folder of tables as CSV, figures as PNG and PDF, and one line of JSON for every finished run in `runs/`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        (self.path / "runs").mkdir(parents=True, exist_ok=True)

    def finished(self, experiment: str) -> dict[str, list[Cells]]:
        """Return the rows of every finished run, by its key. A line that was cut off is no finished run."""
        runs = self._runs(experiment)
        known: dict[str, list[Cells]] = {}
        if runs.exists():
            for line in runs.read_text(encoding="utf-8").splitlines():
                try:
                    entry = json.loads(line)
                    known[entry["run"]] = entry["rows"]
                except (json.JSONDecodeError, KeyError, TypeError):
                    continue
        return known

    def keep(self, experiment: str, key: str, rows: list[Cells]) -> None:
        """Enter a finished run, so that it need not be played again."""
        with self._runs(experiment).open("a", encoding="utf-8") as file:
            file.write(
                "\n" + json.dumps({"run": key, "rows": rows})
            )  # the newline first: it ends a line cut off before

    def write(self, name: str, rows: Sequence["DataclassInstance"]) -> None:
        """Write a table: one line a row, under the names of its fields."""
        with (self.path / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, [field.name for field in fields(rows[0])])
            writer.writeheader()
            writer.writerows(asdict(row) for row in rows)

    def draw(self, name: str, figure: "Figure") -> None:
        """Write a figure, to look at and to print; the same numbers give the same bytes."""
        pixels = io.BytesIO()
        figure.savefig(pixels, dpi=130)
        image = importlib.import_module("PIL.Image").open(pixels)  # matplotlib's own
        image.convert("RGB").quantize(256).save(self.path / f"{name}.png", optimize=True)  # a third of the bytes
        figure.savefig(self.path / f"{name}.pdf", metadata={"CreationDate": None})

    def _runs(self, experiment: str) -> Path:
        return self.path / "runs" / f"{experiment}.jsonl"


def key_of(run: "DataclassInstance") -> str:
    """Return what makes a run the same run: its parameters, and the version that played it."""
    return json.dumps({"aioli": __version__, **asdict(run)}, sort_keys=True)
