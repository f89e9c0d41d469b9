"""No certificate is below the regret: the case that once was, and a fixed sample of the attack's games."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from aioli import KernelAIOLI
from aioli.evaluate.hindsight import best_in_ball
from attack.certificates import try_certificate

SAMPLE = range(70)


def test_rounding_noise_in_the_span_of_the_rows_proves_nothing() -> None:
    x = np.array([[-2.0], [30.0], [7.0], [-5.0], [6.0], [-2.0], [-6.0], [-3.0], [8.0], [2.0]])
    y = np.array([1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    learner = KernelAIOLI("linear", radius=30.0)
    learner.learn_many(x, y)
    best = best_in_ball(x, y, 30.0)
    assert learner.loss - best.loss <= learner.certificate(tight=True) <= learner.certificate()
    assert_allclose(learner.certificate(tight=True), 54.0542, rtol=1e-5)  # AIOLI's own, on the same rows


@pytest.mark.parametrize("seed", SAMPLE)
def test_no_certificate_of_a_random_game_is_below_its_regret(seed: int) -> None:
    verdict = try_certificate(seed)
    assert verdict.holds, verdict


def test_a_state_of_an_older_file_has_the_running_certificate_for_its_tight_one() -> None:
    learner = KernelAIOLI("linear", radius=3.0)
    learner.learn_many(np.arange(12.0).reshape(6, 2), [0, 1, 1, 0, 1, 0])
    taken = learner.snapshot()
    memory = taken.part("memory")
    state = memory.part("state")
    values = {name: value for name, value in state.values.items() if name != "with surrogates"}
    arrays = {name: array for name, array in state.arrays.items() if name != "surrogates"}
    older = replace(state, values=values, arrays=arrays)
    parts = {**taken.parts, "memory": replace(memory, parts={**memory.parts, "state": older})}
    old = KernelAIOLI.restore(replace(taken, parts=parts))
    assert old.certificate(tight=True) == old.certificate() > learner.certificate(tight=True)
    old.learn([1.0, 2.0], 1)
    assert old.certificate(tight=True) == old.certificate()
