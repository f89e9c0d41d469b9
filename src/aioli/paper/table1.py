r"""Table 1: regret and cost of each algorithm, the paper's order of growth beside exponents that were measured.

Regret on Hazan, Koren and Levy's law with $\epsilon_n = n^{-2/3}$, in n at B = 12 (where n < e^B, the lower bound's
regime) and in B at one n. The cost of a round in d and in t, as ratios.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aioli.paper.competitors import best_losses, losses
from aioli.paper.costs import BY_ROUNDS, BY_WIDTH, cost_by_rounds, cost_by_width
from aioli.paper.drawing import COLOURS, Axes, Figure, tidy
from aioli.paper.experiment import Claim, Experiment
from aioli.paper.growth import exponent, slope_interval, worse
from aioli.paper.results_folder import ResultsFolder
from aioli.states.certificate import theorem_bound
from aioli.streams.laws import hazan_koren_levy

__all__ = ["EXPERIMENT"]

THEORY = {  # regret, and cost of n rounds: the paper's table; what it does not list is of this project's docstrings
    "OGD": ("B√n", "nd"),
    "ONS": ("d e^B log n", "nd³"),
    "FTRL": ("(d/κ) log n, κ ~ e^-B", "n²d² + nd³, not in the paper"),
    "Foster": ("d log(Bn)", "B⁶n¹²(Bn + d)¹²"),
    "AIOLI": ("dB log(Bn)", "nd² + n log n"),
    "EKF": ("none", "nd², not in the paper"),
}
WIDE = {"ONS": "ONS, projected", "Foster": "Foster, particles"}  # whose cost in d is the one that the table speaks of
LONG = {"Foster": "Foster, particles"}
CHIS = (1, -1)


@dataclass(frozen=True)
class GrowthRun:
    """A run measures a learner's cost by width or by rounds; or all regrets, by n or by B, for one χ and seed."""

    axis: str
    learner: str
    n: int
    radius: int
    chi: int
    seed: int
    fast: bool


@dataclass(frozen=True)
class Growth:
    """A measured value: a ratio of costs to the smallest size's, or a regret in nats with its bound; by d, t, n, B."""

    axis: str
    learner: str
    size: int
    chi: int
    seed: int
    value: float
    bound: float


@dataclass(frozen=True)
class Line:
    """A line of the table; an exponent is NaN where regrets are not all above 0."""

    algorithm: str
    regret_in_theory: str
    cost_in_theory: str
    regret_in_n: float
    regret_in_n_low: float
    regret_in_n_high: float
    regret_in_B: float
    regret_in_B_low: float
    regret_in_B_high: float
    largest_regret: float
    cost_in_d: float
    cost_in_t: float


def plan(fast: bool) -> list[GrowthRun]:
    """Plan costs first: they are timed."""
    seeds = 3 if fast else 20
    costs = [("d", name) for name in BY_WIDTH] + [("t", name) for name in BY_ROUNDS]
    sizes = [("n", n, 12) for n in ((1000, 10_000) if fast else (1000, 3000, 10_000, 30_000, 100_000))]
    sizes += [("B", 3000 if fast else 30_000, B) for B in ((6, 12) if fast else (3, 6, 12, 24))]
    return [
        *(GrowthRun(axis, name, 0, 0, 0, 0, fast) for axis, name in costs),
        *(GrowthRun(axis, "", n, B, chi, i, fast) for axis, n, B in sizes for chi in CHIS for i in range(seeds)),
    ]


def measure(cell: GrowthRun) -> list[Growth]:
    """Measure the ratios of costs, or the regrets."""
    if cell.axis in ("d", "t"):
        repeats = 3 if cell.fast else 9
        cost = (cost_by_width if cell.axis == "d" else cost_by_rounds)(cell.learner, cell.fast, repeats)
        return [Growth(cell.axis, cell.learner, size, 0, 0, ratio, math.inf) for size, ratio in cost.items()]
    stream = hazan_koren_levy(round(math.exp(cell.radius)), cell.chi, cell.n ** (-2 / 3))
    X, y = stream.take(cell.n, seed=100 * cell.n + cell.seed)
    ball, _ = best_losses(X, y, cell.radius)
    size = cell.n if cell.axis == "n" else cell.radius
    return [
        Growth(cell.axis, name, size, cell.chi, cell.seed, loss - ball, proven(name, cell.n, cell.radius))
        for name, loss in losses(X, y, cell.radius).items()
    ]


def proven(name: str, n: int, B: float) -> float:
    """Return the bound on the regret for d = R = 1, constants and all; infinite where there is none."""
    if name == "OGD":
        return 3.0 * B * math.sqrt(n)
    if name == "ONS":
        inverse = 2.0 * max(8.0 * B, math.exp(B))
        return inverse * (0.125 + 0.5 * math.log1p(4.0 * n * (B / inverse) ** 2))
    if name == "Foster":
        return 1.0 + math.log(0.5 * n * B)
    if name == "AIOLI":
        return theorem_bound(n, 1, radius=B, ridge=B**-2, regulariser=1.0, tight=False, widest=1.0)
    return math.inf


# ---- what the numbers say


