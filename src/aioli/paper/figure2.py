r"""Figure 2: regret against n on Hazan, Koren and Levy's law, as the paper has it and in the lower bound's regime.

The paper fixes $\epsilon = 0.01$ and $B = \ln n$. Then χ can be learned once n passes $B\epsilon^{-3/2}$, about $10^4$
rows, and the law is no longer hard for proper learners; $\epsilon_n = n^{-2/3}$ keeps it hard at every n. Both are
played.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aioli.numerics.compiling import Matrix
from aioli.paper.competitors import COMPETITORS, best_losses, losses
from aioli.paper.drawing import COLOURS, Axes, Figure, tidy
from aioli.paper.experiment import Claim, Experiment
from aioli.paper.growth import column, slope_interval, worse
from aioli.paper.results_folder import ResultsFolder
from aioli.streams.laws import hazan_koren_levy, hazan_koren_levy_shrinking

__all__ = ["EXPERIMENT"]

LAWS = {"fixed": hazan_koren_levy, "shrinking": hazan_koren_levy_shrinking}
TITLES = {"fixed": "ε = 0.01, as in the paper", "shrinking": "$ε_n = n^{-2/3}$, hard at every n"}
CHIS = (1, -1)


@dataclass(frozen=True)
class LawRun:
    """A run draws n rows of a law with χ and a seed."""

    law: str
    n: int
    chi: int
    seed: int


@dataclass(frozen=True)
class Regret(LawRun):
    """A row of the table: a learner's regret in nats, against the ball |θ| ≤ ln n, and against every θ there is."""

    learner: str
    regret: float
    beyond: float


@dataclass(frozen=True)
class Mean:
    """A row of means: the worse of the two means over runs, with its standard error, and which χ it is."""

    law: str
    n: int
    learner: str
    chi: int
    regret: float
    error: float
    beyond_chi: int
    beyond: float
    beyond_error: float


@dataclass(frozen=True)
class Slope:
    """A row of slopes: of the worse mean regret in log–log, its 95 % interval, and the least c with regret ≤ c·ln n."""

    law: str
    against: str
    learner: str
    first: int
    last: int
    slope: float
    low: float
    high: float
    per_log: float


def plan(fast: bool) -> list[LawRun]:
    """Plan ten runs a law, χ and n, the longest first; the seed differs in every one of them."""
    thirds, runs = (range(6, 13), 3) if fast else (range(6, 19), 10)
    sizes = [round(10 ** (k / 3)) for k in reversed(thirds)]
    return [LawRun(law, n, chi, 10 * n + run) for n in sizes for law in LAWS for chi in CHIS for run in range(runs)]


def measure(run: LawRun) -> list[Regret]:
    """Measure every learner's regret on the same rows."""
    X, y = LAWS[run.law](run.n, run.chi).take(run.n, run.seed)
    B = math.log(run.n)
    ball, line = best_losses(X, y, B)
    return [
        Regret(run.law, run.n, run.chi, run.seed, learner, loss - ball, loss - line)
        for learner, loss in losses(X, y, B).items()
    ]


# ---- what the numbers say


def tell(rows: list[Regret], folder: ResultsFolder) -> list[Claim]:
    """Write the means, the slopes and the figure."""
    table = {(law, learner): gathered(rows, law, learner) for law in LAWS for learner in COMPETITORS}
    means = [mean(law, learner, n, *sides) for (law, learner), at in table.items() for n, sides in at.items()]
    last = max(row.n for row in rows)
    slopes = [slope for key, at in table.items() for slope in slopes_of(*key, at, last)]
    folder.write("figure2", rows)
    folder.write("figure2-means", means)
    folder.write("figure2-slopes", slopes)
    folder.draw("figure2", draw(means))
    return claims(means, slopes)


def gathered(rows: Sequence[Regret], law: str, learner: str) -> dict[int, tuple[Matrix, Matrix]]:
    """Return for each n the regrets against the ball and beyond it: one line of runs a χ."""
    mine = [row for row in rows if row.law == law and row.learner == learner]
    return {
        n: (
            np.array([[row.regret for row in mine if row.n == n and row.chi == chi] for chi in CHIS]),
            np.array([[row.beyond for row in mine if row.n == n and row.chi == chi] for chi in CHIS]),
        )
        for n in sorted({row.n for row in mine})
    }


def mean(law: str, learner: str, n: int, ball: Matrix, line: Matrix) -> Mean:
    """Return the means of both regrets at one n."""
    (i, regret, error), (j, beyond, beyond_error) = worse(ball), worse(line)
    return Mean(law, n, learner, CHIS[i], regret, error, CHIS[j], beyond, beyond_error)


