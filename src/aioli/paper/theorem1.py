r"""Theorem 1: regret ≤ tight certificate ≤ certificate ≤ theorem, over streams, n, d, B and λ, adversaries among them.

Rows have length R = 1, so that the paper's $1 + BR$ and the round's own $1 + B\|x_t\|$ are the same; on the law of
Hazan, Koren and Levy they are shorter.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from aioli.evaluate.hindsight import best_in_ball
from aioli.learners.aioli import AIOLI
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.spec import Curvature
from aioli.paper.drawing import Figure, tidy
from aioli.paper.experiment import Claim, Experiment
from aioli.paper.growth import column
from aioli.paper.results_folder import ResultsFolder
from aioli.streams.laws import hazan_koren_levy
from aioli.streams.synthetic import against, named

__all__ = ["EXPERIMENT", "FourNumbers", "SphereRun", "on_the_sphere"]

STREAMS = ("logistic", "separable", "noisy", "rotating", "hkl", "adversary", "adversary, one row")
VARIANTS: tuple[tuple[str, Curvature, float], ...] = (
    ("paper, c = 1", "paper", 1.0),
    ("paper, c = ½", "paper", 0.5),
    ("tight, c = 1", "tight", 1.0),
    ("tight, c = ½", "tight", 0.5),
)
ROUNDING = 1e-6  # nats: best_in_ball is right to 1e-8, and sums over 10⁴ rounds to 1e-9


@dataclass(frozen=True)
class SphereRun:
    """A run plays a stream of n rows of length 1 and d columns; B is the radius of the ball."""

    stream: str
    d: int
    radius: float
    n: int


@dataclass(frozen=True)
class FourNumbers:
    """Numbers of nats that should not fall from left to right."""

    regret: float
    tight_certificate: float
    certificate: float
    theorem: float

    def in_order(self, rounding: float, relative: float = 0.0) -> bool:
        """Return whether they are in order, to `rounding` nats and `relative` of the larger."""
        ordered = (self.regret, self.tight_certificate, self.certificate, self.theorem)
        return all(low <= high + (rounding + relative * abs(high)) for low, high in pairwise(ordered))


@dataclass(frozen=True)
class VariantRun:
    """What a row of the table is of: a run, a ridge and a variant of the learner, after n rows."""

    stream: str
    d: int
    radius: float
    ridge: float
    variant: str
    n: int


@dataclass(frozen=True)
class Chain(FourNumbers, VariantRun):
    """A row of the table."""

    @property
    def holds(self) -> bool:
        """Return whether the four numbers are in order."""
        return self.in_order(ROUNDING)


def plan(fast: bool) -> list[SphereRun]:
    """Plan widths from 1 to 64 and radii from 1 to 16; one law has one column only, and to turn takes two."""
    n, widths = (400, (1, 4)) if fast else (10_000, (64, 16, 4, 1))
    cells = product(STREAMS, widths, (1.0, 4.0, 16.0))
    return [SphereRun(name, d, B, n) for name, d, B in cells if d == 1 or name != "hkl" if d > 1 or name != "rotating"]


def measure(run: SphereRun) -> list[Chain]:
    """Play three ridges and four variants, each after n/100, n/10 and n rows."""
    lengths = (run.n // 100, run.n // 10, run.n)
    known = None if run.stream.startswith("adversary") else _law(run)
    best = known and [best_in_ball(known[0][:n], known[1][:n], run.radius, intercept=False).loss for n in lengths]
    chains = []
    for ridge, (variant, curvature, c) in product(sorted({run.radius**-2, 0.01, 1.0}), VARIANTS):
        learner = AIOLI(run.radius, ridge, c, curvature, intercept=False)
        for i, (n, X, y) in enumerate(_played(learner, run, lengths, known)):
            least = best[i] if best else best_in_ball(X, y, run.radius, intercept=False).loss
            running, tight = learner.certificate(), learner.certificate(tight=True)
            numbers = (learner.loss - least, float(tight), float(running), running.theorem)
            chains.append(Chain(run.stream, run.d, run.radius, ridge, variant, n, *numbers))
    return chains


def on_the_sphere(X: Matrix) -> Matrix:
    """Return rows of length 1, in the same directions."""
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True))


def _law(run: SphereRun) -> tuple[Matrix, Vector]:
    if run.stream == "hkl":
        return hazan_koren_levy(round(math.exp(run.radius)), epsilon=run.n ** (-2 / 3)).take(run.n, seed=0)
    X, y = named(run.stream, width=run.d).take(run.n, seed=0)
    return on_the_sphere(X), y


def _played(
    learner: AIOLI, run: SphereRun, lengths: Sequence[int], known: tuple[Matrix, Vector] | None
) -> Iterator[tuple[int, Matrix, Vector]]:
    """Play on to each length; yield it with the rows and labels so far. An adversary's labels are made on the way."""
    X, y = known or (_adversary_rows(run), np.empty(run.n))
    start = 0
    for n in lengths:
        if known is None:
            y[start:n] = [label for _, label, _ in against(learner, X[start:n], seed=start)]
        else:
            learner.learn_many(X[start:n], y[start:n])
        start = n
        yield n, X[:n], y[:n]


