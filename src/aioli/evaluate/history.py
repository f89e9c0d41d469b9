"""The history of a run: how it stood after 1, 2, 3, … rows, at points that a curve needs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Number", "Point"]

Number = float | None  # a measured number; None, NaN and the infinities alike are not drawn


@dataclass(frozen=True)
class Point:
    """How it stood after some rows.

    Attributes
    ----------
    log_loss, base_rate
        Mean log loss so far, in nats a row.
    recent
        Mean log loss of the rows since the point before.
    certificate, regret
        In nats, over all rows so far.
    weights
        The share of the mixture that each expert holds; None where there is no mixture.
    peers
        Mean log loss so far of other learners, by name.
    """

    rows: int
    log_loss: Number
    recent: Number = None
    base_rate: Number = None
    certificate: Number = None
    regret: Number = None
    weights: Mapping[str, Number] | None = None
    peers: Mapping[str, Number] = field(default_factory=dict)
