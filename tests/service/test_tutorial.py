"""The tutorial and the page of the service are played as they stand: commands, Python, and what each prints."""

import contextlib
import io
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from serving import Server
from thoroughness import FULL

from aioli import Fleet
from aioli.snapshots.codec import to_bytes

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("httptools")
pytestmark = pytest.mark.skipif(not FULL, reason="this system has servers started by `make thorough` alone")

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "service_tutorial.md"
BLOCK = re.compile(r"^```(sh|python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def free_port() -> str:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


def test_the_tutorial_is_played(tmp_path: Path) -> None:
    port, printed = free_port(), ""
    names: dict[str, object] = {}
    text = PAGE.read_text().replace("8477", port).replace("--folder shop", f"--folder {tmp_path / 'shop'}")
    server: Server | None = None
    token = ""
    compared = 0
    try:
        for kind, block in BLOCK.findall(text):
            if kind == "text":
                assert printed == block
                compared += 1
            elif kind == "python":
                with contextlib.redirect_stdout(io.StringIO()) as out:
                    exec(compile(block, str(PAGE), "exec"), names)
                printed = out.getvalue()
            elif block.startswith("aioli serve"):
                assert block.split()[2:] == ["--folder", str(tmp_path / "shop"), "--port", port]
                server = Server(tmp_path / "shop", "--port", port, token=token)
                names["TOKEN"] = token = server.token
            elif block.startswith("kill -9"):
                assert server is not None
                server.kill()
            else:
                command = [sys.executable, "-m", *shlex.split(block)]
                printed = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    finally:
        if server is not None:
            server.kill()
    assert compared == 5


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_page_of_the_service_is_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow.parquet")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "service").mkdir()
    server = Server(tmp_path / "service" / "folder")
    page = (DOCS / "service.md").read_text().replace("8477", str(server.port))
    asking, printed, fleet, names = "", "", b"", {"token": server.token}
    try:
        for kind, block in BLOCK.findall(page):
            if kind == "text":
                assert printed == block
            elif kind == "sh":
                shell = re.sub(r"^export TOKEN=.*\n", "", block, flags=re.MULTILINE)
                asking += "".join(line + "\n" for line in shell.splitlines() if line.startswith("ask()"))
                environment = os.environ | {"TOKEN": server.token}
                command = ["bash", "-ec", asking + shell]
                done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120, env=environment)
                printed = done.stdout
            else:
                if "rows.parquet" in block:
                    fleet = server.get("/models/clicks/snapshot").told
                    server.kill()
                    export = ["aioli", "service", "export", "--folder", str(tmp_path / "service" / "folder"), "clicks"]
                    subprocess.run([sys.executable, "-m", *export], check=True, capture_output=True, timeout=120)
                exec(compile(block, "service.md", "exec"), names)
    finally:
        server.kill()
    played = names["fleet"]
    assert isinstance(played, Fleet)
    (tmp_path / "fleet.aioli").write_bytes(fleet)
    assert to_bytes(Fleet.load(tmp_path / "fleet.aioli").snapshot()) == to_bytes(played.snapshot())
