r"""Lemma 2: how strongly the quadratic may bend and stay below the loss on [-C, C]; the paper's, the largest, a search.

With $f(a) = \log(1 + e^{-a})$ and $q = \sigma(-b)$ the lemma says $f(a) \ge f(b) + f'(b)(a-b) + \tfrac h2(a-b)^2$ for
$|a| \le C$ and $h = q(1-q)/(1+C)$. The largest such h is the least of $2D(a,b)/(a-b)^2$, D the Bregman divergence of f.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aioli.numerics.compiling import Vector
from aioli.numerics.curvature import paper_curvature_many, tight_curvature_many
from aioli.numerics.logistic import sigmoid
from aioli.paper.drawing import Figure, tidy
from aioli.paper.experiment import Claim, Experiment
from aioli.paper.growth import column
from aioli.paper.results_folder import ResultsFolder

__all__ = ["EXPERIMENT"]


@dataclass(frozen=True)
class Range:
    """A run searches the range C, so finely in b and a."""

    C: float
    points: int
    searched: int


@dataclass(frozen=True)
class Bend:
    """A row of the table: the curvature at b by the lemma, by the formula for the largest, and by a search over a."""

    C: float
    b: float
    paper: float
    tight: float
    searched: float


def plan(fast: bool) -> list[Range]:
    """Plan small and large balls; b goes beyond C, since a prediction may."""
    return [Range(C, 41, 2001) if fast else Range(C, 161, 20001) for C in (0.5, 1.0, 4.0, 16.0, 64.0)]


def measure(run: Range) -> list[Bend]:
    """Measure the curvatures at all b from -1.5·C to 1.5·C."""
    b = np.linspace(-1.5 * run.C, 1.5 * run.C, run.points)
    C = np.full_like(b, run.C)
    searched = [search(float(at), np.linspace(-run.C, run.C, run.searched)) for at in b]
    columns = (b, paper_curvature_many(b, C), tight_curvature_many(b, C), searched)
    return [Bend(run.C, *map(float, line)) for line in zip(*columns, strict=True)]


def search(b: float, a: Vector) -> float:
    r"""Return $\min_a 2D(a, b)/(a-b)^2$ over a grid, $D = \log(1 + q(e^{-(a-b)} - 1)) + q(a-b)$.

    D is that of log(1 + e^a) too, mirrored, and for b ≥ 0 that form of it does not cancel.
    """
    if b < 0.0:
        a, b = -a, -b
    gap, q = a - b, sigmoid(-b)
    gap = gap[
        np.abs(gap) > 1e-4
    ]  # nearer than that, the quotient is h = q(1-q) to 1e-4 and float64 has few digits left
    return float(np.min(2.0 * (np.log1p(q * np.expm1(-gap)) + q * gap) / gap**2))


def tell(rows: list[Bend], folder: ResultsFolder) -> list[Claim]:
    """Compare the curvatures by their ratios."""
    folder.write("lemma2", rows)
    folder.draw("lemma2", draw(rows))
    paper, tight, searched = (column(rows, name) for name in ("paper", "tight", "searched"))
    off = float(np.max(np.abs(tight / searched - 1.0)))
    inside = np.array([abs(row.b) <= row.C for row in rows])
    gain = (tight / paper)[inside]
    return [
        Claim(
            "Lemma 2's quadratic stays below the loss",
            f"{len(rows)} points (b, C), no exception",
            bool(np.all(paper <= searched)),
        ),
        Claim("one evaluation gives the largest curvature", f"within {off:.1e} of a search over a", off < 1e-6),
        Claim(
            "the largest curvature is more than the lemma's",
            f"{gain.min():.2f} to {gain.max():.1f} times it for |b| ≤ C, median {np.median(gain):.2f}",
            bool(gain.min() >= 1.0),
        ),
    ]


def draw(rows: Sequence[Bend]) -> Figure:
    """Draw the curvatures at C = 4 at the left, and how much larger the largest is at the right."""
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    at = [row for row in rows if row.C == 4.0]
    b = [row.b for row in at]
    left.plot(b, [row.paper for row in at], color="#c84c09", label="Lemma 2: p(1−p)/(1+C)")
    left.plot(b, [row.tight for row in at], color="#0b6e4f", label="the largest, one evaluation")
    left.plot(b, [row.searched for row in at], "k:", label="the largest, by search")
    left.set(xlabel="b, the log-odds announced", ylabel="curvature h for C = 4", yscale="log", xlim=(-6.0, 6.0))
    for C, colour in zip(
        sorted({row.C for row in rows}), ("#c6dbef", "#9ecae1", "#4292c6", "#2171b5", "#08306b"), strict=True
    ):
        line = [row for row in rows if row.C == C]
        right.plot(
            [row.b / C for row in line], [row.tight / row.paper for row in line], color=colour, label=f"C = {C:g}"
        )
    right.axvspan(-1.0, 1.0, color="#f4f4f4", zorder=0)
    right.set(xlabel="b/C (shaded: inside the ball)", ylabel="the largest over Lemma 2's", yscale="log")
    right.set(xlim=(-1.2, 1.2), ylim=(1.0, 100.0))
    tidy((left, right))
    for axes in (left, right):
        axes.legend(frameon=False, fontsize=8)
    return figure


EXPERIMENT = Experiment("lemma2", Bend, plan, measure, tell)
