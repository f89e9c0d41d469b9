"""How good announced probabilities were: mean log loss, and calibration error."""

import numpy as np

from aioli.numerics.compiling import Vector

__all__ = ["CLIP", "calibration_error", "log_loss"]

CLIP = 1e-15  # a certainty that proves wrong costs 34.5 nats, whoever announced it
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


def _clipped(p: Vector, y: Vector, clip: float = CLIP) -> Vector:
    """A NaN is no answer at all, and is charged as the worst there is: certain of the other label."""
    return np.clip(np.where(np.isnan(p), 1.0 - y, p), clip, 1.0 - clip)
