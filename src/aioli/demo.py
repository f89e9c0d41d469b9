"""A real stream, played row by row: handwritten digits, odd or even."""

import importlib

import numpy as np

from aioli.evaluate.hindsight import best_in_ball
from aioli.evaluate.progressive import progressive
from aioli.learners.aioli import AIOLI
from aioli.numerics.compiling import Matrix, Vector

__all__ = ["digits", "run_demo"]

POINTS = 64  # rows between two points of the figure


def digits() -> tuple[Matrix, Vector]:
    """The 1,797 digits of 8×8 pixels that scikit-learn ships, in its order, pixels in [0, 1]; 1 for an odd digit."""
    try:
        datasets = importlib.import_module("sklearn.datasets")
    except ImportError:
        sentence = "the demo plays a stream that scikit-learn ships: pip install 'aioli-online[sklearn]'"
        raise ImportError(sentence) from None
    X, digit = datasets.load_digits(return_X_y=True)
    return np.asarray(X, dtype=np.float64) / 16.0, np.asarray(digit % 2, dtype=np.float64)


def run_demo(figure: str | None = None) -> None:
    """Play the digits, print a table as it goes, and end with regret ≤ certificate ≤ theorem."""
    X, y = digits()
    learner = AIOLI()
    print("handwritten digits, odd or even: 64 pixels, row by row\n")
    print(f"{'rows':>6} {'log loss':>10} {'base rate':>10} {'accuracy':>9} {'certificate':>12}")
    for point in progressive(learner, ((X[t : t + 1], y[t : t + 1]) for t in range(len(X)))):
        print(
            f"{point.rows:6d} {point.log_loss:10.4f} {point.base_rate:10.4f} {point.accuracy:9.1%} "
            f"{point.certificate:7.1f} nats",
            flush=True,
        )
    best = best_in_ball(X, y, learner.radius)
    certificate = learner.certificate()
    print(
        f"\nagainst the best fixed θ with ‖θ‖ ≤ {learner.radius:g}, which is known only now "
        f"({best.loss / len(X):.4f} a row):\n"
        f"  regret {learner.loss - best.loss:.1f}  ≤  tight certificate {learner.certificate(tight=True):.1f}  "
        f"≤  certificate {certificate:.1f}  ≤  theorem {certificate.theorem:.0f} nats"
    )
    if figure is not None:
        figures = importlib.import_module("aioli.report.figures")
        points = list(progressive(AIOLI(), [(X, y)], every=POINTS))
        regrets = [p.rows * p.log_loss - best_in_ball(X[: p.rows], y[: p.rows], learner.radius).loss for p in points]
        figures.draw_game(points, regrets, figure)
        print(f"\n{figure} shows it")
