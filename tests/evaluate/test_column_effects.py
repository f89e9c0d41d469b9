"""What each column does to what is announced: its direction is that of the model's own probability."""

import json
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from aioli import AIOLI, Auto, Wide, explain_columns, explain_row
from aioli.cli import main
from aioli.evaluate.background import Background, RowSample
from aioli.evaluate.column_effects import ColumnEffect, column_effects, word_effects
from aioli.evaluate.explaining import Explainer
from aioli.evaluate.original_columns import OriginalColumn, columns_of_features
from aioli.evaluate.run import Run
from aioli.learners.protocol import Learner
from aioli.numerics.compiling import Matrix, Vector
from aioli.streams.files.where import Numbered
from aioli.streams.filestream import FileStream, Reading
from aioli.streams.protocol import Batch

NAMES = ["age", "twin", "bent", "idle", "town=Oslo", "town=Rome", "town=Bern", "age is missing"]
KINDS = {"age": "number", "twin": "number", "bent": "number", "idle": "number", "town": "category"}
ROWS = 3000


def simulated() -> tuple[Matrix, Vector]:
    """Two columns that go together and pull apart, one whose effect bends, an idle one, a category of three levels."""
    rng = np.random.default_rng(3)
    age = rng.normal(size=ROWS)
    twin = 0.9 * age + 0.45 * rng.normal(size=ROWS)
    bent, idle, town = rng.normal(size=ROWS), rng.normal(size=ROWS), rng.integers(3, size=ROWS)
    z = 1.6 * age - 1.1 * twin + bent**2 + np.array([-1.0, 0.0, 1.0])[town] - 1.0
    y = (rng.random(ROWS) < 1.0 / (1.0 + np.exp(-z))).astype(float)
    levels = np.eye(3)[town]
    return np.column_stack([40 + 10 * age, 1e-3 * twin, 1e5 * bent, idle, levels, np.zeros(ROWS)]), y


def taught(learner: Any) -> tuple[Any, Matrix]:
    X, y = simulated()
    learner.learn_many(X, y)
    return learner, X


def by_name(found: list[ColumnEffect]) -> dict[str, ColumnEffect]:
    return {effect.name: effect for effect in found}


@pytest.fixture(scope="module")
def told() -> tuple[Learner, Matrix, list[ColumnEffect]]:
    learner, X = taught(Auto())
    return learner, X, column_effects(learner, Background.of_rows(X[:128]), columns_of_features(NAMES, KINDS))


def test_directions_are_those_of_the_law_where_columns_go_together(
    told: tuple[Learner, Matrix, list[ColumnEffect]],
) -> None:
    effects = by_name(told[2])
    assert effects["age"].direction == "rises"
    assert effects["twin"].direction == "falls"
    assert effects["bent"].direction == "bends"
    assert effects["town"].direction == "differs"
    assert [point.value for point in effects["town"].curve] == ["Bern", "Rome", "Oslo"]
    assert told[2][-1].name == "idle"
    assert effects["idle"].importance < 0.2 * effects["age"].importance


def test_directions_and_curves_are_the_models_own_probability(told: tuple[Learner, Matrix, list[ColumnEffect]]) -> None:
    learner, X, found = told
    rows, effects = X[:128], by_name(found)
    for j, name in enumerate(("age", "twin", "bent", "idle")):
        said = []
        for point in effects[name].curve:
            assert point.number is not None
            changed = rows.copy()
            changed[:, j] = point.number
            said.append(learner.predict_many(changed).mean())
        assert_allclose([point.probability for point in effects[name].curve], said, rtol=1e-9)
        if effects[name].direction in ("rises", "falls"):
            assert (said[-1] > said[0]) == (effects[name].direction == "rises")
    for level, name in enumerate(("Oslo", "Rome", "Bern")):
        changed = rows.copy()
        changed[:, 4:7] = np.eye(3)[level]
        (point,) = [point for point in effects["town"].curve if point.value == name]
        assert_allclose(point.probability, learner.predict_many(changed).mean(), rtol=1e-9)


def test_a_saved_background_is_the_average_row_and_no_other(told: tuple[Learner, Matrix, list[ColumnEffect]]) -> None:
    learner, X, found = told
    kept = Background.of_rows(X[:128]).snapshot()
    again = Background.restore(kept)
    assert_array_equal(again.rows, X[:128].mean(axis=0)[None, :])
    assert sum(array.size for array in kept.arrays.values()) < 10 * X.shape[1]  # not the rows
    effects = by_name(column_effects(learner, again, columns_of_features(NAMES, KINDS)))
    directions = {name: effect.direction for name, effect in effects.items() if name != "idle"}
    assert directions == {name: effect.direction for name, effect in by_name(found).items() if name != "idle"}


