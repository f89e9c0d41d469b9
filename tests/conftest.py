"""Settings for every test: Hypothesis tries the same examples everywhere, and no example is timed."""

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("aioli", derandomize=True, deadline=None, max_examples=40, database=None)
settings.load_profile("aioli")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
