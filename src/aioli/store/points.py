"""Converts points of a run's history to JSON and back, for checkpoints and for the snapshots of a service."""

import math
from collections.abc import Mapping, Sequence

from aioli.errors import SnapshotRefused
from aioli.evaluate.history import Number, Point
from aioli.snapshots.tree import Plain, Snapshot

__all__ = ["plain_point", "points_from"]

NUMBERS = ("log_loss", "recent", "base_rate", "certificate", "regret")  # of a point of the history


def plain_point(point: Point) -> dict[str, Plain]:
    """Return a point as JSON can hold it."""
    plain: dict[str, Plain] = {"rows": point.rows, "weights": None, "peers": _plain_numbers(point.peers)}
    if point.weights is not None:
        plain["weights"] = _plain_numbers(point.weights)
    numbers = (point.log_loss, point.recent, point.base_rate, point.certificate, point.regret)
    return plain | _plain_numbers(dict(zip(NUMBERS, numbers, strict=True)))


def _plain_numbers(numbers: Mapping[str, Number]) -> dict[str, Plain]:
    """Return the numbers as JSON can hold them: NaN and the infinities as strings."""
    return {name: x if x is None or math.isfinite(x) else repr(x) for name, x in numbers.items()}


def points_from(history: Plain, kind: str) -> list[Point]:
    """Return the points that `plain_point` made, out of a snapshot of this kind."""
    if isinstance(history, str) or not isinstance(history, Sequence):
        raise SnapshotRefused(f"in a {kind}, 'history' is {history!r}, not a list")
    return [_point(plain) for plain in history]


def _point(plain: Plain) -> Point:
    if not isinstance(plain, Mapping):
        raise SnapshotRefused(f"in a history, a point is {plain!r}")
    numbers = _numbers({name: plain.get(name) for name in NUMBERS})
    weights = plain.get("weights")
    return Point(
        rows=Snapshot("Point", plain).whole("rows"),
        log_loss=numbers["log_loss"],
        recent=numbers["recent"],
        base_rate=numbers["base_rate"],
        certificate=numbers["certificate"],
        regret=numbers["regret"],
        weights=None if weights is None else _numbers(weights),
        peers=_numbers(plain.get("peers")),
    )


def _numbers(plain: Plain) -> dict[str, Number]:
    """Return the numbers that `_plain_numbers` made."""
    if not isinstance(plain, Mapping):
        raise SnapshotRefused(f"in a history, numbers are {plain!r}")
    return {name: _number(x) for name, x in plain.items()}


def _number(plain: Plain) -> Number:
    if plain is None or isinstance(plain, (int, float)):
        return plain
    if isinstance(plain, str) and plain in ("nan", "inf", "-inf"):
        return float(plain)
    raise SnapshotRefused(f"in a history, a number is {plain!r}")
