"""One stream through every door: the learner, both faces and the command announce the same probabilities."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import aioli
from aioli.cli import main
from aioli.numerics.compiling import Matrix, Vector
from aioli.river import AIOLIClassifier as RiverFace
from aioli.sklearn import AIOLIClassifier as SklearnFace

SAME = 1e-12  # probabilities: blocks and single rows add in another order, a few ulp a row
ROWS = 300
Door = Callable[[Any, Matrix, Vector, Path], Any]


def at_once(learner: Any, X: Matrix, y: Vector, _: Path) -> Any:
    return learner.learn_many(X, y)


def one_by_one(learner: Any, X: Matrix, y: Vector, _: Path) -> Any:
    return [learner.learn(x, label) for x, label in zip(X, y, strict=True)]


def through_sklearn(learner: Any, X: Matrix, y: Vector, _: Path) -> Any:
    face = SklearnFace(learner).partial_fit(X[:1], y[:1], classes=[0.0, 1.0])
    announced = [0.5]  # before the first row there is nothing to ask
    for t in range(1, len(X)):
        announced.append(face.predict_proba(X[t : t + 1])[0, 1])
        face.partial_fit(X[t : t + 1], y[t : t + 1])
    return announced


def through_river(learner: Any, X: Matrix, y: Vector, _: Path) -> Any:
    face = RiverFace(learner)
    announced = []
    for x, label in zip(X, y, strict=True):
        row = {f"x{j}": value for j, value in enumerate(x.tolist())}
        announced.append(face.predict_proba_one(row).get(True, 0.5))
        face.learn_one(row, bool(label))
    return announced


def through_the_command(learner: Any, X: Matrix, y: Vector, folder: Path) -> Any:
    source, out = folder / "rows.csv", folder / "out.csv"
    lines = [",".join(map(repr, [*x.tolist(), int(label)])) for x, label in zip(X, y, strict=True)]
    source.write_text("\n".join([",".join([*(f"x{j}" for j in range(X.shape[1])), "y"]), *lines]) + "\n")
    asked = ["--label", "y", "--learner", type(learner).__name__, "--predictions", str(out), "--json"]
    assert main(["run", str(source), *asked]) == 0
    return np.loadtxt(out, delimiter=",", skiprows=1, usecols=1)


@pytest.mark.parametrize("door", [one_by_one, through_sklearn, through_river, through_the_command])
@pytest.mark.parametrize("name", ["AIOLI", "Auto"])
def test_every_door_announces_the_same_probabilities(
    name: str, door: Door, tmp_path: Path, rng: np.random.Generator
) -> None:
    X = rng.normal(size=(ROWS, 4)) * [1.0, 3.0, 0.1, 1.0]
    y = (X[:, 0] - 0.3 * X[:, 1] + rng.logistic(size=ROWS) > 0.0).astype(np.float64)
    learner = getattr(aioli, name)
    expected = at_once(learner(), X, y, tmp_path)
    assert np.ptp(expected) > 0.5  # it has something to say
    assert_allclose(door(learner(), X, y, tmp_path), expected, rtol=0.0, atol=SAME)
