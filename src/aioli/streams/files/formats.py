"""Which reader a file needs, by its name or the format asked for; folders of files are read as one."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from aioli.errors import FileRefused, ParameterRefused
from aioli.snapshots.tree import Snapshot
from aioli.streams.files.arrow import ArrowFile
from aioli.streams.files.byte_source import STANDARD_INPUT, Source
from aioli.streams.files.delimited import Delimited
from aioli.streams.files.jsonlines import JSONLines
from aioli.streams.files.marks import Mark, mark_of
from aioli.streams.files.svmlight import SVMLight
from aioli.streams.files.table import Position, ReadAs, Reader, Table, Tables
from aioli.streams.files.vowpal import VowpalText

__all__ = ["FORMATS", "FolderReader", "listed", "open_reader"]

FORMATS = {
    "csv": ("csv", "txt", "data"),
    "tsv": ("tsv", "tab"),
    "parquet": ("parquet", "pq"),
    "arrow": ("arrow", "feather", "ipc", "arrows"),
    "jsonl": ("jsonl", "ndjson", "json"),
    "svmlight": ("svm", "svmlight", "libsvm"),
    "vw": ("vw",),
}
COMPRESSED = (".gz", ".zst", ".zstd")
TEXT_READERS: dict[str, Callable[[Source, bool], Reader]] = {"jsonl": JSONLines, "svmlight": SVMLight, "vw": VowpalText}


def open_reader(
    name: str,
    format: str | None = None,
    delimiter: str | None = None,
    header: bool = True,
    live: bool = False,
    encoding: str | None = None,
    tolerant: bool = False,
) -> Reader:
    """Open a file, standard input (`-`), or a folder of files of one kind, which come in the order of their names.

    `live` gives rows of text as they come, and waits for no more of them. `encoding` is how text is encoded, None for
    UTF-8, or Windows-1252 where delimited text is not UTF-8. `tolerant` leaves rows of text out that cannot be read,
    and says so in their table.
    """
    if format is not None and format not in FORMATS:
        message = f"there is no format called {format!r}; give one of {', '.join(FORMATS)}"
        raise ParameterRefused(message, parameter="format", value=format)
    if name != STANDARD_INPUT and Path(name).is_dir():
        return FolderReader(name, format, delimiter, header, encoding, tolerant)
    kind = format or _format_of(name)
    if kind in ("parquet", "arrow"):
        return ArrowFile(name, kind)
    source = Source(name, live, encoding, guess=kind not in TEXT_READERS)
    try:
        if kind in TEXT_READERS:
            return TEXT_READERS[kind](source, tolerant)
        return Delimited(source, delimiter or ("\t" if kind == "tsv" else None), header, tolerant)
    except BaseException:
        source.close()
        raise


class FolderReader:
    """Reads the files of a folder one after the other, as if they were one. All have the columns of the first.

    Files of JSON lines may have other keys, as later lines may.
    """

    def __init__(
        self,
        name: str,
        format: str | None,
        delimiter: str | None,
        header: bool,
        encoding: str | None = None,
        tolerant: bool = False,
    ) -> None:
        self.name = name
        self._options = (format, delimiter, header, False, encoding, tolerant)
        known = {ending for endings in FORMATS.values() for ending in endings}
        found = (path for path in Path(name).iterdir() if path.is_file() and not path.name.startswith((".", "_")))
        self._files = sorted(path for path in found if format or _ending(path.name) in known)
        if not self._files:
            message = f"{name}: no file in this folder has a known ending ({', '.join(sorted(known))})"
            raise FileRefused(message, path=name)
        kinds = {_format_of(path.name) for path in self._files}
        if format is None and len(kinds) > 1:
            message = f"{name}: has files of several kinds, {', '.join(sorted(kinds))}; say which with --format"
            raise FileRefused(message, path=name)
        self._at = 0
        self._marks: dict[int, Mark] = {}
        self._first = self._current = self._reader(0)
        self.sparse, self.grows = self._first.sparse, self._first.grows

    @property
    def sample(self) -> Mapping[str, Sequence[str | None] | str]:
        """The first values of each column of the first file."""
        return self._first.sample

    @property
    def fraction(self) -> float | None:
        """How much has been read, every file counted alike."""
        return (self._at + (self._current.fraction or 0.0)) / len(self._files)

    @property
    def guessed(self) -> str | None:
        """The encoding that text of a file was taken for, the first where it was guessed."""
        return next((file.guessed for file in (self._first, self._current) if file.guessed is not None), None)

    def close(self) -> None:
        """Close the files; a second time does nothing."""
        self._first.close()
        self._current.close()

    def tables(self, read_as: ReadAs, position: Position | None) -> Tables:
        """Yield the tables of file after file."""
        kinds, label, notations = dict(read_as.kinds), read_as.label, dict(read_as.notations)
        place = None if position is None else Snapshot("Position", position)
        begin = 0 if place is None else place.whole("file")
        inner: Position | None = None if place is None else place.mapping("within")
        try:
            for at in range(begin, len(self._files)):
                self._current, self._at = self._first if at == 0 else self._reader(at), at
                self._compare_columns()
                for table in self._current.tables(ReadAs(kinds, label, notations), inner):
                    if isinstance(table, Table):
                        kinds.update(table.new)
                        notations.update(table.notations)
                    yield replace(table, after={"file": at, "within": table.after})
                inner = None
        finally:
            self.close()

    def marks(self, count: int = 0) -> list[Mark]:
        """Return what is remembered of the files that were opened so far, or of the first `count`, if that is more."""
        count = min(max(count, self._at + 1), len(self._files))
        return [self._marks.get(k) or mark_of(self._files[k]) for k in range(count)]

    def _compare_columns(self) -> None:
        if self.grows or list(self._current.sample) == list(self.sample):
            return
        path = str(self._files[self._at])
        raise FileRefused(
            f"{path}: its columns are {listed(self._current.sample)}, but those of {self._files[0].name} are "
            f"{listed(self._first.sample)}; give files of the same columns",
            path=path,
        )

    def _reader(self, index: int) -> Reader:
        self._marks[index] = mark_of(self._files[index])
        return open_reader(str(self._files[index]), *self._options)


def listed(names: Iterable[str]) -> str:
    """Return the first twenty names as a message lists them."""
    columns = list(names)
    return ", ".join(map(repr, columns[:20])) + (", …" if len(columns) > 20 else "")


def _format_of(name: str) -> str:
    ending = _ending(name)
    return next((kind for kind, endings in FORMATS.items() if ending in endings), "csv")


def _ending(name: str) -> str:
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    return Path(name).suffix.lower().removeprefix(".")
