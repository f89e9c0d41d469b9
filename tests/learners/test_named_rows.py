"""`Auto` takes rows whose cells have names: frames and dictionaries, with words, dates and gaps, in every call."""

import copy
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from named_visits import ROWS, make_bought, make_visits
from numpy.testing import assert_allclose, assert_array_equal

from aioli import Auto, TableLearner, explain_columns, explain_row
from aioli.cli import main
from aioli.learners.classes.class_auto import ClassAuto
from aioli.numerics.compiling import Vector
from aioli.streams.table_encoder import TableEncoder

pd: Any = pytest.importorskip("pandas")


@pytest.fixture
def visits(rng: np.random.Generator) -> Any:
    return make_visits(rng)


@pytest.fixture
def bought(visits: Any, rng: np.random.Generator) -> Vector:
    return make_bought(visits, rng)


def as_rows(frame: Any) -> list[dict[str, object]]:
    return [frame.iloc[t].to_dict() for t in range(len(frame))]


def test_frames_are_read_as_a_table_learner_reads_them(visits: Any, bought: Vector) -> None:
    learner, table, given = Auto(), TableLearner(), TableLearner(Auto())
    assert_array_equal(learner.learn_many(visits, bought), table.learn_many(visits, bought))
    assert_array_equal(learner.predict_many(visits), table.predict_many(visits))
    given.learn_many(visits, bought)
    assert_array_equal(given.predict_many(visits), table.predict_many(visits))
    assert learner.feature_names_ == table.features_
    assert learner.get_params()["pairs"] is None  # what was asked for, not what the columns led to


def test_it_does_not_matter_how_rows_are_cut_or_written(visits: Any, bought: Vector) -> None:
    polars = pytest.importorskip("polars")
    whole, parts, single, other = Auto(), Auto(), Auto(), Auto()
    said = whole.learn_many(visits, bought)
    cut = [parts.learn_many(visits[t : t + 90], bought[t : t + 90]) for t in range(0, ROWS, 90)]
    assert_allclose(np.concatenate(cut), said, rtol=1e-9)
    one_by_one = [single.learn(row, y) for row, y in zip(as_rows(visits), bought, strict=True)]
    assert_allclose(one_by_one, said, rtol=1e-9)
    columns = {name: [None if pd.isna(x) else x for x in visits[name].tolist()] for name in visits}
    assert_array_equal(other.learn_many(polars.DataFrame(columns), bought), said)
    names = list(visits.columns)[::-1]
    assert_array_equal(whole.predict_many(visits[names]), whole.predict_many(visits))
    last = visits.iloc[ROWS - 1]
    tuples = list(visits.itertuples(index=False))[-1:]
    assert whole.predict(last) == whole.predict(last.to_dict()) == whole.predict_many(tuples)[0]


@pytest.mark.parametrize("make", [Auto, lambda: Auto(classes="any")], ids=["two classes", "many"])
def test_labels_that_come_late(make: Any, visits: Any, bought: Vector) -> None:
    batches, tickets, alone = make(), make(), make()
    for t in range(0, ROWS, 100):
        part, y = visits[t : t + 100], bought[t : t + 100]
        said = batches.learn_batch(part, y)
        announced = tickets.announce_many(part)
        assert_array_equal(tickets.learn_many(part, y, announced=announced), said)
    rows = as_rows(visits[:60])
    waiting = [alone.announce(row) for row in rows]
    for row, y, announced in zip(rows, bought[:60], waiting, strict=True):
        alone.learn(row, y, announced=announced)
    together = make()
    together.learn_many(rows, bought[:60], announced=together.announce_many(rows))
    # of many classes, growing is exact but for what the first row chooses
    assert_allclose(alone.predict_many(rows), together.predict_many(rows), atol=1e-9 if make is Auto else 5e-3)


def test_a_learner_of_many_classes_takes_frames_and_goes_on_after_loading(
    visits: Any, rng: np.random.Generator, tmp_path: Path
) -> None:
    labels = np.where(visits.fare > 40.0, "high", np.where(visits.fare > 15.0, "middle", "low"))
    learner, table = Auto(classes="any"), TableLearner(Auto(classes="any"))
    assert_array_equal(learner.learn_many(visits, labels), table.learn_many(visits, labels))
    learner.save(tmp_path / "model")
    again = ClassAuto.load(tmp_path / "model")
    for row, label in zip(as_rows(visits[:20]), rng.permutation(labels[:20]), strict=True):
        assert_array_equal(again.learn(row, label), learner.learn(row, label))
    assert_array_equal(again.predict({"sex": "f"}), learner.predict({"sex": "f"}))
    again.learn({"sex": "f"}, "unheard of")
    told = again.snapshot().parts["stream"].parts["labels"]
    assert told.values["more"] == again.classes_
    assert told.values["counts"] == again._weights.astype(int).tolist()


def test_a_third_class_keeps_the_columns(visits: Any, bought: Vector) -> None:
    two = Auto()
    two.learn_many(visits, bought)
    many = two.with_classes("no", "yes")
    many.learn(visits.iloc[0].to_dict() | {"port": "new"}, "maybe")
    assert many.predict(visits.iloc[1]).shape == (3,)
    assert many.feature_names_ == [*(two.feature_names_ or []), "port=new"]


