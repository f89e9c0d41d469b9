"""Which column of a file is which: the label, the weight, the keys, and what each other one is."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from aioli.errors import FileRefused
from aioli.snapshots.tree import Snapshot
from aioli.streams.encoding import column_kinds
from aioli.streams.files.cell_values import hours_in, is_missing, number_in
from aioli.streams.files.dates import DAY_FIRST, MONTH_FIRST, days_in
from aioli.streams.files.formats import listed
from aioli.streams.files.recognition import Recognised, Sample, recognise
from aioli.streams.files.table import CATEGORY, DATE, NUMBER, SKIPPED, TEXT
from aioli.streams.reading import Reading
from aioli.streams.set_aside import Aside

__all__ = ["SettledColumns", "find_column", "settle_columns"]

READS: dict[str, Callable[[str], bool]] = {
    NUMBER: lambda text: number_in(text) is not None or hours_in(text) is not None,
    DATE: lambda text: days_in(text, DAY_FIRST) is not None or days_in(text, MONTH_FIRST) is not None,
}


@dataclass(frozen=True)
class SettledColumns:
    """What each column of a file is.

    Attributes
    ----------
    label
        The column of the label; None where there is none.
    aside
        The columns that are read and are no features.
    kinds
        What each column is, the label and those aside among them.
    notations, remarks
        How values are written, by column, where not as programs write them; and what was recognised, in words.
    """

    label: str | None
    aside: Aside
    kinds: dict[str, str]
    notations: dict[str, str]
    remarks: dict[str, str]

    @property
    def seen(self) -> dict[str, str]:
        """The columns that become features, if they are not skipped."""
        return {name: kind for name, kind in self.kinds.items() if name not in (self.label, *self.aside.columns)}


def settle_columns(
    file: str, reading: Reading, sample: Sample, grows: bool, snapshot: Snapshot | None, resumed: bool
) -> SettledColumns:
    """Return what each column is: by the sample and the options, or as the snapshot of an earlier stream says.

    `grows` says that columns may come which the sample does not have, `resumed` that the snapshot is of the same file.
    """
    columns = list(sample)
    label = None if reading.label is None else find_column(file, reading.label, columns)
    aside = columns_aside(file, reading, columns, label)
    if snapshot is not None:
        _check_unlearned(file, aside.columns, snapshot)
    asked = kinds_asked(file, reading, columns) if snapshot is None else {}
    asked = {name: kind for name, kind in asked.items() if name != aside.time} | aside.asked
    check_asked(file, asked, sample)
    found = recognise(sample, asked)
    kinds = _kinds_found(found, label) if snapshot is None else _kinds_known(file, found, label, grows, snapshot)
    notations = {name: column.notation for name, column in found.items() if column.notation}
    remarks = {name: str(column) for name, column in found.items() if str(column) != column.kind}
    if snapshot is not None:
        notations = _texts_by_column(snapshot, "notations")
        remarks = _texts_by_column(snapshot, "remarks") if resumed else {}
    for told in (notations, remarks):
        told.pop(label or "", None)
    kinds |= {name: found[name].kind for name in aside.columns}
    notations |= {name: found[name].notation for name in aside.columns if found[name].notation}
    return SettledColumns(label, aside, kinds, notations, remarks)


def _check_unlearned(file: str, aside: Collection[str], snapshot: Snapshot) -> None:
    """Refuse to set a column aside that the model has learned from: it would be predicted without it."""
    kinds, then = column_kinds(snapshot), snapshot.optional_text("label")
    for name in aside:
        if name != then and kinds.get(name, SKIPPED) != SKIPPED:
            message = f"{file}: the model has learned from column {name!r}, which cannot be a key, weight or time too"
            raise FileRefused(f"{message}; leave out that option", path=file)


def _texts_by_column(snapshot: Snapshot, name: str) -> dict[str, str]:
    if name not in snapshot.values:
        return {}
    return {column: str(text) for column, text in snapshot.mapping(name).items()}


def _kinds_known(
    file: str, found: Mapping[str, Recognised], label: str | None, grows: bool, snapshot: Snapshot
) -> dict[str, str]:
    """Return each column's kind by the snapshot; its label is left out where the label is now another."""
    kinds, then = column_kinds(snapshot), snapshot.optional_text("label")
    gone = [name for name in kinds if name not in found and name != then and kinds[name] != SKIPPED]
    if gone and not grows:
        message = f"{file}: there is no column {gone[0]!r}, but the model has learned from it; add it"
        raise FileRefused(message, path=file)
    old = {name: kind for name, kind in kinds.items() if name == label or name != then}
    if label is not None and label not in old:
        old[label] = kind_of_label(found[label])
    others = kinds.keys() - old.keys() if grows else found.keys() - old.keys()
    return old | dict.fromkeys(others, SKIPPED)


def _kinds_found(found: Mapping[str, Recognised], label: str | None) -> dict[str, str]:
    """Return each column's kind as it was asked for or recognised; labels are numbers or texts as they are."""
    kinds = {name: column.kind for name, column in found.items()}
    if label is not None:
        kinds[label] = kind_of_label(found[label])
    return kinds


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
