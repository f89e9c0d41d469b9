"""The labels of a file, any number of values, as codes: two classes with roles first, then as many as come."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Literal, Self

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Vector
from aioli.snapshots.tree import Snapshot
from aioli.streams.files.table import Texts
from aioli.streams.files.where import Where, row_refused
from aioli.streams.label_spellings import spellings_of
from aioli.streams.labels import Labels, written

__all__ = ["ClassRule", "ManyLabels", "labels_for", "restore_labels"]

ClassRule = Literal["two", "more", "any"]


class ManyLabels(Labels):
    """Remembers the values of the label, of which there may be any number, and encodes them as 0.0, 1.0, 2.0, …

    As long as there are two, they are the negative and the positive class of `Labels`, 0 and 1; further ones are 2, 3,
    … in the order in which they come. Without roles all are numbered in that order, from 0.

    Examples
    --------
    >>> from aioli.streams.files.where import Numbered
    >>> labels = ManyLabels()
    >>> labels.encode(["ham", "spam", "ham", "news"], Numbered("mails.csv", "line", range(2, 6)))
    array([0., 1., 0., 2.])
    >>> labels.classes
    ('ham', 'spam', 'news')
    """

    def __init__(self, roles: bool = True) -> None:
        super().__init__()
        self.roles = roles
        self.more: list[str] = []
        if not roles:
            self.counts = []

    @classmethod
    def of_counts(cls, names: Sequence[str], counts: Sequence[int]) -> Self:
        """Return labels of any number of classes, in the order of their codes, and how many rows each has had."""
        labels = cls(roles=False)
        labels.more, labels.counts = list(names), list(counts)
        return labels

    @property
    def classes(self) -> tuple[str, ...]:
        """What the classes are called, in the order of their codes."""
        return (*self.names, *self.more) if self.roles else tuple(self.more)

    @property
    def is_two(self) -> bool:
        """Whether all values so far fit a game of two classes."""
        return self.roles and not self.more

    def encode(self, values: Vector | Texts, where: Where) -> Vector:
        """Return a code for each row; a missing label is refused with its place."""
        if isinstance(values, np.ndarray):
            if self.is_two and (y := self._known_numbers(values)) is not None:
                self._count(y)
                return y
            numbers, places = np.unique(values, return_inverse=True)
            missing = np.isnan(values)
            if missing.any():
                raise row_refused(where, int(np.argmax(missing)), MISSING)
            names = [written(value) for value in numbers.tolist()]
            firsts = np.full(len(numbers), len(values))
            np.minimum.at(firsts, places, np.arange(len(values)))
            in_order = [names[k] for k in np.argsort(firsts, kind="stable").tolist()]
            self._learn_more(in_order, [names[k] for k in places.tolist()], where)
            codes = self._codes()
            y = np.array([codes[name] for name in names], dtype=np.float64)[places]
        else:
            if None in (order := list(dict.fromkeys(values))):
                raise row_refused(where, values.index(None), MISSING)
            self._learn_spellings([name for name in order if name is not None])
            told = [self.spellings.get(value or "", value) for value in values]
            self._learn_more([name for name in dict.fromkeys(told) if name is not None], told, where)
            codes = self._codes()
            y = np.array([codes[value or ""] for value in told], dtype=np.float64)
        self._count(y)
        return y

    def _learn_spellings(self, names: Sequence[str]) -> None:
        """Take new values for classes that differ in case alone, as long as there are two, and on once some were."""
        new = [name for name in names if name not in self.spellings and name not in self._codes()]
        if self.is_two:
            known = [name for name in (self.negative, self.positive) if name is not None]
            self.spellings.update(spellings_of(known, new))
        elif self.spellings:
            classes = {name.casefold(): name for name in reversed((*self.classes, *new))}
            self.spellings.update((name, first) for name in new if (first := classes[name.casefold()]) != name)

    def told(self) -> str:
        """Return in words what was not obvious; of more than two classes, none is the positive one."""
        return super().told() if self.is_two else "; ".join(self._spellings_told())

    def _learn_more(self, names: Sequence[str], values: Texts, where: Where) -> None:
        """Remember the values that are new, in the order in which they came; the first two get their roles."""
        if self.roles:
            known = [name for name in (self.negative, self.positive) if name is not None]
            two = [*known, *(name for name in names if name not in known)][:2]
            if len(known) < len(two):
                before_third = takewhile(lambda name: name in two, values)
                counts = Counter(name for name in before_third if name is not None)
                self._learn([name if name in two else two[0] for name in values if name is not None], where, counts)
        codes = self._codes()
        self.more += [name for name in names if name not in codes]

    def _codes(self) -> Mapping[str, int]:
        known = {name: k for k, name in enumerate((self.negative, self.positive)) if name is not None}
        first = 2 if self.roles else 0
        return {**(known if self.roles else {}), **{name: first + k for k, name in enumerate(self.more)}}

    def _count(self, y: Vector) -> None:
        if self.is_two:
            ones = int(y.sum())
            self.counts = [self.counts[0] + len(y) - ones, self.counts[1] + ones]
            return
        counts = np.bincount(y.astype(np.int64), minlength=len(self.classes)).tolist()
        self.counts = [
            old + new for old, new in zip([*self.counts, *[0] * (len(counts) - len(self.counts))], counts, strict=True)
        ]

    def snapshot(self) -> Snapshot:
        """Return what is known of the classes; where there are two, it is that of `Labels`."""
        two = super().snapshot()
        if self.is_two:
            return two
        return Snapshot("ManyLabels", {**two.values, "roles": self.roles, "more": list(self.more)})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make equal labels from a snapshot, which may be one of two classes."""
        if snapshot.kind == "Labels":
            return cls._of_two(Labels.restore(snapshot))
        labels = cls(snapshot.of("ManyLabels").flag("roles"))
        labels.more = snapshot.texts("more") or []
        if labels.roles:
            labels.negative, labels.positive = snapshot.text("negative"), snapshot.text("positive")
        if len(set(labels.classes)) < len(labels.classes):
            raise SnapshotRefused(f"in a ManyLabels, a class comes twice: {labels.classes}")
        labels.counts = snapshot.wholes("counts", len(labels.classes))
        labels._restore_told(snapshot)
        return labels

    @classmethod
    def _of_two(cls, two: Labels) -> Self:
        labels = cls()
        labels.negative, labels.positive, labels.counts = two.negative, two.positive, list(two.counts)
        labels.rest, labels.spellings, labels.guessed = list(two.rest), dict(two.spellings), two.guessed
        return labels


MISSING = "the label is missing; fill it in, or drop the row"


def labels_for(rule: ClassRule, positive: str | None, snapshot: Snapshot | None) -> Labels:
    """Return new labels by a rule, or those of the snapshot.

    "two" refuses a third value; "more" takes it for a third class; "any" knows no roles, and numbers the classes in the
    order in which they come. Where the positive class was given there are two.
    """
    if snapshot is not None and (rule == "two" or positive is not None) and snapshot.kind == "Labels":
        return Labels.restore(snapshot)
    if snapshot is not None:
        return ManyLabels.restore(snapshot)
    return Labels(positive) if rule == "two" or positive is not None else ManyLabels(roles=rule == "more")


def restore_labels(snapshot: Snapshot) -> Labels:
    """Return the labels of a snapshot, of two classes or of more."""
    return Labels.restore(snapshot) if snapshot.kind == "Labels" else ManyLabels.restore(snapshot)
