"""What was measured, one line a stream and method, in a file that grows as methods finish."""

import csv
import math
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Self

__all__ = ["LATE", "Result", "append_result", "keep_results", "read_results"]

LATE = "/late"  # behind a method's name, where its labels came late


@dataclass(frozen=True)
class Result:
    """How a method did on a stream; the scores are NaN where it did not finish, and the note says why."""

    stream: str
    rows: int
    columns: int
    method: str
    log_loss: float
    ece: float
    seconds: float
    note: str = ""
    clipped_loss: float = math.nan  # of probabilities brought into [0.001, 0.999]
    accuracy: float = math.nan
    kappa: float = math.nan

    @property
    def finished(self) -> bool:
        """Whether there is a score."""
        return self.log_loss == self.log_loss

    @classmethod
    def parse(cls, line: dict[str, str]) -> Self:
        """The result of a line of the file."""
        return cls(
            stream=line["stream"],
            rows=int(line["rows"]),
            columns=int(line["columns"]),
            method=line["method"],
            log_loss=float(line["log_loss"]),
            ece=float(line["ece"]),
            seconds=float(line["seconds"]),
            note=line["note"],
            **{name: _number(line.get(name)) for name in ("clipped_loss", "accuracy", "kappa")},
        )


def _number(text: str | None) -> float:
    """Return the number of a cell; `math.nan` itself, which equals itself in a record, where there is none."""
    return float(text) if text and text != "nan" else math.nan


def read_results(path: Path) -> list[Result]:
    """All that the file holds; nothing where there is no file."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [Result.parse(line) for line in csv.DictReader(file)]


def append_result(path: Path, result: Result) -> None:
    """Write one more line, whole: two runs may append to the same file."""
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Result)])
        if file.tell() == 0:
            writer.writeheader()
        writer.writerow(asdict(result))


def keep_results(path: Path, worth_keeping: Callable[[Result], bool]) -> list[Result]:
    """Drop the lines that are not worth keeping, the file being whole at any time; what is left."""
    results = read_results(path)
    kept = [result for result in results if worth_keeping(result)]
    if len(kept) < len(results):
        draft = path.with_suffix(".draft")
        draft.unlink(missing_ok=True)
        for result in kept:
            append_result(draft, result)
        if kept:
            os.replace(draft, path)
        else:
            path.unlink()
    return kept
