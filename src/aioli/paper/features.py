r"""The open question of section 4: what do random features or Nyström projections cost, in regret and in time?

Rows $x \sim N(0, I_3)$ and a target of the kernel's space, $f = \sum_i a_i k(c_i, \cdot)$ with $\|f\| = B$, labels
drawn by $\sigma(f(x))$: a smooth one, B = 8 and 30 centres, and a rough one, B = 60 and 100 centres. The exact learner
keeps all rows, O(t²) a row. Beside it the same game on D random features, O(D²), and on a dictionary of m rows, O(m²);
every regret is against the best function of the ball, known when the stream is over.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aioli.evaluate.hindsight import best_in_ball
from aioli.learners.aioli import AIOLI
from aioli.learners.base import ColumnLearner
from aioli.learners.kernel.base_learner import BaseLearner
from aioli.learners.kernel.dictionary import KERNELS
from aioli.learners.kernel.kernel_aioli import KernelAIOLI
from aioli.learners.kernel.nystrom import Nystrom
from aioli.learners.kernel.random_features import FourierMap, RandomFeatures, random_directions
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid_many
from aioli.paper.drawing import Axes, Figure, tidy
from aioli.paper.experiment import Claim, Experiment
from aioli.paper.growth import exponent
from aioli.paper.results_folder import ResultsFolder

__all__ = ["EXPERIMENT"]

WIDTH, REGULARISER = 3, 0.5
TARGETS = {"smooth": (8.0, 30), "rough": (60.0, 100)}  # B, and how many centres
EXACT, RANDOM, DICTIONARY = "exact", "random features", "dictionary"
COLOURS = {RANDOM: "#1f77b4", DICTIONARY: "#c84c09"}


@dataclass(frozen=True)
class Pass:
    """A run plays a learner of so many features or points over n rows; the seed is of rows, labels and directions."""

    target: str
    learner: str
    size: int
    n: int
    seed: int


@dataclass(frozen=True)
class Cost(Pass):
    """A row of the table: loss in nats, seconds, the kernel's error; of the exact learner, the best loss and d_eff."""

    loss: float
    seconds: float
    error: float
    best: float
    dimension: float


def plan(fast: bool) -> list[Pass]:
    """Plan sizes by powers of two, or of four."""
    n, seeds, every = (400, 2, 2) if fast else (2000, 3, 1)
    sizes = [(EXACT, n)]
    sizes += [(RANDOM, 2**k) for k in range(4, 11, every)]
    sizes += [(DICTIONARY, 2**k) for k in range(3, 10, every)]
    return [
        Pass(target, learner, size, n, seed) for target in TARGETS for seed in range(seeds) for learner, size in sizes
    ]


def draw_rows(target: str, n: int, seed: int) -> tuple[Matrix, Vector]:
    """Return rows and labels of the target."""
    B, count = TARGETS[target]
    rng = np.random.default_rng([seed, count])
    X, centres, a = rng.normal(size=(n, WIDTH)), rng.normal(size=(count, WIDTH)), rng.normal(size=count)
    a *= B / math.sqrt(a @ KERNELS["rbf"](centres, centres) @ a)
    p = sigmoid_many(KERNELS["rbf"](X, centres) @ a)
    return X, (rng.random(n) < p).astype(np.float64)


def best_function(X: Matrix, y: Vector, radius: float) -> float:
    """Return the least loss of a function of the ball: it lies in the span of the rows. O(n³)."""
    values, basis = np.linalg.eigh(KERNELS["rbf"](X, X))
    kept = values > 1e-8  # a direction of this length can move log-odds by B·1e-4 at most
    return best_in_ball(basis[:, kept] * np.sqrt(values[kept]), y, radius, intercept=False, tolerance=1e-3).loss


