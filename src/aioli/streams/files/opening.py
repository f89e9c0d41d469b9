"""A file by its name: which reader it needs, and folders of files as one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aioli.streams.files.delimited import Delimited
from aioli.streams.files.sources import STANDARD_INPUT, Source
from aioli.streams.files.table import Position

__all__ = ["FORMATS", "open_reader"]

FORMATS = {
    "csv": ("csv", "txt", "data"),
    "tsv": ("tsv", "tab"),
    "parquet": ("parquet", "pq"),
    "arrow": ("arrow", "feather", "ipc", "arrows"),
    "jsonl": ("jsonl", "ndjson", "json"),
    "svmlight": ("svm", "svmlight", "libsvm"),
    "vw": ("vw",),
}
PACKED = (".gz", ".zst", ".zstd")


def open_reader(name: str, format: str | None = None, delimiter: str | None = None, header: bool = True) -> Any:
    """The reader of a file, of standard input (`-`), or of a folder of files of one kind, read in the order of names."""
    if format is not None and format not in FORMATS:
        raise ValueError(f"there is no format called {format!r}; give one of {', '.join(FORMATS)}")
    if name != STANDARD_INPUT and Path(name).is_dir():
        return Folder(name, format, delimiter, header)
    kind = format or _by_name(name)
    if kind in ("csv", "tsv"):
        return Delimited(Source(name), delimiter or ("\t" if kind == "tsv" else None), header)
    if kind == "jsonl":
        from aioli.streams.files.jsonlines import JSONLines

        return JSONLines(Source(name))
    if kind == "svmlight":
        from aioli.streams.files.svmlight import SVMLight

        return SVMLight(Source(name))
    if kind == "vw":
        from aioli.streams.files.vowpal import VowpalText

        return VowpalText(Source(name))
    from aioli.streams.files.arrow import ArrowFile

    return ArrowFile(name, kind)


class Folder:
    """The files of a folder, one after the other, as if they were one. All have the columns of the first."""

    def __init__(self, name: str, format: str | None, delimiter: str | None, header: bool) -> None:
        self.name = name
        self._options = (format, delimiter, header)
        known = {ending for endings in FORMATS.values() for ending in endings}
        found = (path for path in Path(name).iterdir() if path.is_file() and not path.name.startswith((".", "_")))
        self._files = sorted(path for path in found if format or _ending(path.name) in known)
        if not self._files:
            raise ValueError(f"{name}: no file in this folder has a known ending ({', '.join(sorted(known))})")
        kinds = {_by_name(path.name) for path in self._files}
        if format is None and len(kinds) > 1:
            raise ValueError(f"{name}: has files of several kinds, {', '.join(sorted(kinds))}; say which with --format")
        self._first = self._reader(0)
        self.sparse = getattr(self._first, "sparse", False)
        self._at = 0
        self._now = self._first

    @property
    def columns(self) -> dict[str, str]:
        """The columns of the first file, and what each seems to be."""
        columns: dict[str, str] = self._first.columns
        return columns

    @property
    def fraction(self) -> float | None:
        """How much has been read, every file counted alike."""
        return (self._at + (self._now.fraction or 0.0)) / len(self._files)

    def tables(self, kinds: dict[str, str], label: str | None, position: Position | None) -> Iterator[Any]:
        """The tables of file after file."""
        begin = 0 if position is None else int(position["file"])
        inner = None if position is None else position["within"]
        for self._at in range(begin, len(self._files)):
            self._now = self._first if self._at == 0 else self._reader(self._at)
            if list(self._now.columns) != list(self.columns):
                raise ValueError(
                    f"{self._files[self._at]}: its columns are {list(self._now.columns)}, but those of "
                    f"{self._files[0].name} are {list(self.columns)}; give files of the same columns"
                )
            for table in self._now.tables(kinds, label, inner):
                table.after["within"] = dict(table.after)
                table.after["file"] = self._at
                yield table
            inner = None

    def _reader(self, index: int) -> Any:
        return open_reader(str(self._files[index]), *self._options)


def _by_name(name: str) -> str:
    ending = _ending(name)
    return next((kind for kind, endings in FORMATS.items() if ending in endings), "csv")


def _ending(name: str) -> str:
    for packed in PACKED:
        name = name.removesuffix(packed)
    return Path(name).suffix.lower().removeprefix(".")
