"""Rows as Python has them: frames and dictionaries give what the command gives for the same rows in a file."""

import copy
import datetime
import importlib
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aioli import AIOLI, OGD, Auto, TableEncoder, TableLearner
from aioli.cli import main

ROWS = 120
LEARNER = "Auto(budget='fast')"
SAME = 1e-10  # the command looks at its scores on the way: rows in pieces of other sizes


def visits() -> list[dict[str, Any]]:
    rng = np.random.default_rng(2)
    made: list[dict[str, Any]] = []
    for t in range(ROWS):
        size, colour = float(np.round(rng.normal(), 4)), ["red", "blue", "grün"][int(rng.integers(3))]
        bought = size + (colour == "red") + rng.logistic() > 0
        price = f"{rng.lognormal(6, 1):,.2f}"
        day = (datetime.date(2024, 1, 1) + datetime.timedelta(days=t)).isoformat()
        row = {"size": None if t % 11 == 3 else size, "colour": colour, "price": price, "day": day}
        made.append({**row, "bought": "yes" if bought else "no"})
    return made


def without_label(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "bought"} for row in rows]


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[float], Path]:
    """What the command announces for the rows as a file, and the model that it saves."""
    folder = tmp_path_factory.mktemp("visits")
    source, out, model = folder / "visits.jsonl", folder / "out.csv", folder / "m.aioli"
    source.write_text("".join(json.dumps(row) + "\n" for row in visits()))
    asked = ["run", str(source), "--label", "bought", "--learner", LEARNER, "--predictions", str(out)]
    assert main([*asked, "--save", str(model), "--no-regret", "--json"]) == 0
    return [float(line.split(",")[1]) for line in out.read_text().splitlines()[1:]], model


def frame(kind: str) -> Any:
    rows = without_label(visits())
    if kind == "dicts":
        return rows
    module: Any = pytest.importorskip(kind)
    if kind == "pandas":
        return module.DataFrame(rows)
    return module.Table.from_pylist(rows) if kind == "pyarrow" else module.DataFrame(rows)


@pytest.mark.parametrize("kind", ["dicts", "pandas", "polars", "pyarrow"])
def test_frames_and_dictionaries_are_learned_as_the_command_learns_the_file(
    kind: str, command: tuple[list[float], Path]
) -> None:
    announced, _ = command
    learner = TableLearner(Auto(budget="fast", pairs=True))
    labels = [row["bought"] for row in visits()]
    np.testing.assert_allclose(learner.learn_many(frame(kind), labels), announced, rtol=SAME)
    assert learner.classes_ == ("no", "yes")


