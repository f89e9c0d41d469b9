"""What each column does to the log-odds, as far as a learner can say it in one number a column."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from aioli.learners.aioli import AIOLI
from aioli.learners.auto.auto import Auto
from aioli.learners.auto.dense_ensemble import DenseEnsemble
from aioli.numerics.compiling import Vector
from aioli.states.dense.state import State

__all__ = ["Effect", "effects", "unit_of"]

INTERCEPT = "intercept"


@dataclass(frozen=True)
class Effect:
    """A column's weight, and one standard deviation of what is known of it."""

    name: str
    weight: float
    uncertainty: float


def effects(learner: Any) -> list[Effect]:
    r"""The weights, largest first; empty where a learner has none to tell. O(d²).

    The state is a quadratic $(\theta - w)^\top A(\theta - w)$ in nats, as if θ were normal with mean w and covariance
    $\tfrac12A^{-1}$. Auto tells the weights of the linear expert to which it listens most (`unit_of` says in what).
    """
    if isinstance(learner, AIOLI) and learner._state is not None:
        names = _names(learner, learner._state.width - learner.intercept)
        w, deviation = _moments(learner._state)
        return _sorted([INTERCEPT, *names] if learner.intercept else names, w, deviation)
    linear = _linear_expert(learner) if isinstance(learner, Auto) else None
    if linear is not None:
        state, width = linear
        w, deviation = _moments(state)
        return _sorted([INTERCEPT, *_names(learner, width)], w, deviation)
    return []


def unit_of(learner: Any) -> str:
    """What the weights are for: one unit of a column, or one unit of its view."""
    if not isinstance(learner, Auto):
        return "one unit of the column"
    return "the column on the scale of the expert that is heard most among the linear ones"


def _linear_expert(learner: Auto) -> tuple[State, int] | None:
    heard = learner.weights_
    if not isinstance(learner._player, DenseEnsemble) or learner.n_features_ is None:
        return None
    playing = zip(learner._player.playing, learner._player.states, strict=True)
    linear = [(heard[expert.name], state) for expert, state in playing if expert.view in ("standard", "peak")]
    return max(linear, key=lambda pair: pair[0])[1], learner.n_features_


def _moments(state: State) -> tuple[Vector, Vector]:
    squares = np.sum(state.P**2, axis=1) if state.factored else np.diag(state.P)
    return state.w, np.sqrt(np.maximum(squares, 0.0) / 2.0)


def _names(learner: Any, width: int) -> list[str]:
    given = getattr(learner, "feature_names_", None)
    return list(given) if given else [f"column {i + 1}" for i in range(width)]


def _sorted(names: list[str], w: Vector, deviation: Vector) -> list[Effect]:
    told = [Effect(*one) for one in zip(names, w.tolist(), deviation.tolist(), strict=True)]
    return sorted(told, key=lambda effect: -abs(effect.weight))
