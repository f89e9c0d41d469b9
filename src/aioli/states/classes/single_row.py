"""A single row of many classes, as the user gave it: the shortest way from Python to the round and back."""

import math

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.outcomes.spec import Rule
from aioli.states.classes.full_loops import play_rows, predict_rows
from aioli.states.dense.single_row import load_row

__all__ = ["play_one", "predict_one"]


@compiled("f8(f8[:,::1],f8[::1],f8[::1],f8[::1],f8[:,::1],f8[::1],i8,f8,f8[::1])")
def play_one(
    P: Matrix, w: Vector, tally: Vector, rules: Vector, E: Matrix, x: Vector, code: int, escape: float, p: Vector
) -> float:
    """Play a row of weight 1; p becomes the probabilities announced. Returns the loss, or NaN where it is not played.

    A row is not played that is not of this width, not finite or too long, or that would cost P its digits.
    """
    row, said = np.empty((1, x.size + int(rules[Rule.INTERCEPT]))), np.empty((1, p.size))
    if w.size != E.shape[1] * row.size or not load_row(x, row[0]) <= rules[Rule.WIDEST_ROW]:
        return math.nan
    if play_rows(P, w, tally, rules, E, row, np.full(1, code), np.ones(1), said) == 0:
        return math.nan
    for k in range(p.size):
        p[k] = (1.0 - escape) * math.exp(said[0, k])
    return float(-said[0, code]) - math.log1p(-escape)


@compiled("b1(f8[:,::1],f8[::1],f8[::1],f8[:,::1],f8[::1],f8,f8[::1])")
def predict_one(P: Matrix, w: Vector, rules: Vector, E: Matrix, x: Vector, escape: float, p: Vector) -> bool:
    """Compute the probabilities of a row; returns whether it is one that is predicted here, as `play_one` says."""
    row, said = np.empty((1, x.size + int(rules[Rule.INTERCEPT]))), np.empty((1, p.size))
    if w.size != E.shape[1] * row.size or not load_row(x, row[0]) <= rules[Rule.WIDEST_ROW]:
        return False
    predict_rows(P, w, rules, False, E, row, said)
    for k in range(p.size):
        p[k] = (1.0 - escape) * math.exp(said[0, k])
    return True