def slopes_of(law: str, learner: str, at: dict[int, tuple[Matrix, Matrix]], last: int) -> list[Slope]:
    """Return slopes over the upper three decades, and over their part in which a χ of fixed ε is not learned yet."""
    found = []
    first = last / 1000.0
    for end in sorted({last, min(last, 25_000)}):
        kept = [n for n in at if 0.99 * first <= n <= end]
        for side, against in enumerate(("ball", "line")):
            regrets = {n: at[n][side] for n in kept}
            slope, low, high = slope_interval(regrets)
            per_log = max(worse(regrets[n])[1] / math.log(n) for n in kept)
            found.append(Slope(law, against, learner, kept[0], kept[-1], slope, low, high, per_log))
    return found


def claims(means: Sequence[Mean], slopes: Sequence[Slope]) -> list[Claim]:
    """Return the paper's sentences about its figure, beside what was found."""
    by = {(s.law, s.learner, s.last): s for s in slopes if s.against == "ball"}
    last = max(s.last for s in slopes)
    hard, rise = by["shrinking", "FTRL", last], by["fixed", "FTRL", min(s.last for s in slopes)]
    fixed = [m for m in means if m.law == "fixed" and m.learner == "FTRL"]
    top = max(fixed, key=lambda m: m.regret)
    return [
        Claim(
            "FTRL's regret is at least of order n^(1/3) where ε_n = n^(-2/3)",
            f"slope {hard.slope:.3f} [{hard.low:.3f}, {hard.high:.3f}] from n = {hard.first} to {hard.last}",
            hard.high >= 1 / 3,
        ),
        Claim(
            "FTRL's regret is polynomial in n at ε = 0.01",
            f"slope {rise.slope:.3f} [{rise.low:.3f}, {rise.high:.3f}] from n = {rise.first} to {rise.last}; most "
            f"at n = {top.n}, {top.regret:.1f} nats; at n = {last} it is {fixed[-1].regret:.1f}",
            top.n == last,
        ),
        *(poly_logarithmic(means, learner) for learner in ("AIOLI", "AIOLI, tight, c = ½", "Foster")),
        hedged(means),
    ]


def hedged(means: Sequence[Mean]) -> Claim:
    """Say what the hedge is worth: the same learner with it and without it, on the longest streams."""
    last = max(m.n for m in means)
    with_it, without = (
        {m.law: m.regret for m in means if m.learner == learner and m.n == last}
        for learner in ("AIOLI, R-free", "AIOLI, R-free, c = 0")
    )
    found = "; ".join(f"{law} ε: {with_it[law]:.1f} with it, {without[law]:.1f} without" for law in LAWS)
    return Claim(
        f"it is the hedge that avoids the regret (n = {last})", found, all(with_it[k] < without[k] for k in LAWS)
    )


def poly_logarithmic(means: Sequence[Mean], learner: str) -> Claim:
    """Say the least c with regret ≤ c·ln n over all n, and from where on the regret is negative."""
    mine = [m for m in means if m.learner == learner]
    c = max(m.regret / math.log(m.n) for m in mine)
    first = 1 + max((m.n for m in mine if m.regret > 0.0), default=0)
    after = [m.n for m in mine if m.n >= first]
    found = f"at most {c:.3f}·ln n, and {max(m.regret for m in mine):.2f} nats"
    if after:
        found += f"; negative from n = {min(after)} on"
    return Claim(f"the regret of {learner} is poly-logarithmic in n", found, c < 1.0)


# ---- the figure


def draw(means: Sequence[Mean]) -> Figure:
    """Draw a row of panels a law: against the ball, and against every θ."""
    figure = Figure(figsize=(10.0, 7.4), layout="constrained")
    grid = figure.subplots(2, 2, sharex=True, sharey=True)
    for i, law in enumerate(LAWS):
        for j, against in enumerate(("regret", "beyond")):
            draw_panel(grid[i, j], [m for m in means if m.law == law], against)
            grid[i, j].set_title(f"{TITLES[law]}; against {'|θ| ≤ ln n' if j == 0 else 'every θ'}", fontsize=10)
    for axes in grid[1]:
        axes.set_xlabel("n")
    for axes in grid[:, 0]:
        axes.set_ylabel("regret in nats (linear between −1 and 1)")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    tidy(grid.flat)
    return figure


def draw_panel(axes: Axes, means: Sequence[Mean], against: str) -> None:
    """Draw lines on a logarithmic axis that is linear about 0, since an improper learner's regret may be negative."""
    for learner in COMPETITORS:
        mine = [m for m in means if m.learner == learner]
        values = column(mine, against)
        style = "o-" if learner in ("FTRL", "AIOLI", "Foster") else ".--"
        axes.plot(
            [m.n for m in mine], values, style, color=COLOURS[learner], markersize=4, linewidth=1.3, label=learner
        )
    n = np.array(sorted({m.n for m in means}), dtype=np.float64)
    axes.plot(n, 1.5 * (n / n[0]) ** (1 / 3), ":", color="black", linewidth=1.0, label="slope ⅓, the lower bound's")
    axes.set(xscale="log")
    axes.set_yscale("symlog", linthresh=1.0)
    axes.axhline(0.0, color="black", linewidth=0.5)


EXPERIMENT = Experiment("figure2", Regret, plan, measure, tell)
