"""One key of a run with one model a key, as tables show it."""

from dataclasses import dataclass

__all__ = ["KeyLine"]


@dataclass(frozen=True)
class KeyLine:
    """One key on the page.

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
