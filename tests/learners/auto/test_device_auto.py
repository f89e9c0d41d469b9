"""`Auto(device=…)`: the linear experts of `Auto` on a device; here PyTorch's CPU stands for it."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import make_labels, make_rows

from aioli import Auto
from aioli.errors import CapabilityMissing, DeviceFull, ParameterRefused, RowRefused
from aioli.learners.auto import device_experts, mixed_experts
from aioli.learners.auto.device_auto import DeviceAuto
from aioli.numerics.compiling import Matrix, Vector
from aioli.states.dense import device, device_blocks
from aioli.states.mixture import view_panels

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'aioli-online[torch]'")

EXACT = 1e-9  # what is promised of a device


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few rows of few columns be several blocks and panels, and come to several reviews."""
    monkeypatch.setattr(device_blocks, "OUTER", (128, 128))
    monkeypatch.setattr(view_panels, "PANEL", 5)
    monkeypatch.setattr(mixed_experts, "REVIEW", 192)


def stream(n: int = 700, d: int = 12) -> tuple[Matrix, Vector]:
    X = make_rows("random", n, d, seed=5) * np.logspace(-3, 3, d) + 1.0
    return X, make_labels((X - 1.0) / np.logspace(-3, 3, d), seed=5)


def made(experts: int | None = None) -> DeviceAuto:
    learner = Auto(experts=experts, device="cpu")
    assert isinstance(learner, DeviceAuto)
    return learner


def test_it_announces_what_the_same_experts_announce_on_the_cpu() -> None:
    X, y = stream()
    weights = np.random.default_rng(0).exponential(size=len(y))
    there = made()
    here = there.to_cpu()
    assert type(here) is Auto
    assert_allclose(there.learn_many(torch.from_numpy(X), y, weights), here.learn_many(X, y, weights), atol=EXACT)
    assert_allclose(there.predict_many(X[:300]), here.predict_many(X[:300]), atol=EXACT)
    assert there.predict(X[0]) == pytest.approx(here.predict(X[0]), abs=EXACT)
    assert there.certificate() == pytest.approx(here.certificate())
    assert there.certificate(tight=True) == pytest.approx(here.certificate(tight=True))
    assert there.weights_ == pytest.approx(here.weights_)
    assert (there.rounds, there.n_features_) == (here.rounds, here.n_features_)
    assert there.loss == pytest.approx(here.loss)


def test_the_announcements_do_not_depend_on_how_many_rows_come_at_once() -> None:
    X, y = stream(400)
    whole, parts = made(), made()
    expected = whole.learn_many(X, y)
    said = [parts.learn_many(X[a:b], y[a:b]) for a, b in ((0, 1), (1, 150), (150, 151), (151, 400))]
    assert_allclose(np.concatenate(said), expected, atol=EXACT)
    assert np.array_equal(made().learn_many(X, y), expected)
    assert parts.weights_ == pytest.approx(whole.weights_)


def test_late_labels_are_learned_as_on_the_cpu() -> None:
    X, y = stream(300)
    there = made()
    here = there.to_cpu()
    for learner in (here, there):
        learner.learn_many(X[:100], y[:100])
        tickets = learner.announce_many(X[100:200])
        learner.learn_many(X[200:], y[200:])
        learner.learn_many(X[100:200], y[100:200], announced=tickets)
        learner.learn(X[0], y[0], logit=0.25)
    assert there.loss == pytest.approx(here.loss)
    assert there.certificate() == pytest.approx(here.certificate())
    assert_allclose(there.predict_many(X), here.predict_many(X), atol=EXACT)


def test_it_moves_between_devices_files_copies_and_pickles(tmp_path: Path) -> None:
    X, y = stream(400)
    there = made()
    there.feature_names_ = [f"e{j}" for j in range(12)]
    there.learn_many(X[:250], y[:250])
    there.save(tmp_path / "model.aioli")
    twins = [copy.copy(there), copy.deepcopy(there), pickle.loads(pickle.dumps(there))]
    expected = there.learn_many(X[250:], y[250:])
    assert repr(there).startswith("Auto(device='cpu')  # 400 rows of 12 columns")
    for other in twins:
        assert np.array_equal(other.learn_many(X[250:], y[250:]), expected)
    for moved in (
        Auto.load(tmp_path / "model.aioli"),
        Auto.load(tmp_path / "model.aioli").to("cpu"),
        DeviceAuto.load(tmp_path / "model.aioli", device="cpu"),
    ):
        assert moved.feature_names_ == there.feature_names_
        assert_allclose(moved.learn_many(X[250:], y[250:]), expected, atol=EXACT)


