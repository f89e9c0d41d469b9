r"""The corollary, online to batch: the state before a round drawn uniformly, as a model for rows to come.

$\mathbb E\,\ell(f_\tau(X), Y) - \inf_{\|\theta\| \le B}\mathbb E\,\ell(\theta^\top X, Y) \le R_n^b/n$, $R_n^b$ being
theorem 1's bound. Rows have at most length R = 1. The laws are known, so that a risk is a sum over rows x of
$\mathbb P(Y = 1 \mid x)$: no label of a held-out row adds noise.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from aioli.evaluate.hindsight import best_in_ball
from aioli.learners.aioli import AIOLI
from aioli.learners.batch.online_to_batch import OnlineToBatch
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid_many, softplus_many
from aioli.outcomes.spec import Curvature
from aioli.paper.drawing import Axes, Figure, tidy
from aioli.paper.experiment import Claim, Experiment
from aioli.paper.growth import column
from aioli.paper.results_folder import ResultsFolder
from aioli.paper.theorem1 import on_the_sphere
from aioli.states.certificate import theorem_bound
from aioli.streams.laws import hazan_koren_levy

__all__ = ["EXPERIMENT", "LAWS", "Draw", "measure"]

LEARNERS: tuple[tuple[str, Curvature, float], ...] = (("paper, c = 1", "paper", 1.0), ("tight, c = ½", "tight", 0.5))
STATES = 16
HELD_OUT = 4096  # rows of the sphere over which a risk is the mean


@dataclass(frozen=True)
class Draw:
    """A run draws n rows of a law."""

    law: str
    n: int
    seed: int


@dataclass(frozen=True)
class Excess:
    """A row of the table: excess risks over the best θ of the ball, in nats, of one state, an average, and the last.

    The bound is the corollary's and the certificate the run's own, both divided by n.
    """

    law: str
    learner: str
    n: int
    seed: int
    one: float
    many: float
    last: float
    certificate: float
    bound: float


@dataclass(frozen=True)
class Law:
    """A law gives rows and labels to learn from, and rows x with masses and P(y = 1) to judge a model by."""

    radius: float
    sample: Callable[[int, int], tuple[Matrix, Vector]]
    rows: Matrix
    eta: Vector
    masses: Vector
    least: float

    def excess(self, z: Vector) -> float:
        """Return the risk of saying log-odds z, less the risk of the best θ of the ball."""
        return _risk(z, self.eta, self.masses) - self.least


def sphere(_n: int) -> Law:
    r"""Make a law of which the model is right: x uniform on the sphere, $P(y = 1) = \sigma(\theta^{*\top}x)$. d = 4."""
    theta = np.full(4, 4.0)

    def rows(count: int, rng: np.random.Generator) -> tuple[Matrix, Vector]:
        X = on_the_sphere(rng.standard_normal((count, 4)))
        return X, sigmoid_many(X @ theta)

    def sample(n: int, seed: int) -> tuple[Matrix, Vector]:
        rng = np.random.default_rng([seed, n])
        X, eta = rows(n, rng)
        return X, (rng.random(n) < eta).astype(np.float64)

    X, eta = rows(HELD_OUT, np.random.default_rng(0))
    masses = np.full(HELD_OUT, 1.0 / HELD_OUT)
    return Law(float(np.linalg.norm(theta)), sample, X, eta, masses, _risk(X @ theta, eta, masses))


def adversarial(n: int) -> Law:
    """Make a law of which the model is wrong: the paper's, χ = 1, ε = 0.01, B = ln n. Two rows, so risks are exact."""
    stream = hazan_koren_levy(n)
    B = math.log(n)
    q = 0.1 / (2.0 * B) + 0.01 / B
    X, eta, masses = np.array([[1.0 - 0.1 / (2.0 * B)], [0.1 / B]]), np.array([1.0, 0.0]), np.array([q, 1.0 - q])
    best = best_in_ball(X, eta, B, intercept=False, weights=masses, tolerance=1e-12)
    return Law(B, stream.take, X, eta, masses, best.loss)


LAWS: dict[str, Callable[[int], Law]] = {"logistic": sphere, "hkl": adversarial}


def plan(fast: bool) -> list[Draw]:
    """Plan many samples of each size, since the corollary speaks of the mean."""
    sizes, seeds = ((100, 1000), 10) if fast else ((100, 300, 1000, 3000, 10_000, 30_000), 100)
    return [Draw(law, n, seed) for law, n, seed in product(LAWS, reversed(sizes), range(seeds))]


