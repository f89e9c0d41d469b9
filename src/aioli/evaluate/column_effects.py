r"""Measures what each column of the file does to the probabilities of a learner, whatever the learner is.

A column is changed and everything else stays: over a few rows of the stream (`evaluate.background`) the column takes
each of its usual values, and what the learner then announces is averaged. Its importance is $\overline{|z' - z|}$,
where z are the log-odds of a row and z' those of the row with the column of another: how far the column moves what is
said. So a column has the direction that the model's own probability has, however many experts disagree about it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from aioli.evaluate.background import Background
from aioli.evaluate.changed_rows import entries_of, with_features_of, with_values
from aioli.evaluate.original_columns import SHARED, THERE, WORDS, OriginalColumn
from aioli.learners.protocol import Learner
from aioli.numerics.compiling import Vector
from aioli.numerics.logistic import sigmoid_many
from aioli.streams.files.table import CATEGORY, TEXT, Features

__all__ = [
    "ColumnEffect",
    "Contribution",
    "CurvePoint",
    "WordEffect",
    "column_effects",
    "contributions",
    "word_effects",
]

DRAWN = 30  # columns with a curve, the most important
LEVELS = 8  # of a category in its curve, the most frequent
WORDS_TRIED = 1000
BUDGET = 60_000  # rows that may be predicted for all effects together
LEAST_ROWS = 16

Unscaled = Callable[[int, float], float]  # a feature's place and value, to its value before the stream scaled it


@dataclass(frozen=True)
class CurvePoint:
    """What is announced, on average, where a column has a value: its name, its number where it is one."""

    value: str
    number: float | None
    probability: float


@dataclass(frozen=True)
class ColumnEffect:
    """What a column does to the probability.

    Attributes
    ----------
    importance
        By how much the log-odds of a row change, on average, where the column is that of another row.
    change
        What going from a small value to a large one adds to the log-odds, on average; of a category, what its most
        favourable value has more than its least. None where the curve was not drawn.
    direction
        "rises", "falls" or "bends" with the column, "differs" by its categories, "" where it does nothing.
    curve
        A few values of the column, and what is announced there.
    """

    name: str
    kind: str
    importance: float
    change: float | None = None
    direction: str = ""
    curve: Sequence[CurvePoint] = ()


@dataclass(frozen=True)
class WordEffect:
    """What the presence of a word, or of any feature of a sparse file, adds to the log-odds."""

    name: str
    log_odds: float


@dataclass(frozen=True)
class Contribution:
    """What a column of one row adds to its log-odds: more than with the column of the average row."""

    name: str
    value: str
    log_odds: float


def column_effects(
    learner: Learner,
    background: Background,
    columns: Sequence[OriginalColumn],
    unscaled: Unscaled = lambda _place, value: value,
) -> list[ColumnEffect]:
    """Return what each column does, the most important first; free text and sparse files have `word_effects`."""
    told = [column for column in columns if column.kind not in (TEXT, WORDS)]
    if not told:
        return []
    rows = background.rows
    affordable = max(LEAST_ROWS, BUDGET // (len(told) + 8 * min(len(told), DRAWN)))
    rows = rows[: min(rows.shape[0], affordable)]
    z = learner.predict_logit_many(rows)
    alone = rows.shape[0] == 1
    found = []
    for column in told:
        if alone:
            moved = [
                learner.predict_logit_many(with_values(rows, column.places, s.values))
                for s in _settings(column, background)
            ]
            found.append((float(np.std(moved)) if moved else 0.0, column))
        else:
            order = np.roll(np.arange(rows.shape[0]), 1 + rows.shape[0] // 3)
            found.append(
                (
                    float(np.abs(learner.predict_logit_many(with_features_of(rows, column.places, order)) - z).mean()),
                    column,
                )
            )
    found.sort(key=lambda one: -one[0])
    drawn = [_drawn(learner, background, rows, column, size, unscaled) for size, column in found[:DRAWN]]
    return drawn + [ColumnEffect(column.name, column.kind, size) for size, column in found[DRAWN:]]


def word_effects(learner: Learner, background: Background, columns: Sequence[OriginalColumn]) -> list[WordEffect]:
    """Return what each of the commonest words adds to the log-odds of a row without any, the largest first."""
    from scipy.sparse import csr_array, vstack

    found = []
    for column in columns:
        if column.kind not in (TEXT, WORDS):
            continue
        words = [
            place for place in column.values if place < len(background.average) and background.average[place] != 0.0
        ]
        words = sorted(words, key=lambda place: -abs(background.average[place]))[:WORDS_TRIED]
        base = background.average.copy()
        base[list(column.values)] = 0.0
        bare = csr_array(base[None, :])
        ones = csr_array((np.ones(len(words)), (np.arange(len(words)), words)), shape=(len(words), len(base)))
        z = learner.predict_logit_many(
            csr_array(vstack([bare, csr_array(vstack([bare] * len(words))) + ones] if words else [bare]))
        )
        found += [WordEffect(column.values[place], float(z[i + 1] - z[0])) for i, place in enumerate(words)]
    return sorted(found, key=lambda word: -abs(word.log_odds))


def contributions(
    learner: Learner,
    row: Features,
    background: Background,
    columns: Sequence[OriginalColumn],
    unscaled: Unscaled = lambda _place, value: value,
) -> list[Contribution]:
    """Return what each column of a row, a matrix of one, adds to its log-odds against the average row's, largest first.

    A word of free text, or a feature of a sparse file, is told by itself, against its absence.
    """
    present = entries_of(row)
    asked: list[tuple[str, str, list[int], Vector]] = []
    for column in columns:
        if column.kind in (TEXT, WORDS):
            asked += [
                (name, _number(present[place]), [place], np.zeros(1))
                for place, name in column.values.items()
                if place in present
            ]
        else:
            places = column.places
            asked.append((column.name, _value(column, present, unscaled), places, background.average[places]))
    z = float(learner.predict_logit_many(row)[0])
    told = [
        Contribution(name, value, z - float(learner.predict_logit_many(with_values(row, places, instead))[0]))
        for name, value, places, instead in asked
    ]
    return sorted(told, key=lambda one: -abs(one.log_odds))


# ---- within


@dataclass(frozen=True)
class _Setting:
    """A value that a column may have, and its features then."""

    name: str
    number: float | None
    values: Vector


def _settings(
    column: OriginalColumn, background: Background, unscaled: Unscaled = lambda _place, value: value
) -> list[_Setting]:
    places = column.places
    if column.kind == CATEGORY:
        shares = sorted(((background.average[place], place) for place in column.values), reverse=True)[:LEVELS]
        return [
            _Setting(column.values[place], None, np.array([float(each == place) for each in places]))
            for share, place in shares
            if share > 0.0
        ]
    if column.kind == SHARED or not column.values:
        return []
    first = next(iter(column.values))
    others = [background.average[place] for place in places[1 : len(column.values)]]
    marks = [float(mark == THERE) for mark in column.marks.values()]
    return [
        _Setting(_number(unscaled(first, value)), unscaled(first, value), np.array([value, *others, *marks]))
        for value in background.quantiles(first)
    ]


def _drawn(
    learner: Learner,
    background: Background,
    rows: Features,
    column: OriginalColumn,
    importance: float,
    unscaled: Unscaled,
) -> ColumnEffect:
    settings = _settings(column, background, unscaled)
    z = [learner.predict_logit_many(with_values(rows, column.places, setting.values)) for setting in settings]
    curve = [
        CurvePoint(setting.name, setting.number, float(sigmoid_many(said).mean()))
        for setting, said in zip(settings, z, strict=True)
    ]
    means = [float(said.mean()) for said in z]
    if len(means) < 2:
        return ColumnEffect(column.name, column.kind, importance, 0.0, "", curve)
    reach, step = max(means) - min(means), means[-1] - means[0]
    if column.kind == CATEGORY:
        curve.sort(key=lambda point: -point.probability)
        return ColumnEffect(column.name, column.kind, importance, reach, "differs" if reach else "", curve)
    bends = abs(step) < 0.6 * reach
    direction = "" if reach == 0.0 else "bends" if bends else "rises" if step > 0.0 else "falls"
    return ColumnEffect(column.name, column.kind, importance, step, direction, curve)


def _value(column: OriginalColumn, present: dict[int, float], unscaled: Unscaled) -> str:
    """Return what the row has in a column, in words."""
    if column.kind == CATEGORY:
        held = [name for place, name in column.values.items() if place in present]
        return ", ".join(held) or "another value"
    marked = [mark for place, mark in column.marks.items() if place in present]
    if not column.values or (marked and THERE not in marked):
        return "missing"
    first = next(iter(column.values))
    return _number(unscaled(first, present.get(first, 0.0)))


def _number(value: float) -> str:
    return f"{value:.6g}"
