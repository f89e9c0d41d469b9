"""A PostgreSQL server for tests and measurements, in a temporary folder, on a socket there; it is always ended."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["MISSING", "database", "found"]

MISSING = "PostgreSQL's server is not installed"
USER = "nobody"  # the server refuses to run as root


def found() -> Path | None:
    """The folder of the server's programs."""
    known = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    return known[-1].parent if known else Path(on_path).parent if on_path else None


@contextmanager
def database() -> Iterator[str]:
    """The address of an empty database."""
    programs = found()
    assert programs is not None
    folder = Path(tempfile.mkdtemp(prefix="aioli-pg-"))
    as_user: dict[str, str] = {}
    if os.getuid() == 0:
        shutil.chown(folder, USER)
        as_user = {"user": USER}
        assert pwd.getpwnam(USER)
    data = folder / "data"

    def run(*command: str) -> None:
        subprocess.run(command, check=True, timeout=600, cwd=folder, stdout=subprocess.DEVNULL, **as_user)  # type: ignore[call-overload]  # the user is given to root alone

    settings = f"-c listen_addresses= -c unix_socket_directories={folder} -c shared_buffers=16MB"
    run(str(programs / "initdb"), "-D", str(data), "-A", "trust", "-U", "aioli", "--no-sync")
    control = str(programs / "pg_ctl")
    run(control, "-D", str(data), "-w", "-t", "600", "-o", settings, "-l", str(folder / "log"), "start")
    try:
        yield f"postgresql://aioli@/postgres?host={folder}"
    finally:
        run(control, "-D", str(data), "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)
