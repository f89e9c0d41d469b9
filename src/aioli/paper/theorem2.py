r"""Theorem 2: Algorithm 2 with the theorem's T gradient steps stays within the bound of theorem 1 plus one nat.

$T = \lceil(4 + R^2/\lambda)\log(\tfrac{3n^2R^2}{\lambda}(\tfrac{nR^2}{8\lambda} + B))\rceil$. Rows have length R = 1,
so that `AIOLI` with the paper's curvature is the exact argmin that the steps approach.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product

import numpy as np

from aioli.evaluate.hindsight import best_in_ball
from aioli.learners.aioli import AIOLI
from aioli.learners.baselines.algorithm2 import Algorithm2
from aioli.paper.drawing import Figure, tidy
from aioli.paper.experiment import Claim, Experiment
from aioli.paper.results_folder import ResultsFolder
from aioli.paper.theorem1 import SphereRun, on_the_sphere
from aioli.states.certificate import theorem_bound
from aioli.streams.synthetic import against, named

__all__ = ["EXPERIMENT"]


@dataclass(frozen=True)
class Kept(SphereRun):
    """A row of the table: regret and bound in nats, T, and the farthest of a probability from the exact argmin's.

    λ is 1/B².
    """

    steps: int
    regret: float
    bound: float
    farthest: float


def plan(fast: bool) -> list[SphereRun]:
    """Plan runs where n·T gradient steps can be afforded: T grows like B²."""
    radii, sizes, widths = ((1.0, 2.0), (50,), (1, 4)) if fast else ((1.0, 2.0, 4.0, 8.0), (100, 1000), (1, 4, 16))
    cells = product(("logistic", "separable", "adversary"), widths, reversed(radii), reversed(sizes))
    return [SphereRun(name, d, B, n) for name, d, B, n in cells]


def steps(n: int, radius: float, ridge: float) -> int:
    """Return the theorem's T for rows of length at most 1."""
    ratio = 1.0 / ridge
    return math.ceil((4.0 + ratio) * math.log(3.0 * n**2 * ratio * (n * ratio / 8.0 + radius)))


def measure(run: SphereRun) -> list[Kept]:
    """Play the listing with T steps, and the exact learner on the same rows and labels."""
    ridge = run.radius**-2
    T = steps(run.n, run.radius, ridge)
    listing = Algorithm2(run.radius, ridge, widest=1.0, steps=T, intercept=False)
    exact = AIOLI(run.radius, ridge, 1.0, "paper", intercept=False)
    X, y = named("separable" if run.stream == "separable" else "logistic", width=run.d).take(run.n, seed=0)
    X = on_the_sphere(X)
    if run.stream == "adversary":
        rounds = list(against(listing, X))
        y, p = np.array([label for _, label, _ in rounds], dtype=np.float64), np.array([p for _, _, p in rounds])
    else:
        p = listing.learn_many(X, y)
    farthest = float(np.max(np.abs(p - exact.learn_many(X, y))))
    regret = listing.loss - best_in_ball(X, y, run.radius, intercept=False).loss
    bound = theorem_bound(run.n, run.d, radius=run.radius, ridge=ridge, regulariser=1.0, tight=False, widest=1.0)
    return [Kept(**asdict(run), steps=T, regret=regret, bound=bound + 1.0, farthest=farthest)]


def tell(rows: list[Kept], folder: ResultsFolder) -> list[Claim]:
    """Compare regret with the bound, and the listing with the exact argmin."""
    folder.write("theorem2", rows)
    folder.draw("theorem2", draw(rows))
    share = max(row.regret / row.bound for row in rows)
    farthest = max(row.farthest for row in rows)
    least, most = (extreme(row.steps for row in rows) for extreme in (min, max))
    return [
        Claim(
            "Algorithm 2 with T steps keeps the bound + 1",
            f"regret at most {share:.3f} of it in {len(rows)} games",
            share <= 1.0,
        ),
        Claim(
            "T steps are enough to be the exact argmin",
            f"probabilities within {farthest:.1e} of it; T is from {least} to {most}",
            farthest < 1e-6,
        ),
    ]


def draw(rows: Sequence[Kept]) -> Figure:
    """Draw regret and bound at the left, and T at the right."""
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for stream, marker, colour in (
        ("logistic", "o", "#0b6e4f"),
        ("separable", "s", "#1f77b4"),
        ("adversary", "^", "#c84c09"),
    ):
        mine = [row for row in rows if row.stream == stream]
        left.scatter([r.bound for r in mine], [r.regret for r in mine], s=18, marker=marker, color=colour, label=stream)
    diagonal = np.geomspace(min(row.bound for row in rows), max(row.bound for row in rows), 100)
    left.plot(diagonal, diagonal, "k--", linewidth=0.8, label="bound + 1")
    left.set(xscale="log", yscale="symlog", xlabel="bound + 1, in nats", ylabel="regret of Algorithm 2, in nats")
    left.legend(frameon=False, fontsize=8)
    n = np.geomspace(1e2, 1e6, 50)
    for B, colour in ((1.0, "#9ecae1"), (4.0, "#4292c6"), (16.0, "#08306b")):
        right.plot(n, [steps(int(size), B, B**-2) for size in n], color=colour, label=f"B = {B:g}, λ = 1/B²")
    right.set(xscale="log", yscale="log", xlabel="n", ylabel="T, gradient steps a round")
    right.legend(frameon=False, fontsize=8)
    tidy((left, right))
    return figure


EXPERIMENT = Experiment("theorem2", Kept, plan, measure, tell)
