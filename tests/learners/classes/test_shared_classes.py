"""Classes that share one matrix, on the CPU and on a device; here PyTorch's CPU stands for the latter."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from aioli import AIOLI, ClassAIOLI
from aioli.errors import DeviceFull, ParameterRefused, RowRefused
from aioli.learners.classes.device_class_aioli import DeviceClassAIOLI
from aioli.numerics.compiling import Matrix
from aioli.outcomes.class_labels import Codes
from aioli.states.classes.shared import SharedSpec, SharedState
from aioli.states.dense import device_blocks

EXACT = 1e-9  # what is promised of a device
NAMES = ["cat", "dog", "heron", "newt"]


def stream(n: int = 300, d: int = 6) -> tuple[Matrix, Codes, list[str]]:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, d))
    codes = np.argmax(X @ rng.normal(size=(d, 4)) + rng.gumbel(size=(n, 4)), axis=1)
    return X, codes, [NAMES[code] for code in codes]


def here() -> Any:
    return AIOLI(classes=NAMES, structure="shared")


def there() -> DeviceClassAIOLI:
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'aioli-online[torch]'")
    learner = AIOLI(classes=NAMES, device="cpu")
    assert isinstance(learner, DeviceClassAIOLI)
    return learner


def test_it_announces_what_the_expert_of_auto_announces() -> None:
    X, codes, names = stream()
    expert = SharedState(SharedSpec(ridge=0.1, radius=3.0), 6, 4)
    log_p = np.empty((300, 4))
    expert.play(X, codes, np.ones(300), log_p)
    learner = ClassAIOLI(3.0, 0.1, intercept=False, classes=NAMES, structure="shared")
    assert_allclose(learner.learn_many(X, names), np.exp(log_p), atol=EXACT)
    assert learner.structure_ == "one matrix for all classes"


def test_what_it_proves_is_not_exceeded_by_models_of_the_ball() -> None:
    X, codes, names = stream()
    learner = here()
    learner.learn_many(X, names, weights := np.random.default_rng(1).exponential(size=300))
    proven = learner.certificate()
    rows = np.hstack([np.ones((300, 1)), X])
    best = np.inf
    for seed in range(20):  # gradient descent within the ball from anywhere ends at about the best model
        W = np.random.default_rng(seed).normal(size=(4, 7)) / 5.0
        for _ in range(60):
            P = np.exp(rows @ W.T)
            P /= P.sum(axis=1, keepdims=True)
            best = min(best, float(-weights @ np.log(P[np.arange(300), codes])))
            P[np.arange(300), codes] -= 1.0
            W -= 0.01 * (P * weights[:, None]).T @ rows
            W *= min(1.0, proven.radius / float(np.linalg.norm(W)))
    assert learner.loss - best <= proven < 5.0 * (learner.loss - best) + 500.0


def test_a_row_that_would_cost_digits_is_announced_and_not_learned() -> None:
    X, _, names = stream(200)
    X[:, 0] = 1e7
    X[:, 1] = X[:, 0] + 1e-3 * X[:, 1]
    learner = here()
    with pytest.warns(RuntimeWarning, match="scale the columns"):
        p = learner.learn_many(X, names)
    assert_allclose(p.sum(axis=1), 1.0)
    learner.learn_many(np.zeros((100, 6)), ["newt"] * 100)  # of which it learns on
    assert learner.predict(np.zeros(6))[NAMES.index("newt")] > 0.9


def test_a_device_plays_the_game_of_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_blocks, "OUTER", (128, 128))
    X, _, names = stream()
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'aioli-online[torch]'")
    on_cpu, on_device = here(), there()
    weights = np.random.default_rng(0).exponential(size=300)
    expected = on_cpu.learn_many(X, names, weights)
    assert_allclose(on_device.learn_many(torch.from_numpy(X), names, torch.from_numpy(weights)), expected, atol=EXACT)
    assert_allclose(on_device.predict_many(X), on_cpu.predict_many(X), atol=EXACT)
    assert on_device.certificate() == pytest.approx(on_cpu.certificate())
    assert on_device.loss == pytest.approx(on_cpu.loss)
    for learner in (on_cpu, on_device):
        tickets = learner.announce_many(X[:200])
        learner.learn(X[0], "newt")
        learner.learn_many(X[:200], names[:200], announced=tickets)
        learner.learn_many(X[:200], names[:200], logits=tickets.logits)
        learner.grow(2)
        learner.learn_many(np.hstack([X, X[:, :2]]), names)
        learner.merge(copy.deepcopy(learner))
    assert_allclose(on_device.predict(np.ones(8)), on_cpu.predict(np.ones(8)), atol=EXACT)
    assert on_device.loss == pytest.approx(on_cpu.loss)


def test_it_moves_between_devices_files_copies_and_pickles(tmp_path: Path) -> None:
    X, _, names = stream()
    learner = there()
    learner.learn_many(X[:200], names[:200])
    learner.save(tmp_path / "classes.aioli")
    others = [
        ClassAIOLI.load(tmp_path / "classes.aioli"),
        ClassAIOLI.load(tmp_path / "classes.aioli").to("cpu"),
        DeviceClassAIOLI.load(tmp_path / "classes.aioli", device="cpu"),
        copy.copy(learner),
        pickle.loads(pickle.dumps(learner)),
        learner.to_cpu(),
    ]
    expected = learner.learn_many(X[200:], names[200:])
    for other in others:
        assert other.rounds == 200
        assert_allclose(other.learn_many(X[200:], names[200:]), expected, atol=EXACT)


def test_where_memory_ends_whole_blocks_are_learned_and_the_rest_can_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_blocks, "OUTER", (128, 128))
    X, _, names = stream()
    learner, expected = there(), here()
    expected.learn_many(X, names)
    steps = device_blocks.DeviceBlocks._step
    left = [4]  # two rounds of inner products a block, and what ends it

    def full(self: device_blocks.DeviceBlocks, count: int, first: int) -> None:
        if not left[0]:
            raise self.torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        left[0] -= 1
        steps(self, count, first)

    with monkeypatch.context() as patched:
        patched.setattr(device_blocks.DeviceBlocks, "_step", full)
        with pytest.raises(DeviceFull, match="CUDA out of memory") as told:
            learner.learn_many(X, names)
    assert told.value.learned == learner.rounds == 128
    learner.learn_many(X[128:], names[128:])
    assert_allclose(learner.predict_many(X), expected.predict_many(X), atol=EXACT)
    assert learner.loss == pytest.approx(expected.loss)


def test_what_a_device_cannot_do_is_refused_in_a_sentence() -> None:
    X, _, names = stream(50)
    learner = there()
    learner.learn_many(X, names)
    before = learner.predict_many(X)
    X[7, 3] = np.nan
    with pytest.raises(RowRefused, match=r"row 7.*column 3"):
        learner.learn_many(X, names)
    assert np.array_equal(learner.predict_many(np.nan_to_num(X)).shape, before.shape)
    assert learner.rounds == 50
    with pytest.raises(ParameterRefused, match="declared"):
        AIOLI(classes="any", device="cpu")
    with pytest.raises(ParameterRefused, match="share a matrix"):
        AIOLI(classes=NAMES, structure="full", device="cpu")
    with pytest.raises(ParameterRefused, match="forget"):
        AIOLI(classes=NAMES, structure="shared", forgetting=0.9)
    with pytest.raises(ParameterRefused, match="shared"):
        AIOLI(classes=NAMES, structure="tree").to("cpu")
