"""The peers of aioli compare: each as in a plain loop of its own library, in parts, with late columns and weights."""

import importlib
import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from aioli import Auto
from aioli.cli import main
from aioli.commands.peers import River, ScikitLearn, VowpalWabbit, peers_of
from aioli.evaluate.comparison import Peer
from aioli.evaluate.scores import LogLoss
from aioli.numerics.compiling import Matrix, Vector
from aioli.streams.synthetic import named

NAMES = ["Auto", "River", "River scaled", "VW", "VW --coin", "VW --ftrl", "sklearn SGD"]
ROWS = 300


@pytest.fixture(autouse=True)
def libraries() -> None:
    for name in ("river", "vowpalwabbit", "sklearn"):
        pytest.importorskip(name)


def stream(rows: int = ROWS) -> tuple[Matrix, Vector]:
    return named("logistic").take(rows, seed=0)


def loss(p: list[float], y: Vector) -> float:
    score = LogLoss()
    score.update(p, y)
    return score.value


def river_loop(X: Matrix, y: Vector, scaled: bool) -> list[float]:
    model = importlib.import_module("river.linear_model").LogisticRegression()
    if scaled:
        model = importlib.import_module("river.preprocessing").StandardScaler() | model
    said = []
    for x, label in zip(X, y, strict=True):
        row = {f"column {j}": float(value) for j, value in enumerate(x)}
        said.append(model.predict_proba_one(row)[True])
        model.learn_one(row, label == 1.0)
    return said


def vw_loop(X: Matrix, y: Vector, options: str) -> list[float]:
    model = importlib.import_module("vowpalwabbit").Workspace(
        f"--quiet --loss_function logistic --link logistic {options}"
    )
    said = []
    for x, label in zip(X, y, strict=True):
        example = model.parse(
            f"{2.0 * label - 1.0} | " + " ".join(f"{j}:{value!r}" for j, value in enumerate(x.tolist()))
        )
        said.append(model.predict(example))
        model.learn(example)
        model.finish_example(example)
    model.finish()
    return said


def sklearn_loop(X: Matrix, y: Vector) -> list[float]:
    scaler = importlib.import_module("sklearn.preprocessing").StandardScaler()
    model = importlib.import_module("sklearn.linear_model").SGDClassifier(loss="log_loss", random_state=0)
    said = [0.5]
    for t in range(len(y)):
        scaler.partial_fit(X[[t]])
        if t:
            said.append(model.predict_proba(scaler.transform(X[[t]]))[0, 1])
        model.partial_fit(scaler.transform(X[[t]]), y[[t]], classes=[0.0, 1.0])
    return said


def test_the_losses_are_those_of_plain_loops(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "synthetic:logistic", "--rows", str(ROWS), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    X, y = stream()
    expected = {
        "Auto": Auto().learn_many(X, y).tolist(),
        "River": river_loop(X, y, scaled=False),
        "River scaled": river_loop(X, y, scaled=True),
        "VW": vw_loop(X, y, ""),
        "VW --coin": vw_loop(X, y, "--coin"),
        "VW --ftrl": vw_loop(X, y, "--ftrl"),
        "sklearn SGD": sklearn_loop(X, y),
    }
    assert found["rows"] == ROWS
    assert found["left_out"] == {}
    assert sorted(found["learners"]) == sorted(NAMES)
    for name, said in expected.items():
        # the same probabilities, to a last digit of VW's text, added up in another order
        assert_allclose(found["learners"][name]["log_loss"], loss(said, y), rtol=1e-6, err_msg=name)
    losses = [scores["log_loss"] for scores in found["learners"].values()]
    assert losses == sorted(losses)


def made(name: str) -> Peer:
    if name == "river":
        return River("StandardScaler")
    return VowpalWabbit() if name == "vw" else ScikitLearn()


@pytest.mark.parametrize("name", ["river", "vw", "sklearn"])
def test_parts_are_the_whole_and_no_label_is_seen_early(name: str) -> None:
    X, y = stream(60)
    whole, parts, other = made(name), made(name), made(name)
    said = list(whole.announce(X, y))
    assert [*parts.announce(X[:25], y[:25]), *parts.announce(X[25:], y[25:])] == said
    changed = np.where(np.arange(60) < 40, y, 1.0 - y)
    others = list(other.announce(X, changed))
    assert others[:41] == said[:41]
    assert others[41:] != said[41:]
    for peer in (whole, parts, other):
        peer.close()
        peer.close()  # twice is as good as once


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("library", ["river", "vw", "sklearn"])
def test_a_column_that_comes_late_was_zero_before(library: str, as_sparse: bool) -> None:
    X, y = stream(60)
    X[:30, -2:] = 0.0
    form = sparse.csr_array if as_sparse else np.asarray
    others = peers_of(library, as_sparse)
    for name, one in peers_of(library, as_sparse).items():
        late = [*one.announce(form(X[:30, :-2]), y[:30]), *one.announce(form(X[30:]), y[30:])]
        if name != "River scaled" or as_sparse:  # to its scaler, what comes late was not there, rather than 0
            assert_allclose(late, list(others[name].announce(form(X), y)), rtol=1e-12)  # sums of more zeros
        one.close()
        others[name].close()


def test_rows_that_become_sparse_are_scaled_as_before_but_for_their_means() -> None:
    X, y = stream(60)
    peer = ScikitLearn()
    said = [*peer.announce(X[:30], y[:30]), *peer.announce(sparse.csr_array(X[30:]), y[30:])]
    assert len(said) == 60
    assert_allclose(peer._scaler.var_, X.var(axis=0), rtol=1e-9)  # a running variance rounds otherwise


@pytest.mark.parametrize("name", ["river", "vw", "sklearn"])
def test_weights_are_heard(name: str) -> None:
    X, y = stream(60)
    plain, ones, heavy = made(name), made(name), made(name)
    said = list(plain.announce(X, y))
    assert list(ones.announce(X, y, np.ones(60))) == said
    assert list(heavy.announce(X, y, np.full(60, 3.0)))[1:] != said[1:]
