"""Refuses paths by which a result would overwrite what is read, or another result."""

from collections.abc import Iterable
from pathlib import Path

from aioli.errors import FileRefused
from aioli.store.checkpoints import OWN_FILES
from aioli.streams.files.formats import FORMATS

__all__ = ["check_apart", "check_outside", "check_page"]

PAGES = (".html", ".htm")
ENDINGS = tuple(
    f".{ending}" for endings in FORMATS.values() for ending in endings
)  # of files that a folder is read for


def check_outside(folder: str, paths: Iterable[str | None]) -> None:
    """Refuse to read or write what a checkpoint's folder keeps for itself: it is deleted when the run is over."""
    kept = Path(folder).resolve()
    for path in (Path(name).resolve() for name in paths if name is not None):
        if path == kept and not path.is_file():
            raise ValueError(f"{path}: is the folder of the checkpoint; give the checkpoint a folder of its own")
        if path.parent == kept and path.name.casefold() in OWN_FILES:
            raise ValueError(
                f"{path}: is a file of the checkpoint itself, and would be lost with it; give another name"
            )


def check_page(path: str | None) -> None:
    """Refuse a report that would be called what it is not: it is a page of HTML."""
    if path is not None and not path.lower().endswith(PAGES):
        remedy = "print the page to PDF from a browser" if path.lower().endswith(".pdf") else "open it in a browser"
        raise FileRefused(f"{path}: a report is a page; give a name that ends in .html, and {remedy}", path=path)


def check_apart(read: Iterable[str], written: Iterable[str | None]) -> None:
    """Refuse to write over what is read, or among the files of a folder that is read, or one result over another."""
    targets = [Path(path).resolve() for path in written if path is not None]
    for name in read:
        source = Path(name).resolve()
        for target in targets:
            if target == source or (target.exists() and source.exists() and target.samefile(source)):
                raise ValueError(f"{target}: is what is read, and would be lost; give another path to write to")
            if target.parent == source and target.name.lower().endswith(ENDINGS):
                raise ValueError(f"{target}: is in the folder that is read; give a path outside of it to write to")
    if len(set(targets)) < len(targets):
        twice = next(target for k, target in enumerate(targets) if target in targets[:k])
        raise ValueError(f"{twice}: is to be written twice; give each result a path of its own")
