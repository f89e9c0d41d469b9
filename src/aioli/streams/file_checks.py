"""Refuses files that do not suit what was asked of them, or the model that is to read them."""

from collections.abc import Iterable

from aioli.errors import FileRefused
from aioli.snapshots.tree import Snapshot
from aioli.streams.files.formats import listed
from aioli.streams.files.table import DATE, NUMBER, SKIPPED
from aioli.streams.reading import Reading

__all__ = ["check_as_taught", "check_known_column", "check_sparse_reading", "check_times", "check_to_learn_from"]


def check_sparse_reading(file: str, reading: Reading) -> None:
    """Refuse to look for a weight or keys in sparse rows, which have no columns."""
    if reading.weight is not None or reading.key:
        message = f"{file}: sparse rows have no columns; --weight and --key are for files that have some"
        raise FileRefused(message, path=file)


def check_as_taught(file: str, sparse: bool, snapshot: Snapshot) -> None:
    """Refuse sparse rows for a model that was taught from columns, and columns for one taught from sparse rows."""
    dense = snapshot.part("encoder").kind == "Encoder"
    if dense == sparse:
        kind = "columns" if dense else "sparse features"
        raise FileRefused(f"{file}: is not of {kind}, as the rows were from which the model was taught", path=file)


def check_to_learn_from(file: str, kinds: Iterable[str]) -> None:
    """Refuse a file all of whose columns but the label are skipped."""
    if all(kind == SKIPPED for kind in kinds):
        raise FileRefused(f"{file}: has no column but the label; there is nothing to learn from", path=file)


def check_times(file: str, column: str, kind: str) -> None:
    """Refuse a column of times that holds neither dates nor numbers."""
    if kind not in (DATE, NUMBER):
        message = f"{file}: column {column!r} tells no times; give one of dates, or of seconds, that is read"
        raise FileRefused(message, path=file)


def check_known_column(file: str, known: list[str], found: Iterable[str]) -> None:
    """Refuse a file that has none of the columns from which a model was taught, as far as its first rows show."""
    found = list(found)
    if not any(name in found for name in known):
        raise FileRefused(
            f"{file}: has none of the columns that the model has learned from, {listed(known)}; its own are "
            f"{listed(found)}: rename them",
            path=file,
        )
