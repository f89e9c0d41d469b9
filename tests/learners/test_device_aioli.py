"""`AIOLI(device=…)`: the learner of the CPU, on a device; here PyTorch's CPU stands for it."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import make_labels, make_rows

from aioli import AIOLI, OneVsRest
from aioli.errors import ParameterRefused, RowRefused
from aioli.learners.device_aioli import DeviceAIOLI
from aioli.numerics.compiling import Matrix, Vector
from aioli.streams import device_rows

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'aioli-online[torch]'")

EXACT = 1e-9  # what is promised of a device


def stream(n: int = 400, d: int = 12) -> tuple[Matrix, Vector]:
    X = make_rows("random", n, d, seed=5)
    return X, make_labels(X, seed=5)


@pytest.mark.parametrize("kind", ["numpy", "float32", "torch", "list", "sparse"])
def test_rows_of_any_kind_are_announced_as_on_the_cpu(kind: str) -> None:
    X, y = stream()
    X = X.astype(np.float32).astype(np.float64)  # so that float32 says the same
    rows: dict[str, Any] = {
        "numpy": X,
        "float32": X.astype(np.float32),
        "torch": torch.from_numpy(X),
        "list": X.tolist(),
    }
    if kind == "sparse":
        from scipy import sparse

        rows["sparse"] = sparse.csr_array(X)
    labels = torch.from_numpy(y) if kind == "torch" else y
    here, there = AIOLI(), AIOLI(device="cpu")
    assert isinstance(there, DeviceAIOLI)
    assert_allclose(there.learn_many(rows[kind], labels), here.learn_many(X, y), atol=EXACT)
    assert_allclose(there.predict_many(rows[kind]), here.predict_many(X), atol=EXACT)
    assert there.predict(X[0]) == pytest.approx(here.predict(X[0]), abs=EXACT)
    assert there.certificate() == pytest.approx(here.certificate())
    assert there.certificate(tight=True) == pytest.approx(here.certificate(tight=True))
    assert (there.rounds, there.n_features_) == (here.rounds, here.n_features_)
    assert_allclose(there.coefficients_, here.coefficients_, atol=EXACT)


def test_parts_that_come_one_after_another_are_one_game(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = stream()
    whole = AIOLI(device="cpu").learn_many(X, y)
    monkeypatch.setattr(device_rows, "PART", 0)
    monkeypatch.setattr(device_rows, "PART_ROWS", 64)
    assert_allclose(AIOLI(device="cpu").learn_many(X, y), whole, atol=EXACT)


def test_single_rows_and_late_labels_are_the_game_of_the_cpu() -> None:
    X, y = stream(40)
    here, there = AIOLI(intercept=False), AIOLI(intercept=False, device="cpu")
    for x, label in zip(X, y, strict=True):
        assert there.learn(x, label) == pytest.approx(here.learn(x, label), abs=EXACT)
    tickets, theirs = here.announce_many(X), there.announce_many(X)
    here.learn_many(X, y, announced=tickets)
    there.learn_many(torch.from_numpy(X), y, announced=theirs)
    assert there.loss == pytest.approx(here.loss)
    assert_allclose(there.coefficients_, here.coefficients_, atol=EXACT)


def test_it_moves_between_devices_files_copies_and_pickles(tmp_path: Path) -> None:
    X, y = stream()
    here = AIOLI(radius=2.0)
    here.learn_many(X[:200], y[:200])
    there = here.to("cpu")
    assert np.array_equal(there.coefficients_, here.coefficients_)
    there.save(tmp_path / "model.aioli")
    expected = there.learn_many(X[200:], y[200:])
    assert_allclose(expected, here.learn_many(X[200:], y[200:]), atol=EXACT)
    for other in (
        AIOLI.load(tmp_path / "model.aioli"),
        DeviceAIOLI.load(tmp_path / "model.aioli", device="cpu"),
        AIOLI.load(tmp_path / "model.aioli").to("cpu"),
    ):
        assert_allclose(other.learn_many(X[200:], y[200:]), expected, atol=EXACT)
    for twin in (copy.copy(there), copy.deepcopy(there), pickle.loads(pickle.dumps(there)), there.to_cpu()):
        assert np.array_equal(twin.coefficients_, there.coefficients_)
        assert twin.rounds == there.rounds
    assert repr(there).startswith("AIOLI(radius=2.0,")
    assert "device='cpu'" in repr(there)


def test_it_grows_and_merges_as_on_the_cpu() -> None:
    X, y = stream()
    here, there = AIOLI(), AIOLI(device="cpu")
    for learner in (here, there):
        learner.learn_many(X[:100, :5], y[:100])
        learner.grow(7)
        learner.learn_many(X[100:200], y[100:200])
        second = AIOLI() if learner is here else AIOLI(device="cpu")
        second.learn_many(X[200:], y[200:])
        learner.merge(second)
    assert_allclose(there.coefficients_, here.coefficients_, atol=EXACT)
    assert there.certificate() == pytest.approx(here.certificate())


def test_where_digits_end_the_game_goes_on_on_the_cpu() -> None:
    X, y = stream(200)
    X[:, 0] = 1e7
    X[:, 1] = X[:, 0] + 1e-3 * X[:, 1]
    here, there = AIOLI(), AIOLI(device="cpu")
    with pytest.warns(RuntimeWarning, match="factored form"):
        announced = there.learn_many(X, y)
    assert_allclose(announced, here.learn_many(X, y), atol=1e-6)
    assert there.rounds == 200
    with pytest.raises(ParameterRefused, match="go on without a device"):
        here.to("cpu")


def test_bad_input_is_refused_in_a_sentence_and_changes_nothing() -> None:
    X, y = stream(50)
    learner = AIOLI(device="cpu")
    learner.learn_many(X, y)
    before = learner.coefficients_
    broken = torch.from_numpy(X.copy())
    broken[7, 3] = float("nan")
    with pytest.raises(RowRefused, match=r"row 7.*column 3"):
        learner.learn_many(broken, y)
    for wrong in (
        torch.zeros(3),
        torch.zeros((2, 3, 4)),
        torch.zeros((0, 12)),
        torch.zeros((2, 12), dtype=torch.complex64),
    ):
        with pytest.raises(ParameterRefused):
            learner.predict_many(wrong)
    with pytest.raises(ParameterRefused, match="knows 12"):
        learner.predict_many(torch.zeros((2, 5)))
    assert np.array_equal(learner.coefficients_, before)
    with pytest.raises(ParameterRefused, match="cannot be used here"):
        AIOLI(device="nowhere")
    with pytest.raises(ParameterRefused, match="forgetting"):
        AIOLI(forgetting=0.99, device="cpu")
    with pytest.raises(ParameterRefused, match="declared"):
        AIOLI(classes="any", device="cpu")


def test_many_classes_play_one_against_the_rest(tmp_path: Path) -> None:
    X, y = stream(120)
    labels = ["one" if label else "two" if x[0] > 0 else "three" for x, label in zip(X, y, strict=True)]
    here, there = (OneVsRest(base, classes="any") for base in (AIOLI(), AIOLI(device="cpu")))
    assert_allclose(there.learn_many(X, labels), here.learn_many(X, labels), atol=EXACT)
    there.save(tmp_path / "classes.aioli")
    assert_allclose(OneVsRest.load(tmp_path / "classes.aioli").predict_many(X), there.predict_many(X), atol=EXACT)
