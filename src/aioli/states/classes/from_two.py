r"""A game of two classes goes on as one of many: the same sum of surrogates, written in contrasts.

Of two classes the log-odds are $\theta^\top x$. In the one contrast between them, the positive class being the second,
the same model is $w = -\theta/\sqrt2$. So $F(\theta)$, the sum that certificate and state come from, is one of w:
$A_w = 2A_\theta$, λ doubles, and the ball's radius is divided by √2. A third class then appends its contrast.
"""

import math
from dataclasses import replace

import numpy as np

from aioli.numerics.softmax import SQRT2
from aioli.outcomes.spec import GameSpec
from aioli.outcomes.two_classes import Tally
from aioli.states.classes.full import FullState
from aioli.states.dense.state import State

__all__ = ["full_state_of_two", "spec_of_many"]


def spec_of_many(spec: GameSpec) -> GameSpec:
    """Return the parameters of the same game in contrasts."""
    return replace(spec, radius=spec.radius / SQRT2, ridge=2.0 * spec.ridge, regulariser=0.5, curvature="tight")


def full_state_of_two(state: State) -> FullState:
    """Return the state of two classes in contrasts: negative is class 0, positive is class 1. O(d²)."""
    full = FullState(spec_of_many(state.spec), state.width, 2)
    full.factored = state.factored
    full.P[...] = state.P / (math.sqrt(2.0) if state.factored else 2.0)
    full.w[...] = -state.w / SQRT2
    full.tally[...] = state.tally
    if state.spec.regulariser != 0.5 or state.spec.curvature != "tight":  # of which the theorem of many does not speak
        full.tally[Tally.IRREGULAR] = np.maximum(full.tally[Tally.IRREGULAR], full.tally[Tally.ROUNDS])
    return full
