"""Parameters of learners that scikit-learn can read, change and search over."""

import numpy as np
import pytest

from aioli import AIOLI, Auto, Forest, KernelAIOLI, Nystrom, RandomFeatures, Wide
from aioli.errors import ParameterRefused


@pytest.mark.parametrize(
    ("learner", "name", "value"),
    [
        (AIOLI(), "radius", 2.0),
        (Auto(), "budget", "fast"),
        (Forest(), "trees", 3),
        (KernelAIOLI(), "gamma", 0.5),
        (Nystrom(), "points", 7),
        (RandomFeatures(AIOLI()), "learner__radius", 3.0),
        (Wide(), "hashing", 9),
    ],
)
def test_a_parameter_that_is_set_is_played(learner: AIOLI, name: str, value: object) -> None:
    assert learner.set_params(**{name: value}) is learner
    assert learner.get_params()[name] == value
    assert str(value) in repr(learner)


def test_what_is_no_parameter_or_comes_too_late_is_refused() -> None:
    with pytest.raises(ParameterRefused, match="no parameter 'depth'; there are radius, ridge"):
        AIOLI().set_params(depth=3)
    with pytest.raises(ParameterRefused, match="radius"):
        AIOLI().set_params(radius=-1.0)
    learner = AIOLI()
    learner.learn([1.0], 1)
    with pytest.raises(ParameterRefused, match="make a new one"):
        learner.set_params(radius=2.0)


def test_a_grid_search_goes_over_the_parameters_of_the_learner() -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    face = pytest.importorskip("aioli.sklearn")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = X[:, 0] + rng.logistic(size=120) > 0
    search = selection.GridSearchCV(
        face.AIOLIClassifier(AIOLI()), {"learner__radius": [0.01, 4.0]}, cv=2, scoring="neg_log_loss"
    )
    assert search.fit(X, y).best_params_ == {"learner__radius": 4.0}
