"""Costs of a round as its size grows: times are compared with each other only, so the machine does not matter."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aioli.learners.aioli import AIOLI
from aioli.learners.baselines.ekf import EKF
from aioli.learners.baselines.ftrl import FTRL
from aioli.learners.baselines.ogd import OGD
from aioli.learners.baselines.ons import ONS
from aioli.learners.foster.foster import Foster
from aioli.learners.protocol import Learner
from aioli.numerics.compiling import Matrix, Vector

__all__ = ["BY_ROUNDS", "BY_WIDTH", "cost_by_rounds", "cost_by_width"]


@dataclass(frozen=True)
class Sizes:
    """A timing says which learner is timed, at which sizes, and how.

    Attributes
    ----------
    make
        Makes a fresh learner.
    sizes, few
        Widths d, or rounds t; and those of the fast mode. They lie where the work outweighs the interpreter's.
    before, timed
        By width: rounds before the clock starts, at least one, and rounds that it runs for.
    width
        By rounds: d.
    """

    make: Callable[[], Learner]
    sizes: tuple[int, ...]
    few: tuple[int, ...]
    before: int = 5
    timed: int = 20
    width: int = 8


def _particles() -> Learner:
    return Foster(4.0, method="smc", particles=500, intercept=False)


def _exact() -> Learner:
    return Foster(4.0, method="quadrature", intercept=False)


SQUARES, LONG = (256, 512, 1024, 2048), (1000, 2000, 4000, 8000, 16_000)
BY_WIDTH = {
    "OGD": Sizes(lambda: OGD(4.0, 1.0, intercept=False), (2**14, 2**15, 2**16, 2**17), (2**14, 2**16)),
    "ONS": Sizes(lambda: ONS(4.0, 1.0, intercept=False), SQUARES, (128, 512)),
    "ONS, projected": Sizes(lambda: ONS(0.1, 1.0, intercept=False), (64, 128, 256, 512), (32, 128), before=40, timed=3),
    "FTRL": Sizes(lambda: FTRL(1.0, intercept=False), (16, 32, 64, 128), (8, 32), before=300, timed=10),
    "AIOLI": Sizes(lambda: AIOLI(4.0, intercept=False), SQUARES, (128, 512)),
    "EKF": Sizes(lambda: EKF(1.0, intercept=False), SQUARES, (128, 512)),
    "Foster, particles": Sizes(_particles, (4, 8, 16, 32), (4, 16), before=1, timed=200),
}
BY_ROUNDS = {
    "OGD": Sizes(lambda: OGD(4.0, 1.0, intercept=False), LONG, (500, 2000)),
    "ONS": Sizes(lambda: ONS(4.0, 1.0, intercept=False), LONG, (500, 2000)),
    "FTRL": Sizes(lambda: FTRL(1.0, intercept=False), (500, 1000, 2000, 4000), (250, 1000)),
    "AIOLI": Sizes(lambda: AIOLI(4.0, intercept=False), LONG, (500, 2000)),
    "EKF": Sizes(lambda: EKF(1.0, intercept=False), LONG, (500, 2000)),
    "Foster, quadrature": Sizes(_exact, (500, 1000, 2000, 4000, 8000), (250, 1000), width=1),
    "Foster, particles": Sizes(_particles, (250, 500, 1000, 2000, 4000), (125, 500), width=2),
}


def cost_by_width(name: str, fast: bool, repeats: int) -> dict[int, float]:
    """Return a round's cost at each width, over the smallest width's: the least of repeats in which widths take turns.

    The least, not the median: whatever else the machine does can only add.
    """
    what = BY_WIDTH[name]
    widths = what.few if fast else what.sizes
    seconds = np.min([[_timed_width(name, what, d, seed) for d in widths] for seed in range(repeats)], axis=0)
    return dict(zip(widths, (seconds / seconds[0]).tolist(), strict=True))


def cost_by_rounds(name: str, fast: bool, repeats: int) -> dict[int, float]:
    """Return the mean cost of rounds t to 2t over the smallest t's, the least of repeats; no two rows are alike."""
    what = BY_ROUNDS[name]
    lengths = what.few if fast else what.sizes
    seconds = np.min([_timed_rounds(what, lengths, seed) for seed in range(repeats)], axis=0)
    return dict(zip(lengths, (seconds / seconds[0]).tolist(), strict=True))


def _timed_width(name: str, what: Sizes, d: int, seed: int) -> float:
    one_way = name == "ONS, projected"
    X, y = _rows(what.before + what.timed, d, seed, one_way)
    learner = what.make()
    learner.learn_many(X[: what.before], y[: what.before])
    return _clock(learner, X[what.before :], y[what.before :]) / what.timed


def _timed_rounds(what: Sizes, lengths: tuple[int, ...], seed: int) -> list[float]:
    X, y = _rows(2 * lengths[-1], what.width, seed, False)
    learner = what.make()
    learner.learn_many(X[: lengths[0]], y[: lengths[0]])
    seconds = []
    start = lengths[0]
    for t in lengths:
        _clock(learner, X[start:t], y[start:t])
        seconds.append(_clock(learner, X[t : 2 * t], y[t : 2 * t]) / t)
        start = 2 * t
    return seconds


def _rows(n: int, d: int, seed: int, one_way: bool) -> tuple[Matrix, Vector]:
    """Return rows of length 1; all of nearly one direction and label where a learner is to leave its ball."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    if one_way:
        X = X / np.sqrt(d) + 10.0 * np.eye(1, d)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, np.ones(n) if one_way else (rng.random(n) < 0.5).astype(np.float64)


def _clock(learner: Learner, X: Matrix, y: Vector) -> float:
    begin = time.perf_counter()
    for x, label in zip(X, y, strict=True):
        learner.learn(x, label)
    return time.perf_counter() - begin
