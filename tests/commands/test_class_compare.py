"""aioli compare on more than two classes: everybody on the same rows, each peer as in a plain loop of its library."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

from aioli.cli import main
from aioli.commands.class_peers import BoostingRefitted, Persistence, class_peers_of
from aioli.evaluate.smoothed_scores import SMOOTHINGS, SmoothedScores
from aioli.numerics.compiling import Matrix, Vector

ROWS, CLASSES = 150, 3


def stream() -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(2)
    y = rng.integers(CLASSES, size=ROWS)
    return rng.normal(size=(ROWS, 3)) + 1.5 * np.eye(3)[y], y.astype(float)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    X, y = stream()
    path = tmp_path / "stream.csv"
    lines = [",".join([*(f"{value:.4f}" for value in x), f"kind {int(k)}"]) for x, k in zip(X, y, strict=True)]
    path.write_text("\n".join(["a,b,c,kind", *lines]) + "\n", "utf-8")
    return path


def test_a_comparison_of_classes_needs_no_library_and_has_the_floor(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["compare", str(file), "--label", "kind", "--learner", "AIOLI", "--peers", "persistence"]
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["learners"]
    assert set(found) == {"AIOLI", "persistence"}
    _, y = stream()
    again = float(np.mean(y[1:] == y[:-1]))
    assert found["persistence"]["accuracy"] == pytest.approx((again * (ROWS - 1) + 1 / CLASSES) / ROWS)
    assert found["AIOLI"]["accuracy"] > found["persistence"]["accuracy"] + 0.2
    assert main(arguments) == 0
    told = capsys.readouterr().out
    assert "macro F1" in told
    assert "Mixed with equal shares, as is best for each in hindsight: persistence 0." in told


def test_two_labels_are_compared_as_ever(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("\n".join(line for line in file.read_text("utf-8").splitlines() if "kind 2" not in line), "utf-8")
    arguments = ["compare", str(file), "--label", "kind", "--learner", "AIOLI", "--peers", "persistence", "--json"]
    assert main(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert "macro_f1" not in found["learners"]["AIOLI"]
    assert "plays where there are more than two classes" in found["left_out"]["persistence"]


def test_each_peer_is_a_plain_loop_of_its_library() -> None:
    for name in ("river", "vowpalwabbit", "sklearn"):
        pytest.importorskip(name)
    X, y = stream()
    river = importlib.import_module("river")
    importlib.import_module("river.linear_model")
    importlib.import_module("river.preprocessing")
    model = river.preprocessing.StandardScaler() | river.linear_model.SoftmaxRegression()
    expected = []
    for x, label in zip(X, y, strict=True):
        row = dict(enumerate(x.tolist()))
        said = model.predict_proba_one(row)
        expected.append([said.get(k, 0.0) for k in range(CLASSES)] if said else [1 / 3] * 3)
        model.learn_one(row, int(label))
    found = np.array(list(class_peers_of("river", CLASSES, False)["River softmax"].announce(X, y)))
    assert found == pytest.approx(np.array(expected), abs=1e-12)
    for library in ("river", "vw", "sklearn", "forests"):
        for name, peer in class_peers_of(library, CLASSES, False).items():
            P = np.array(list(peer.announce(X[:60], y[:60])) + list(peer.announce(X[60:], y[60:])))
            peer.close()
            assert P.shape == (ROWS, CLASSES), name
            assert P.sum(axis=1) == pytest.approx(np.ones(ROWS), abs=1e-5), name
            assert (P[100:].argmax(axis=1) == y[100:]).mean() > 0.5, name


def test_boosting_knows_no_label_before_it_came() -> None:
    pytest.importorskip("sklearn")
    X, y = (part[:80] for part in stream())
    turned = y.copy()
    turned[-10:] = (turned[-10:] + 1) % CLASSES
    said = [np.array(list(BoostingRefitted(CLASSES).announce(X, labels))) for labels in (y, turned)]
    assert np.array_equal(said[0], said[1])


def test_the_smoothing_is_the_best_of_those_tried() -> None:
    _, y = stream()
    P = np.array(list(Persistence(CLASSES).announce(np.empty((ROWS, 0)), y)))
    scores = SmoothedScores(range(CLASSES))
    scores.count(P[:70], y[:70])
    scores.count(P[70:], y[70:])
    own = P[np.arange(ROWS), y.astype(int)]
    losses = [-np.log(np.maximum((1 - part) * own + part / CLASSES, 5e-324)).mean() for part in SMOOTHINGS]
    assert scores.log_loss == pytest.approx(min(losses))
    assert scores.smoothing == SMOOTHINGS[int(np.argmin(losses))]
