"""A real stream, played row by row: handwritten digits, odd or even."""

import importlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from aioli.evaluate.hindsight import best_in_ball
from aioli.learners.aioli import AIOLI
from aioli.numerics.compiling import Matrix, Vector
from aioli.state.certificate import Certificate

__all__ = ["Moment", "digits", "play_digits", "run_demo"]


@dataclass(frozen=True)
class Moment:
    """How the game stands after some rows: all sums in nats."""

    rows: int
    loss: float
    base_loss: float
    correct: int
    certificate: Certificate


def digits() -> tuple[Matrix, Vector]:
    """The 1,797 digits of 8×8 pixels that scikit-learn ships, in its order, pixels in [0, 1]; 1 for an odd digit."""
    try:
        datasets = importlib.import_module("sklearn.datasets")
    except ImportError:
        raise ImportError(
            "the demo plays a stream that scikit-learn ships: pip install 'aioli-online[sklearn]'"
        ) from None
    X, digit = datasets.load_digits(return_X_y=True)
    return np.asarray(X, dtype=np.float64) / 16.0, np.asarray(digit % 2, dtype=np.float64)


def play_digits(learner: AIOLI, X: Matrix, y: Vector) -> Iterator[Moment]:
    """Predict, then learn, row after row; the base rate is Laplace's, announced before each label as well."""
    base_loss, correct, ones = 0.0, 0, 0.0
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        p = learner.predict(x)
        learner.learn(x, label)
        rate = (ones + 1.0) / (t + 2.0)
        base_loss -= float(np.log(rate if label else 1.0 - rate))
        ones += label
        correct += int((p > 0.5) == label)
        yield Moment(t + 1, learner.loss, base_loss, correct, learner.certificate())


def run_demo(figure: str | None = None) -> None:
    """Play the digits, print a table as it goes, and end with regret ≤ certificate ≤ theorem."""
    X, y = digits()
    learner, moments = AIOLI(), []
    print("handwritten digits, odd or even: 64 pixels, row by row\n")
    print(f"{'rows':>6} {'log loss':>10} {'base rate':>10} {'accuracy':>9} {'certificate':>12}")
    for moment in play_digits(learner, X, y):
        moments.append(moment)
        rows = moment.rows
        if rows & (rows - 1) == 0 or rows == len(X):
            print(
                f"{rows:6d} {moment.loss / rows:10.4f} {moment.base_loss / rows:10.4f} "
                f"{moment.correct / rows:9.1%} {moment.certificate:7.1f} nats"
            )
    best = best_in_ball(X, y, learner.radius)
    certificate = moments[-1].certificate
    print(
        f"\nagainst the best fixed θ with ‖θ‖ ≤ {learner.radius:g}, which is known only now "
        f"({best.loss / len(X):.4f} a row):\n"
        f"  regret {learner.loss - best.loss:.1f}  ≤  tight certificate {learner.certificate(tight=True):.1f}  "
        f"≤  certificate {certificate:.1f}  ≤  theorem {certificate.theorem:.0f} nats"
    )
    if figure is not None:
        figures = importlib.import_module("aioli.report.figures")
        checkpoints = [m for m in moments if m.rows >= 16 and m.rows % 64 == 0]
        regrets = [m.loss - best_in_ball(X[: m.rows], y[: m.rows], learner.radius).loss for m in checkpoints]
        figures.draw_game(moments, checkpoints, regrets, figure)
        print(f"\n{figure} shows it")
