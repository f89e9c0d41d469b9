"""A late label by the log-odds said when the row came: the short way of a single row is the long one."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from support import make_labels

from aioli import AIOLI, Auto, Wide
from aioli.errors import RowRefused
from aioli.snapshots.codec import to_bytes

LEARNERS: dict[str, Callable[[], AIOLI | Auto | Wide]] = {
    "AIOLI": AIOLI,
    "Auto": Auto,
    "Auto fast": partial(Auto, budget="fast"),
    "Wide": Wide,
}


@pytest.mark.parametrize("name", LEARNERS)
def test_an_array_is_learned_as_a_list_is(name: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[rng.random(X.shape) < 0.2] = 0.0
    y = make_labels(X, 0)
    short, long = LEARNERS[name](), LEARNERS[name]()
    for learner in (short, long):
        learner.learn_many(X[:30], y[:30])
    for t in range(30, 60):
        z = short.predict_logit(X[t])
        assert z == long.predict_logit(X[t].tolist()) or abs(z - long.predict_logit(X[t].tolist())) < 1e-12
        logit = z + 0.5 if t % 3 else np.float64(z - 1.0)
        said = short.learn(X[t], int(y[t]), logit=logit), long.learn(X[t].tolist(), int(y[t]), logit=logit)
        assert said[0] == pytest.approx(said[1], rel=1e-12) == 1.0 / (1.0 + np.exp(-logit))
    assert short.rounds == long.rounds == 60
    assert short.loss == pytest.approx(long.loss, rel=1e-12)
    assert short.certificate() == pytest.approx(long.certificate(), rel=1e-9)
    assert short.certificate().theorem == np.inf
    np.testing.assert_allclose(short.predict_many(X), long.predict_many(X), atol=1e-9)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("logit", [float("nan"), float("inf"), 1e101])
def test_what_are_no_log_odds_is_refused_and_changes_nothing(name: str, logit: float) -> None:
    learner = LEARNERS[name]()
    learner.learn_many(np.eye(3), [0, 1, 0])
    before = to_bytes(learner.snapshot())
    with pytest.raises(RowRefused, match="give the log-odds"):
        learner.learn(np.ones(3), 1, logit=logit)
    assert to_bytes(learner.snapshot()) == before
