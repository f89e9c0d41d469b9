"""What Foster's mixture refuses, by name and before it begins; a refused row changes nothing."""

import math
from typing import Any

import numpy as np
import pytest
from support import make_labels, make_rows

from aioli.learners.foster.foster import Foster


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"radius": 0.0}, "radius is 0.0; it must be a finite number above 0"),
        ({"radius": "8"}, "radius is '8'; it must be a finite number"),
        ({"method": "exact"}, 'method is \'exact\'; it must be "auto", "quadrature" or "smc"'),
        ({"particles": 1}, "particles is 1; it must be a whole number of at least 2"),
        ({"particles": 10.5}, "particles is 10.5; it must be a whole number"),
        ({"seed": -1}, "seed is -1; it must be a whole number of at least 0"),
    ],
)
def test_a_parameter_that_cannot_be_is_refused_by_name(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Foster(**parameters)


def test_a_game_that_the_method_cannot_play_is_refused_before_it_begins() -> None:
    quadrature, few = Foster(method="quadrature"), Foster(particles=10)
    with pytest.raises(ValueError, match='3 coefficients, the intercept counted, came for method="quadrature"'):
        quadrature.learn([1.0, 2.0], 1)
    assert quadrature.n_features_ is None
    assert quadrature.learn([1.0], 1) == pytest.approx(0.5, abs=1e-12)
    with pytest.raises(ValueError, match=r"particles is 10, too few .* over 4 coefficients; give at least 16"):
        few.learn([1.0, 2.0, 3.0], 1)
    assert few.rounds == 0


@pytest.mark.parametrize("method", ["quadrature", "smc"])
@pytest.mark.parametrize(
    ("x", "y"), [([math.nan], 1), ([math.inf], 1), ([1.0, 2.0], 1), ([1.0], 2), ([1e12], 1), (["a"], 1)]
)
def test_a_refused_row_leaves_the_learner_unharmed(method: Any, x: object, y: object) -> None:
    X = make_rows("random", 40, 1, seed=8)
    labels = make_labels(X, seed=8)
    learner, untouched = (Foster(method=method, particles=50) for _ in range(2))
    for one in (learner, untouched):
        one.learn_many(X[:20], labels[:20])
    with pytest.raises(ValueError, match=r"nothing was learned|real numbers"):
        learner.learn(x, y)
    assert (learner.rounds, learner.loss) == (untouched.rounds, untouched.loss)
    assert np.array_equal(learner.learn_many(X[20:], labels[20:]), untouched.learn_many(X[20:], labels[20:]))
