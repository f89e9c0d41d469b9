"""How good announced probabilities were: mean log loss, calibration error, accuracy and Cohen's kappa."""

import numpy as np

from aioli.numerics.compiling import Vector

__all__ = ["CLIP", "ROUGH_CLIP", "accuracy", "calibration_error", "cohen_kappa", "log_loss"]

CLIP = 1e-15  # a certainty that proves wrong costs 34.5 nats, whoever announced it
ROUGH_CLIP = 1e-3  # trees and forests say 0 and 1 after few rows: a certainty that proves wrong costs 6.9 nats
BINS = 15


def log_loss(p: Vector, y: Vector, clip: float = CLIP) -> float:
    r"""$\frac1n \sum_t -\log p_t(y_t)$ in nats, every p first brought into [clip, 1 - clip]. O(n)."""
    q = _clipped(p, y, clip)
    return float(np.mean(-np.where(y > 0.5, np.log(q), np.log1p(-q))))


def calibration_error(p: Vector, y: Vector, bins: int = BINS) -> float:
    r"""$\sum_b \frac{n_b}{n} |\bar p_b - \bar y_b|$ over bins of equal mass by p, ties in file order. O(n log n)."""
    q = _clipped(p, y)
    order = np.argsort(q, kind="stable")
    parts = [part for part in np.array_split(order, bins) if part.size]
    return float(sum(abs(np.sum(q[part] - y[part])) for part in parts) / len(y))


def accuracy(p: Vector, y: Vector) -> float:
    """Return the share of rows whose label is the likelier one; a tie counts as label 1. O(n)."""
    return float(np.mean((_clipped(p, y) >= 0.5) == (y > 0.5)))


def cohen_kappa(p: Vector, y: Vector) -> float:
    r"""$\frac{a - e}{1 - e}$: accuracy a beside e, that of guesses as often 1 as announced; 0 where e = 1. O(n)."""
    said, came = float(np.mean(_clipped(p, y) >= 0.5)), float(np.mean(y > 0.5))
    by_chance = said * came + (1.0 - said) * (1.0 - came)
    return (accuracy(p, y) - by_chance) / (1.0 - by_chance) if by_chance < 1.0 else 0.0


def _clipped(p: Vector, y: Vector, clip: float = CLIP) -> Vector:
    """A NaN is no answer at all, and is charged as the worst there is: certain of the other label."""
    return np.clip(np.where(np.isnan(p), 1.0 - y, p), clip, 1.0 - clip)
