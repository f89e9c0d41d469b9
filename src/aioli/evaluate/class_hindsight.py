"""The best fixed softmax model of the ball, in hindsight: what the regret of many classes is measured against."""

import numpy as np

from aioli.errors import ParameterRefused
from aioli.evaluate.hindsight import Hindsight, newton_point
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.helmert import helmert
from aioli.outcomes.class_labels import Codes
from aioli.streams.rows import Rows, as_weights

__all__ = ["best_in_class_ball", "classes_seen"]

STEPS = 200
SMALL_GAP = 1e-7  # nats between a loss and the least, within which it is as good


def classes_seen(codes: Codes) -> Codes:
    """Return how many classes are known once each row's label is, where codes count classes as they come."""
    return np.asarray(np.maximum.accumulate(codes) + 1)


def best_in_class_ball(
    X: object,
    codes: Codes,
    classes: int,
    radius: float,
    *,
    intercept: bool = True,
    weights: object = None,
    seen: Codes | None = None,
) -> Hindsight:
    r"""Return $\min_{\|W\|_F \le B} \sum_t \omega_t\,\ell_t(W)$, the log losses of $\operatorname{softmax}(EWx_t)$.

    Newton's method on the ball, as of two classes, and Frank and Wolfe's gap, which no convex function can exceed.
    O(nK²d²) a step. It shares no formula with the learner but that of the loss.

    Parameters
    ----------
    codes
        Each row's class, from 0.
    seen
        How many classes a model is scored on in each row, where classes appeared on the way: those of the smallest
        codes. None is all of them.
    """
    if not 0.0 < radius < np.inf:
        raise ParameterRefused.unlike("radius", radius, "a finite number above 0")
    rows = Rows(X, intercept=intercept, widest=1e150)
    stakes = as_weights(weights, rows, np.inf)
    Z = np.concatenate([chunk for _, chunk in rows])
    E, width = helmert(classes), Z.shape[1]
    barred = np.zeros((len(Z), classes))
    if seen is not None:
        barred[np.arange(classes) >= seen[:, None]] = -np.inf
    wanted = np.eye(classes)[codes]

    def value(theta: Vector) -> tuple[float, Matrix]:
        a = Z @ (E @ theta.reshape(-1, width)).T + barred
        a -= a.max(axis=1, keepdims=True)
        p = np.exp(a)
        total = p.sum(axis=1, keepdims=True)
        own = a[np.arange(len(Z)), codes] - np.log(total[:, 0])
        return -float(stakes @ own), p / total

    theta = np.zeros((classes - 1) * width)
    loss, p = value(theta)
    best = Hindsight(theta, loss, np.inf)
    for _ in range(STEPS):
        gradient = ((E.T @ ((p - wanted) * stakes[:, None]).T) @ Z).ravel()
        gap = float(gradient @ theta + radius * np.linalg.norm(gradient))
        stalled = gap >= best.gap
        if not stalled:
            best = Hindsight(theta, loss, gap)
        direction = newton_point(_hessian(Z, E, p, stakes), theta, gradient, radius) - theta
        slope, step = float(gradient @ direction), 1.0
        noise = 4.0 * np.finfo(np.float64).eps * loss * np.sqrt(len(Z))
        if gap <= SMALL_GAP or (stalled and -slope <= noise):
            break
        new, p = value(theta + direction)
        while step > 1e-9 and new > loss + 1e-4 * step * slope + noise:
            step *= 0.5
            new, p = value(theta + step * direction)
        theta, loss = theta + step * direction, new
    return best


def _hessian(Z: Matrix, E: Matrix, p: Matrix, stakes: Vector) -> Matrix:
    r"""Return $\sum_t \omega_t\,E^\top(\operatorname{diag}p_t - p_tp_t^\top)E \otimes x_tx_t^\top$. O(nK²d²)."""
    contrasts, width = E.shape[1], Z.shape[1]
    mean = p @ E
    H = np.empty((contrasts, width, contrasts, width))
    for i in range(contrasts):
        for j in range(i + 1):
            bend = stakes * (p @ (E[:, i] * E[:, j]) - mean[:, i] * mean[:, j])
            block = (Z * bend[:, None]).T @ Z
            H[i, :, j, :] = block
            H[j, :, i, :] = block
    return H.reshape(contrasts * width, contrasts * width)
