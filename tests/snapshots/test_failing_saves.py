"""A save that fails raises an OSError that says where, and leaves the old file and nothing else."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aioli import AIOLI


def learned() -> AIOLI:
    rng = np.random.default_rng(6)
    learner = AIOLI(radius=3.0)
    learner.learn_many(rng.normal(size=(30, 3)), rng.random(30) < 0.5)
    return learner


@contextmanager
def save_fails(path: Path, error: type[BaseException]) -> Iterator[Callable[[], None]]:
    """Save over an older file; the save must raise, and the folder must be as before."""
    AIOLI(radius=7.0).save(path)
    before = {entry.name: entry.read_bytes() for entry in path.parent.iterdir()}
    with pytest.raises(error):
        yield lambda: learned().save(path)
    assert {entry.name: entry.read_bytes() for entry in path.parent.iterdir()} == before
    assert AIOLI.load(path).radius == 7.0


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), KeyboardInterrupt(), MemoryError()], ids=repr
)
@pytest.mark.parametrize("step", ["os.write", "os.fsync", "os.replace", "os.chmod"])
def test_a_save_that_fails_halfway_leaves_the_old_file_and_nothing_else(
    step: str, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []
    write = os.write

    def fail(*arguments: Any, **_: object) -> int:
        if step == "os.write" and not written:  # half of it, then none
            written.append(write(arguments[0], bytes(arguments[1])[:9]))
            return written[0]
        raise error

    with save_fails(tmp_path / "learner", type(error)) as save:
        monkeypatch.setattr(os, step.removeprefix("os."), fail)
        try:
            save()
        finally:
            monkeypatch.undo()


@pytest.mark.parametrize("folder", ["missing", "missing/deeper", "file"])
def test_a_folder_that_is_not_there(folder: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file and no folder")
    with pytest.raises(OSError, match=folder):
        learned().save(tmp_path / folder / "learner")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_folder_is_no_file_to_save_to(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        learned().save(tmp_path / "folder")
    assert [entry.name for entry in tmp_path.rglob("*")] == ["folder"]


@pytest.mark.skipif(os.name != "posix", reason="this system has no permissions of POSIX")
def test_a_folder_that_may_not_be_written_to(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    with save_fails(folder / "learner", PermissionError) as save:
        folder.chmod(0o500)
        root = os.geteuid() == 0
        if root:  # whom permissions do not stop
            os.seteuid(65534)
        try:
            save()
        finally:
            if root:
                os.seteuid(0)
            folder.chmod(0o700)


def test_a_name_as_long_as_the_system_allows(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    path.touch()
    learned().save(path)
    assert repr(AIOLI.load(path)) == repr(learned())