def test_models_of_the_command_and_back(
    visits: Any, bought: Vector, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, model, back = tmp_path / "visits.csv", str(tmp_path / "model"), str(tmp_path / "back")
    visits.assign(y=bought).to_csv(file, index=False)
    assert main(["run", str(file), "--label", "y", "--save", model, "--json"]) == 0
    learner = Auto.load(model)
    row: dict[str, object] = {"age": 30, "fare": "12.5", "sex": "f", "port": None, "when": "2024-01-05", "vip": True}
    said = learner.predict(row)
    assert said == TableLearner.load(model).predict(row)
    learner.save(back)
    capsys.readouterr()
    assert main(["predict", str(file), "--model", back]) == 0
    found = np.array(capsys.readouterr().out.split(), dtype=float)
    fresh = Auto()
    fresh.learn_many(visits, bought)
    fresh.save(model)
    assert main(["predict", str(file), "--model", model]) == 0
    own = np.array(capsys.readouterr().out.split(), dtype=float)
    assert_allclose(own, fresh.predict_many(visits), rtol=1e-12)
    assert_allclose(found, own, rtol=1e-9)


def test_a_file_names_the_classes_of_a_model_of_two(visits: Any, bought: Vector, tmp_path: Path) -> None:
    file, model, saved = tmp_path / "visits.csv", tmp_path / "model", tmp_path / "saved"
    learner = Auto()
    learner.learn_many(visits, bought)
    learner.save(model)
    visits.assign(y=np.where(bought, "yes", "no")).to_csv(file, index=False)
    assert main(["run", str(file), "--label", "y", "--model", str(model), "--save", str(saved), "--json"]) == 0
    again = Auto.load(saved)
    learner.learn_many(visits, bought)
    assert again.rounds == 2 * ROWS
    assert_allclose(again.predict_many(visits), learner.predict_many(visits), rtol=1e-9)


@pytest.mark.parametrize("spelled", [int, str, bool])
def test_files_of_many_classes_are_read_whatever_their_labels(
    spelled: Any, visits: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, model = tmp_path / "visits.csv", str(tmp_path / "model")
    visits.to_csv(file, index=False)
    learner = Auto(classes="any")
    learner.learn_many(visits, [spelled(x > 20.0) for x in visits.fare])
    learner.save(model)
    for command in (["inspect", model], ["predict", str(file), "--model", model]):
        assert main(command) == 0
    assert str(spelled(0)) in capsys.readouterr().out


def test_learners_do_not_share_columns(visits: Any, bought: Vector) -> None:
    two = Auto()
    two.learn_many(visits, bought)
    before = two.predict_many(visits)
    two.with_classes("no", "yes").learn_many(visits.assign(port="new", age=1e6), ["no", "yes"] * (ROWS // 2))
    assert_array_equal(two.predict_many(visits), before)


def test_what_was_asked_for_is_kept(visits: Any, bought: Vector) -> None:
    for pairs in (None, False, True):
        learner = Auto(pairs=pairs)
        learner.learn_many(visits, bought)
        again = copy.deepcopy(learner)
        assert again.get_params()["pairs"] == pairs
        assert_array_equal(again.learn_many(visits, bought), learner.learn_many(visits, bought))


def test_predictions_of_several_threads_change_nothing(visits: Any, bought: Vector) -> None:
    learner = Auto(budget="fast")
    learner.learn_many(visits, bought)
    rows = [row | {"port": f"never seen {t}"} for t, row in enumerate(as_rows(visits[:40]))]
    wanted, features = [learner.predict(row) for row in rows], list(learner.feature_names_ or [])
    with ThreadPoolExecutor(4) as threads:
        said = list(threads.map(learner.predict, rows * 5))
    assert said == wanted * 5
    learner.learn_many(visits[:1], bought[:1])
    assert learner.feature_names_ == features


def test_read_only_rows(rng: np.random.Generator) -> None:
    X = rng.normal(size=(80, 6))
    y, given = X[:, 0] > 0.0, X.copy()
    given.flags.writeable = False
    learner, plain = Auto(pairs=True), Auto(pairs=True)
    assert_array_equal(learner.learn_many(given, y), plain.learn_many(X, y))
    assert learner.learn(given[0], 1) == plain.learn(X[0], 1)
    assert_array_equal(learner.predict_many(given), plain.predict_many(X))


def test_one_spelling_of_whole_numbers_and_of_spans() -> None:
    whole, parts = TableEncoder(), TableEncoder()
    frame = pd.DataFrame({"g": pd.Categorical([1, 2, None, 1])})
    whole.encode(frame)
    for t in range(4):
        parts.encode(frame[t : t + 1])
    assert whole.features == parts.features == ["g=1", "g=2", "g is missing"]
    spans = pd.to_timedelta([1.5, 90.0, None], unit="s")
    encoder = TableEncoder()
    encoded: Any = encoder.encode(pd.DataFrame({"took": spans}))
    assert_allclose(encoded[:, 0], [1.5, 90.0, 45.75])
    assert encoder.transform({"took": spans[1].to_pytimedelta()})[0, 0] == 90.0


def test_columns_are_explained_as_they_came(visits: Any, bought: Vector) -> None:
    learner = Auto()
    learner.learn_many(visits, bought)
    effects = explain_columns(learner, visits[:60])
    assert effects[0].name == "sex"
    assert {effect.name for effect in effects} == set(visits.columns)
    assert explain_row(learner, visits.iloc[0].to_dict(), visits[:60])[0].name in visits.columns


def test_free_text_is_played_by_wide_experts(rng: np.random.Generator) -> None:
    words = np.array(["good", "bad", "fine", "awful", "film", "plot", "actor", "scene", "music", "slow"])
    texts = [" ".join(rng.choice(words, 9)) + f" take {t}" for t in range(300)]
    y = np.array([text.count("good") > text.count("bad") for text in texts])
    learner, table = Auto(), TableLearner()
    frame = pd.DataFrame({"said": texts})
    assert_array_equal(learner.learn_many(frame, y), table.learn_many(frame, y))
    assert len(learner.feature_names_ or []) > 256
    assert "naive Bayes" in learner.weights_  # which wide experts alone have
