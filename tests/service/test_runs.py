"""Rows of a group are announced, and labels learned, in few calls: the game of one by one, which a replay repeats."""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from served_games import LABELS, ROWS, engine_in, learns, one, play_late, predicts, state_of, with_model

from aioli import AIOLI, Auto
from aioli.learners.announcements import Announcement
from aioli.learners.protocol import AnyLearner
from aioli.service.engine import Engine
from aioli.service.follower import Follower
from aioli.service.http.grouping import LOOKS, Grouping
from aioli.service.keyed import make_fleet
from aioli.service.model import ServedModel
from aioli.service.operations import Learn, Learned, Operation, Predict, Predicted
from aioli.service.order import order_of
from aioli.service.refusals import Unprocessable
from aioli.service.replay import verify
from aioli.store.event_log import Event
from aioli.store.label_codec import label_from_bytes
from aioli.store.row_codec import AnnouncedRow, row_from_bytes
from aioli.store.sqlite_log import SqliteLog

KEYS = ("ann", 7, "ben")


def joined(engine: Engine, event: Event) -> list[bool]:
    """Of which entries the log tells that they were played with the one before."""
    bodies = [entry.body for entry in engine.store.entries(1) if entry.event == event]
    if event == Event.ROW:
        return [row_from_bytes(body).joined for body in bodies]
    return [label_from_bytes(body).joined for body in bodies]


def row_of(kind: str, t: int) -> Any:
    if kind == "objects":
        return {"a": ROWS[t][0], "b": ROWS[t][1], "c": "xyz"[t % 3] if t > 9 else "x"}
    return ROWS[t]


def mixed_load(engine: Engine, kind: str, rows: int, size: int = 7, delay: int = 11) -> None:
    """Groups of requests that came together, rows and labels as they happened to come; some requests ask for many."""
    rng = np.random.default_rng(3)
    labels = "abc" if kind == "classes" else (0, 1)
    for first in range(0, rows, size):
        requests: list[list[Operation]] = [
            [Predict("clicks", f"r{t}", row_of(kind, t), KEYS[t % 3] if kind == "fleet" else None)]
            for t in range(first, first + size)
        ]
        told = [t for t in range(first - delay, first - delay + size) if t >= 0]
        requests += [[Learn("clicks", f"r{t}", labels[t * t % len(labels)], 1.0 + t % 2)] for t in told]
        rng.shuffle(requests)
        requests[0] += [
            Predict("clicks", f"both{first}", row_of(kind, first), "eve" if kind == "fleet" else None),
            Learn("clicks", f"both{first}", labels[0]),
        ]
        outcomes = engine.play_together(requests)
        for request, answers in zip(requests, outcomes, strict=True):
            assert [answer.id for answer in answers] == [asked.id for asked in request]  # type: ignore[union-attr]  # an error has none, and fails
            kinds = [Predicted if isinstance(asked, Predict) else Learned for asked in request]
            assert [type(answer) for answer in answers] == kinds


@pytest.mark.parametrize("kind", ["auto", "objects", "classes", "fleet"])
def test_a_group_is_played_in_runs_which_a_replay_repeats_bit_for_bit(kind: str, tmp_path: Path) -> None:
    learners: dict[str, AnyLearner] = {
        "auto": Auto(),  # whose companions round otherwise in other runs
        "classes": Auto(classes="any"),
        "fleet": make_fleet({"pooling": "global"}),
        "objects": Auto(budget="fast"),
    }
    engine = with_model(tmp_path, model=ServedModel(learners[kind]))
    mixed_load(engine, kind, 42)
    assert sum(joined(engine, Event.ROW)) > 20
    assert sum(joined(engine, Event.LABEL)) > 10
    before, waiting = state_of(engine), list(engine.models["clicks"].waiting)
    assert state_of(Follower(SqliteLog(tmp_path, writer=False))) == before
    engine.store.close()  # as a killed process leaves it
    again = engine_in(tmp_path)
    assert state_of(again) == before
    assert list(again.models["clicks"].waiting) == waiting
    assert verify(again.store, 1)[1:] == (0, True)


