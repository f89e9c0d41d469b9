r"""The printed Algorithm 2 against its own theorem, and the same listing with its errata mended.

One column, x = 1, R = 1; labels are 1 with a fixed probability. As printed, $L_0 = \lambda^{-1/2}I$ and b lacks its
factor ½; each alone is played too. (That W uses $L_t$, which needs the label, cannot be played at all.)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aioli.evaluate.hindsight import best_in_ball
from aioli.learners.baselines.algorithm2 import Algorithm2
from aioli.numerics.compiling import Vector
from aioli.paper.drawing import Figure, tidy
from aioli.paper.experiment import Claim, Experiment
from aioli.paper.one_dimensional import play_listing
from aioli.paper.results_folder import ResultsFolder
from aioli.states.certificate import theorem_bound

__all__ = ["EXPERIMENT"]

RADIUS = 8.0
RIDGE = RADIUS**-2
LENGTH = 4000
VERSIONS = {  # A_0, and the factor of b's update
    "as printed": (1.0 / RIDGE, 1.0),
    "L₀ as printed, b mended": (1.0 / RIDGE, 0.5),
    "L₀ mended, b as printed": (RIDGE, 1.0),
    "mended": (RIDGE, 0.5),
}
COLOURS = dict(zip(VERSIONS, ("#c84c09", "#e0a100", "#5e3c99", "#0b6e4f"), strict=True))


@dataclass(frozen=True)
class Coins:
    """A run draws labels of 1 with this probability; `listing` plays the class itself, gradient descent and all."""

    probability: float
    seed: int
    listing: bool
    n: int


@dataclass(frozen=True)
class Broken:
    """A row of the table: the regret of a version over the first n labels, and the theorem's bound, in nats.

    The player is "scalars", or the "class" `Algorithm2` and, on its labels, the scalar form: "its twin".
    """

    probability: float
    seed: int
    player: str
    version: str
    n: int
    regret: float
    bound: float


def plan(fast: bool) -> list[Coins]:
    """Plan the listing itself, once, and all versions in scalars, over several seeds."""
    seeds, lengths = (2, 60) if fast else (20, LENGTH)
    coins = [Coins(p, seed, False, LENGTH) for p in (0.5, 0.9, 0.98, 1.0) for seed in range(seeds)]
    return [Coins(0.98, 0, True, lengths), *coins]


def measure(run: Coins) -> list[Broken]:
    """Play every version on the same labels; at several lengths where that is quick."""
    y = (np.random.default_rng(run.seed).random(run.n) < run.probability).astype(np.float64)
    if run.listing:
        return [row for version in ("as printed", "mended") for row in play_class(run, y, version)]
    lengths = np.unique(np.geomspace(10, run.n, 25).astype(int))
    return [
        broken(run, "scalars", version, y[:n], play_listing(np.ones(n), y[:n], RADIUS, 1.0, *parameters))
        for version, parameters in VERSIONS.items()
        for n in lengths
    ]


def play_class(run: Coins, y: Vector, version: str) -> list[Broken]:
    """Play `Algorithm2` row by row, and the scalar form on the same labels."""
    learner = Algorithm2(RADIUS, widest=1.0, verbatim=version == "as printed", intercept=False)
    learner.learn_many(np.ones((run.n, 1)), y)
    scalar = play_listing(np.ones(run.n), y, RADIUS, 1.0, *VERSIONS[version])
    return [broken(run, "class", version, y, learner.loss), broken(run, "its twin", version, y, scalar)]


def broken(run: Coins, player: str, version: str, y: Vector, loss: float) -> Broken:
    """Make the table's row of a finished game."""
    counts = np.array([np.sum(y == 0.0), np.sum(y == 1.0)])
    best = best_in_ball([[1.0], [1.0]], [0, 1], RADIUS, intercept=False, weights=counts).loss
    bound = theorem_bound(y.size, 1, radius=RADIUS, ridge=RIDGE, regulariser=1.0, tight=False, widest=1.0)
    return Broken(run.probability, run.seed, player, version, y.size, loss - best, bound)


def tell(rows: list[Broken], folder: ResultsFolder) -> list[Claim]:
    """Say which versions break the bound, and where."""
    folder.write("errata", rows)
    folder.draw("errata", draw(rows))
    stated = {row.version: row for row in rows if row.player == "scalars" and _stated(row)}
    end = {name: max(_ends(rows, name), key=lambda row: row.regret / row.bound) for name in VERSIONS}
    classes, scalars = ([row for row in rows if row.player == player] for player in ("class", "its twin"))
    off = max(abs(one.regret - other.regret) for one, other in zip(classes, scalars, strict=True))
    printed, mended = stated["as printed"], stated["mended"]
    return [
        Claim(
            f"Algorithm 2 as printed keeps the theorem's bound of {printed.bound:.1f} nats",
            f"regret {printed.regret:.1f} (d = 1, x = 1, P(y = 1) = 0.98, seed 0, n = {printed.n}, B = {RADIUS:g}); "
            f"worst of all runs {end['as printed'].regret:.1f}",
            printed.regret <= printed.bound,
        ),
        Claim(
            "mended, it keeps the bound",
            f"regret {mended.regret:.1f} on the same labels; worst of all runs {end['mended'].regret:.1f}",
            all(row.regret <= row.bound for row in rows if row.version == "mended"),
        ),
        Claim(
            "the listing with its gradient descent is the scalar form played here",
            f"regrets at n = {classes[0].n} differ by {off:.1e} nats at the most",
            off < 1e-6,
        ),
        *(
            Claim(
                f"{name}, it keeps the bound",
                f"worst of all runs {end[name].regret:.1f} against {end[name].bound:.1f}",
                end[name].regret <= end[name].bound,
            )
            for name in list(VERSIONS)[1:3]
        ),
    ]


def _stated(row: Broken) -> bool:
    return row.probability == 0.98 and row.seed == 0 and row.n == LENGTH


def _ends(rows: Sequence[Broken], version: str) -> list[Broken]:
    return [row for row in rows if row.version == version and row.player == "scalars" and row.n == LENGTH]


def draw(rows: Sequence[Broken]) -> Figure:
    """Draw regret against n, each version's mean and range over the seeds, for a rare and for an absent other label."""
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, p in zip(panels, (0.98, 1.0), strict=True):
        for version in VERSIONS:
            mine = [r for r in rows if r.version == version and r.probability == p and r.player == "scalars"]
            n = sorted({row.n for row in mine})
            regrets = np.array([[row.regret for row in mine if row.n == length] for length in n])
            axes.plot(n, regrets.mean(axis=1), color=COLOURS[version], label=version)
            axes.fill_between(
                n, regrets.min(axis=1), regrets.max(axis=1), color=COLOURS[version], alpha=0.15, linewidth=0
            )
        axes.plot(n, [next(r.bound for r in rows if r.n == length) for length in n], "k--", label="the theorem's bound")
        axes.set(xscale="log", xlabel="n", title=f"P(y = 1) = {p:g}")
        axes.axhline(0.0, color="black", linewidth=0.5)
    panels[0].set_ylabel(f"regret in nats, B = {RADIUS:g}")
    panels[0].legend(frameon=False, fontsize=8)
    tidy(panels)
    return figure


EXPERIMENT = Experiment("errata", Broken, plan, measure, tell)