def tell(rows: list[Growth], folder: ResultsFolder) -> list[Claim]:
    """Write the table and the figure, and say whether orders of growth are what the paper says."""
    lines = [line(rows, name) for name in THEORY]
    folder.write("table1-measured", rows)
    folder.write("table1", lines)
    folder.draw("table1", draw(rows))
    by = {each.algorithm: each for each in lines}
    aioli, ftrl, ons, ogd = by["AIOLI"], by["FTRL"], by["ONS"], by["OGD"]
    steady = [cost(rows, "t", name) for name in ("OGD", "ONS", "AIOLI", "EKF")]
    foster = [cost(rows, "t", name) for name in ("Foster, quadrature", "Foster, particles")]
    return [
        Claim("a round of AIOLI is O(d²)", f"d^{aioli.cost_in_d:.2f}", 1.5 < aioli.cost_in_d < 2.5),
        Claim("a round of OGD is O(d)", f"d^{ogd.cost_in_d:.2f}", 0.5 < ogd.cost_in_d < 1.5),
        Claim(
            "a round of ONS is O(d³)",
            f"d^{ons.cost_in_d:.2f} where it leaves the ball, d^{cost(rows, 'd', 'ONS'):.2f} where it does not",
            1.5 < ons.cost_in_d < 3.5,
        ),
        Claim(
            "rounds of AIOLI, OGD, ONS do not slow down",
            f"t^{min(steady):.2f} to t^{max(steady):.2f}",
            max(np.abs(steady)) < 0.3,
        ),
        Claim("rounds of FTRL do", f"t^{ftrl.cost_in_t:.2f} on rows of which no two are alike", ftrl.cost_in_t > 0.4),
        Claim(
            "Foster's is prohibitive: B⁶n¹²(Bn + d)¹²",
            f"t^{foster[0]:.2f} by quadrature; t^{foster[1]:.2f} and d^{by['Foster'].cost_in_d:.2f} by particles",
            min(foster) > 1.0,
        ),
        *(regret_claim(rows, by[name]) for name in ("OGD", "ONS", "Foster", "AIOLI")),
    ]


def regret_claim(rows: Sequence[Growth], of: Line) -> Claim:
    """Say whether a regret is within its proven bound, and how it grows."""
    mine = [row for row in rows if row.learner == of.algorithm and row.bound < math.inf]
    share = max(row.value / row.bound for row in mine)
    grows = f"n^{of.regret_in_n:.2f} [{of.regret_in_n_low:.2f}, {of.regret_in_n_high:.2f}], "
    grows += f"B^{of.regret_in_B:.2f} [{of.regret_in_B_low:.2f}, {of.regret_in_B_high:.2f}], "
    found = f"{grows if of.regret_in_n == of.regret_in_n else ''}at most {of.largest_regret:.1f} nats on average"
    return Claim(
        f"the regret of {of.algorithm} is at most {of.regret_in_theory}, times a constant",
        f"{found}, {share:.3f} of its proven bound",
        share <= 1.0,
    )


def line(rows: Sequence[Growth], name: str) -> Line:
    """Make the table's line of one algorithm: all of its exponents."""
    n, B = (regrets(rows, axis, name) for axis in ("n", "B"))
    largest = max(worse(values)[1] for at in (n, B) for values in at.values())
    widths, rounds = cost(rows, "d", WIDE.get(name, name)), cost(rows, "t", LONG.get(name, name))
    return Line(name, *THEORY[name], *slope_interval(n), *slope_interval(B), largest, widths, rounds)


def regrets(rows: Sequence[Growth], axis: str, learner: str) -> dict[int, np.ndarray]:
    """Return for each n or B the regrets, one line of runs a χ."""
    mine = [row for row in rows if row.axis == axis and row.learner == learner]
    return {
        size: np.array([[row.value for row in mine if row.size == size and row.chi == chi] for chi in CHIS])
        for size in sorted({row.size for row in mine})
    }


def cost(rows: Sequence[Growth], axis: str, learner: str) -> float:
    """Return the exponent of a cost."""
    mine = [row for row in rows if row.axis == axis and row.learner == learner]
    return float(exponent(np.array([row.size for row in mine]), np.array([row.value for row in mine])))


def draw(rows: Sequence[Growth]) -> Figure:
    """Draw costs above and regrets below."""
    figure = Figure(figsize=(9.5, 7.4), layout="constrained")
    grid = figure.subplots(2, 2)
    for axes, axis, label in ((grid[0, 0], "d", "columns d"), (grid[0, 1], "t", "rounds t so far")):
        for name in BY_WIDTH if axis == "d" else BY_ROUNDS:
            mine = [row for row in rows if row.axis == axis and row.learner == name]
            axes.plot(
                [r.size for r in mine], [r.value for r in mine], "o-", color=COLOURS[name], markersize=4, label=name
            )
        axes.set(xscale="log", yscale="log", xlabel=label, ylabel="cost of a round, over the smallest's")
        axes.legend(frameon=False, fontsize=7)
    draw_regrets(grid[1, 0], rows, "n", "n, at B = 12")
    draw_regrets(grid[1, 1], rows, "B", "B, at one n")
    radii = sorted({row.size for row in rows if row.axis == "B"})
    grid[1, 1].set_xticks(radii, [str(B) for B in radii])
    tidy(grid.flat)
    return figure


def draw_regrets(axes: Axes, rows: Sequence[Growth], axis: str, label: str) -> None:
    """Draw the worse mean regrets; the axis is linear about 0."""
    for name in THEORY:
        at = regrets(rows, axis, name)
        axes.plot(
            list(at), [worse(values)[1] for values in at.values()], "o-", color=COLOURS[name], markersize=4, label=name
        )
    axes.set(xscale="log", xlabel=label, ylabel="regret in nats (linear between −1 and 1)")
    axes.set_yscale("symlog", linthresh=1.0)
    axes.axhline(0.0, color="black", linewidth=0.5)
    axes.legend(frameon=False, fontsize=7)


EXPERIMENT = Experiment("table1", Growth, plan, measure, tell, timed=True)
