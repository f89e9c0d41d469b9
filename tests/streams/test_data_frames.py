"""Data frames are known by the names of their columns, in whatever order these come."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from aioli import AIOLI, Auto, Wide
from aioli.errors import RowRefused


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("make", [AIOLI, Auto, Wide])
def test_columns_of_a_data_frame_are_matched_by_their_names(make: Any, library: str, rng: np.random.Generator) -> None:
    frames: Any = pytest.importorskip(library)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] > 0.0
    frame = frames.DataFrame({name: X[:, j] for j, name in enumerate("abc")})
    turned = frames.DataFrame({name: X[:, "abc".index(name)] for name in "cab"})
    learner, plain = make(), make()
    assert_array_equal(learner.learn_many(frame, y), plain.learn_many(X, y))
    assert learner.feature_names_ == ["a", "b", "c"]
    assert_array_equal(learner.predict_many(turned), plain.predict_many(X))
    assert_array_equal(learner.learn_many(turned, y), plain.learn_many(X, y))
    other = frames.DataFrame({name: X[:, j] for j, name in enumerate("xyz")})
    if make is Auto:  # which encodes the columns that it knows
        with pytest.raises(RowRefused, match="has no column 'a', which was there before"):
            learner.predict_many(other)
    else:
        assert_array_equal(learner.predict_many(other), plain.predict_many(X))  # other names say nothing of an order
