"""A save replaces a file and nothing else: links, permissions, devices, and what a killed process left behind."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from aioli import AIOLI
from aioli.snapshots.whole_files import check_target, replacing

pytestmark = pytest.mark.skipif(os.name != "posix", reason="this system has no links, pipes and permissions of POSIX")


def test_a_link_stays_a_link_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    link = tmp_path / "model"
    link.symlink_to(tmp_path / "store" / "model")
    for _ in range(2):  # the target is not there, then it is
        AIOLI(radius=2.0).save(link)
        assert link.is_symlink()
        assert AIOLI.load(tmp_path / "store" / "model").radius == 2.0
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["model", "model", "store"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_a_file_that_is_replaced_keeps_its_permissions(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "model"
    AIOLI().save(path)
    path.chmod(mode)
    AIOLI(radius=2.0).save(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert AIOLI.load(path).radius == 2.0


def test_a_new_file_is_as_readable_as_the_umask_says_which_no_save_touches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = os.umask(0o027)
    try:
        monkeypatch.setattr(os, "umask", lambda _: pytest.fail("the umask is the whole process's, and was changed"))
        AIOLI().save(tmp_path / "model")
    finally:
        monkeypatch.undo()
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == 0o640


def test_a_pipe_or_a_device_is_refused_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path(os.devnull)):
        with pytest.raises(
            ValueError, match="is a device or a pipe, which cannot be replaced; give the name of a file"
        ):
            check_target(str(path))
        with pytest.raises(ValueError, match="is a device or a pipe"):
            AIOLI().save(path)
        assert path.exists()
        assert not path.is_file()
    assert list(tmp_path.iterdir()) == [pipe]


def test_what_a_killed_save_left_is_cleared_by_the_next_and_what_is_in_use_is_not(tmp_path: Path) -> None:
    path = tmp_path / "model"
    killed = (
        "import os, signal, sys; from aioli import AIOLI; from aioli.snapshots import whole_files;"
        "whole_files._sync = lambda _: os.kill(os.getpid(), signal.SIGKILL); AIOLI().save(sys.argv[1])"
    )
    ended = subprocess.run([sys.executable, "-c", killed, str(path)], check=False)
    assert ended.returncode == -9
    assert len(list(tmp_path.iterdir())) == 1
    with replacing(path) as file:
        (own,) = tmp_path.iterdir()  # that of the killed process is gone
        AIOLI(radius=2.0).save(path)  # another save, meanwhile
        assert own.exists()
        file.write(path.read_bytes())
    assert list(tmp_path.iterdir()) == [path]
    assert AIOLI.load(path).radius == 2.0


def test_threads_that_save_to_one_path_leave_one_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "model"
    errors: list[BaseException] = []

    def save(radius: float) -> None:
        try:
            for _ in range(20):
                AIOLI(radius=radius).save(path)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=save, args=(1.0 + k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert AIOLI.load(path).radius in (1.0, 2.0, 3.0, 4.0)
    assert list(tmp_path.iterdir()) == [path]


def test_equal_learners_are_equal_bytes_however_often_they_are_saved(tmp_path: Path) -> None:
    def taught() -> AIOLI:
        learner = AIOLI(radius=3.0)
        learner.feature_names_ = ["b", "a"]
        learner.learn_many([[0.5, 1.0], [2.0, -1.0], [0.0, 3.0]], [1, 0, 1])
        return learner

    learner = taught()
    for k in range(20):
        learner.save(tmp_path / f"same {k}")
        taught().save(tmp_path / f"equal {k}")
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1
