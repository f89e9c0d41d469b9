"""Compiled code is kept where it can be, and a place where it cannot be, or a damaged file, stops nobody."""

import errno
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from thoroughness import FULL

from aioli.numerics.code_cache import CodeNotKept, _say, keep_code

numba = pytest.importorskip("numba")
caching: Any = pytest.importorskip("numba.core.caching")


def cube(x: float) -> float:
    return x * x * x


def compiled_now() -> Any:
    """A compiled function, made as a fresh process would make it."""
    loop = numba.njit(cube)
    keep_code(loop)
    return loop


@pytest.fixture
def closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A place where nothing can be written but one folder for temporary files."""
    ensure = caching._CacheLocator.ensure_cache_path

    def only_temporary(locator: Any) -> None:
        if not str(locator.get_cache_path()).startswith(str(tmp_path)):
            raise OSError(errno.EROFS, "Read-only file system")
        ensure(locator)

    monkeypatch.setattr(caching._CacheLocator, "ensure_cache_path", only_temporary)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    _say.cache_clear()
    with pytest.raises(RuntimeError, match="no locator available"):
        numba.njit(cache=True)(cube)  # what Numba says by itself
    yield tmp_path
    _say.cache_clear()


def test_a_read_only_place_keeps_code_in_a_private_temporary_folder_and_says_so(closed: Path) -> None:
    with pytest.warns(CodeNotKept, match=r"compiled code is kept in .*; NUMBA_CACHE_DIR may name another folder"):
        assert compiled_now()(2.0) == 8.0
    (folder,) = closed.iterdir()
    if os.name == "posix":
        assert folder.stat().st_mode & 0o777 == 0o700
    again = compiled_now()
    assert again(2.0) == 8.0
    assert sum(again.stats.cache_hits.values()) == 1


@pytest.mark.skipif(os.name != "posix", reason="this system has no permissions of POSIX")
def test_a_folder_that_others_can_write_is_not_trusted_with_code(closed: Path) -> None:
    (closed / f"aioli-compiled-{os.geteuid()}").mkdir()
    (closed / f"aioli-compiled-{os.geteuid()}").chmod(0o777)
    with pytest.warns(CodeNotKept, match="compiled code cannot be kept"):
        assert compiled_now()(2.0) == 8.0
    assert [path.name for path in closed.rglob("*.nb?")] == []


def test_where_there_is_not_even_a_temporary_folder_code_is_compiled_for_the_process(
    closed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(closed / "not there"))
    with pytest.warns(CodeNotKept, match=r"compiled code cannot be kept \(.*: read-only file system\)"):
        assert compiled_now()(2.0) == 8.0


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", ["empty", "half", "noise"])
def test_a_cache_file_that_is_cut_off_or_damaged_counts_as_absent(
    damage: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.core.config, "CACHE_DIR", str(tmp_path))
    assert compiled_now()(2.0) == 8.0
    (file,) = tmp_path.rglob(f"*.{ending}")
    whole = file.read_bytes()
    file.write_bytes({"empty": b"", "half": whole[: len(whole) // 2], "noise": b"\x93" * len(whole)}[damage])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled_now()(2.0) == 8.0
        mended = compiled_now()
        assert mended(2.0) == 8.0
    assert sum(mended.stats.cache_hits.values()) == 1


def test_a_full_disk_under_the_cache_is_told_by_its_name_and_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(numba.core.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(caching.IndexDataCacheFile, "_save_data", full)
    _say.cache_clear()
    with pytest.warns(CodeNotKept, match=f"cannot be kept \\({tmp_path}.*: no space left on device\\)"):
        assert compiled_now()(2.0) == 8.0
    _say.cache_clear()


LEARNING = """
import numpy as np
from aioli import AIOLI
X = np.random.default_rng(3).normal(size=(60, 2))
learners = [AIOLI(radius=10.0, forgetting=0.99, intercept=intercept) for intercept in (False, True)]
print([learner.learn(x, bool(x[0] > 0)).hex() for learner in learners for x in X])
"""


@pytest.mark.skipif(not FULL, reason="it compiles a learner anew: `make thorough`")
def test_code_from_the_cache_rounds_as_that_which_was_just_compiled(tmp_path: Path) -> None:
    own_cache = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", LEARNING]
    told = [subprocess.run(command, env=own_cache, capture_output=True, check=True).stdout for _ in range(2)]
    assert told[0] == told[1]
