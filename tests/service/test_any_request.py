"""Requests of all shapes, made from the OpenAPI document by schemathesis: none is answered by a 500."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE
from serving import Server
from thoroughness import FULL

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("httptools")
pytest.importorskip("schemathesis")
pytestmark = pytest.mark.skipif(not FULL, reason="this system has servers started by `make thorough` alone")


def test_no_request_is_answered_by_a_500(tmp_path: Path) -> None:
    server = Server(tmp_path / "folder", "--largest-body", "200000", "--log-requests")
    try:
        server.post("/models/clicks", {"learner": "AIOLI"})
        server.post("/models/clicks/predict", {"id": "a", "row": [1.0, 2.0]})
        server.post("/models/shops", {"learner": "Fleet"})
        server.post("/models/shops/predict", {"id": "a", "key": "ann", "row": {"x": 1.0, "y": "red"}})
        server.post("/models/kinds", {"learner": "AIOLI", "parameters": {"classes": "any"}})
        document = tmp_path / "openapi.json"
        told = server.get("/openapi.json").told
        for path in told["paths"].values():
            for parameter in path.get("parameters", ()):  # else next to no request would reach a model
                parameter["schema"] = {"anyOf": [{"enum": ["clicks", "shops", "kinds"]}, parameter["schema"]]}
        document.write_text(json.dumps(told))
        command = [sys.executable, "-m", "schemathesis.cli", "run", str(document)]
        options = ["--url", f"http://127.0.0.1:{server.port}", "-H", f"Authorization: Bearer {server.token}"]
        options += [
            "--checks",
            "not_a_server_error",
            "--max-examples",
            "25",
            "--seed",
            "1",
            "--phases",
            "examples,coverage,fuzzing",
        ]
        options += ["--request-timeout", str(PATIENCE), "--generation-database", "none", "--no-color"]
        done = subprocess.run(
            [*command, *options],
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
            env=os.environ,
            cwd=tmp_path,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
        lines = [json.loads(line) for line in server.log.read_text().splitlines()]
        assert not [line for line in lines if line["event"] == "failed" or line.get("status") == 500]
        assert server.get("/ready").status == 200
        asked = {line["path"].split("/")[1] for line in lines if line["event"] == "request"}
        assert {"models", "v2"} <= asked
    finally:
        server.kill()
