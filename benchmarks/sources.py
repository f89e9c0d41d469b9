"""Two versions of the package side by side: the sources of a commit and those of the working tree, each in a folder.

A folder is named after what it holds, so compiled code in it is never older than the sources beside it. (Numba's cache
does not notice a change in a function of another file: in `src` itself a stale one could hide a change.)
"""

import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

__all__ = ["ROOT", "environment", "sources_of", "sources_of_working_tree"]

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "build" / "sources"
MOST_KEPT = 8  # folders of about 15 MB; the least recently used goes first
REFUSED = ("NUMBA_CACHE_DIR", "PYTHONDONTWRITEBYTECODE")  # what is compiled lies beside its source
UNTRACKED = shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc")


def sources_of(revision: str) -> Path:
    """Check out the `src` of a commit; returns the folder to put on Python's path."""
    named = subprocess.run(
        ["git", "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if named.returncode:
        raise SystemExit(f"{revision}: git knows no such commit; give a branch, a tag or a hash")
    packed = subprocess.run(
        ["git", "archive", "--format=tar", named.stdout.strip(), "src"], cwd=ROOT, capture_output=True, check=True
    )
    with tempfile.TemporaryDirectory() as folder, tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
        return _kept(Path(folder) / "src")


def sources_of_working_tree() -> Path:
    """Copy the `src` of the working tree as it is now; returns the folder to put on Python's path."""
    return _kept(ROOT / "src")


def environment(src: Path) -> dict[str, str]:
    """Build the environment of a process that imports aioli from this folder, and `benchmarks` from this checkout."""
    own = {name: value for name, value in os.environ.items() if name not in REFUSED}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    made = {**own, **threads, "PYTHONPATH": os.pathsep.join([str(src), str(ROOT)]), "PYTHONHASHSEED": "0"}
    asked = [sys.executable, "-P", "-c", "import aioli; print(aioli.__file__)"]
    found = subprocess.run(asked, env=made, capture_output=True, text=True, check=True).stdout.strip()
    if not Path(found).is_relative_to(src):
        raise SystemExit(f"aioli would be imported from {found}, not from {src}")
    return made


def _kept(src: Path) -> Path:
    target = KEPT / _digest(src)
    if not target.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=KEPT, prefix=".copying") as folder:
            copy = shutil.copytree(src, Path(folder) / "src", ignore=UNTRACKED)
            copy.replace(target)
    os.utime(target)
    for old in sorted(KEPT.glob("[0-9a-f]*"), key=lambda folder: -folder.stat().st_mtime)[MOST_KEPT:]:
        shutil.rmtree(old, ignore_errors=True)
    return target


def _digest(src: Path) -> str:
    """Hash the names and bytes of all files but what Python and Numba have compiled."""
    digest = hashlib.sha256()
    for path in sorted(src.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and path.suffix not in (".nbi", ".nbc"):
            content = path.read_bytes()
            digest.update(f"{path.relative_to(src).as_posix()}\0{len(content)}\0".encode())
            digest.update(content)
    return digest.hexdigest()[:16]
