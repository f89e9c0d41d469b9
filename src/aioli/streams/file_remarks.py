"""Says in words what was recognised in a file, and what could not be read."""

from collections.abc import Mapping

from aioli.streams.encoding import Encoder
from aioli.streams.sparse_encoding import SparseEncoder
from aioli.streams.unreadable import Unreadable

__all__ = ["remarks_on"]


def remarks_on(
    recognised: Mapping[str, str],
    guessed: str | None,
    encoder: Encoder | SparseEncoder,
    unreadable: Unreadable,
    label: str,
) -> dict[str, str]:
    """Return what is to be told of the reading of a file, by subject; nothing of what is as one would expect.

    Parameters
    ----------
    recognised
        What was recognised in a column, by column.
    guessed
        The encoding that the text was taken for, if it is not UTF-8.
    encoder, unreadable
        What has made features of the rows, and the cells that could not be read.
    label
        What the labels have to say.
    """
    said: dict[str, str] = {}
    if guessed is not None:
        said["encoding"] = f"not UTF-8: taken for {guessed}; where it is another, give --encoding"
    if recognised:
        said["recognised"] = "; ".join(f"{name}: {remark}" for name, remark in recognised.items())
    if any(encoder.categories.values()):
        held = ", ".join(f"{name} {count}" for name, count in encoder.categories.items())
        said["categories"] = held + (f"; {encoder.shared:,} values share columns" if encoder.shared else "")
    if unreadable.counts:
        counts = ", ".join(f"{name} {count:,}" for name, count in unreadable.counts.items())
        said["unreadable"] = f"{counts} (missing; the first: {'; '.join(unreadable.first)})"
    if label:
        said["label"] = label
    return said
