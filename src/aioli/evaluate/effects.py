r"""Computes what each column does to the probability, for learners that have one number a column.

The state is a quadratic $(\theta - w)^\top A(\theta - w)$ in nats, as if θ were normal with mean w and covariance
$\tfrac12A^{-1}$. A learner that is linear in its columns, or Auto's linear expert of the largest share, is read as
$\theta_0 + \sum_j \theta_j s_j(x_j - o_j)$.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from aioli.learners.aioli import AIOLI
from aioli.learners.auto.auto import Auto
from aioli.learners.auto.dense_ensemble import DenseEnsemble
from aioli.learners.protocol import Learner, names_columns
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid
from aioli.snapshots.tree import Snapshot
from aioli.states.dense.state import State
from aioli.streams.encoding import Encoder
from aioli.streams.exclusive_features import exclusive
from aioli.streams.scaling import Scaler

__all__ = ["Coefficient", "Effect", "Effects", "coefficients", "effects", "unit_of"]

INTERCEPT = "intercept"


class Coefficient(NamedTuple):
    """A column's coefficient and its standard deviation, the state being read as a normal law."""

    name: str
    weight: float
    uncertainty: float


@dataclass(frozen=True)
class Effect:
    """What one step of a feature does to the average row.

    Attributes
    ----------
    log_odds, uncertainty
        What the step adds to the log-odds, and the standard deviation of that, the state being read as a normal law.
    probability
        The average row's probability after the step.
    level
        Whether the step is to this level of a category; else it is one standard deviation of a number.
    """

    name: str
    log_odds: float
    uncertainty: float
    probability: float
    level: bool


@dataclass(frozen=True)
class Effects:
    """The probability of the average row, and what a step of each feature does to it, the largest first."""

    average: float
    steps: Sequence[Effect]


@dataclass(frozen=True)
class _Linear:
    """A linear model θ over the features s(x - o), a 1 in front, and the moments of the features x."""

    state: State
    names: list[str]
    scale: Vector
    origin: Vector
    mean: Vector
    deviation: Vector


def coefficients(learner: Learner) -> list[Coefficient]:
    """Return a linear learner's coefficients, largest first; [] for other learners. `unit_of` is their unit. O(d²)."""
    if isinstance(learner, AIOLI) and learner._state is not None:
        names = _names(learner, learner._state.width - learner.intercept)
        state, names = learner._state, [INTERCEPT, *names] if learner.intercept else names
    elif isinstance(learner, Auto) and (found := _linear_expert(learner)) is not None:
        state, names = found[0], [INTERCEPT, *_names(learner, found[0].width - 1)]
    else:
        return []
    squares = np.sum(state.P**2, axis=1) if state.factored else np.diag(state.P)
    deviation = np.sqrt(np.maximum(squares, 0.0) / 2.0)
    known = zip(names, state.w.tolist(), deviation.tolist(), strict=True)
    return sorted((Coefficient(*one) for one in known), key=lambda one: -abs(one.weight))


def unit_of(learner: Learner) -> str:
    """Return in words the unit of the coefficients: of a column as it came, or on the scale of an expert's view."""
    if not isinstance(learner, Auto):
        return "one unit of the column"
    return "the column on the scale of the expert that is heard most among the linear ones"


