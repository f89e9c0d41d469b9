"""Runs a command in a container-like place: `unshare --mount --net python container.py SCRATCH PATHS COMMAND …`.

All of the file system is read-only but SCRATCH, there is no home and no network, the user is nobody, there is one core,
and 512 MB of memory that can be written to. PATHS, joined by the separator of paths, stay readable for that user
wherever they are. Prints one JSON object: the exit status, what was said, and the most memory that was resident.
"""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

NOBODY = 65534
MEMORY = 512 * 2**20


def mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


def open_up(paths: list[Path], stash: Path) -> None:
    """Put an open folder in place of each that only its owner may enter, with the paths in it where they were."""
    closed = {parent for path in paths for parent in path.parents if not parent.stat().st_mode & 0o001}
    for k, folder in enumerate(sorted(closed)):
        behind = stash / str(k)
        behind.mkdir()
        mount("--bind", str(folder), str(behind))
        mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", str(folder))
        for path in (path for path in paths if folder in path.parents):
            path.mkdir(parents=True, exist_ok=True)
            mount("--bind", str(behind / path.relative_to(folder)), str(path))


def main(scratch: Path, paths: list[Path], command: list[str]) -> dict[str, object]:
    mount("--make-rprivate", "/")
    stash = scratch / "stash"
    stash.mkdir()
    open_up(paths, stash)
    mount("-t", "tmpfs", "-o", "mode=1777,size=256m", "tmpfs", str(scratch))
    (scratch / "work").mkdir(mode=0o777)
    (scratch / "work").chmod(0o777)
    mount("-o", "remount,ro,bind", "/")
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    def confine() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)

    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(scratch / "work"), "PYTHONPATH": os.environ["PYTHONPATH"]}
    done = subprocess.run(
        command, env=environment, cwd=scratch / "work", preexec_fn=confine, capture_output=True, text=True, check=False
    )
    resident = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return {"status": done.returncode, "out": done.stdout, "err": done.stderr, "resident": resident}


if __name__ == "__main__":
    given = [Path(path) for path in sys.argv[2].split(os.pathsep)]
    print(json.dumps(main(Path(sys.argv[1]), given, sys.argv[3:])))