def kernel_error(X: Matrix, features: int, seed: int) -> float:
    """Return the root mean square error of the kernel between the first rows."""
    W = random_directions(features // 2, WIDTH, "rbf", True, np.random.default_rng([seed, 0]))
    F = FourierMap(BaseLearner.fresh(AIOLI()), 1.0, W).map(X[:200])
    return float(np.sqrt(np.mean((F @ F.T - KERNELS["rbf"](X[:200], X[:200])) ** 2)))


def measure(run: Pass) -> list[Cost]:
    """Play one pass over the rows."""
    X, y = draw_rows(run.target, run.n, run.seed)
    B, _ = TARGETS[run.target]
    game = AIOLI(B, regulariser=REGULARISER, intercept=False)
    exact = KernelAIOLI("rbf", 0.5, radius=B, regulariser=REGULARISER, intercept=False)
    learner: ColumnLearner = exact
    if run.learner == RANDOM:
        learner = RandomFeatures(game, run.size, bandwidth=1.0, seed=run.seed)
    elif run.learner == DICTIONARY:
        learner = Nystrom(game, run.size, accuracy=1e-4, bandwidth=1.0)
    begin = time.perf_counter()
    learner.learn_many(X, y)
    seconds = time.perf_counter() - begin
    error = kernel_error(X, run.size, run.seed) if run.learner == RANDOM else 0.0
    best, dimension = (best_function(X, y, B), exact.effective_dimension_) if run.learner == EXACT else (0.0, 0.0)
    return [Cost(run.target, run.learner, run.size, run.n, run.seed, learner.loss, seconds, error, best, dimension)]


def means(rows: Sequence[Cost], learner: str, value: str, target: str) -> tuple[Vector, Vector]:
    """Return sizes, and the mean over seeds of the regret, of the time beside the exact learner's, or of the error."""
    exact = {row.seed: row for row in rows if (row.learner, row.target) == (EXACT, target)}
    found: dict[int, list[float]] = {}
    for row in rows:
        if (row.learner, row.target) == (learner, target):
            beside = exact[row.seed]
            numbers = {"regret": row.loss - beside.best, "time": row.seconds / beside.seconds, "error": row.error}
            found.setdefault(row.size, []).append(numbers[value])
    sizes = sorted(found)
    return np.array(sizes, dtype=np.float64), np.array([np.mean(found[size]) for size in sizes])


def tell(rows: list[Cost], folder: ResultsFolder) -> list[Claim]:
    """Compare regret, time and error with the size."""
    folder.write("features", rows)
    folder.draw("features", draw(rows))
    claims = []
    for target in TARGETS:
        _, (exact,) = means(rows, EXACT, "regret", target)
        dimension = effective_dimension(rows, target)
        for learner, letter in ((RANDOM, "D"), (DICTIONARY, "m")):
            sizes, regrets = means(rows, learner, "regret", target)
            worst = [float(max(regrets[i:])) for i in range(len(sizes))]
            enough = next((i for i in range(len(sizes)) if worst[i] <= 1.1 * exact), len(sizes) - 1)
            claims.append(
                Claim(
                    f"{target} target, {learner}: as little regret as exact",
                    f"{regrets[0]:.0f} nats at {letter} = {sizes[0]:.0f}, {regrets[-1]:.0f} at {sizes[-1]:.0f}, exact "
                    f"{exact:.0f}; at most a tenth more from {letter} = {sizes[enough]:.0f}; d_eff is {dimension:.0f}",
                    worst[-1] <= 1.1 * float(exact),
                )
            )
    slope = float(exponent(*means(rows, RANDOM, "error", "rough")))
    claims.append(
        Claim("the error of a random kernel falls like D^(-1/2)", f"exponent {slope:.2f}", -0.65 < slope < -0.35)
    )
    return claims


def effective_dimension(rows: Sequence[Cost], target: str) -> float:
    """Return the mean over seeds of the effective dimension."""
    return float(np.mean([row.dimension for row in rows if (row.learner, row.target) == (EXACT, target)]))


def draw(rows: Sequence[Cost]) -> Figure:
    """Draw regret at the left, time in the middle, and the kernel's error at the right."""
    figure = Figure(figsize=(11.0, 3.6), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    for target, line in (("smooth", "o--"), ("rough", "o-")):
        _, (exact,) = means(rows, EXACT, "regret", target)
        for learner, colour in COLOURS.items():
            sizes, regrets = means(rows, learner, "regret", target)
            left.plot(sizes, regrets / exact, line, color=colour, markersize=4, label=f"{learner}, {target}")
        left.axvline(effective_dimension(rows, target), color="#999999", linestyle=line[1:], linewidth=1.0)
    for learner, colour in COLOURS.items():
        middle.plot(*means(rows, learner, "time", "rough"), "o-", color=colour, markersize=4, label=learner)
    for axes in (left, middle):
        axes.axhline(1.0, color="k", linewidth=0.8, label="exact")
    left.set(ylabel="regret beside the exact learner's")
    middle.set(ylabel="time beside the exact learner's", yscale="log")
    sizes, errors = means(rows, RANDOM, "error", "rough")
    right.plot(sizes, errors, "o", color=COLOURS[RANDOM], markersize=4, label="measured")
    right.plot(sizes, errors[0] * np.sqrt(sizes[0] / sizes), "k--", linewidth=0.8, label="∝ D^(−½)")
    right.set(ylabel="error of the kernel, root mean square", yscale="log")
    finish((left, middle, right))
    return figure


def finish(panels: Sequence[Axes]) -> None:
    """Set the axes and legends that all panels share."""
    for axes in panels:
        axes.set(xscale="log", xlabel="D features, m points")
        axes.legend(frameon=False, fontsize=8)
    tidy(panels)


EXPERIMENT = Experiment("features", Cost, plan, measure, tell, timed=True)