def test_a_run_is_the_game_of_one_by_one(tmp_path: Path) -> None:
    engine = with_model(tmp_path, model=ServedModel(Auto(budget="fast")))
    mixed_load(engine, "auto", 42)
    learner = Auto(budget="fast")
    rows: dict[str, tuple[AnnouncedRow, Announcement]] = {}
    for entry in engine.store.entries(1):
        if entry.event == Event.ROW:
            row = row_from_bytes(entry.body)
            assert isinstance(row.announced, Announcement)
            ticket = learner.announce(np.array(row.numbers))
            assert row.announced[1:3] == ticket[1:3]  # its number, and how many labels were known
            assert row.announced.logit == pytest.approx(ticket.logit, rel=1e-11, abs=1e-13)
            assert row.announced.memory == pytest.approx(ticket.memory, rel=1e-9, abs=1e-11, nan_ok=True)
            rows[entry.id] = row, ticket
        else:
            row, ticket = rows[entry.id]
            label = label_from_bytes(entry.body)
            learner.learn(row.x, label.label, label.weight, announced=ticket)
    served = engine.models["clicks"].model
    assert isinstance(served.learner, Auto)
    assert served.learner.loss == pytest.approx(learner.loss, rel=1e-11)
    assert served.predict(ROWS[99]).probability == pytest.approx(learner.predict(np.array(ROWS[99])), rel=1e-11)


@pytest.mark.parametrize("pooling", [None, "global"])
def test_a_fleet_in_runs_is_one_by_one_bit_for_bit(pooling: str | None, tmp_path: Path) -> None:
    logs = []
    for size in (1, 9):
        engine = with_model(tmp_path / str(size), model=ServedModel(make_fleet({"pooling": pooling})))
        play: list[Operation] = []
        for t in range(36):
            play.append(Predict("clicks", f"r{t}", ROWS[t], KEYS[t % 3]))
            if t % 9 == 8:
                play += learns(range(t - 8, t + 1))
        for first in range(0, len(play), size):
            engine.play(play[first : first + size])
        entries = list(engine.store.entries(1))
        bodies = [row_from_bytes(entry.body) for entry in entries if entry.event == Event.ROW]
        told = [(row.numbers, row.announced, row.base, row.key) for row in bodies]
        logs.append(([entry[:4] for entry in entries], told, state_of(engine)))
        assert (size > 1) == any(joined(engine, Event.LABEL))
    assert logs[0] == logs[1]


def test_a_refused_row_or_label_of_a_run_is_refused_alone(tmp_path: Path) -> None:
    states = []
    for refused in (True, False):
        engine = with_model(tmp_path / str(refused), model=ServedModel(Auto(budget="fast")))
        play_late(engine, 32)
        bad: list[Operation] = [
            Predict("clicks", "far", [1.0, 1e300, 0.0]),
            Predict("clicks", "short", [1.0]),
            Predict("clicks", "text", [1.0, "x", 2.0]),  # type: ignore[list-item]  # refused
        ]
        rows = predicts(range(40, 48))
        engine.play_together([[row] for row in [*rows[:3], *bad[:2], *rows[3:], *bad[2:]] if refused or row not in bad])
        labels = [Learn("clicks", f"r{t}", LABELS[t], -1.0 if t == 43 else 1.0) for t in range(40, 48)]
        outcomes = engine.play([label for label in labels if refused or label.weight > 0.0])
        assert sum(isinstance(outcome, Learned) for outcome in outcomes) == 7
        counts = engine.models["clicks"].counts
        assert (counts["predicted"], counts["learned"], counts["unprocessable"]) == (40, 15, 4 if refused else 0)
        assert list(engine.models["clicks"].waiting)[-1] == "r43"
        assert verify(engine.store, 1)[1:] == (0, True)
        learner = engine.models["clicks"].model.learner
        assert isinstance(learner, Auto)
        states.append((learner.loss, learner.predict(np.array(ROWS[99]))))
    assert states[0] == pytest.approx(states[1], rel=1e-11)  # the runs are others, and their rounding


def test_a_run_of_which_hundreds_are_refused_is_played_to_its_end(tmp_path: Path) -> None:
    engine = with_model(tmp_path, model=ServedModel(Auto(budget="fast")))
    engine.play(predicts(range(2)))
    rows = [Predict("clicks", f"z{t}", [1e300 if t % 2 else 0.5, 1.0, 0.0]) for t in range(600)]
    outcomes = engine.play(rows)
    assert [type(outcome) for outcome in outcomes] == [Predicted, Unprocessable] * 300
    assert verify(engine.store, 1)[1:] == (0, True)


