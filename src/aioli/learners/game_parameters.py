"""The parameters of AIOLI's game, checked: one set of rules for every learner that plays it."""

import math

from aioli.learners.parameters import require_number
from aioli.outcomes.spec import Curvature, GameSpec

__all__ = ["game_of"]


def game_of(
    radius: float, ridge: float | None, regulariser: float, curvature: Curvature, forgetting: float, intercept: bool
) -> GameSpec:
    """Return the game of a learner's parameters, or refuse one that cannot be; no ridge is the paper's, 1/B²."""
    B = require_number("radius", radius)
    return GameSpec(
        radius=B,
        ridge=require_number("ridge", ridge) if ridge is not None else _ridge_of_the_paper(B),
        regulariser=require_number("regulariser", regulariser),
        curvature=curvature,
        forgetting=require_number("forgetting", forgetting),
        intercept=bool(intercept),
    )


def _ridge_of_the_paper(radius: float) -> float:
    """Return 1/B²."""
    square = radius * radius
    return 1.0 / square if square > 0.0 else math.inf
