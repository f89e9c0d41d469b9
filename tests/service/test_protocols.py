"""The protocols of other clients: the Open Inference Protocol by Triton's own client, Vowpal Wabbit's text over TCP."""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from patience import PATIENCE
from served_games import LABELS, ROWS, with_model
from serving import InProcess, Server
from thoroughness import FULL

pytest.importorskip("starlette")

from aioli import AIOLI
from aioli.service.http.grouping import Grouping
from aioli.service.model import ServedModel
from aioli.service.vowpal_port import answer_line
from aioli.streams.row_encoder import RowEncoder

TENSOR = {"name": "row", "shape": [2, 3], "datatype": "FP64", "data": [*ROWS[0], *ROWS[1]]}


@pytest.fixture
def app(tmp_path: Path) -> Iterator[InProcess]:
    made = InProcess(tmp_path / "folder")
    made.post("/models/m", {"learner": "AIOLI"})
    for t in range(30):
        made.post("/models/m/predict", {"id": f"r{t}", "row": ROWS[t]})
        made.post("/models/m/learn", {"id": f"r{t}", "label": LABELS[t]})
    yield made
    made.close()


def test_rows_without_an_id_are_predicted_and_change_nothing(app: InProcess) -> None:
    before = app.get("/models/m/snapshot").told
    learner = app.engine.models["m"].model.learner
    assert isinstance(learner, AIOLI)
    told = app.post("/v2/models/m/infer", {"inputs": [TENSOR]}, token=app.read_token).told
    assert told["outputs"][0]["shape"] == [2]
    assert told["outputs"][0]["data"] == [learner.predict(ROWS[0]), learner.predict(ROWS[1])]
    assert app.get("/models/m/snapshot").told == before
    assert app.get("/v2/models/m").told["inputs"][0]["shape"] == [-1, 3]
    assert app.get("/v2/health/ready", token="").told == {"ready": True}


def test_rows_with_an_id_are_kept_for_their_labels(app: InProcess) -> None:
    refused = app.post("/v2/models/m/infer", {"id": "batch", "inputs": [TENSOR]}, token=app.read_token)
    assert refused.status == 403
    assert app.post("/v2/models/m/infer", {"id": "batch", "inputs": [TENSOR]}).status == 200
    assert app.post("/models/m/learn", {"id": "batch/1", "label": 1}).status == 200


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"inputs": []},
        {"inputs": [{}]},
        {"inputs": [TENSOR | {"shape": [3, 3]}]},
        {"inputs": [TENSOR | {"shape": [10**9, 10**9]}]},
        {"inputs": [TENSOR | {"datatype": "BYTES"}]},
        {"inputs": [TENSOR | {"datatype": {}}]},
        {"inputs": [TENSOR | {"data": ["1"] * 6}]},
        {"inputs": [TENSOR | {"data": [1] * 6, "shape": [1, 6]}]},
        {"id": 7, "inputs": [TENSOR]},
    ],
)
def test_a_tensor_that_is_none_is_refused(app: InProcess, body: dict[str, object]) -> None:
    answer = app.post("/v2/models/m/infer", body)
    assert answer.status in (400, 422)
    assert len(answer.told["error"]) > 15, "one text, as the protocol has it"


CLIENT = """
import json, sys
import numpy as np
import tritonclient.http as triton
client = triton.InferenceServerClient(sys.argv[1])
headers = {"Authorization": "Bearer " + sys.argv[2]}
rows = np.array(json.loads(sys.argv[3]))
told = []
assert client.is_server_live() and client.is_server_ready()
assert client.is_model_ready("m", headers=headers)
for binary in (True, False):
    tensor = triton.InferInput("row", list(rows.shape), "FP64")
    tensor.set_data_from_numpy(rows, binary_data=binary)
    told.append(client.infer("m", [tensor], headers=dict(headers)).as_numpy("probability").tolist())
print(json.dumps(told))
"""


@pytest.mark.skipif(not FULL, reason="this system has servers started by `make thorough` alone")
def test_the_client_of_triton_is_answered(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn")
    pytest.importorskip("httptools")
    pytest.importorskip("tritonclient")
    server = Server(tmp_path / "folder")
    try:
        server.post("/models/m", {"learner": "AIOLI"})
        server.post("/models/m/predict", {"id": "a", "row": ROWS[0]})
        server.post("/models/m/learn", {"id": "a", "label": 1})
        learner = AIOLI()
        learner.learn(ROWS[0], 1, announced=learner.announce(ROWS[0]))
        command = [sys.executable, "-c", CLIENT, f"127.0.0.1:{server.port}", server.read_token, json.dumps(ROWS[:4])]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == [[learner.predict(np.array(row)) for row in ROWS[:4]]] * 2
    finally:
        server.kill()


def ask_lines(tmp_path: Path, lines: list[bytes]) -> list[str]:
    engine = with_model(tmp_path, "vw", ServedModel(AIOLI(), RowEncoder()))
    grouping = Grouping(engine)

    async def ask() -> list[bytes]:
        return [await answer_line(grouping, "vw", line) for line in lines]

    return [answer.decode() for answer in asyncio.run(ask())]


def test_lines_of_vowpal_wabbit_are_predicted_and_learned(tmp_path: Path) -> None:
    answers = ask_lines(
        tmp_path,
        [
            b"1 |home rooms:3 near\n",
            b"-1 |home rooms:1 far\n",
            b"|home rooms:3 near\n",
            b"'visit-7|home rooms:2 near\n",
            b"1 2.0 'visit-7|\n",
            b"1 'visit-8|home rooms:2 near\n",
            b"|home rooms:3 near\n",
        ],
    )
    assert answers[0] == "0.500000\n"
    assert float(answers[2]) > 0.5
    assert answers[3].endswith(" visit-7\n")
    assert answers[4] == answers[3]
    assert float(answers[6]) > float(answers[2])


def test_lines_that_cannot_be_read_are_answered_in_one_line(tmp_path: Path) -> None:
    lines = [b"no bar\n", b"1 | x:nan\n", b"1 | x:1e999\n", b"2 | x:1\n", b"1 'never|\n", b"\xff | x\n", b"1 | x:1\n"]
    answers = ask_lines(tmp_path, lines)
    assert all(answer.startswith("error: ") and answer.count("\n") == 1 for answer in answers[:6]), answers
    assert answers[6] == "0.500000\n"


@pytest.mark.skipif(not FULL, reason="this system has servers started by `make thorough` alone")
def test_the_port_of_vowpal_wabbit_answers(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn")
    pytest.importorskip("httptools")
    server = Server(tmp_path / "folder", "--vw-port", "0")
    try:
        (started,) = (json.loads(line) for line in server.log.read_text().splitlines() if '"started"' in line)
        with socket.create_connection(("127.0.0.1", started["vw_port"]), timeout=PATIENCE) as one:
            one.sendall(b"1 | a b:2\n-1 | c\n| a b:2\n")
            file = one.makefile("r")
            told = [float(file.readline()) for _ in range(3)]
            file.close()
        assert told[0] == 0.5
        assert told[2] > 0.5
        assert server.get("/models/vw").told["labels_learned"] == 2
    finally:
        server.kill()
