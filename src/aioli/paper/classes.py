r"""K classes, which the paper leaves open: regret ≤ tight certificate ≤ certificate ≤ theorem, also as classes appear.

Rows have length R = 1. The bound is that of docs/classes.md, and its growth in n, K and d is the theorem's own.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from aioli.evaluate.class_hindsight import best_in_class_ball, classes_seen
from aioli.learners.classes.class_aioli import ClassAIOLI
from aioli.numerics.compiling import Matrix
from aioli.outcomes.class_labels import Codes
from aioli.paper.drawing import Figure, tidy
from aioli.paper.experiment import Claim, Experiment
from aioli.paper.growth import column
from aioli.paper.results_folder import ResultsFolder
from aioli.paper.theorem1 import FourNumbers, on_the_sphere

__all__ = ["EXPERIMENT"]

STREAMS = ("softmax", "separable", "noise", "adversary", "adversary, one row")
ROUNDING = 1e-5  # nats: the comparator is right to 1e-7, and sums over thousands of rounds to 1e-8
COLOURS = {2: "#8a8d91", 3: "#1f77b4", 6: "#e0a100", 12: "#c84c09"}


@dataclass(frozen=True)
class ClassRun:
    """A run plays n rows of d columns and K classes; where they appear, nobody declares them beforehand."""

    stream: str
    classes: int
    d: int
    radius: float
    appear: bool
    n: int


@dataclass(frozen=True)
class ClassChain(FourNumbers, ClassRun):
    """A row of the table: four numbers of nats that should not fall from left to right."""

    @property
    def holds(self) -> bool:
        """Return whether the four numbers are in order."""
        return self.in_order(ROUNDING, relative=ROUNDING)


def plan(fast: bool) -> list[ClassRun]:
    """Plan up to twelve classes and eight columns, radii from 1 to 16, classes declared and not."""
    n, counts, widths = (120, (3, 6), (2,)) if fast else (3_000, (2, 3, 6, 12), (2, 8))
    cells = product(STREAMS, counts, widths, (1.0, 16.0) if fast else (1.0, 4.0, 16.0), (False, True))
    return [ClassRun(stream, K, d, B, appear, n) for stream, K, d, B, appear in cells]


def measure(run: ClassRun) -> list[ClassChain]:
    """Play the run; report after n/100, n/10 and n rows, where there are at least ten."""
    learner = ClassAIOLI(
        run.radius, intercept=False, classes="any" if run.appear else range(run.classes), structure="full"
    )
    chains = []
    for n, X, codes in _played(learner, run, [n for n in (run.n // 100, run.n // 10, run.n) if n >= 10]):
        known = len(learner.classes_)
        if known < 2:
            continue
        seen = classes_seen(codes) if run.appear else None
        least = best_in_class_ball(X, codes, known, run.radius, intercept=False, seen=seen).loss
        running, tight = learner.certificate(), learner.certificate(tight=True)
        numbers = (learner.loss - least, float(tight), float(running), running.theorem)
        chains.append(ClassChain(run.stream, run.classes, run.d, run.radius, run.appear, n, *numbers))
    return chains


def _played(learner: ClassAIOLI, run: ClassRun, lengths: Sequence[int]) -> Iterator[tuple[int, Matrix, Codes]]:
    """Play on to each length; yield it with the rows and the codes so far."""
    rng = np.random.default_rng(0)
    X = on_the_sphere(rng.standard_normal((run.n, run.d)))
    if run.stream == "adversary, one row":
        X[:] = np.eye(1, run.d)
    sharp = {"softmax": run.radius / 2.0, "separable": math.inf, "noise": 0.0}.get(run.stream, 0.0)
    W = rng.standard_normal((run.classes, run.d))
    logits = X @ W.T if sharp == math.inf else sharp * (X @ W.T) + rng.gumbel(size=(run.n, run.classes))
    labels = np.argmax(logits, axis=1)
    start = 0
    for n in lengths:
        if run.stream.startswith("adversary"):
            for t in range(start, n):
                p = learner.predict(X[t])
                if len(p) and not (run.appear and len(p) < run.classes and t % 10 == 0):
                    labels[t] = learner.classes_[int(np.argmin(p))]  # the label that was given least
                learner.learn(X[t], labels[t])
        else:
            learner.learn_many(X[start:n], labels[start:n])
        start = n
        yield n, X[:n], np.array([learner.classes_.index(label) for label in labels[:n]])


def tell(rows: list[ClassChain], folder: ResultsFolder) -> list[Claim]:
    """Check the chain for every row, and say how much each link gives away."""
    folder.write("classes", rows)
    folder.draw("classes", draw(rows))
    broken = [row for row in rows if not row.holds]
    longest = [row for row in rows if row.n == max(row.n for row in rows)]
    worst = max(longest, key=lambda row: row.regret / row.theorem)
    share = float(np.median([row.regret / row.certificate for row in longest]))
    return [
        Claim(
            "K classes: regret ≤ tight certificate ≤ certificate ≤ theorem",
            f"{len(broken)} exceptions in {len(rows)} games",
            not broken,
        ),
        Claim(
            "regret ≤ λ‖W‖² + ¼(log K + √2·BR + 2)·D·log(1 + nR²/(Dλ))",
            f"at n = {worst.n} regret is at most {worst.regret / worst.theorem:.3f} of it: {worst.regret:.1f} of "
            f"{worst.theorem:.1f} nats ({worst.stream}, K = {worst.classes}, d = {worst.d}, B = {worst.radius:g})",
            worst.regret <= worst.theorem,
        ),
        Claim(
            "the certificate of many classes is near the regret",
            f"regret is {share:.2f} of it in the median at n = {worst.n}",
            share > 0.3,
        ),
    ]


def draw(rows: Sequence[ClassChain]) -> Figure:
    """Draw regret against certificate, a colour a number of classes, and certificate against theorem."""
    figure = Figure(figsize=(9.0, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for axes, across, up in ((left, "certificate", "regret"), (right, "theorem", "certificate")):
        for K in sorted({row.classes for row in rows}):
            for appear, marker in ((False, "o"), (True, "^")):
                mine = [row for row in rows if row.classes == K and row.appear == appear]
                label = f"K = {K}" + (", appearing" if appear else "")
                x, y = column(mine, across), column(mine, up)
                axes.scatter(x, y, s=9, marker=marker, color=COLOURS[K], label=label, linewidths=0)
        ends = column(rows, across)
        line = np.geomspace(max(float(ends.min()), 0.1), float(ends.max()), 50)
        axes.plot(line, line, "k--", linewidth=0.8)
        axes.set(xscale="log", xlabel=f"{across} (nats)", ylabel=f"{up} (nats)")
        axes.set_yscale("symlog", linthresh=1.0)
    left.legend(frameon=False, fontsize=7, ncols=2)
    tidy([left, right])
    return figure


EXPERIMENT = Experiment("classes", ClassChain, plan, measure, tell)