def effects(learner: Learner, taught: Snapshot | None = None) -> Effects | None:
    r"""Return what a step of each feature does to the average row; None where the learner has no linear model. O(d³).

    A step of a number is one standard deviation, $\theta_j s_j\mathrm{sd}_j$. A step of a category is the level k
    against the average row, whose shares of the levels are $m_l$: $\theta_k s_k - \sum_l m_l\theta_l s_l$.

    Parameters
    ----------
    taught
        The snapshot of the stream that the learner was taught on, which knows the categories; without it every
        feature is read as a number.
    """
    model = _linear(learner)
    if model is None:
        return None
    if taught is not None and "scaler" in taught.parts:
        model = _unscaled(model, Scaler.restore(taught.part("scaler")))
    levels = {} if taught is None or "encoder" not in taught.parts else _levels(taught)
    steps = _steps(model, levels)
    z = float(model.state.w[0] + (model.scale * (model.mean - model.origin)) @ model.state.w[1:])
    moved = steps @ model.state.w[1:]
    # With P = SSᵀ a step a has the variance |Sᵀa|²/2; without the factor it is aᵀPa/2.
    P = model.state.P[1:] if model.state.factored else model.state.P[1:, 1:]
    spread = ((steps @ P) ** 2).sum(axis=1) if model.state.factored else ((steps @ P) * steps).sum(axis=1)
    found = [
        Effect(name, step, float(np.sqrt(max(variance, 0.0) / 2.0)), sigmoid(z + step), place in levels)
        for place, (name, step, variance) in enumerate(zip(model.names, moved.tolist(), spread.tolist(), strict=True))
    ]
    return Effects(sigmoid(z), sorted(found, key=lambda effect: -abs(effect.log_odds)))


def _steps(model: _Linear, levels: Mapping[int, Sequence[int]]) -> Matrix:
    """Return a row for every feature: by how much its step changes each of the model's features."""
    steps = np.diag(model.scale * model.deviation)
    for place, group in levels.items():
        steps[place] = 0.0
        steps[place, group] -= model.scale[group] * model.mean[group]
        steps[place, place] += model.scale[place]
    return steps


def _levels(taught: Snapshot) -> Mapping[int, Sequence[int]]:
    encoder = taught.part("encoder")
    return exclusive(Encoder.restore(encoder)) if encoder.kind == "Encoder" else {}


def _linear(learner: Learner) -> _Linear | None:
    """Return the linear model of a learner; None where it has none, or none with an intercept."""
    if isinstance(learner, Auto):
        found = _linear_expert(learner)
        if found is None:
            return None
        state, view, player = found
        assert player.views is not None
        return _Linear(state, _names(learner, state.width - 1), *player.views.scaling(view), *player.views.moments())
    if isinstance(learner, AIOLI) and learner._state is not None and learner.intercept:
        width = learner._state.width - 1
        moments = _weighted_moments(learner._state)
        return _Linear(learner._state, _names(learner, width), np.ones(width), np.zeros(width), *moments)
    return None


def _unscaled(model: _Linear, scaler: Scaler) -> _Linear:
    """Return the model over the columns as they were before the stream scaled them (`streams.scaling`)."""
    mean, deviation = scaler.moments()
    unit = deviation * math.sqrt(len(mean))
    scale = np.divide(model.scale, unit, out=np.zeros_like(unit), where=unit > 0.0)
    return replace(model, scale=scale, origin=mean + unit * model.origin, mean=mean, deviation=deviation)


def _linear_expert(learner: Auto) -> tuple[State, str, DenseEnsemble] | None:
    """Return the state of the linear expert of the largest share, its view, and the ensemble."""
    player = learner._linear_experts
    if player is None or player.views is None:
        return None
    shares = learner.weights_
    linear = [
        (shares[expert.name], state, expert.view)
        for expert, state in zip(player.playing, player.states, strict=True)
        if expert.view in ("standard", "peak")
    ]
    _, state, view = max(linear, key=lambda one: one[0])
    return state, view, player


def _weighted_moments(state: State) -> tuple[Vector, Vector]:
    r"""Return mean and deviation of every column, each row weighted by the curvature with which it was learned. O(d³).

    The state holds them: $A = \lambda I + \sum \tfrac12hxx^\top$, and the first entry of x is 1.
    """
    A = state.precision()
    total = max(A[0, 0] - state.spec.ridge, np.finfo(np.float64).tiny)
    mean = A[0, 1:] / total
    squares = (np.diag(A)[1:] - state.spec.ridge) / total
    return mean, np.sqrt(np.maximum(squares - mean * mean, 0.0))


def _names(learner: Learner, width: int) -> list[str]:
    given = learner.feature_names_ if names_columns(learner) else None
    return list(given) if given else [f"column {i + 1}" for i in range(width)]
