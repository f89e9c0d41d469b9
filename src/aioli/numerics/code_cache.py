"""Where compiled code is kept between processes, and what happens where it cannot be.

Numba keeps it beside the source, or in the user's cache folder. Where neither can be written (a read-only image, a user
without a home) Numba refuses to compile at all; here the code is then read from beside the source if it is there, kept
in a private folder for temporary files, or compiled for this process alone. A cache file that is cut off or damaged
counts as absent. `NUMBA_CACHE_DIR` names another folder, as ever.
"""

import importlib
import os
import stat
import tempfile
import warnings
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, TypeAlias

__all__ = ["CodeCache", "CodeNotKept", "Numba", "keep_code"]

Numba: TypeAlias = Any  # its objects have no types


class CodeNotKept(UserWarning):
    """Says that compiled code is kept in a temporary folder, or not at all, so that the next process starts later."""


class CodeCache:
    """Loads a function's code from the first of several caches that has it, and keeps it in the first that can.

    It has the methods that Numba calls of its own cache, none of which raises.
    """

    def __init__(self, caches: list[Numba]) -> None:
        self.caches = caches

    @property
    def cache_path(self) -> str | None:
        """Return the folder of the first cache; None where there is none."""
        return str(self.caches[0].cache_path) if self.caches else None

    def load_overload(self, signature: object, context: object) -> Numba:
        """Return the compiled code; None where no cache has it whole."""
        for one in self.caches:
            try:
                found = one.load_overload(signature, context)
            except Exception:  # a file cut short is an EOFError, a damaged one any error that unpickling can raise
                found = None
            if found is not None:
                return found
        return None

    def save_overload(self, signature: object, data: object) -> None:
        """Keep the code where it can be kept."""
        problem = "no folder for it can be written"
        for one in self.caches:
            try:
                one.save_overload(signature, data)
            except OSError as error:
                problem = f"{one.cache_path}: {(error.strerror or str(error)).lower()}"
                continue
            except Exception:  # the index that it would be added to is damaged: begin it anew
                try:
                    one.flush()
                    one.save_overload(signature, data)
                except OSError as error:
                    problem = f"{one.cache_path}: {(error.strerror or str(error)).lower()}"
                    continue
            if isinstance(one, _temporary_kind()):
                _say(f"compiled code is kept in {Path(one.cache_path).parent}, since no other folder can be written")
            return
        _say(f"compiled code cannot be kept ({problem}), so that every start compiles again")

    def enable(self) -> None:
        """Do nothing: it is."""

    def disable(self) -> None:
        """Forget the caches."""
        self.caches = []

    def flush(self) -> None:
        """Empty every cache that can be emptied."""
        for one in self.caches:
            one.flush()


def keep_code(loop: Numba) -> None:
    """Give a function that Numba compiles its cache: Numba's own choice of a folder, or else ours."""
    try:
        loop.enable_caching()
        caches = [loop._cache]
    except RuntimeError:  # "no locator available"
        caches = _where_numba_has_none(loop.py_func)
    loop._cache = CodeCache(caches)


def _where_numba_has_none(function: FunctionType) -> list[Numba]:
    caches = []
    for kind in (_beside_the_source_kind(), _temporary_kind()):
        try:
            caches.append(kind(function))
        except (RuntimeError, OSError):
            continue
    return caches


@cache
def _beside_the_source_kind() -> Numba:
    """Return the class of a cache beside the source, which may be read-only."""
    return _cache_kind(lambda file: Path(file).parent / "__pycache__", "BesideTheSource")


@cache
def _temporary_kind() -> Numba:
    """Return the class of a cache in a folder for temporary files that is this user's alone."""
    return _cache_kind(lambda file: _private_folder() / Path(file).parent.name, "Temporary")


def _cache_kind(folder_of: Numba, name: str) -> Numba:
    """Return a class of caches of Numba's kind in a folder of our choice."""
    caching: Numba = importlib.import_module("numba.core.caching")
    names = vars(caching)
    in_tree = names.get("InTreeCacheLocator") or names["_InTreeCacheLocator"]
    implementation = caching.FunctionCache._impl_class

    def here(locator: Numba, py_func: FunctionType, py_file: str) -> None:
        in_tree.__init__(locator, py_func, py_file)
        locator._cache_path = str(folder_of(py_file))

    def from_function(kind: Numba, py_func: FunctionType, py_file: str) -> Numba:
        return kind(py_func, py_file)

    found = type(f"{name}Locator", (in_tree,), {"__init__": here, "from_function": classmethod(from_function)})
    kept = type(f"{name}Code", (implementation,), {"_locator_classes": [found]})
    return type(f"{name}Cache", (caching.FunctionCache,), {"_impl_class": kept})


def _private_folder() -> Path:
    """Return a folder for temporary files that nobody else can write: what is in it is code that will be run."""
    if os.name != "posix":
        return Path(tempfile.gettempdir()) / "aioli-compiled"
    folder = Path(tempfile.gettempdir()) / f"aioli-compiled-{os.geteuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise PermissionError(f"{folder}: is not this user's alone")
    return folder


@cache
def _say(message: str) -> None:
    """Warn once; NUMBA_CACHE_DIR is how to choose a folder."""
    warnings.warn(f"{message}; NUMBA_CACHE_DIR may name another folder", CodeNotKept, stacklevel=2)