@pytest.mark.parametrize("kind", ["dicts", "pandas", "polars"])
def test_a_model_of_the_command_predicts_frames_and_dictionaries(
    kind: str, command: tuple[list[float], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, path = command
    model = TableLearner.load(path)
    features = list(model.features_)
    p = model.predict_many(frame(kind))
    source = tmp_path / "new.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in without_label(visits())))
    assert main(["predict", str(source), "--model", str(path)]) == 0
    np.testing.assert_allclose(p, [float(line) for line in capsys.readouterr().out.split()], rtol=1e-12)
    new = {"size": 1.0, "colour": "never seen", "price": "12.00", "day": "2024-02-02", "further": 3}
    assert model.predict(new) == model.predict({**new, "colour": "nor this"})
    assert model.features_ == features  # nothing is remembered of rows that are predicted


def test_a_saved_model_is_one_of_the_command_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, labels, path = without_label(visits()), [row["bought"] for row in visits()], tmp_path / "m.aioli"
    model = TableLearner(AIOLI())
    model.learn_many(rows[:60], labels[:60])
    model.save(path)
    again = TableLearner.load(path)
    for one in (model, again):
        one.learn(rows[60], labels[60], 2.0)
        one.learn_many(rows[61:], labels[61:])
    assert again.predict(rows[0]) == model.predict(rows[0])
    model.save(path)
    source = tmp_path / "one.jsonl"
    source.write_text(json.dumps(rows[0]) + "\n")
    assert main(["predict", str(source), "--model", str(path)]) == 0
    assert float(capsys.readouterr().out) == pytest.approx(model.predict(rows[0]), rel=1e-12)


def test_what_is_refused_changes_nothing() -> None:
    rows, labels = without_label(visits()), [row["bought"] for row in visits()]
    model = TableLearner(OGD())
    model.learn_many([{"x": 1.0}, {"x": 2.0}], ["a", "b"])
    features = list(model.features_)
    for data, told in (
        ([{"x": 1.0, "y": 2.0}], ["a"]),  # OGD cannot grow
        ([{"x": 1.0}], ["a", "b"]),
        ([{"x": [1.0]}], ["a"]),
        ([[1.0]], ["a"]),
    ):
        with pytest.raises(ValueError, match=r".+"):
            model.learn_many(data, told)
        assert (model.features_, model.learner_.rounds, model.classes_) == (features, 2, ("a", "b"))
    with pytest.raises(ValueError, match="nothing was learned yet"):
        TableLearner().predict(rows[0])
    pandas: Any = pytest.importorskip("pandas")
    known = TableLearner(AIOLI())
    known.learn_many(pandas.DataFrame(rows), labels)
    with pytest.raises(ValueError, match="has no column 'colour', which was there before"):
        known.predict_many(pandas.DataFrame(rows).drop(columns="colour"))


def test_a_third_label_turns_the_game_into_one_of_many() -> None:
    model = TableLearner(AIOLI())
    model.learn_many([{"x": 1.0}, {"x": 2.0}], ["a", "b"])
    announced = model.learn_many([{"x": 1.0}, {"x": 3.0}, {"x": 3.1}], ["a", "c", "c"])
    assert announced.shape == (3, 3)
    assert model.classes_ == ("a", "b", "c")
    assert np.shape(model.predict({"x": 3.0})) == (3,)


def test_types_say_what_a_column_is() -> None:
    pandas: Any = pytest.importorskip("pandas")
    data = pandas.DataFrame(
        {
            "when": pandas.to_datetime(["2024-01-01 12:00", "2024-01-03 00:00", None]),
            "code": pandas.Categorical([1, 2, 1]),
            "n": pandas.array([1, None, 3], dtype="Int64"),
            "flag": [True, False, True],
            "time": [datetime.time(14, 30), None, datetime.time(2)],
        }
    )
    encoder = TableEncoder()
    X = np.asarray(encoder.encode(data))
    assert encoder.kinds == {"when": "date", "code": "category", "n": "number", "flag": "number", "time": "number"}
    assert X[0, encoder.features.index("when")] == 19723.5
    assert X[:, encoder.features.index("time")].tolist() == [14.5, 14.5, 2.0]
    assert X[1, encoder.features.index("n is missing")] == 1.0
    assert "code=1" in encoder.features


@pytest.mark.parametrize("learner", [Auto(budget="fast"), AIOLI()])
def test_the_scikit_learn_face_takes_frames_of_any_columns(learner: Any) -> None:
    pytest.importorskip("sklearn")
    pandas: Any = pytest.importorskip("pandas")
    face_of = importlib.import_module("aioli.sklearn").AIOLIClassifier
    data, labels = pandas.DataFrame(without_label(visits())), np.array([row["bought"] for row in visits()])
    face = face_of(learner, orders=1).fit(data, labels)
    assert face.n_features_in_ == 4
    assert isinstance(learner, AIOLI) or face.score(data, labels) > 0.6
    P = face.predict_proba(data)
    np.testing.assert_array_equal(face.predict_proba(without_label(visits())), P)
    new = data.head(3).assign(colour="violet")
    before = face.predict_proba(new)
    face.partial_fit(new, labels[:3])
    assert not np.array_equal(face.predict_proba(new), before)
    copied = pickle.loads(pickle.dumps(face))
    np.testing.assert_array_equal(copied.predict_proba(data), face.predict_proba(data))
    with pytest.raises(ValueError, match="has no column 'colour'"):
        face.predict_proba(data.drop(columns="colour"))
    kept = copy.deepcopy(face)
    with pytest.raises(ValueError, match=r".+"):
        face.partial_fit(new.assign(colour="orange", size=1e200), labels[:3])
    np.testing.assert_array_equal(kept.predict_proba(data), face.predict_proba(data))


def test_the_river_face_takes_words_and_missing_values() -> None:
    pytest.importorskip("river")
    face = importlib.import_module("aioli.river").AIOLIClassifier(AIOLI())
    for row in visits():
        x = {name: row[name] for name in ("size", "colour")}
        p = face.predict_proba_one(x)
        assert p[True] == pytest.approx(1.0 - p[False])
        face.learn_one(x, row["bought"] == "yes")
    red, blue = ({"size": 0.0, "colour": colour} for colour in ("red", "blue"))
    assert face.predict_proba_one(red)[True] > face.predict_proba_one(blue)[True] + 0.05
    assert face.predict_proba_one({"size": 0.0, "colour": "unheard of"})[True] > 0.0
