"""A file by its name: which reader it needs, and folders of files as one."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from aioli.streams.files.arrow import ArrowFile
from aioli.streams.files.delimited import Delimited
from aioli.streams.files.jsonlines import JSONLines
from aioli.streams.files.sources import STANDARD_INPUT, Source
from aioli.streams.files.svmlight import SVMLight
from aioli.streams.files.table import Position, Reader, Tables
from aioli.streams.files.vowpal import VowpalText

__all__ = ["FORMATS", "Folder", "open_reader"]

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
ROWS_OF_FEATURES: dict[str, Callable[[Source], Reader]] = {"jsonl": JSONLines, "svmlight": SVMLight, "vw": VowpalText}


def open_reader(name: str, format: str | None = None, delimiter: str | None = None, header: bool = True) -> Reader:
    """The reader of a file, of standard input (`-`), or of a folder of files of one kind, in the order of names."""
    if format is not None and format not in FORMATS:
        raise ValueError(f"there is no format called {format!r}; give one of {', '.join(FORMATS)}")
    if name != STANDARD_INPUT and Path(name).is_dir():
        return Folder(name, format, delimiter, header)
    kind = format or _by_name(name)
    if kind in ("parquet", "arrow"):
        return ArrowFile(name, kind)
    source = Source(name)
    try:
        if kind in ROWS_OF_FEATURES:
            return ROWS_OF_FEATURES[kind](source)
        return Delimited(source, delimiter or ("\t" if kind == "tsv" else None), header)
    except BaseException:
        source.close()
        raise


class Folder:
    """The files of a folder, one after the other, as if they were one. All have the columns of the first.

    Files of JSON lines may have other keys, as later lines may.
    """

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
        self._at = 0
        self._first = self._now = self._reader(0)
        self.sparse, self.grows = self._first.sparse, self._first.grows

    @property
    def columns(self) -> dict[str, str]:
        """The columns of the first file, and what each seems to be."""
        return self._first.columns

    @property
    def fraction(self) -> float | None:
        """How much has been read, every file counted alike."""
        return (self._at + (self._now.fraction or 0.0)) / len(self._files)

    def close(self) -> None:
        """Let the files go."""
        self._first.close()
        self._now.close()

    def tables(self, kinds: dict[str, str], label: str | None, position: Position | None) -> Tables:
        """The tables of file after file."""
        kinds = dict(kinds)
        begin = 0 if position is None else int(position["file"])
        inner = None if position is None else position["within"]
        try:
            for at in range(begin, len(self._files)):
                self._now, self._at = self._first if at == 0 else self._reader(at), at
                self._compare_columns()
                for table in self._now.tables(kinds, label, inner):
                    kinds.update(getattr(table, "new", {}))
                    yield replace(table, after={"file": at, "within": table.after})
                inner = None
        finally:
            self.close()

    def _compare_columns(self) -> None:
        if self.grows or list(self._now.columns) == list(self.columns):
            return
        raise ValueError(
            f"{self._files[self._at]}: its columns are {_listed(self._now)}, but those of {self._files[0].name} are "
            f"{_listed(self._first)}; give files of the same columns"
        )

    def _reader(self, index: int) -> Reader:
        return open_reader(str(self._files[index]), *self._options)


def _listed(reader: Reader) -> str:
    columns = list(reader.columns)
    return ", ".join(map(repr, columns[:20])) + (", …" if len(columns) > 20 else "")


def _by_name(name: str) -> str:
    ending = _ending(name)
    return next((kind for kind, endings in FORMATS.items() if ending in endings), "csv")


def _ending(name: str) -> str:
    for packed in PACKED:
        name = name.removesuffix(packed)
    return Path(name).suffix.lower().removeprefix(".")
