"""Finds the comparator of every regret: the best fixed θ of the ball, known only when the stream is over."""

from dataclasses import dataclass

import numpy as np

from aioli.numerics.ball import ball_multiplier
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid_many, softplus_many
from aioli.streams.rows import Rows, as_labels, as_weights

__all__ = ["Hindsight", "best_in_ball", "newton_point"]


@dataclass(frozen=True)
class Hindsight:
    """The best θ of the ball, its loss, and a proven bound on how much better any other could be."""

    theta: Vector
    loss: float
    gap: float


def best_in_ball(
    X: object,
    y: object,
    radius: float,
    *,
    intercept: bool = True,
    weights: object = None,
    tolerance: float = 1e-8,
) -> Hindsight:
    r"""Return $\min_{\|\theta\| \le B} \sum_t \omega_t\,\ell(\theta^\top x_t, y_t)$ to `tolerance` nats. O(nd²) a step.

    Newton's method on the ball: each step minimises the quadratic model over the ball exactly, then halves its length
    until the loss falls. The gap is Frank and Wolfe's, $\max_{\|\theta'\| \le B} \nabla^\top(\theta - \theta') =
    \nabla^\top\theta + B\|\nabla\|$, which no convex function can exceed.

    >>> best_in_ball([[1.0], [1.0], [1.0]], [1, 1, 0], radius=5.0, intercept=False).loss  # 3 H(1/3)
    1.909542504...
    """
    if not 0.0 < radius < np.inf:
        raise ValueError(f"radius is {radius!r}; it must be a finite number above 0")
    rows = Rows(X, intercept=intercept, widest=1e150)
    labels = as_labels(y, len(rows))
    stakes = as_weights(weights, rows, np.inf)
    Z = np.concatenate([chunk for _, chunk in rows])
    theta = np.zeros(Z.shape[1])
    loss = _loss(Z, labels, stakes, theta)
    best = Hindsight(theta, loss, np.inf)
    for _ in range(200):
        p = sigmoid_many(Z @ theta)
        gradient = Z.T @ (stakes * (p - labels))
        gap = float(gradient @ theta + radius * np.linalg.norm(gradient))
        stalled = gap >= best.gap
        if not stalled:
            best = Hindsight(theta, loss, gap)
        hessian = (Z * (stakes * p * (1.0 - p))[:, None]).T @ Z
        direction = newton_point(hessian, theta, gradient, radius) - theta
        slope, step = float(gradient @ direction), 1.0
        noise = (
            4.0 * np.finfo(np.float64).eps * loss * np.sqrt(len(Z))
        )  # what a sum of n terms cannot tell; its gradient can
        if gap <= tolerance or (stalled and -slope <= noise):
            break
        new = _loss(Z, labels, stakes, theta + direction)
        while step > 1e-9 and new > loss + 1e-4 * step * slope + noise:
            step *= 0.5
            new = _loss(Z, labels, stakes, theta + step * direction)
        theta, loss = theta + step * direction, new
    return best


def newton_point(hessian: Matrix, theta: Vector, gradient: Vector, radius: float) -> Vector:
    r"""Return the $\theta' $ of the ball that minimises the quadratic model of a function around θ. O(d³)."""
    b = hessian @ theta - gradient
    g, basis = np.linalg.eigh(hessian)
    g = np.maximum(g, 1e-14 * max(g[-1], 1e-300))  # flat directions: stay where rounding cannot send θ far
    b = basis.T @ b
    mu = ball_multiplier(g, b, radius)
    return np.asarray(basis @ (b / (g + mu)))


def _loss(Z: Matrix, labels: Vector, stakes: Vector, theta: Vector) -> float:
    z = Z @ theta
    return float(stakes @ softplus_many(np.where(labels == 1.0, -z, z)))
