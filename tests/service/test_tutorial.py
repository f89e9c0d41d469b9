"""The tutorial of docs is played as it stands: its commands, its Python, and what each prints."""

import contextlib
import io
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from serving import Server
from thoroughness import FULL

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("httptools")
pytestmark = pytest.mark.skipif(not FULL, reason="this system has servers started by `make thorough` alone")

PAGE = Path(__file__).parents[2] / "docs" / "service_tutorial.md"
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
