r"""Methods tuned in hindsight: each the best, by log loss, of a grid of steps and of three scalings.

No user could choose so beforehand, so they are a floor for what tuning can do, not rivals that anyone could run. Rows
are scaled by label-free statistics that include the row itself, and have a 1 in front, the intercept.
"""

from collections.abc import Callable

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.logistic import sigmoid
from benchmarks.scores import log_loss

__all__ = [
    "SCALINGS",
    "STEPS",
    "Play",
    "best_in_hindsight",
    "divided_by_maximum",
    "divided_by_rms",
    "play_adagrad",
    "play_ekf",
    "play_sgd",
    "play_sgd_sqrt",
    "standardised",
    "with_intercept",
]

Play = Callable[[Matrix, Vector, float], Vector]  # scaled rows, labels and a step; each row's p before its label

STEPS: dict[str, Vector] = {
    "step": 10.0 ** np.arange(-4.0, 2.25, 0.5),
    "prior variance": 10.0 ** np.arange(-3.0, 3.25, 0.5),
}


def best_in_hindsight(play: Play, kind: str, X: Matrix, y: Vector) -> tuple[Vector, str]:
    """The probabilities of the best of `STEPS[kind]` and `SCALINGS`, and which that was."""
    best, told, least = np.full(len(y), np.nan), "", np.inf
    for scaling, scale in SCALINGS.items():
        Z = with_intercept(scale(X))
        for step in STEPS[kind]:
            p = play(Z, y, float(step))
            loss = log_loss(p, y)
            if loss < least:
                best, told, least = p, f"{kind} {step:.3g}, {scaling}", loss
    return best, told


# ---- scalings


@compiled("f8[:,::1](f8[:,::1])")
def standardised(X: Matrix) -> Matrix:
    r"""$(x - \bar x_t)/s_t$, mean and standard deviation of rows 1..t by Welford; 0 while constant. O(d) a row."""
    n, d = X.shape
    Z = np.empty((n, d))
    mean, scatter = np.zeros(d), np.zeros(d)
    for t in range(n):
        for j in range(d):
            gap = X[t, j] - mean[j]
            mean[j] += gap / (t + 1.0)
            scatter[j] += gap * (X[t, j] - mean[j])
            deviation = np.sqrt(scatter[j] / (t + 1.0))
            Z[t, j] = (X[t, j] - mean[j]) / deviation if deviation > 0.0 else 0.0
    return Z


def divided_by_rms(X: Matrix) -> Matrix:
    r"""$x/\sqrt{\overline{x^2}_t}$, the mean over rows 1..t; 0 while all are 0. O(d) a row."""
    rounds = np.arange(1.0, len(X) + 1.0)[:, None]
    return _divided(X, np.sqrt(np.cumsum(X * X, axis=0) / rounds))


def divided_by_maximum(X: Matrix) -> Matrix:
    r"""$x/\max_{s \le t}|x_s|$; 0 while all are 0. O(d) a row."""
    return _divided(X, np.maximum.accumulate(np.abs(X), axis=0))


def with_intercept(Z: Matrix) -> Matrix:
    """The rows with a 1 in front."""
    return np.hstack([np.ones((len(Z), 1)), Z])


def _divided(X: Matrix, scale: Matrix) -> Matrix:
    return np.divide(X, scale, out=np.zeros_like(X), where=scale > 0.0)


SCALINGS: dict[str, Callable[[Matrix], Matrix]] = {
    "standardised": standardised,
    "root mean square": divided_by_rms,
    "maximum": divided_by_maximum,
}


# ---- methods


@compiled("f8(f8[::1],f8[::1])", reassociate=True)
def _dot(a: Vector, b: Vector) -> float:
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@compiled("f8[::1](f8[:,::1],f8[::1],f8,f8)")
def _descend(Z: Matrix, y: Vector, step: float, power: float) -> Vector:
    p, w = np.empty(y.size), np.zeros(Z.shape[1])
    for t in range(y.size):
        x = Z[t]
        p[t] = sigmoid(_dot(w, x))
        pace = step * (t + 1.0) ** -power * (y[t] - p[t])
        for j in range(w.size):
            w[j] += pace * x[j]
    return p


def play_sgd(Z: Matrix, y: Vector, step: float) -> Vector:
    r"""$w \leftarrow w + \eta (y - p)x$. O(d) a row."""
    return _descend(Z, y, step, 0.0)


def play_sgd_sqrt(Z: Matrix, y: Vector, step: float) -> Vector:
    r"""$w \leftarrow w + \frac{\eta}{\sqrt t}(y - p)x$. O(d) a row."""
    return _descend(Z, y, step, 0.5)


@compiled("f8[::1](f8[:,::1],f8[::1],f8)")
def play_adagrad(Z: Matrix, y: Vector, step: float) -> Vector:
    r"""$G_j \leftarrow G_j + g_j^2$, $w_j \leftarrow w_j - \eta g_j/\sqrt{G_j}$, $g = (p - y)x$. O(d) a row."""
    p, w, G = np.empty(y.size), np.zeros(Z.shape[1]), np.zeros(Z.shape[1])
    for t in range(y.size):
        x = Z[t]
        p[t] = sigmoid(_dot(w, x))
        for j in range(w.size):
            g = (p[t] - y[t]) * x[j]
            G[j] += g * g
            if G[j] > 0.0:
                w[j] -= step * g / np.sqrt(G[j])
    return p


@compiled("f8[::1](f8[:,::1],f8[::1],f8)", reassociate=True)
def play_ekf(Z: Matrix, y: Vector, variance: float) -> Vector:
    r"""The extended Kalman filter, or online Bayes: $P_0 = \text{variance} \cdot I$, $h = p(1-p)$. O(d²) a row.

    $$k = Px,\; v = x^\top k, \qquad
      P \leftarrow P - \frac{h}{1+hv}kk^\top, \qquad w \leftarrow w + \frac{y-p}{1+hv}k$$
    """
    d = Z.shape[1]
    p, w, k, P = np.empty(y.size), np.zeros(d), np.zeros(d), variance * np.eye(d)
    for t in range(y.size):
        x = Z[t]
        z = _dot(w, x)
        p[t] = sigmoid(z)
        for i in range(d):
            k[i] = _dot(P[i], x)
        h = p[t] * sigmoid(-z)
        share = 1.0 / (1.0 + h * _dot(x, k))
        # √ is shared out, so that P stays symmetric to the last bit; a lost sign makes it NaN, and the step loses.
        root = np.sqrt(h * share)
        pace = share * (y[t] - p[t])
        for i in range(d):
            w[i] += pace * k[i]
            k[i] *= root
        for i in range(d):
            row, s = P[i], k[i]
            for j in range(d):
                row[j] -= s * k[j]
    return p
