"""A headless Chromium, spoken to over two pipes in the DevTools protocol: no port, no driver, no library."""

import base64
import json
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from select import select
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
VARIABLE = "AIOLI_CHROMIUM"
MISSING = (
    "no Chromium was found: install it (Debian: apt-get install chromium), or set the variable "
    f"{VARIABLE} to its program"
)
FLAGS = (
    "--headless=new",
    "--no-sandbox",  # root, as in a container, has none; the pages are our own
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-quic",
    "--disable-sync",
    "--hide-scrollbars",
    "--no-first-run",
    "--remote-debugging-pipe",
)
PATIENCE = 600.0  # seconds for one answer


def found() -> str | None:
    """The program, where there is one."""
    if not hasattr(os, "posix_spawn"):
        return None
    named = os.environ.get(VARIABLE)
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def browsing() -> Iterator["Browser"]:
    """A browser with one page, gone at the end with all that it wrote."""
    from fcntl import F_DUPFD_CLOEXEC, fcntl  # where there is none, as on Windows, nothing is `found`

    program = found()
    assert program is not None, MISSING
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        pipes = [*os.pipe(), *os.pipe()]
        high = [fcntl(end, F_DUPFD_CLOEXEC, 10) for end in pipes]  # out of the way of 3 and 4, its own ends
        for end in pipes:
            os.close(end)
        reads, ours, hears, writes = high
        actions = [(os.POSIX_SPAWN_OPEN, n, os.devnull, os.O_RDWR, 0) for n in (0, 1, 2)]
        ends = [(os.POSIX_SPAWN_DUP2, reads, 3), (os.POSIX_SPAWN_DUP2, writes, 4)]
        command = [program, *FLAGS, f"--user-data-dir={folder}"]
        process = os.posix_spawn(program, command, os.environ, file_actions=[*actions, *ends])
        os.close(reads)
        os.close(writes)
        try:
            yield Browser(ours, hears).begin()
        finally:
            os.close(ours)  # a browser that nobody speaks to goes by itself
            os.close(hears)
            os.kill(process, signal.SIGTERM)
            os.waitpid(process, 0)


class Browser:
    """One page of a browser; `complaints` are its errors and warnings since it was opened."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._heard = b""
        self._asked = 0
        self._session: str | None = None
        self._loaded = False
        self.complaints: list[str] = []
        self.asked_for: list[str] = []

    def begin(self) -> Self:
        """Attach to a page, and listen."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        return self

    def open(self, path: Path, width: int, height: int = 800, scheme: str = "light", scripts: bool = True) -> None:
        """Show a file in a window of such a size."""
        self.open_address(path.resolve().as_uri(), width, height, scheme, scripts)

    def open_address(
        self, address: str, width: int, height: int = 800, scheme: str = "light", scripts: bool = True
    ) -> None:
        """Show what is at an address, likewise."""
        self.complaints.clear()
        self.asked_for.clear()
        self.ask("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self._loaded = False
        self.ask("Page.navigate", url=address)
        while not self._loaded:
            self._hear()

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def point_at(self, x: float, y: float) -> None:
        """Move the pointer."""
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def screenshot(self, path: Path, whole: bool = False) -> None:
        """What the window shows, or the whole page, as a PNG file."""
        picture = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **self._area(whole))
        path.write_bytes(base64.b64decode(picture["data"]))

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self._asked += 1
        message = {"id": self._asked, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._hear()
            if answer.get("id") == self._asked:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result

    def _area(self, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}

    def _hear(self) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._heard:
            ready, _, _ = select([self._from], [], [], max(0.0, end - time.monotonic()))
            part = os.read(self._from, 1 << 16) if ready else b""
            assert part, "the browser went away" if ready else f"the browser said nothing for {PATIENCE} seconds"
            self._heard += part
        first, _, self._heard = self._heard.partition(b"\0")
        message: dict[str, Any] = json.loads(first)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, event: str, told: dict[str, Any]) -> None:
        if event == "Page.loadEventFired":
            self._loaded = True
        elif event == "Network.requestWillBeSent":
            self.asked_for.append(told["request"]["url"])
        elif event == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(told["exceptionDetails"]))
        elif event == "Log.entryAdded" or (
            event == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning")
        ):
            self.complaints.append(json.dumps(told))
