"""Rows by id, labels by id: what is learned, what is repeated, what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from served_games import LABELS, ROWS, engine_in, learns, one, play_late, predicts, state_of, with_model

from aioli import AIOLI, OGD, Auto
from aioli.errors import AioliError, CapabilityMissing
from aioli.service.model import ServedModel
from aioli.service.operations import Learn, Learned, Predict, Predicted
from aioli.service.refusals import (
    BadRequest,
    IdUnknown,
    LabelConflict,
    ModelExists,
    ModelUnknown,
    RowConflict,
    RowExpired,
    ServiceRefused,
    Unprocessable,
)
from aioli.service.waiting import Limits
from aioli.snapshots.codec import from_bytes, to_bytes
from aioli.store.event_log import Event


def test_what_is_learned_is_the_late_label_game_of_the_library(tmp_path: Path) -> None:
    engine = with_model(tmp_path)
    play_late(engine, 80)
    learner = AIOLI()
    announced = {}
    for entry in engine.store.entries(1):
        t = int(entry.id[1:])
        if entry.event == Event.ROW:
            announced[t] = learner.announce(ROWS[t])
        else:
            learner.learn(ROWS[t], LABELS[t], announced=announced[t])
    served = engine.models["clicks"].model.learner
    assert isinstance(served, AIOLI)
    assert served.predict(ROWS[99]) == learner.predict(ROWS[99])
    assert served.loss == learner.loss
    assert served.rounds == learner.rounds == 56


def test_a_repeated_row_has_the_same_answer_whatever_was_learned_since(tmp_path: Path) -> None:
    engine = with_model(tmp_path)
    play_late(engine, 40)
    first = one(engine, Predict("clicks", "again", ROWS[50]))
    before = state_of(engine)
    second = one(engine, Predict("clicks", "again", ROWS[50]))
    assert state_of(engine) == before
    engine.play(learns(range(16, 40)))
    engine.play([Learn("clicks", "again", 1)])
    third = one(engine, Predict("clicks", "again", ROWS[50]))
    assert isinstance(first, Predicted)
    assert not first.repeated
    assert second == third == first._replace(repeated=True)


def test_a_repeated_label_is_learned_once(tmp_path: Path) -> None:
    engine = with_model(tmp_path)
    engine.play(predicts(range(3)))
    outcomes = engine.play([Learn("clicks", "r1", 1), Learn("clicks", "r1", True)])
    after = state_of(engine)
    assert outcomes == [Learned("r1", 1), Learned("r1", 1, repeated=True)]
    assert one(engine, Learn("clicks", "r1", 1)) == Learned("r1", 1, repeated=True)
    assert state_of(engine) == after
    assert engine.models["clicks"].model.rounds == 1


@pytest.mark.parametrize(
    ("operation", "refusal"),
    [
        (Learn("clicks", "r0", 0), LabelConflict),
        (Learn("clicks", "r0", 1, 2.0), LabelConflict),
        (Learn("clicks", "never", 1), IdUnknown),
        (Learn("clicks", "r1", 2), Unprocessable),
        (Learn("clicks", "r1", "yes"), Unprocessable),
        (Learn("clicks", "r1", float("nan")), Unprocessable),
        (Learn("clicks", "r1", 1, -1.0), Unprocessable),
        (Predict("clicks", "r0", ROWS[1]), RowConflict),
        (Predict("clicks", "r1", ROWS[0]), RowConflict),
        (Predict("clicks", "new", [1.0]), Unprocessable),
        (Predict("clicks", "new", [1.0, 2.0, float("nan")]), Unprocessable),
        (Predict("clicks", "new", [1.0, 2.0, 10**400]), Unprocessable),
        (Predict("clicks", "new", [1.0, 2.0, "3"]), Unprocessable),  # type: ignore[list-item]  # refused
        (Predict("clicks", "new", {"a": 1.0}), Unprocessable),
        (Predict("clicks", "", ROWS[2]), BadRequest),
        (Predict("clicks", "a\nb", ROWS[2]), BadRequest),
        (Predict("clicks", "x" * 300, ROWS[2]), BadRequest),
        (Predict("other", "r5", ROWS[2]), ModelUnknown),
    ],
)
def test_a_refusal_says_what_to_do_and_changes_nothing(
    operation: Predict | Learn, refusal: type[ServiceRefused], tmp_path: Path
) -> None:
    engine = with_model(tmp_path)
    engine.play(predicts(range(2)))
    engine.play([Learn("clicks", "r0", 1)])
    before, entries = state_of(engine), list(engine.store.entries(1))
    outcome = one(engine, operation)
    assert type(outcome) is refusal
    assert len(str(outcome)) > 20
    assert state_of(engine) == before
    assert list(engine.store.entries(1)) == entries


def test_one_refused_operation_does_not_harm_the_others_of_its_group(tmp_path: Path) -> None:
    engine = with_model(tmp_path)
    outcomes = engine.play([*predicts([0]), Predict("clicks", "bad", [1.0]), Learn("clicks", "r0", 1), *predicts([1])])
    assert [type(outcome).__name__ for outcome in outcomes] == ["Predicted", "Unprocessable", "Learned", "Predicted"]


def test_rows_wait_up_to_a_number_and_an_age_that_are_counted(tmp_path: Path) -> None:
    now = [1000.0]
    engine = engine_in(tmp_path, limits=Limits(most=3, seconds=60.0), clock=lambda: now[0])
    engine.create("clicks", ServedModel(AIOLI()))
    engine.play(predicts(range(5)))
    served = engine.models["clicks"]
    assert list(served.waiting) == ["r2", "r3", "r4"]
    assert isinstance(one(engine, Learn("clicks", "r0", 1)), RowExpired)
    now[0] = 1061.0
    assert isinstance(one(engine, Learn("clicks", "r4", 1)), RowExpired)
    assert served.counts["expired"] == 5
    assert len(served.waiting) == 0
    assert served.model.rounds == 0


def test_rows_are_objects_of_numbers_texts_and_missing_values(tmp_path: Path) -> None:
    engine = with_model(tmp_path)
    rows: list[dict[str, Any]] = [
        {"size": 1.5, "colour": "red"},
        {"size": None, "colour": "blue"},
        {"colour": "red", "shop": {"size": 3}},
    ]
    for t, row in enumerate(rows):
        assert isinstance(one(engine, Predict("clicks", f"o{t}", row)), Predicted)
    for t in (1, 0, 2):
        assert isinstance(one(engine, Learn("clicks", f"o{t}", t % 2)), Learned)
    encoder = engine.models["clicks"].model.encoder
    assert encoder is not None
    assert encoder.features == [
        "size",
        "colour=red",
        "size is missing",
        "colour=blue",
        "shop.size",
        "shop.size is there",
    ]
    before = state_of(engine)
    refused = one(engine, Predict("clicks", "long", {"size": 1e300, "colour": "green"}))
    assert isinstance(refused, Unprocessable)
    assert state_of(engine) == before
    assert isinstance(one(engine, Predict("clicks", "list", [1.0, 2.0])), Unprocessable)
    assert isinstance(one(engine, Predict("clicks", "keys", {f"k{j}": 1.0 for j in range(3000)})), Unprocessable)
    assert state_of(engine) == before


def test_a_refused_first_object_leaves_a_model_that_is_new(tmp_path: Path) -> None:
    engine = with_model(tmp_path)
    engine.play([Predict("clicks", "a", {"x": 1.0}), Predict("clicks", "b", {"x": 1e300}), Learn("clicks", "a", 1)])
    served = engine.models["clicks"]
    assert served.model.rounds == 1
    assert list(served.waiting) == []


def test_any_number_of_classes_may_come(tmp_path: Path) -> None:
    engine = with_model(tmp_path, model=ServedModel(Auto(classes="any")))
    for t in range(12):
        engine.play(predicts([t]))
        assert isinstance(one(engine, Learn("clicks", f"r{t}", "abc"[t % 3])), Learned)
    outcome = one(engine, *predicts([20]))
    assert isinstance(outcome, Predicted)
    assert list(outcome.answer.classes) == ["a", "b", "c"]
    assert outcome.answer.probability is None
    assert 0.0 < sum(outcome.answer.probabilities) <= 1.0


def test_two_labels_may_have_names(tmp_path: Path) -> None:
    engine = with_model(tmp_path, model=ServedModel(AIOLI(), labels=("ham", "spam")))
    engine.play(predicts(range(2)))
    assert one(engine, Learn("clicks", "r0", "spam")) == Learned("r0", 1)
    assert isinstance(one(engine, Learn("clicks", "r1", "other")), Unprocessable)


def test_a_model_goes_on_from_its_file_and_into_one(tmp_path: Path) -> None:
    learner = AIOLI(radius=2.0)
    learner.learn_many(ROWS[:50], LABELS[:50])
    engine = with_model(tmp_path, model=ServedModel.from_model_file(from_bytes(to_bytes(learner.snapshot()))))
    outcome = one(engine, *predicts([60]))
    assert isinstance(outcome, Predicted)
    assert outcome.answer.probability == learner.predict(ROWS[60])
    again = AIOLI.restore(from_bytes(to_bytes(engine.models["clicks"].model.model_file())))
    assert again.predict(ROWS[70]) == learner.predict(ROWS[70])


def test_models_are_apart_and_can_be_deleted(tmp_path: Path) -> None:
    engine = with_model(tmp_path)
    engine.create("other", ServedModel(AIOLI(radius=1.0)))
    with pytest.raises(ModelExists):
        engine.create("other", ServedModel(AIOLI()))
    engine.play([*predicts(range(3)), *predicts(range(2), "other"), *learns([0], "other")])
    assert (len(engine.models["clicks"].waiting), len(engine.models["other"].waiting)) == (3, 1)
    engine.delete("clicks")
    assert isinstance(one(engine, Learn("clicks", "r0", 1)), ModelUnknown)
    engine.create("clicks", ServedModel(AIOLI()))
    assert isinstance(one(engine, Learn("clicks", "r0", 1)), IdUnknown)


@pytest.mark.parametrize("name", ["", "../up", "a/b", "x' OR 1=1 --", "a b", ".hidden", "n" * 65, "a\x00"])
def test_names_are_plain(name: str, tmp_path: Path) -> None:
    engine = engine_in(tmp_path)
    with pytest.raises(BadRequest, match="cannot be called"):
        engine.create(name, ServedModel(AIOLI()))
    assert engine.store.models() == []


def test_an_id_may_hold_any_text_that_can_be_printed(tmp_path: Path) -> None:
    engine = with_model(tmp_path)
    names = ["'; DROP TABLE log; --", "%s ? :x", "../../etc", "ключ-☃"]
    outcomes = engine.play([Predict("clicks", name, ROWS[0]) for name in names])
    assert all(isinstance(outcome, Predicted) for outcome in outcomes)
    assert [entry.id for entry in engine.store.entries(1)] == names


def test_a_learner_that_does_not_learn_late_is_refused() -> None:
    with pytest.raises(CapabilityMissing, match="use Auto or AIOLI"):
        ServedModel(OGD())


def test_scores_are_those_of_what_was_announced(tmp_path: Path) -> None:
    engine = with_model(tmp_path)
    play_late(engine, 400)
    model = engine.models["clicks"].model
    assert isinstance(model.learner, AIOLI)
    assert model.tally.scores.rows == model.rounds
    assert model.tally.scores.nats == pytest.approx(model.learner.loss, rel=1e-12)
    history = model.tally.history
    assert [point.rows for point in history][:6] == [1, 2, 3, 4, 5, 6]
    assert (history[-1].rows, history[-1].log_loss) == (model.rounds, model.tally.scores.log_loss)  # as it stands now
    assert model.tally.history == history  # and looking at it leaves nothing behind
    assert json.dumps(model.tally.snapshot().values)


def test_limits_are_checked() -> None:
    for most, seconds in ((0, 1.0), (True, 1.0), (1.5, 1.0), (1, 0.0), (1, "day")):
        with pytest.raises(AioliError, match="must be"):
            Limits.checked(most, seconds)
