"""The labels of a game of many classes: any strings, whole numbers or truth values become codes 0, 1, 2, …

>>> labels = ClassLabels("any")
>>> codes, new = labels.encode(["red", "green", "red"], 3)
>>> codes, new
(array([0, 1, 0]), ['red', 'green'])
>>> labels.add(new)
>>> labels.classes
['red', 'green']
>>> ClassLabels(["red", "green"]).encode(["blue"], None)
Traceback (most recent call last):
    ...
aioli.errors.LabelRefused: the row: the label is 'blue', none of the classes 'red', 'green'; declare it too, or give classes="any" (nothing was learned)
"""  # noqa: E501  (a message is one line)

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aioli.errors import UNCHANGED, LabelRefused, ParameterRefused, SnapshotRefused
from aioli.outcomes.class_places import ClassPlaces
from aioli.snapshots.tree import Snapshot

__all__ = ["ClassLabels", "Classes", "Codes", "Label", "plain_label"]

Label: TypeAlias = str | int | float | bool
Classes: TypeAlias = Sequence[Label] | NDArray[np.generic] | Literal["any"]  # as a learner's parameter gives them
Codes: TypeAlias = NDArray[np.int64]

SHOWN = 8  # classes that a message lists


class ClassLabels:
    """Numbers the classes of a game in the order declared, or with "any" in the order in which they first come.

    `encode` changes nothing: a caller adds the new classes with `add` once the whole call is known to be good.

    Parameters
    ----------
    classes
        The labels of all classes, at least two; or "any", where classes appear as they come.
    """

    def __init__(self, classes: object) -> None:
        self.open = isinstance(classes, str) and classes == "any"
        self.classes: list[Label] = []
        self._codes: dict[object, int] = {}
        if not self.open:
            self.add(_declared(classes))

    def __len__(self) -> int:
        return len(self.classes)

    @property
    def given(self) -> list[Label] | Literal["any"]:
        """The parameter that makes equal labels: "any", or the list of classes."""
        return "any" if self.open else list(self.classes)

    @property
    def places(self) -> ClassPlaces:
        """The places of the classes, and of those that may yet come."""
        return ClassPlaces(len(self), int(self.open))

    def code_of(self, label: object) -> int:
        """Return the code of a label that is known; -1 for any other object."""
        try:
            return self._codes.get(label, -1)
        except TypeError:  # not hashable
            return -1

    def encode(self, labels: object, count: int | None) -> tuple[Codes, list[Label]]:
        """Return one code a row, and the labels that are new, in the order in which they came; changes nothing."""
        values = _as_list(labels, count)
        codes = self._codes
        try:
            found = [codes.get(value, -1) for value in values]
        except TypeError:
            found = [codes.get(value, -1) if isinstance(value, Hashable) else -1 for value in values]
        new: dict[Label, int] = {}
        if -1 in found:
            for t, code in enumerate(found):
                if code < 0:
                    label = _as_label(values[t], None if count is None else t)
                    code = codes.get(label, -1)
                    if code < 0 and not self.open:
                        raise self._unknown(label, None if count is None else t)
                    found[t] = new.setdefault(label, len(self) + len(new)) if code < 0 else code
        return np.array(found, np.int64), list(new)

    def add(self, new: Iterable[Label]) -> None:
        """Number these classes behind those that are known."""
        for label in new:
            self._codes[label] = len(self.classes)
            self.classes.append(label)

    def copy(self) -> Self:
        """Return equal labels that share nothing with these."""
        return type(self).restore(self.snapshot())

    def snapshot(self) -> Snapshot:
        """Return the classes so far, and whether more may come."""
        return Snapshot("ClassLabels", {"open": self.open, "classes": list(self.classes)})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make equal labels."""
        given = snapshot.of("ClassLabels")
        values = given.values.get("classes")
        if isinstance(values, str) or not isinstance(values, Sequence):
            raise SnapshotRefused(f"in a {given.kind}, 'classes' is {values!r}, no list")
        labels = cls("any")
        labels.open = given.flag("open")
        try:
            labels.add(_distinct([_as_label(value, None) for value in values]))
        except (LabelRefused, ParameterRefused) as error:
            raise SnapshotRefused(f"in a {given.kind}, {error}") from error
        return labels

    def _unknown(self, label: Label, row: int | None) -> LabelRefused:
        shown = ", ".join(repr(known) for known in self.classes[:SHOWN]) + (", …" if len(self) > SHOWN else "")
        problem = f"the label is {label!r}, none of the classes {shown}"
        return LabelRefused(problem, row=row, value=label, remedy='declare it too, or give classes="any"')


def plain_label(label: object) -> object:
    """Return what an array of one label holds; any other object as it is."""
    return label.item() if isinstance(label, np.ndarray) and label.size == 1 else label


def _declared(classes: object) -> list[Label]:
    """Return the classes that a parameter declares, or refuse it."""
    wanted = 'a list of at least two different labels, or "any"'
    if isinstance(classes, (str, bytes)) or not isinstance(classes, (Iterable, np.ndarray)):
        raise ParameterRefused.unlike("classes", classes, wanted)
    try:
        declared = _distinct([_as_label(value, None) for value in _as_list(classes, None)])
    except LabelRefused as error:
        raise ParameterRefused(f"classes: {error.problem}; give {wanted}", parameter="classes", value=classes) from None
    if len(declared) < 2:
        raise ParameterRefused.unlike("classes", classes, wanted)
    return declared


def _distinct(labels: list[Label]) -> list[Label]:
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        message = f"classes name {twice!r} more than once (1, 1.0 and True are one label); give each class once"
        raise ParameterRefused(message, parameter="classes", value=labels)
    return labels


def _as_list(labels: object, count: int | None) -> list[object]:
    """Return the labels as plain values, one a row; those of masked or missing entries are None or NaN."""
    if isinstance(labels, list):
        values: list[object] = labels
    else:
        array = np.ma.asarray(labels) if isinstance(labels, np.ma.MaskedArray) else np.asarray(labels)
        values = (array.ravel() if array.ndim == 2 and 1 in array.shape else array).tolist()
        if array.ndim == 0 or (array.ndim > 1 and 1 not in array.shape):
            message = f"labels of shape {array.shape} came; give one a row{UNCHANGED}"
            raise ParameterRefused(message, parameter="y", value=array.shape)
    if count is not None and len(values) != count:
        message = f"{count} rows came with {len(values)} labels; give one a row{UNCHANGED}"
        raise ParameterRefused(message, parameter="y", value=len(values))
    return values


def _as_label(value: object, row: int | None) -> Label:
    """Return a label as a plain value, or refuse it."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float) and math.isnan(value)) or _is_missing(value):
        raise LabelRefused("the label is missing", row=row, value=value, remedy="fill it in, or drop the row")
    if not isinstance(value, (str, int, float)) or (isinstance(value, float) and math.isinf(value)):
        remedy = "give strings, numbers or truth values"
        raise LabelRefused(f"the label is {value!r}", row=row, value=value, remedy=remedy)
    return value


def _is_missing(value: object) -> bool:
    """Return whether a value is pandas' NA or NaT, which are unlike themselves."""
    return type(value).__name__ in ("NAType", "NaTType")
