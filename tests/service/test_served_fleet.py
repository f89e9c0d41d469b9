"""A fleet in service: rows have keys, each key a model, and all that is promised of a model holds of them too."""

import asyncio
import json
import re
from pathlib import Path

import numpy as np
import pytest
from served_games import LABELS, ROWS, engine_in, one, state_of, with_model

from aioli import AIOLI, Fleet
from aioli.commands.serve import export_service
from aioli.evaluate.keyed_player import KeyedLearner
from aioli.learners.announcements import Announcement
from aioli.service.follower import Follower
from aioli.service.keyed import make_fleet
from aioli.service.model import ServedModel
from aioli.service.operations import Learn, Learned, Predict, Predicted
from aioli.service.refusals import RowConflict, ServiceRefused, Unprocessable
from aioli.service.replay import verify
from aioli.snapshots.codec import from_bytes, to_bytes
from aioli.store.event_log import Event
from aioli.store.row_codec import row_from_bytes
from aioli.store.sqlite_log import SqliteLog

KEYS = ("ann", "ben", 7)


def key_of(t: int) -> str | int:
    return KEYS[(t * t + t // 3) % 3]


def fleet_model(**parameters: object) -> ServedModel:
    return ServedModel(make_fleet(parameters))


@pytest.mark.parametrize(
    ("pooling", "objects", "every"),
    [(None, False, 5), (None, True, 20_000), ("global", False, 20_000), ("global", True, 5)],
)
def test_a_fleet_goes_on_bit_for_bit_after_a_restart(
    pooling: str | None, objects: bool, every: int, tmp_path: Path
) -> None:
    engine = with_model(tmp_path, model=fleet_model(radius=2.0, pooling=pooling), every=every)
    for t in range(30):
        row = {"a": ROWS[t][0], "b": "xyz"[t % 3] if t > 9 else "x"} if objects else ROWS[t]
        assert isinstance(one(engine, Predict("clicks", f"r{t}", row, key_of(t))), Predicted)
        if t > 6:
            engine.play([Learn("clicks", f"r{t - 7 + 2 * (t % 2)}", t % 2)])
    before, waiting = state_of(engine), list(engine.models["clicks"].waiting)
    follower = Follower(SqliteLog(tmp_path, writer=False))
    assert state_of(follower) == before
    engine.store.close()  # as a killed process leaves it
    again = engine_in(tmp_path)
    assert state_of(again) == before
    assert list(again.models["clicks"].waiting) == waiting
    assert verify(again.store, 1) == (52, 0, True)
    assert isinstance(one(again, Learn("clicks", waiting[0], 1)), Learned)
    follower.refresh()
    assert state_of(follower) == state_of(again)


def late_game(engine_rows: int, folder: Path, pooling: str | None = None) -> tuple[ServedModel, SqliteLog]:
    engine = with_model(folder, model=fleet_model(radius=2.0, pooling=pooling))
    for t in range(engine_rows):
        engine.play([Predict("clicks", f"r{t}", ROWS[t], key_of(t))])
        if t > 6:
            engine.play([Learn("clicks", f"r{t - 7 + 2 * (t % 2)}", LABELS[t])])
    assert isinstance(engine.store, SqliteLog)
    return engine.models["clicks"].model, engine.store


def test_a_key_plays_the_late_label_game_of_an_aioli_of_its_own(tmp_path: Path) -> None:
    model, store = late_game(60, tmp_path)
    alone = {key: AIOLI(radius=2.0) for key in KEYS}
    announced = {}
    for entry in store.entries(1):
        t = int(entry.id[1:])
        if entry.event == Event.ROW:
            row = row_from_bytes(entry.body)
            assert row.key == key_of(t)
            assert isinstance(row.announced, Announcement)
            announced[entry.id] = row.announced.logit
            # a fleet sums a row's terms in another order: some units in the last place
            assert row.announced.probability == pytest.approx(alone[key_of(t)].predict(ROWS[t]), rel=1e-13)
        else:
            label = json.loads(entry.body)["label"]
            alone[key_of(t)].learn(ROWS[t], label, logit=announced[entry.id])
    for key, learner in alone.items():
        assert model.predict(ROWS[99], key).probability == pytest.approx(learner.predict(ROWS[99]), rel=1e-13)
        assert isinstance(model.learner, KeyedLearner)
        assert model.learner.fleet[key].loss == learner.loss
    assert model.rounds == sum(learner.rounds for learner in alone.values()) == 53


@pytest.mark.parametrize("pooling", [None, "global"])
def test_the_log_of_a_fleet_is_exported_as_files_that_the_lines_of_the_docs_play_to_the_same_numbers(
    pooling: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    model, store = late_game(60, tmp_path / "service", pooling)
    rows, labels = tmp_path / "rows.parquet", tmp_path / "labels.parquet"
    store.close()
    export_service(str(tmp_path / "service"), "clicks", str(rows), str(labels))
    counted, told = capsys.readouterr().out.splitlines()
    assert counted == "60 rows, 53 labels"
    page = (Path(__file__).parents[2] / "docs" / "service.md").read_text()
    (lines,) = re.findall(r"^```python\n(import json\n.*?)^```", page, re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    played: dict[str, Fleet] = {}
    assert lines.count("Fleet(AIOLI(radius=2.0))") == 1
    exec(lines.replace("Fleet(AIOLI(radius=2.0))", told.partition("fleet = ")[2]), played)
    assert to_bytes(played["fleet"].snapshot()) == to_bytes(model.model_file())


@pytest.mark.parametrize(
    ("operation", "refusal", "said"),
    [
        (Predict("clicks", "new", ROWS[2]), Unprocessable, "has no key"),
        (Predict("clicks", "r0", ROWS[0], "ben"), RowConflict, "with another row"),
        (Predict("clicks", "r0", ROWS[0], 7), RowConflict, "with another row"),
        (Predict("clicks", "new", [1.0], "ann"), Unprocessable, "columns"),
        (Predict("clicks", "new", [1.0, 2.0, float("inf")], "ann"), Unprocessable, "inf"),
        (Predict("plain", "new", ROWS[2], "ann"), Unprocessable, "is no fleet"),
    ],
)
def test_a_refusal_of_a_fleet_changes_nothing(
    operation: Predict, refusal: type[ServiceRefused], said: str, tmp_path: Path
) -> None:
    engine = with_model(tmp_path, model=fleet_model())
    engine.create("plain", ServedModel(AIOLI()))
    engine.play(
        [Predict("clicks", "r0", ROWS[0], "ann"), Predict("clicks", "r1", ROWS[1], 7), Learn("clicks", "r1", 1)]
    )
    before, entries = state_of(engine), list(engine.store.entries(1))
    outcome = one(engine, operation)
    assert type(outcome) is refusal
    assert said in str(outcome)
    assert state_of(engine) == before
    assert list(engine.store.entries(1)) == entries
    again = one(engine, Predict("clicks", "r0", ROWS[0], "ann"))
    assert isinstance(again, Predicted)
    assert again.repeated


def test_a_fleet_that_is_full_takes_rows_of_its_keys_and_no_new_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = with_model(tmp_path, model=fleet_model())
    engine.play([Predict("clicks", "r0", ROWS[0], "ann"), Learn("clicks", "r0", 1)])
    monkeypatch.setattr("aioli.service.keyed.LARGEST_FLEET", 1)
    known, new = engine.play([Predict("clicks", "r1", ROWS[1], "ann"), Predict("clicks", "r2", ROWS[2], "eve")])
    assert isinstance(known, Predicted)
    assert isinstance(new, Unprocessable)
    assert "make another fleet" in str(new)


def test_a_fleet_is_made_asked_looked_at_and_downloaded_over_http(tmp_path: Path) -> None:
    pytest.importorskip("starlette")
    from serving import InProcess

    app = InProcess(tmp_path / "folder")
    made = app.post("/models/f", {"learner": "fleet", "parameters": {"radius": 2.0, "pooling": "global"}})
    assert made.status == 201
    for parameters in ({"memory": 1}, {"spill": "/tmp"}, {"classes": "any"}, {"pooling": "all"}, {"ridges": [0.0]}):
        assert app.post("/models/g", {"learner": "Fleet", "parameters": parameters}).status == 422
    rows = [{"id": f"r{t}", "key": key_of(t), "row": ROWS[t]} for t in range(20)]
    assert all("probability" in told for told in app.post("/models/f/predict", {"rows": rows}).told["results"])
    app.post("/models/f/learn", {"labels": [{"id": f"r{t}", "label": LABELS[t]} for t in range(20)]})
    one_row = {"id": "late", "key": "ann", "row": ROWS[30], "certificate": True}
    told = app.post("/models/f/predict", one_row).told
    assert told["certificate"] > 0.0
    fleet = Fleet.restore(from_bytes(app.get("/models/f/snapshot").told))
    assert told["probability"] == fleet.predict("ann", ROWS[30])
    wrong: list[object] = [True, 1.5, "", "a\nb", "x" * 300, 2**70, ["ann"], {}]
    for key in wrong:
        assert app.post("/models/f/predict", {"id": "bad", "key": key, "row": ROWS[0]}).status == 400
    status = app.get("/models/f").told
    assert (status["keys"], status["labels_learned"], status["waiting"]["rows"]) == (
        len(set(map(key_of, range(20)))),
        20,
        1,
    )
    assert b'aioli_models_of_keys{model="f"}' in app.get("/metrics").told
    assert b"each with a model of its own" in app.get("/models/f/page").told
    kind = {"Content-Type": "application/octet-stream"}
    assert app.ask("POST", "/models/copy", to_bytes(fleet.snapshot()), **kind).status == 201
    copied = app.post("/models/copy/predict", {"id": "late", "key": "ann", "row": ROWS[30]}).told
    assert copied["probability"] == told["probability"]
    app.close()


def test_keys_of_the_inference_protocol(tmp_path: Path) -> None:
    pytest.importorskip("starlette")
    from serving import InProcess

    app = InProcess(tmp_path / "folder")
    app.post("/models/f", {"learner": "Fleet"})
    app.post("/models/f/predict", {"id": "a", "key": "ann", "row": ROWS[0]})
    app.post("/models/f/learn", {"id": "a", "label": 1})
    row = {"name": "row", "datatype": "FP64", "shape": [2, 3], "data": [*ROWS[1], *ROWS[1]]}
    key = {"name": "key", "datatype": "BYTES", "shape": [2], "data": ["ann", "eve"]}
    told = app.post("/v2/models/f/infer", {"inputs": [row, key]}, token=app.read_token)
    known, new = told.told["outputs"][0]["data"]
    assert new == 0.5 != known
    sizes = {"row": 48, "key": 14}
    head: list[dict[str, object]] = [{k: v for k, v in t.items() if k != "data"} for t in (key, row)]
    for tensor in head:
        tensor["parameters"] = {"binary_data_size": sizes[str(tensor["name"])]}
    text = json.dumps({"inputs": head}).encode()
    raw = b"\x03\0\0\0ann\x03\0\0\0eve" + np.array([*ROWS[1], *ROWS[1]]).tobytes()
    length = {"inference-header-content-length": str(len(text))}
    assert app.ask("POST", "/v2/models/f/infer", text + raw, **length).told["outputs"][0]["data"] == [known, new]
    assert {tensor["name"] for tensor in app.get("/v2/models/f").told["inputs"]} == {"row", "key"}
    bad = [
        {**key, "data": ["ann"]},
        {**key, "data": "ann"},
        {**key, "data": [1.5, 2]},
        {**key, "datatype": "FP64"},
        {**key, "name": "other"},
    ]
    for wrong in bad:
        assert app.post("/v2/models/f/infer", {"inputs": [row, wrong]}).status == 400
    assert app.post("/v2/models/f/infer", {"inputs": [row]}).status == 422
    app.close()


def test_the_client_sends_keys() -> None:
    from aioli.errors import ParameterRefused
    from aioli.service.client_calls import predict_call, predict_many_call

    assert json.loads(predict_call("f", "a", [1.0], "ann").body) == {"id": "a", "row": [1.0], "key": "ann"}
    assert json.loads(predict_call("f", "a", [1.0], None).body) == {"id": "a", "row": [1.0]}
    many = json.loads(predict_many_call("f", [("a", [1.0]), ("b", {"x": 1})], ["ann", 7]).body)["rows"]
    assert [row["key"] for row in many] == ["ann", 7]
    with pytest.raises(ParameterRefused, match="keys"):
        predict_many_call("f", [("a", [1.0])], ["ann", 7])


def test_lines_of_vowpal_wabbit_have_no_key_and_are_refused_by_a_fleet(tmp_path: Path) -> None:
    from aioli.service.http.grouping import Grouping
    from aioli.service.vowpal_port import answer_line

    engine = with_model(tmp_path, "vw", fleet_model())
    for line in (b"1 | a:1 b:2\n", b"| a:1\n"):
        assert asyncio.run(answer_line(Grouping(engine), "vw", line)).startswith(b"error: the row: has no key")
    assert list(engine.store.entries(1)) == []
