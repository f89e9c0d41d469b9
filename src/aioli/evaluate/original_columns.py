"""Finds which features belong to which column of the file: a number has one, a category one for each of its values."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from aioli.snapshots.tree import Snapshot
from aioli.streams.encoding import column_kinds
from aioli.streams.files.table import CATEGORY, DATE, NUMBER, TEXT
from aioli.streams.gap_marks import MISSING

__all__ = ["SHARED", "THERE", "WORDS", "OriginalColumn", "columns_as_taught", "columns_of_features"]

WORDS = "words"  # the kind of features that a sparse file names one by one
SHARED = "shared"  # that of features that rare values share by their hash
THERE = " is there"
MARKS = (MISSING, " is unreadable", THERE)
PARTS = {CATEGORY: ("=",), TEXT: (": ",), DATE: (", weekday", ", hour")}
RARE = {"rare categories, bucket": "rare categories", "rare words, bucket": "rare words"}


@dataclass
class OriginalColumn:
    """A column of the user's file, and the places of its features.

    Attributes
    ----------
    values
        Features of the column's value, by what the value is called: "" for the number itself.
    marks
        Features that say that a value is missing, unreadable or there, by which of these they say.
    """

    name: str
    kind: str
    values: dict[int, str] = field(default_factory=dict)
    marks: dict[int, str] = field(default_factory=dict)

    @property
    def places(self) -> list[int]:
        """All its features."""
        return [*self.values, *self.marks]


def columns_as_taught(features: Sequence[str], taught: Snapshot | None) -> list[OriginalColumn]:
    """Return the columns behind the features, by the snapshot of the stream that they came from, where there is one."""
    encoder = None if taught is None else taught.parts.get("encoder")
    if encoder is None:
        return columns_of_features(features, {})
    if encoder.kind != "Encoder":  # a sparse file, whose features are words
        return [OriginalColumn("", WORDS, dict(enumerate(features)))] if features else []
    return columns_of_features(features, column_kinds(encoder))


def columns_of_features(features: Iterable[str], kinds: Mapping[str, str]) -> list[OriginalColumn]:
    """Return the columns behind named features, in the order of their first feature.

    >>> kinds = {"age": "number", "town": "category"}
    >>> found = columns_of_features(["age", "town=Rome", "town=Oslo", "age is missing"], kinds)
    >>> [(column.name, column.values, column.marks) for column in found]
    [('age', {0: ''}, {3: ' is missing'}), ('town', {1: 'Rome', 2: 'Oslo'}, {})]
    """
    found: dict[str, OriginalColumn] = {}
    lengths = sorted({len(name) for name in kinds}, reverse=True)  # a value may be long: not all its parts are names
    for place, feature in enumerate(features):
        name, kind, value = _owner(feature, kinds, lengths)
        column = found.setdefault(name, OriginalColumn(name, kind))
        if value in MARKS and kind != CATEGORY:
            column.marks[place] = value
        else:
            column.values[place] = value.strip()
    return list(found.values())


def _owner(feature: str, kinds: Mapping[str, str], lengths: Sequence[int]) -> tuple[str, str, str]:
    """Return a feature's column, its kind, and what the feature says of it; the longest name that fits is the owner."""
    if kinds.get(feature, NUMBER) in (NUMBER, DATE) and (feature in kinds or not kinds):
        return feature, kinds.get(feature, NUMBER), ""
    for end in lengths:
        kind = kinds.get(feature[:end])
        if kind is None or end > len(feature):
            continue
        rest = feature[end:].removesuffix(" (made)")
        if rest in MARKS:
            return feature[:end], kind, rest
        for separator in PARTS.get(kind, ()):
            if rest.startswith(separator):
                return feature[:end], kind, rest.removeprefix(separator) if kind != DATE else rest
    for bucket, name in RARE.items():
        if feature.startswith(bucket):
            return name, SHARED, feature.removeprefix(bucket).strip()
    return feature, NUMBER, ""
