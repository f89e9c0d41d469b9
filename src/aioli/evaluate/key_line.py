"""The figures of one key, in a run with one model a key, that a line of a table shows."""

from dataclasses import dataclass

__all__ = ["KeyLine"]


@dataclass(frozen=True)
class KeyLine:
    """The figures of one key on the page.

    Attributes
    ----------
    rows
        How many rows it has had.
    loss, base_rate
        Its mean log loss, and that of its own share of positive labels, known beforehand.
    recent
        The mean loss of its latest rows, some thirty.
    first
        The number of its first row in the stream.
    """

    key: str
    rows: int
    loss: float
    base_rate: float
    recent: float
    first: int
