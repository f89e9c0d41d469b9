"""scikit-learn's face over an average of states."""

import importlib
from typing import Any

import numpy as np
import pytest
from face_streams import as_fit_plays, columns_of, stream
from numpy.testing import assert_array_equal

from aioli import AIOLI, OGD, OnlineToBatch
from aioli.sklearn import AIOLIClassifier

pandas: Any = importlib.import_module("pandas")


def test_an_average_is_that_of_the_states_of_one_pass() -> None:
    X, y = stream()
    model = AIOLIClassifier(AIOLI(), average=5).fit(X, y)
    direct = OnlineToBatch(AIOLI(), states=5)
    direct.learn_many(*as_fit_plays(X, y))
    assert_array_equal(model.predict_proba(X)[:, 1], direct.predict_many(X))
    assert_array_equal(model.decision_function(X), direct.predict_logit_many(X))
    assert isinstance(model.learner_, OnlineToBatch)
    assert model.learner_.kept_rounds_ == direct.kept_rounds_
    named = AIOLIClassifier(average=2).fit(pandas.DataFrame(X, columns=columns_of(X)), y).learner_
    assert isinstance(named, OnlineToBatch)
    assert named.feature_names_ == columns_of(X)
    weighted = AIOLIClassifier(AIOLI(), class_weight={1: 3.0}, average=5).fit(X, y)
    direct = OnlineToBatch(AIOLI(), states=5)
    direct.learn_many(*as_fit_plays(X, y, np.where(y == 1.0, 3.0, 1.0)))
    assert_array_equal(weighted.predict_proba(X)[:, 1], direct.predict_many(X))
    with pytest.raises(AttributeError, match="OnlineToBatch has no one coefficient a column"):
        model.coef_  # noqa: B018, the property is what raises


@pytest.mark.parametrize("average", [0, -1, 2.5, True, "8"])
def test_an_average_of_no_number_of_states_is_refused(average: Any) -> None:
    X, y = stream()
    model = AIOLIClassifier(average=average)
    with pytest.raises(ValueError, match=r"states is .* whole number of at least 1"):
        model.fit(X, y)
    assert not hasattr(model, "learner_")


def test_weights_are_refused_for_a_learner_that_takes_none() -> None:
    X, y = stream()
    with pytest.raises(ValueError, match="OnlineToBatch takes none"):
        AIOLIClassifier(OGD(), average=2).fit(X, y, np.ones(len(X)))
