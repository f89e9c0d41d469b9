r"""Synthetic streams by name, and the adversary: to test and measure learners, and to play against them.

>>> from aioli import AIOLI
>>> stream = named("separable", flips=0.1)
>>> learner = AIOLI()
>>> for X, y in stream.blocks(10_000, seed=0):
...     p = learner.learn_many(X, y)
>>> print(f"{learner.loss / learner.rounds:.3f} nats a row")
0.408 nats a row
"""

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Protocol

import numpy as np

from aioli.numerics.compiling import Matrix, Vector
from aioli.streams import laws
from aioli.streams.laws import Law, require

__all__ = ["STREAMS", "Law", "Opponent", "against", "collinear", "flipped", "ill_scaled", "named"]


# ---- the adversary


class Opponent(Protocol):
    """A learner that the adversary can play against: it gives a probability, then sees the label."""

    def predict(self, x: object, /) -> float:
        """Return the probability that the row's label is 1; change nothing."""

    def learn(self, x: object, y: object, /) -> float:
        """Learn from the row and its label."""


def against(learner: Opponent, rows: Iterable[Vector], seed: int = 0) -> Iterator[tuple[Vector, int, float]]:
    r"""Play the rows with the labels that hurt most; yield each row, its label, and the probability announced for it.

    $y_t = [p_t < \tfrac12]$: the label to which the learner gave the smaller probability; where both are ½, a coin of
    this seed decides. So every round costs at least ln 2. A label that is yielded has been learned already.

    >>> from aioli import AIOLI
    >>> X, _ = named("logistic").take(1000, seed=0)
    >>> rounds = list(against(AIOLI(), X))
    >>> max(p if y else 1 - p for _, y, p in rounds)
    0.5
    """
    coin = np.random.default_rng(seed)
    for x in rows:
        p = learner.predict(x)
        y = int(coin.integers(2)) if p == 0.5 else int(p < 0.5)
        learner.learn(x, y)
        yield x, y, p


# ---- what can be done to any law


def flipped(law: Law, fraction: float) -> Law:
    """Return the law with label noise: each label is turned round with this probability, whatever its row.

    The rows, and the labels that are not turned round, are those of the law with the same seed.
    """
    require(0 <= fraction <= 1, f"the fraction of flips is {fraction}; it must be from 0 to 1")

    def draw(rng: np.random.Generator, t: Vector) -> tuple[Matrix, Vector]:
        X, y = law.draw(rng, t)
        return X, np.abs(y - (rng.random(t.size) < fraction))

    return replace(law, draw=draw, formula=f"{law.formula}; each label flipped with probability {fraction:g}")


def collinear(law: Law, copies: int) -> Law:
    r"""Return the law with further columns that say nothing new: $x_{d+k} = x_{k \bmod d} + x_{(k+1) \bmod d}$.

    θ is 0 there: one of the many θ that now give the same labels.
    """
    require(copies >= 0, f"{copies} further columns; there must be at least 0")
    first = np.arange(copies) % law.width
    second = (first + 1) % law.width

    def draw(rng: np.random.Generator, t: Vector) -> tuple[Matrix, Vector]:
        X, y = law.draw(rng, t)
        return np.hstack([X, X[:, first] + X[:, second]]), y

    def truth(t: int) -> Vector:
        return np.concatenate([law.theta(t), np.zeros(copies)])

    return replace(
        law,
        width=law.width + copies,
        formula=f"{law.formula}; {copies} further columns, each the sum of two",
        draw=draw,
        truth=truth if law.truth else None,
    )


def ill_scaled(law: Law, decades: float) -> Law:
    r"""Return the law with columns in unlike units: $x_j \leftarrow s_jx_j$, $s_j$ from $10^{-D/2}$ to $10^{D/2}$.

    D is the number of decades. The labels stay: $\theta_j \leftarrow \theta_j/s_j$, and B is the norm of that at row 0.
    """
    require(0 <= decades <= 300, f"the scales span {decades} decades; it must be from 0 to 300")
    scales = np.logspace(-decades / 2, decades / 2, law.width)

    def draw(rng: np.random.Generator, t: Vector) -> tuple[Matrix, Vector]:
        X, y = law.draw(rng, t)
        return X * scales, y

    def truth(t: int) -> Vector:
        return law.theta(t) / scales

    return replace(
        law,
        radius=float(np.linalg.norm(truth(0))) if law.radius is not None and law.truth else None,
        formula=f"{law.formula}; columns scaled from 1e{-decades / 2:+g} to 1e{decades / 2:+g}",
        draw=draw,
        truth=truth if law.truth else None,
    )


# ---- names


def _altered(
    name: str,
    make: Callable[..., Law],
    *,
    flips: float = 0.0,
    copies: int = 0,
    decades: float = 0.0,
    **parameters: object,
) -> Law:
    allowed = [*inspect.signature(make).parameters, "flips", "copies", "decades"]
    unknown = [parameter for parameter in parameters if parameter not in allowed]
    require(not unknown, f"stream {name!r} has no parameter {', '.join(unknown)}; it has {', '.join(allowed)}")
    law = make(**parameters)
    if flips:
        law = flipped(law, flips)
    if copies:
        law = collinear(law, copies)
    if decades:
        law = ill_scaled(law, decades)
    return replace(law, name=name)


STREAMS: dict[str, Callable[..., Law]] = {
    name: partial(_altered, name, make, **defaults)
    for name, make, defaults in (
        ("hkl", laws.hazan_koren_levy, {}),
        ("hkl_shrinking", laws.hazan_koren_levy_shrinking, {}),
        ("logistic", laws.logistic, {}),
        ("separable", laws.separable, {}),
        ("noisy", laws.separable, {"flips": 0.1}),
        ("noisy_logistic", laws.logistic, {"flips": 0.1}),
        ("rotating", laws.turning, {}),
        ("abrupt", laws.turned_once, {}),
        ("collinear", laws.logistic, {"copies": 4}),
        ("ill_scaled", laws.logistic, {"decades": 6.0}),
    )
}


def named(name: str, **parameters: object) -> Law:
    """Return the law of this name, with its parameters (`aioli.streams.laws`) and three that all have.

    `flips`, `copies` and `decades` are label noise, collinear columns and unlike scales: `flipped`, `collinear`,
    `ill_scaled`. The names "noisy", "noisy_logistic", "collinear" and "ill_scaled" begin with one of them set.

    >>> named("hkl", horizon=1000, chi=-1).formula
    '(0.992762, 1) with probability 0.00579059, else (0.0144765, 0)'
    >>> named("agrawal")
    Traceback (most recent call last):
    ...
    ValueError: no stream is called 'agrawal'; there are hkl, hkl_shrinking, logistic, separable, noisy, ...
    """
    require(name in STREAMS, f"no stream is called {name!r}; there are {', '.join(STREAMS)}")
    return STREAMS[name](**parameters)