def test_a_row_is_explained_by_what_its_columns_add_against_the_average() -> None:
    learner, X = taught(AIOLI(radius=50.0))
    parts = {part.name: part.log_odds for part in explain_row(learner, X[0], X[:128])}
    for j in (0, 3):
        changed = X[0].copy()
        changed[j] = X[:128, j].mean()
        assert_allclose(parts[f"column {j + 1}"], learner.predict_logit(X[0]) - learner.predict_logit(changed))
    assert [effect.kind for effect in explain_columns(learner, X[:50])] == ["number"] * X.shape[1]
    with pytest.raises(ValueError, match="nothing to explain"):
        explain_columns(AIOLI(), X[:50])


def test_words_that_raise_and_lower_the_probability_are_found_among_idle_ones() -> None:
    rng = np.random.default_rng(0)
    X = sparse.csr_array((rng.random((2000, 400)) < 0.03).astype(float))
    y = (X[:, [7]].toarray() - X[:, [9]].toarray()).ravel() * 4.0 + rng.logistic(size=2000) > 0
    learner = Wide()
    learner.learn_many(X, y)
    words = OriginalColumn("", "words", {j: f"w{j}" for j in range(400)})
    found = word_effects(learner, Background.of_rows(X[:128]), [words])
    assert {word.name for word in found[:2]} == {"w7", "w9"}
    assert {word.name: word.log_odds > 0 for word in found[:2]} == {"w7": True, "w9": False}


def test_the_sample_is_the_same_after_a_restore_and_however_rows_are_cut() -> None:
    X = np.random.default_rng(1).normal(size=(3000, 4))
    X[X < 0.0] = 0.0
    whole, pieces = RowSample(), RowSample()
    whole.batch_ended(Batch(X, None, None, Numbered("", "line", [])))
    for start in range(0, 3000, 170):
        part = X[start : start + 170]
        pieces.batch_ended(Batch(sparse.csr_array(part) if start % 340 else part, None, None, Numbered("", "line", [])))
        pieces = RowSample.restore(pieces.snapshot())
    expected, found = whole.background(5, sparse=False), pieces.background(5, sparse=True)
    assert expected is not None
    assert found is not None
    assert not isinstance(found.rows, np.ndarray)
    assert_array_equal(found.rows.toarray(), expected.rows)
    assert all(row.tolist() in X.tolist() for row in np.asarray(expected.rows)[:, :4])


def test_commands_tell_effects_by_original_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = simulated()
    towns = np.array(["Oslo", "Rome", "Bern"])[X[:, 4:7].argmax(axis=1)]
    lines = [f"{a},{b},{t},{int(label)}" for a, b, t, label in zip(X[:, 0], X[:, 1], towns, y, strict=True)]
    data, model = tmp_path / "data.csv", str(tmp_path / "model.aioli")
    data.write_text("\n".join(["age,twin,town,y", *lines[:600]]))
    assert main(["run", str(data), "--label", "y", "--save", model, "--json"]) == 0
    capsys.readouterr()
    assert main(["inspect", model, "--json"]) == 0
    effects = {one["name"]: one for one in json.loads(capsys.readouterr().out)["column_effects"]}
    assert effects.keys() == {"age", "twin", "town"}
    assert effects["age"]["direction"] == "rises"
    assert main(["inspect", model]) == 0
    assert "what each column does" in capsys.readouterr().out
    assert main(["predict", str(data), "--model", model, "--explain", "2"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 600
    assert said[0].count(";") == 1
    assert main(["predict", str(data), "--model", model, "--explain", "--json"]) == 1
    assert "leave out --out and --json" in capsys.readouterr().err


def test_columns_are_found_behind_awkward_names() -> None:
    kinds = {"a": "category", "a=b": "number", "when": "date", "note": "text", "late": "number"}
    features = [
        "a=b",
        "a=b=c",
        "when",
        "when, weekday",
        "when, hour",
        "note: hi",
        "late",
        "late is there",
        "when is missing",
    ]
    found = {column.name: column for column in columns_of_features(features, kinds)}
    assert found["a=b"].values == {0: ""}
    assert found["a"].values == {1: "b=c"}
    assert list(found["when"].values) == [2, 3, 4]
    assert found["when"].marks == {8: " is missing"}
    assert found["note"].values == {5: "hi"}
    assert found["late"].marks == {7: " is there"}


def test_a_run_explains_scaled_columns_in_their_own_units(tmp_path: Path) -> None:
    X, y = simulated()
    data = tmp_path / "data.csv"
    data.write_text(
        "\n".join(["age,y", *(f"{a:.2f},{int(label)}" for a, label in zip(X[:800, 0], y[:800], strict=True))])
    )
    stream = FileStream(str(data), Reading(label="y", scale=True))
    learner = AIOLI()
    run = Run(stream, learner, threads=False)
    deque(run.tables(), maxlen=0)

    explainer = Explainer.of_model(learner, run.taught)
    assert explainer is not None
    (effect,) = explainer.by_column()
    numbers = [point.number or 0.0 for point in effect.curve]
    assert_allclose([numbers[0], numbers[-1]], np.quantile(X[:800, 0], [0.05, 0.95]), rtol=0.15)