def measure(run: Draw) -> list[Excess]:
    """Play the paper's learner, and the one with the tight curvature and c = ½; λ = 1/B²."""
    law = LAWS[run.law](run.n)
    X, y = law.sample(run.n, run.seed)
    found = []
    for name, curvature, c in LEARNERS:
        learner = AIOLI(law.radius, None, c, curvature, intercept=False)
        one, many = (OnlineToBatch(learner, states=m, seed=run.seed, share=1.0) for m in (1, STATES))
        for model in (one, many):
            model.learn_many(X, y)
        tight, width = curvature == "tight", X.shape[1]
        bound = theorem_bound(
            run.n, width, radius=law.radius, ridge=law.radius**-2, regulariser=c, tight=tight, widest=1.0
        )
        found.append(
            Excess(
                law=run.law,
                learner=name,
                n=run.n,
                seed=run.seed,
                one=law.excess(one.predict_logit_many(law.rows)),
                many=law.excess(many.predict_logit_many(law.rows)),
                last=law.excess(many.learner_.predict_logit_many(law.rows)),
                certificate=many.excess_risk_bound(),
                bound=bound / run.n,
            )
        )
    return found


def tell(rows: list[Excess], folder: ResultsFolder) -> list[Claim]:
    """Compare means over samples with the bound."""
    folder.write("corollary", rows)
    folder.draw("corollary", draw(rows))
    cells = [
        [row for row in rows if (row.law, row.learner, row.n) == key]
        for key in sorted({(row.law, row.learner, row.n) for row in rows})
    ]
    one, many = (max(_mean(cell, name) / _mean(cell, "bound") for cell in cells) for name in ("one", "many"))
    spread = np.median([_deviation(cell, "many") / _deviation(cell, "one") for cell in cells])
    below = all(_mean(cell, "one") <= _mean(cell, "certificate") <= _mean(cell, "bound") for cell in cells)
    tighter = np.median([_mean(cell, "bound") / _mean(cell, "certificate") for cell in cells])
    return [
        Claim(
            "a random round's state has a mean excess risk below the bound / n",
            f"at most {one:.3f} of it, over {len(cells)} laws, learners and n",
            one <= 1.0,
        ),
        Claim(
            f"so has the average of {STATES} states, which varies less",
            f"at most {many:.3f} of it; standard deviation {spread:.2f} times that of one state, in the median",
            many <= 1.0 and spread < 1.0,
        ),
        Claim(
            "the mean of certificate / n lies between",
            f"it does {'everywhere' if below else 'not everywhere'}; {tighter:.1f} times below the bound in the median",
            below,
        ),
    ]


def draw(rows: Sequence[Excess]) -> Figure:
    """Draw the paper's learner on both laws: means over samples, with two standard errors."""
    figure = Figure(figsize=(9.0, 3.8), layout="constrained")
    axes = figure.subplots(1, 2)
    titles = ("the model is right: d = 4, B = 8", "the model is wrong: the paper's simulation, B = ln n")
    for each, law, title in zip(axes, LAWS, titles, strict=True):
        mine = [row for row in rows if row.law == law and row.learner == LEARNERS[0][0]]
        _draw_law(each, mine)
        each.set(xscale="log", xlabel="n", title=title)
        each.title.set_fontsize(9)
    axes[0].set(yscale="log", ylabel="excess risk, in nats")
    axes[1].set_yscale("symlog", linthresh=1e-4)  # an improper model may beat every θ
    axes[1].axhline(0.0, color="#999999", linewidth=0.6)
    axes[0].legend(frameon=False, fontsize=8)
    tidy(axes)
    return figure


def _draw_law(axes: Axes, rows: Sequence[Excess]) -> None:
    sizes = sorted({row.n for row in rows})
    cells = [[row for row in rows if row.n == n] for n in sizes]
    for name, style, colour, label in (
        ("bound", "--", "#222222", "corollary's bound"),
        ("certificate", ":", "#222222", "mean of certificate / n"),
        ("one", "o-", "#c84c09", "one random state"),
        ("many", "s-", "#0b6e4f", f"average of {STATES} states"),
        ("last", "^-", "#1f77b4", "last state"),
    ):
        errors = [2.0 * _deviation(cell, name) / math.sqrt(len(cell)) for cell in cells]
        means = [_mean(cell, name) for cell in cells]
        axes.errorbar(sizes, means, errors, fmt=style, color=colour, label=label, markersize=4, linewidth=1.2)


def _risk(z: Vector, eta: Vector, masses: Vector) -> float:
    return float(masses @ (eta * softplus_many(-z) + (1.0 - eta) * softplus_many(z)))


def _mean(rows: Sequence[Excess], name: str) -> float:
    return float(np.mean(column(rows, name)))


def _deviation(rows: Sequence[Excess], name: str) -> float:
    return float(np.std(column(rows, name), ddof=1))


EXPERIMENT = Experiment("corollary", Excess, plan, measure, tell)
