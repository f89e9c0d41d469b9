"""Files that a command writes: refused early where they could not be written, and named where the disk refuses."""

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from safetensors import SafetensorError

__all__ = ["check_target", "naming"]


def check_target(path: str) -> None:
    """Refuse early what could not be written at the end."""
    target = Path(path).absolute()
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {target.parent}; make it, or give another path")
    if target.is_dir():
        raise ValueError(f"{path}: is a folder; give the name of a file")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"{path}: nothing can be written in the folder {target.parent}; give another path")


@contextlib.contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """What the system refuses is told of the file that was asked for, not of a temporary one or of none."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), os.fspath(path)) from error
    except SafetensorError as error:
        number = re.search(r"os error (\d+)", str(error))
        if number is None:
            raise OSError(f"{path}: cannot be written ({error})") from error
        raise OSError(int(number[1]), os.strerror(int(number[1])), os.fspath(path)) from error
