"""The learners of the paper's simulations on a stream of one column: their losses, and the best fixed θ's."""

import numpy as np

from aioli.evaluate.hindsight import best_in_ball
from aioli.learners.aioli import AIOLI
from aioli.learners.foster.foster import Foster
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.spec import Curvature
from aioli.paper.one_dimensional import play_ftrl, play_listing, play_ogd, play_ons

__all__ = ["COMPETITORS", "LINE", "best_losses", "losses"]

COMPETITORS = (
    "FTRL",
    "AIOLI",
    "AIOLI, R-free",
    "AIOLI, R-free, c = 0",
    "AIOLI, tight",
    "AIOLI, tight, c = ½",
    "AIOLI, λ = 1",
    "AIOLI, as printed",
    "Foster",
    "OGD",
    "ONS",
    "EKF",
)
WIDEST = 1.0  # R, which the paper's law of rows keeps below
LINE = 1e5  # a ball that no best θ of two rows leaves, so that it stands for all of R


def losses(X: Matrix, y: Vector, radius: float) -> dict[str, float]:
    r"""Return the sum of each learner's losses on rows $0 \le x \le 1$ of one column, by its name in `COMPETITORS`.

    "AIOLI" is the paper's, with its curvature $p(1-p)/(1+BR)$, R = 1; "R-free" has $B|x_t|$ in place of BR; "tight"
    has the largest curvature; c = 0 takes the hedge off; "as printed" is Algorithm 2 with its errata. All have
    $\lambda = 1/B^2$ where nothing else is said, and so has EKF; FTRL has λ = 1, as in the paper.
    """
    x, ridge = np.ascontiguousarray(X[:, 0]), radius**-2
    rows, which = np.unique(x, return_inverse=True)
    foster = Foster(radius, method="quadrature", intercept=False)
    foster.learn_many(X, y)
    return {
        "FTRL": play_ftrl(rows[:, None], which.astype(np.int64), y, 1.0),
        "AIOLI": play_listing(x, y, radius, WIDEST, ridge, 0.5),
        "AIOLI, R-free": _aioli(X, y, radius, "paper", 1.0),
        "AIOLI, R-free, c = 0": _aioli(X, y, radius, "paper", 0.0),
        "AIOLI, tight": _aioli(X, y, radius, "tight", 1.0),
        "AIOLI, tight, c = ½": _aioli(X, y, radius, "tight", 0.5),
        "AIOLI, λ = 1": play_listing(x, y, radius, WIDEST, 1.0, 0.5),
        "AIOLI, as printed": play_listing(x, y, radius, WIDEST, 1.0 / ridge, 1.0),
        "Foster": foster.loss,
        "OGD": play_ogd(x, y, radius, WIDEST),
        "ONS": play_ons(x, y, radius, WIDEST),
        "EKF": _aioli(X, y, radius, "full", 0.0),
    }


def best_losses(X: Matrix, y: Vector, radius: float) -> tuple[float, float]:
    """Return the loss of the best fixed θ of the ball, and of all of R."""
    pairs, counts = np.unique(np.column_stack([X[:, 0], y]), axis=0, return_counts=True)
    ball, line = (
        best_in_ball(pairs[:, :1], pairs[:, 1], B, intercept=False, weights=counts).loss for B in (radius, LINE)
    )
    return ball, min(ball, line)


def _aioli(X: Matrix, y: Vector, radius: float, curvature: Curvature, regulariser: float) -> float:
    learner = AIOLI(radius, curvature=curvature, regulariser=regulariser, intercept=False)
    learner.learn_many(X, y)
    return learner.loss
