"""Which column of a file is which: the label, the weight, the keys, and what each other one is."""

from collections.abc import Callable, Collection, Mapping, Sequence

from aioli.errors import FileRefused
from aioli.streams.files.cell_values import hours_in, is_missing, number_in
from aioli.streams.files.dates import DAY_FIRST, MONTH_FIRST, days_in
from aioli.streams.files.formats import listed
from aioli.streams.files.recognition import Recognised, Sample
from aioli.streams.files.table import CATEGORY, DATE, NUMBER, SKIPPED, TEXT
from aioli.streams.reading import Reading
from aioli.streams.set_aside import Aside

__all__ = ["check_asked", "columns_aside", "find_column", "kind_of_label", "kinds_asked"]

READS: dict[str, Callable[[str], bool]] = {
    NUMBER: lambda text: number_in(text) is not None or hours_in(text) is not None,
    DATE: lambda text: days_in(text, DAY_FIRST) is not None or days_in(text, MONTH_FIRST) is not None,
}


def find_column(file: str, wanted: str, columns: Sequence[str]) -> str:
    """Return the column of this name, or of this number, 1 at the left or -1 at the right; refuse any other."""
    if wanted in columns:
        return wanted
    try:
        index = int(wanted)
    except ValueError:
        index = 0
    if index and -len(columns) <= index <= len(columns):
        return columns[index - 1 if index > 0 else index]
    raise FileRefused(f"{file}: there is no column {wanted!r}; its columns are {listed(columns)}", path=file)


def kinds_asked(file: str, reading: Reading, columns: Sequence[str]) -> dict[str, str]:
    """Return the kinds that the options name, by column."""
    asked = (
        (NUMBER, reading.number),
        (CATEGORY, reading.category),
        (DATE, reading.date),
        (TEXT, reading.text),
        (SKIPPED, reading.skip),
    )
    return {find_column(file, name, columns): kind for kind, names in asked for name in _each(names, columns)}


def columns_aside(file: str, reading: Reading, columns: Sequence[str], label: str | None) -> Aside:
    """Return the columns that are read beside the features; the time is one of them where it is to be skipped."""
    weight = [] if reading.weight is None else [find_column(file, reading.weight, columns)]
    keys = [find_column(file, name, columns) for name in _each(reading.key, columns)]
    for name in (*weight, *keys):
        if name == label or (name in weight and name in keys):
            what = "the label" if name == label else "a key"
            raise FileRefused(f"{file}: column {name!r} is {what}, and cannot be the weight or a key too", path=file)
    skipped = (
        [] if reading.time is None else [find_column(file, name, columns) for name in _each(reading.skip, columns)]
    )
    time = None if reading.time is None else find_column(file, reading.time, columns)
    return Aside(weight[0] if weight else None, time if time in skipped else None, tuple(keys))


def check_asked(file: str, asked: Mapping[str, str], sample: Sample) -> None:
    """Refuse columns that were asked to be of numbers or dates and hold none, as far as the sample shows."""
    for name, kind in asked.items():
        values = sample[name]
        present = [] if isinstance(values, str) else [text for text in values if text and not is_missing(text)]
        if kind in (NUMBER, DATE) and present and not any(map(READS[kind], present)):
            raise FileRefused(
                f"{file}, column {name!r}: was asked to be of {kind}s, but {present[0][:40]!r} and all others "
                f"that were looked at are none; leave out --{kind} {name!r}",
                path=file,
                place=f"column {name!r}",
            )


def kind_of_label(found: Recognised) -> str:
    """Return whether labels are read as numbers or as texts."""
    return NUMBER if found.plain and found.kind == NUMBER else CATEGORY


def _each(names: Collection[str], columns: Sequence[str]) -> list[str]:
    """Return the names one by one; "a,b" is two, unless a column is called so."""
    return [part.strip() for name in names for part in ([name] if name in columns else name.split(","))]
