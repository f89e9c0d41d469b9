r"""Figure 1: what FTRL, AIOLI and Foster's mixture say of every x after the same few rows of one column.

FTRL is proper: its log-odds are θx. AIOLI's solve $z + \tfrac{x^2}{2A}\tanh\tfrac z2 = wx$: linear near 0, and back to
0 far out, where the row's own uncertainty x²/A outweighs what is known. Foster's stay below the log-odds that θ has
the sign of x under the posterior, however far out x may be.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aioli.learners.aioli import AIOLI
from aioli.learners.baselines.ftrl import FTRL
from aioli.learners.foster.foster import Foster
from aioli.learners.protocol import Learner
from aioli.numerics.logistic import logit, sigmoid_many
from aioli.paper.drawing import COLOURS, Figure, tidy
from aioli.paper.experiment import Claim, Experiment
from aioli.paper.results_folder import ResultsFolder

__all__ = ["EXPERIMENT"]

RADIUS = 8.0
SLOPE = 3.0  # θ of the law that the rows come from


@dataclass(frozen=True)
class FewRows:
    """A run draws so many rows, x uniform on [-1, 1] and P(y = 1) = σ(3x)."""

    rows: int
    seed: int


@dataclass(frozen=True)
class Said:
    """A row of the table: the log-odds that a learner announces for x after the run's rows."""

    learner: str
    x: float
    z: float


def plan(_fast: bool) -> list[FewRows]:
    """Plan one run; it is quick as it is."""
    return [FewRows(20, 0)]


def measure(run: FewRows) -> list[Said]:
    """Predict from -4 to 4, four times as far as the rows went."""
    rng = np.random.default_rng(run.seed)
    X = rng.uniform(-1.0, 1.0, size=(run.rows, 1))
    y = rng.random(run.rows) < sigmoid_many(SLOPE * X[:, 0])
    learners: dict[str, Learner] = {
        "FTRL": FTRL(1.0, intercept=False),
        "AIOLI": AIOLI(RADIUS, regulariser=1.0, curvature="paper", intercept=False),
        "Foster": Foster(RADIUS, intercept=False),
    }
    x = np.linspace(-4.0, 4.0, 161)
    said = []
    for name, learner in learners.items():
        learner.learn_many(X, y)
        said += [Said(name, float(at), logit(p)) for at, p in zip(x, learner.predict_many(x[:, None]), strict=True)]
    return said


def tell(rows: list[Said], folder: ResultsFolder) -> list[Claim]:
    """Say how far from linear each learner is."""
    folder.write("figure1", rows)
    folder.draw("figure1", draw(rows))
    ratio = {name: at(rows, name, 4.0) / at(rows, name, 1.0) for name in ("FTRL", "AIOLI", "Foster")}
    found = {name: f"ŷ(4) is {ratio[name]:.3f} times ŷ(1)" for name in ratio}
    return [
        Claim("FTRL's prediction is linear in x", found["FTRL"], abs(ratio["FTRL"] - 4.0) < 1e-9),
        Claim("AIOLI's prediction is not linear in x", found["AIOLI"], ratio["AIOLI"] < 3.6),
        Claim("Foster's prediction is not linear in x", found["Foster"], ratio["Foster"] < 3.6),
    ]


def at(rows: Sequence[Said], learner: str, x: float) -> float:
    """Return what a learner said of this x."""
    return next(row.z for row in rows if row.learner == learner and abs(row.x - x) < 1e-9)


def draw(rows: Sequence[Said]) -> Figure:
    """Draw log-odds and probabilities against x."""
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name in ("FTRL", "AIOLI", "Foster"):
        x = np.array([row.x for row in rows if row.learner == name])
        z = np.array([row.z for row in rows if row.learner == name])
        left.plot(x, z, color=COLOURS[name], label=name)
        right.plot(x, sigmoid_many(z), color=COLOURS[name], label=name)
    left.set(xlabel="x", ylabel="ŷ, the log-odds announced")
    right.set(xlabel="x", ylabel="probability of y = 1", ylim=(0.0, 1.0))
    for axes in (left, right):
        axes.axvspan(-1.0, 1.0, color="#f4f4f4", zorder=0)
    left.legend(frameon=False, title="shaded: where rows were seen", title_fontsize=8)
    tidy((left, right))
    return figure


EXPERIMENT = Experiment("figure1", Said, plan, measure, tell)