def test_a_refused_object_of_a_run_leaves_no_trace(tmp_path: Path) -> None:
    engine = with_model(tmp_path, model=ServedModel(Auto(budget="fast")))
    engine.play([Predict("clicks", f"o{t}", row_of("objects", t)) for t in range(4)])
    bad = Predict("clicks", "far", {"a": 1e300, "new": 1.0})
    good: list[Operation] = [Predict("clicks", f"o{t}", row_of("objects", t)) for t in range(4, 14)]
    outcomes = engine.play([*good[:4], bad, *good[4:]])
    assert [type(outcome) for outcome in outcomes] == [Predicted] * 4 + [Unprocessable] + [Predicted] * 6
    encoder = engine.models["clicks"].model.encoder
    assert encoder is not None
    assert encoder.features == ["a", "b", "c=x", "c=y", "c=z"]
    assert verify(engine.store, 1)[1:] == (0, True)


def test_a_row_that_is_asked_for_again_beside_its_label_has_the_same_answer(tmp_path: Path) -> None:
    engine = with_model(tmp_path, model=ServedModel(Auto(budget="fast")))
    (first,) = engine.play(predicts([0]))
    assert isinstance(first, Predicted)
    told = engine.play_together([learns([0]), predicts([0])])
    assert told == [[Learned("r0", LABELS[0])], [first._replace(repeated=True)]]


def test_an_id_that_comes_twice_in_a_group_is_one_row_and_one_label(tmp_path: Path) -> None:
    engine = with_model(tmp_path, model=ServedModel(Auto(budget="fast")))
    engine.play(predicts(range(2)))
    (first,), (again,) = engine.play_together([predicts([5]), predicts([5])])
    assert isinstance(first, Predicted)
    assert again == first._replace(repeated=True)
    labels = engine.play_together([learns([0]), learns([1]), learns([0])])
    assert labels == [[Learned("r0", LABELS[0])], [Learned("r1", LABELS[1])], [Learned("r0", LABELS[0], True)]]


def test_labels_go_before_rows_and_a_request_stays_in_its_order() -> None:
    def row(name: str, model: str = "m") -> Operation:
        return Predict(model, name, [1.0])

    def label(name: str, model: str = "m") -> Operation:
        return Learn(model, name, 1)

    assert order_of([]) == []
    assert order_of([[row("a")], [label("x")], [row("b", "n")], [label("y")], [row("c")]]) == [1, 3, 0, 4, 2]
    assert order_of([[row("a"), label("a"), row("b"), label("b")], [label("x")]]) == [4, 0, 1, 2, 3]
    assert order_of([[row("a")], [label("a")], [row("b")]]) == [0, 2, 1]  # a label behind its row
    assert order_of([[label("a")], [row("a")]]) == [0, 1]  # one that came before its row is refused as it was


def test_the_single_way_of_aioli_stays(tmp_path: Path) -> None:
    engine = with_model(tmp_path)
    play_late(engine, 40)
    assert not any(joined(engine, Event.ROW) + joined(engine, Event.LABEL))
    learner = engine.models["clicks"].model.learner
    assert isinstance(learner, AIOLI)
    outcome = one(engine, Predict("clicks", "new", ROWS[99]))
    assert isinstance(outcome, Predicted)
    assert outcome.answer.probability == learner.predict(np.array(ROWS[99]))


@pytest.mark.parametrize(("more", "groups"), [(0, 1), (1, 1), (LOOKS - 1, 1), (LOOKS + 2, 2)])
def test_a_request_that_comes_while_others_are_read_is_of_their_group(more: int, groups: int, tmp_path: Path) -> None:
    grouping = Grouping(with_model(tmp_path))

    async def ask() -> None:
        loop = asyncio.get_running_loop()
        answers = [grouping.play(predicts([0]))]

        def another() -> None:  # in each turn of the loop one comes
            if len(answers) <= more:
                answers.append(grouping.play(predicts([len(answers)])))
                loop.call_soon(another)

        loop.call_soon(another)
        for t in range(more + 1):
            (outcome,) = await answers[t]
            assert isinstance(outcome, Predicted)

    asyncio.run(ask())
    assert (grouping.groups, grouping.operations) == (groups, more + 1)
