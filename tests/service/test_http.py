"""The service over HTTP: what is answered, who may ask, and what is refused."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from serving import Answer, InProcess, Server, serving
from thoroughness import FULL

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("httptools")

from aioli import AIOLI
from aioli.snapshots.codec import to_bytes

ROW = [0.5, -1.0, 2.0]
NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server | InProcess]:
    folder = tmp_path_factory.mktemp("service") / "folder"
    if FULL:
        with serving(folder, "--largest-body", "100000", "--log-requests") as running:
            yield running
    else:
        app = InProcess(folder, largest_body=100_000)
        yield app
        app.close()


@pytest.fixture
def model(server: Server | InProcess) -> Iterator[str]:
    name = f"m{next(NUMBERS)}"
    assert server.post(f"/models/{name}", {"learner": "AIOLI"}).status == 201
    yield f"/models/{name}"
    server.ask("DELETE", f"/models/{name}")


def code_of(answer: Answer) -> str:
    assert len(answer.told["error"]["message"]) > 15
    return str(answer.told["error"]["code"])


def test_a_row_is_predicted_now_and_learned_when_its_label_comes(server: Server | InProcess, model: str) -> None:
    first = server.post(f"{model}/predict", {"id": "a", "row": ROW})
    assert (first.status, first.told) == (200, {"id": "a", "probability": 0.5})
    again = server.post(f"{model}/predict", {"id": "a", "row": ROW})
    assert again.told == {"id": "a", "probability": 0.5, "repeated": True}
    assert server.post(f"{model}/learn", {"id": "a", "label": 1}).told == {"id": "a", "label": 1}
    assert server.post(f"{model}/learn", {"id": "a", "label": 1}).told["repeated"]
    learner = AIOLI()
    learner.learn(ROW, 1, announced=learner.announce(ROW))
    second = server.post(f"{model}/predict", {"id": "b", "row": ROW, "certificate": True})
    assert second.told["probability"] == learner.predict(ROW)
    assert second.told["certificate"] == float(learner.certificate())


def test_many_rows_and_labels_come_in_one_request(server: Server | InProcess, model: str) -> None:
    rows = [{"id": f"r{t}", "row": [float(t), 1.0, 0.0]} for t in range(20)]
    told = server.post(f"{model}/predict", {"rows": [*rows, {"id": "bad", "row": [1.0]}]}).told["results"]
    assert [part.get("id") for part in told[:20]] == [f"r{t}" for t in range(20)]
    assert told[20]["error"]["code"] == "unprocessable"
    labels = [{"id": f"r{t}", "label": t % 2} for t in range(20)]
    assert all("error" not in part for part in server.post(f"{model}/learn", {"labels": labels}).told["results"])
    status = server.get(model).told
    assert status["labels_learned"] == 20
    assert status["waiting"]["rows"] == 0
    assert [point["labels"] for point in status["history"]][-2:] == [19, 20]  # it ends with how it stands now
    assert status["history"][-1]["log_loss"] == status["scores"]["log_loss"] > 0.0


def test_objects_and_classes_are_served(server: Server | InProcess, model: str) -> None:
    name = f"{model}-k"
    assert server.post(name, {"learner": "AIOLI", "parameters": {"classes": "any"}}).status == 201
    for t, label in enumerate(["cat", "dog", "cow"]):
        server.post(f"{name}/predict", {"id": f"{t}", "row": {"size": t, "fur": "yes" if t else None}})
        assert server.post(f"{name}/learn", {"id": f"{t}", "label": label}).status == 200
    told = server.post(f"{name}/predict", {"id": "new", "row": {"size": 2, "fur": "no"}}).told
    assert told["classes"] == ["cat", "dog", "cow"]
    assert len(told["probabilities"]) == 3
    server.ask("DELETE", name)


def test_a_model_is_downloaded_and_goes_on_from_a_file(server: Server | InProcess, model: str) -> None:
    learner = AIOLI(radius=2.0)
    X = np.random.default_rng(0).normal(size=(50, 3))
    learner.learn_many(X, X[:, 0] > 0)
    kind = {"Content-Type": "application/octet-stream"}
    made = server.ask("POST", f"{model}-file", to_bytes(learner.snapshot()), None, **kind)
    assert made.status == 201
    assert made.told["labels_learned"] == 50
    answer = server.get(f"{model}-file/snapshot")
    assert answer.headers["x-last-entry"] == "0"
    assert answer.told == to_bytes(learner.snapshot())
    server.ask("DELETE", f"{model}-file")


@pytest.mark.parametrize(
    ("token", "method", "path", "status", "code"),
    [
        ("", "GET", "/models", 401, "unauthorised"),
        ("wrong", "GET", "/models", 401, "unauthorised"),
        ("", "POST", "/models/x", 401, "unauthorised"),
        ("", "GET", "/metrics", 401, "unauthorised"),
        ("read", "POST", "/models/x", 403, "forbidden"),
        ("read", "POST", "/models/x/predict", 403, "forbidden"),
        ("read", "POST", "/models/x/learn", 403, "forbidden"),
        ("read", "DELETE", "/models/x", 403, "forbidden"),
        ("write", "GET", "/models/x", 404, "model_unknown"),
        ("write", "POST", "/models/x/predict", 404, "model_unknown"),
        ("write", "GET", "/nowhere", 404, "not_found"),
        ("write", "PUT", "/models/x", 405, "method_not_allowed"),
    ],
)
def test_no_token_wrong_token_and_read_token_on_a_write(
    server: Server | InProcess, token: str, method: str, path: str, status: int, code: str
) -> None:
    bearer = {"read": server.read_token, "write": server.token}.get(token, token)
    body = {"id": "a", "row": ROW} if path.endswith("predict") else None
    answer = server.ask(method, path, body, bearer)
    assert (answer.status, code_of(answer)) == (status, code)
    assert "x-request-id" in answer.headers


def test_a_read_token_reads(server: Server | InProcess, model: str) -> None:
    for path in (model, f"{model}/snapshot", "/models", "/metrics", "/openapi.json"):
        assert server.get(path, token=server.read_token).status == 200
    assert server.get("/health", token="").told == {"status": "alive"}
    assert server.get("/ready", token="").told == {"status": "ready"}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"no json", 400),
        (b"[1]", 400),
        (b"\xff\xfe", 400),
        (b"[" * 90_000, 400),
        (b'{"id": "a", "row": ' + b"[" * 5000 + b"]" * 5000 + b"}", 400),
        (b'{"id": "a", "row": [NaN, 1, 1]}', 400),
        (b'{"id": "a", "row": [Infinity, 1, 1]}', 400),
        (b'{"id": "a", "row": [1e999, 1, 1]}', 422),
        (b'{"id": "a", "row": [1' + b"0" * 5000 + b", 1, 1]}", 400),
        (b'{"id": "a", "row": [true, 1, 1]}', 422),
        (b'{"id": "a", "row": []}', 422),
        (b'{"id": "a", "row": {}}', 422),
        (b'{"id": "a", "row": {"x": [1]}}', 422),
        (b'{"id": 7, "row": [1, 1, 1]}', 400),
        (b'{"row": [1, 1, 1]}', 400),
        (b'{"id": "\\ud800", "row": [1, 1, 1]}', 400),
        (b'{"id": "\\u0000", "row": [1, 1, 1]}', 400),
        (b'{"rows": []}', 400),
        (b'{"rows": [1]}', 400),
        (b"x" * 100_001, 413),
    ],
)
def test_nan_deep_json_and_oversized_bodies(server: Server | InProcess, model: str, body: bytes, status: int) -> None:
    answer = server.post(f"{model}/predict", body)
    assert answer.status == status
    code_of(answer)
    assert server.get(model).told["waiting"]["rows"] == 0


@pytest.mark.parametrize(
    "body",
    [
        {"learner": "NoSuch"},
        {"learner": "Auto", "parameters": {"budget": "none"}},
        {"learner": "Auto", "parameters": {"x": 1}},
        {"learner": "os.system"},
        {"learner": "OGD"},
        {"columns": {"a": "code"}},
        {"waiting": {"most": -1}},
        {"labels": ["one"]},
        {"surprise": 1},
        {"parameters": []},
    ],
)
def test_a_model_that_cannot_be_made_is_refused(server: Server | InProcess, body: dict[str, Any]) -> None:
    answer = server.post("/models/never", body)
    assert answer.status in (400, 422)
    code_of(answer)
    assert server.get("/models/never").status == 404


@pytest.mark.parametrize("name", ["..%2Fetc", "a%20b", "x'%20OR%201=1", "%00", "n" * 65, "a%0ab"])
def test_path_and_sql_in_names(server: Server | InProcess, name: str) -> None:
    answer = server.post(f"/models/{name}", {"learner": "AIOLI"})
    assert answer.status in (400, 404)
    assert all(len(told["name"]) < 20 for told in server.get("/models").told["models"])


def test_a_hostile_snapshot(server: Server | InProcess) -> None:
    good = to_bytes(AIOLI().snapshot())
    kind = {"Content-Type": "application/octet-stream"}
    for data in (b"", b"\x80\x04\x95pickle", good[:-3], good[:40] + b"x" + good[41:], (2**63).to_bytes(8, "little")):
        answer = server.ask("POST", "/models/never", data, None, **kind)
        assert (answer.status, code_of(answer)) == (422, "unprocessable")


def test_replayed_and_reordered_labels(server: Server | InProcess, model: str) -> None:
    assert server.post(f"{model}/learn", {"id": "early", "label": 1}).told["error"]["code"] == "id_unknown"
    for t in range(6):
        server.post(f"{model}/predict", {"id": f"r{t}", "row": [float(t), 1.0, 0.0]})
    for t in (4, 0, 4, 2, 0, 1):
        server.post(f"{model}/learn", {"id": f"r{t}", "label": t % 2})
    assert server.post(f"{model}/learn", {"id": "r4", "label": 1}).status == 409
    assert server.get(model).told["labels_learned"] == 4
    learner = AIOLI()
    announced = [learner.announce([float(t), 1.0, 0.0]) for t in range(6)]
    for t in (4, 0, 2, 1):
        learner.learn([float(t), 1.0, 0.0], t % 2, announced=announced[t])
    told = server.post(f"{model}/predict", {"id": "after", "row": ROW}).told
    assert told["probability"] == learner.predict(ROW)


def test_metrics_and_logs_tell_what_happened(server: Server | InProcess, model: str) -> None:
    server.post(f"{model}/predict", {"id": "a", "row": ROW})
    answer = server.get("/metrics")
    name = model.rpartition("/")[2]
    lines = answer.told.decode().splitlines()
    assert f'aioli_rows_waiting{{model="{name}"}} 1' in lines
    assert any(line.startswith('aioli_request_seconds_bucket{endpoint="predict",le="0.0005"}') for line in lines)
    server.get("/health")  # by whose answer the line before has been written
    logged = [json.loads(line) for line in server.log.read_text().splitlines()]
    found = [line for line in logged if line.get("request") == answer.headers["x-request-id"]]
    assert found
    assert found[0]["path"] == "/metrics"
    assert server.token not in server.log.read_text()


def test_the_document_tells_of_every_address(tmp_path: Path) -> None:
    app = InProcess(tmp_path / "folder")
    told = app.get("/openapi.json").told["paths"]
    kinds = {(path, kind.upper()) for path, told_kinds in told.items() for kind in told_kinds if kind != "parameters"}
    routes = app.gate._app._rest.routes  # type: ignore[attr-defined]  # FastAPI's
    assert kinds == {(route.path, kind) for route in routes for kind in route.methods if kind != "HEAD"}
    app.close()