def test_it_grows_as_on_the_cpu() -> None:
    X, y = stream(300)
    there = made()
    here = there.to_cpu()
    for learner in (here, there):
        learner.learn_many(X[:150, :7], y[:150])
        learner.grow(5)
    assert_allclose(there.learn_many(X[150:], y[150:]), here.learn_many(X[150:], y[150:]), atol=EXACT)


def test_an_expert_that_needs_more_digits_goes_on_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = stream(400)
    there = made()
    here = there.to_cpu()
    there.learn_many(X[:100], y[:100])
    refused = []

    def refuses(*given: object) -> bool:  # stands for columns that float64 cannot tell apart
        refused.append(given)
        return False

    with monkeypatch.context() as patched:
        patched.setattr(device, "play_square", refuses)
        with pytest.warns(RuntimeWarning, match="factored form"):
            there.learn_many(X[100:150], y[100:150])
    there.learn_many(X[150:], y[150:])
    here.learn_many(X, y)
    assert refused
    assert_allclose(there.predict_many(X), here.predict_many(X), atol=EXACT)
    assert there.certificate() == pytest.approx(here.certificate())


def test_fewer_experts_play_where_matrices_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = stream(50)
    monkeypatch.setattr(device_experts, "MATRICES", 3 * 8 * 13**2)
    learner = made()
    learner.learn_many(X, y)
    assert sum(share > 0.0 for share in learner.weights_.values()) == 3
    monkeypatch.setattr(device_experts, "MATRICES", 0)
    learner = made()
    learner.learn_many(X, y)
    assert sum(share > 0.0 for share in learner.weights_.values()) == 2
    learner = made(experts=4)  # as many as were asked for
    learner.learn_many(X, y)
    assert sum(share > 0.0 for share in learner.weights_.values()) == 4


@pytest.mark.parametrize(("step", "learned"), [(0, 0), (3, 0), (17, 192)])  # five experts, two steps a block of 128
def test_where_memory_ends_whole_blocks_are_learned_and_the_rest_can_follow(
    step: int, learned: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = stream(500)
    expected = made()
    expected.learn_many(X, y)
    learner = made()
    learner.learn_many(X[:128], y[:128])
    made_steps = device_blocks.DeviceBlocks._step
    left = [step]

    def full(self: device_blocks.DeviceBlocks, count: int, first: int) -> None:
        if first < count and not left[0]:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        left[0] -= first < count
        made_steps(self, count, first)

    with monkeypatch.context() as patched:
        patched.setattr(device_blocks.DeviceBlocks, "_step", full)
        with pytest.raises(DeviceFull, match="CUDA out of memory") as told:
            learner.learn_many(X[128:], y[128:])
    assert told.value.learned == learned
    assert learner.rounds == 128 + learned
    assert pickle.loads(pickle.dumps(told.value)).learned == told.value.learned
    assert isinstance(told.value, MemoryError)
    done = learner.rounds
    learner.learn_many(X[done:], y[done:])
    assert_allclose(learner.predict_many(X), expected.predict_many(X), atol=EXACT)
    assert learner.loss == pytest.approx(expected.loss)


def test_memory_that_ends_at_the_beginning_says_how_many_experts_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = stream(50)
    taken = device_blocks.DeviceBlocks._take_memory
    left = [3]

    def full(self: device_blocks.DeviceBlocks, ridge: float) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        taken(self, ridge)

    monkeypatch.setattr(device_blocks.DeviceBlocks, "_take_memory", full)
    learner = made()
    with pytest.raises(DeviceFull, match=r"and 3 do.*experts=3.*nothing was learned"):
        learner.learn_many(X, y)
    left[0] = 5
    learner.learn_many(X, y)
    assert learner.rounds == 50


def test_what_it_cannot_do_is_refused_in_a_sentence_and_changes_nothing() -> None:
    X, y = stream(50)
    learner = made()
    learner.learn_many(X, y)
    before = pickle.dumps(learner.snapshot())
    broken = X.copy()
    broken[7, 3] = np.nan
    with pytest.raises(RowRefused, match=r"row 7.*column 3"):
        learner.learn_many(broken, y)
    with pytest.raises(ParameterRefused, match="knows 12"):
        learner.learn_many(torch.zeros((2, 5)), [0, 1])
    assert pickle.dumps(learner.snapshot()) == before
    for wrong in ({"budget": "best"}, {"classes": "any"}, {"pairs": True}, {"experts": 6}, {"device": "nowhere"}):
        with pytest.raises(ParameterRefused):
            Auto(**{"device": "cpu"} | wrong)
    for other in (Auto(), Auto(budget="fast"), Auto(experts=4)):
        with pytest.raises(CapabilityMissing, match="CPU alone"):
            other.to("cpu")
