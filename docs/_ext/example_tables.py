"""The small tables that the pages' commands read: made of chance by a fixed seed, with columns as people have them."""

import csv
from datetime import date, timedelta
from pathlib import Path

import numpy as np

__all__ = ["write_tables"]


def write_tables(folder: Path, keyed: bool = False) -> None:
    """Write the tables into a folder; where they are keyed, visits.csv and tomorrow.csv have a column of users."""
    rng = np.random.default_rng(0)
    rows = 240
    age, price = rng.integers(18, 80, rows), np.exp(rng.normal(3.0, 1.0, rows)).round(2)
    city, device = rng.choice(["Lyon", "Oslo", "Rome"], rows), rng.choice(["phone", "desk"], rows)
    day = [date(2026, 1, 1) + timedelta(days=int(t) // 4) for t in range(rows)]
    clicked = rng.random(rows) < 1.0 / (1.0 + np.exp(0.03 * (age - 40.0) + 0.02 * (price - 20.0) + (city == "Oslo")))
    words = rng.choice(["win", "cash", "meeting", "lunch", "offer", "report", "free", "today"], (rows, 6))
    spam = np.isin(words, ["win", "cash", "offer", "free"]).sum(axis=1) > 3
    kind = np.array(["sell", "hold", "buy"])[np.digitize(age + rng.normal(0.0, 8.0, rows), [35, 60])]
    visits = list(zip(range(rows), day, age, price, city, device, strict=True))
    _write(folder / "clicks.csv", "visit day age price city device clicked", [*map(_joined, visits, clicked)])
    _write(folder / "visits.csv", "visit day age price city device", visits)
    _write(folder / "new.csv", "visit day age price city device", visits[:3])
    later = [
        (visit, when + timedelta(days=5), int(hit)) for (visit, when, *_), hit in zip(visits, clicked, strict=True)
    ]
    _write(folder / "outcomes.csv", "visit day clicked", later)
    _write(folder / "mail.csv", "text spam", [(" ".join(line), int(s)) for line, s in zip(words, spam, strict=True)])
    if keyed:
        users = [("ann", "bob", "eve")[t % 3] for t in range(rows)]
        said = list(zip(users, age, price, clicked.astype(int), strict=True))
        _write(folder / "visits.csv", "user age price clicked", said)
        _write(folder / "tomorrow.csv", "user age price", [row[:3] for row in said[:5]])
    _write(folder / "advice.csv", "age price city advice", list(zip(age, price, city, kind, strict=True)))


def _joined(visit: tuple[object, ...], clicked: object) -> tuple[object, ...]:
    return (*visit, int(bool(clicked)))


def _write(path: Path, names: str, rows: list[tuple[object, ...]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([names.split(), *rows])