def _adversary_rows(run: SphereRun) -> Matrix:
    if run.stream == "adversary, one row":
        return np.eye(1, run.d).repeat(run.n, axis=0)
    return on_the_sphere(np.random.default_rng(1).standard_normal((run.n, run.d)))


# ---- what the numbers say


def tell(rows: list[Chain], folder: ResultsFolder) -> list[Claim]:
    """Check the chain for every row, and say how much each link gives away."""
    folder.write("theorem1", rows)
    folder.draw("theorem1", draw(rows))
    broken = [row for row in rows if not row.holds]
    middle = _middle(rows, lambda r: r.theorem / r.certificate)
    return [
        share_claim(rows, "regret ≤ theorem 1", "paper, c = 1"),
        share_claim(rows, "c = ½ halves the bound", "paper, c = ½"),
        Claim(
            "regret ≤ tight certificate ≤ certificate ≤ theorem, for every curvature and c",
            f"{len(broken)} exceptions in {len(rows)} games",
            not broken,
        ),
        Claim(
            "the certificate is below the theorem",
            f"by {middle:.1f} times in the median; the tight one by "
            f"{_middle(rows, lambda r: r.theorem / max(r.tight_certificate, 1e-3)):.1f}",
            middle > 1.0,
        ),
    ]


def share_claim(rows: Sequence[Chain], says: str, variant: str) -> Claim:
    """Say how near to the bound the longest games of a variant came."""
    mine = [row for row in rows if row.variant == variant and row.n == max(row.n for row in rows)]
    worst = max(mine, key=lambda row: row.regret / row.theorem)
    return Claim(
        says,
        f"at n = {worst.n} regret is at most {worst.regret / worst.theorem:.3f} of it: {worst.regret:.1f} of "
        f"{worst.theorem:.1f} nats ({worst.stream}, d = {worst.d}, B = {worst.radius:g}, λ = {worst.ridge:g})",
        worst.regret <= worst.theorem + ROUNDING,
    )


def _middle(rows: Sequence[Chain], of: Callable[[Chain], float]) -> float:
    return float(np.median([of(row) for row in rows]))


def draw(rows: Sequence[Chain]) -> Figure:
    """Draw a panel a variant: everything below the diagonal is below the theorem."""
    figure = Figure(figsize=(9.0, 7.6), layout="constrained")
    grid = figure.subplots(2, 2, sharex=True, sharey=True)
    for axes, (variant, _, _) in zip(grid.flat, VARIANTS, strict=True):
        mine = [row for row in rows if row.variant == variant]
        x = [row.theorem for row in mine]
        for name, colour in (("certificate", "#e0a100"), ("tight_certificate", "#c84c09"), ("regret", "#0b6e4f")):
            label = name.replace("_", " ")
            axes.scatter(x, column(mine, name), s=5, color=colour, label=label, linewidths=0)
        diagonal = np.geomspace(min(x), max(x), 100)
        axes.plot(diagonal, diagonal, "k--", linewidth=0.8, label="the theorem's bound")
        axes.set(xscale="log", title=variant)
        axes.set_yscale("symlog", linthresh=1.0)
        axes.axhline(0.0, color="black", linewidth=0.5)
    for axes in grid[1]:
        axes.set_xlabel("the theorem's bound, in nats")
    for axes in grid[:, 0]:
        axes.set_ylabel("nats (linear between −1 and 1)")
    grid[0, 0].legend(frameon=False, fontsize=8, loc="lower left")
    tidy(grid.flat)
    return figure


EXPERIMENT = Experiment("theorem1", Chain, plan, measure, tell)
