"""The tutorial and the page of the service are played as they stand: commands, Python, and what each prints."""

import contextlib
import io
import random
import re
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from code_blocks import ROOT, Block, blocks_for
from patience import PATIENCE
from serving import Server
from thoroughness import FULL

from aioli import Fleet
from aioli.snapshots.codec import to_bytes

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("httptools")
pytestmark = pytest.mark.skipif(not FULL, reason="this system has servers started by `make thorough` alone")

RUNNER = "tests/service/test_tutorial.py"
TOKEN = "aioli_…"  # as the pages write it


def free_port() -> str:
    """A port that is free, and stays so: it is none of those that the system hands out by itself."""
    handed_out = Path("/proc/sys/net/ipv4/ip_local_port_range")
    first = int(handed_out.read_text().split()[0]) if handed_out.exists() else 32768
    for port in random.sample(range(1025, first), first - 1025):
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            return str(port)
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


def shown(page: str) -> list[Block]:
    return blocks_for(RUNNER, ROOT / "docs" / page)


def printed_as_shown(printed: str, block: Block) -> bool:
    """Whether what was printed is what the page shows, where any text may stand for …."""
    return re.fullmatch(re.escape(block.text).replace("…", r"\S+"), printed) is not None


def run_aioli(command: str) -> str:
    """What a command of aioli prints, run as a shell would run it."""
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(command)], check=True, capture_output=True, timeout=PATIENCE
    )
    return done.stdout.decode()


def test_the_tutorial_is_played(tmp_path: Path) -> None:
    port, printed = free_port(), ""
    names: dict[str, object] = {}
    server: Server | None = None
    token = ""
    compared = 0
    try:
        for block in shown("service_tutorial.md"):
            text = block.text.replace("8477", port).replace("--folder shop", f"--folder {tmp_path / 'shop'}")
            if block.language == "text":
                assert printed_as_shown(printed, block)
                compared += 1
            elif block.language == "python":
                with contextlib.redirect_stdout(io.StringIO()) as out:
                    exec(compile(text.replace(TOKEN, token), block.page, "exec"), names)
                printed = out.getvalue()
            elif text.startswith("aioli serve"):
                assert text.split()[2:] == ["--folder", str(tmp_path / "shop"), "--port", port, "&"]
                server = Server(tmp_path / "shop", "--port", port, token=token)
                token, printed = server.token, server.told
            elif text.startswith("kill -9 %1"):
                assert server is not None
                server.kill()
            else:
                printed = run_aioli(text)
    finally:
        if server is not None:
            server.kill()
    assert compared == 6


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_page_of_the_service_is_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow.parquet")
    monkeypatch.chdir(tmp_path)
    server: Server | None = None
    asking, printed, fleet = "", "", b""
    names: dict[str, object] = {}
    try:
        for block in shown("service.md"):
            if block.only("aioli "):
                *before, serve = block.commands
                for command in before:
                    run_aioli(command)
                assert serve.split() == ["aioli", "serve", "--folder", "fraud"]
                server = Server(tmp_path / "fraud")
                continue
            assert server is not None
            text = block.text.replace("8477", str(server.port)).replace(TOKEN, server.token)
            if block.language == "text":
                assert printed_as_shown(printed, block)
            elif block.language == "sh":
                shell = ["bash", "-ec", asking + text]
                printed = subprocess.run(shell, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout
                asking += "".join(line + "\n" for line in text.splitlines() if line.startswith(("export", "ask()")))
            else:
                if "rows.parquet" in text:
                    fleet = server.get("/models/clicks/snapshot").told
                    server.kill()
                    run_aioli("aioli service export --folder fraud clicks")
                exec(compile(text, block.page, "exec"), names)
    finally:
        if server is not None:
            server.kill()
    played = names["fleet"]
    assert isinstance(played, Fleet)
    (tmp_path / "fleet.aioli").write_bytes(fleet)
    assert to_bytes(Fleet.load(tmp_path / "fleet.aioli").snapshot()) == to_bytes(played.snapshot())
