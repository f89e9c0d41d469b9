"""The record of a run that its report shows: plain numbers and names."""

from collections.abc import Sequence
from dataclasses import dataclass

from aioli.evaluate.column_effects import ColumnEffect, CurvePoint, WordEffect
from aioli.evaluate.column_summary import Column
from aioli.evaluate.history import Number, Point
from aioli.evaluate.key_line import KeyLine
from aioli.evaluate.scores import Reliability
from aioli.evaluate.windows import Change, Window

__all__ = [
    "Change",
    "Column",
    "ColumnEffect",
    "CurvePoint",
    "Histogram",
    "KeyLine",
    "KeyTables",
    "Number",
    "Point",
    "Record",
    "Reliability",
    "Summary",
    "Threshold",
    "Weight",
    "Window",
    "WordEffect",
]


@dataclass(frozen=True)
class Summary:
    """The scores of the whole run; what was not measured is None.

    Attributes
    ----------
    log_loss, base_rate
        Mean log loss of the learner, and of the running base rate, in nats a row.
    auc_low, auc_high
        The interval that holds the area of the rows' law about 95 times in 100.
    ece
        Expected calibration error.
    certificate, regret
        Nats proven not to be exceeded, and nats found in hindsight.
    """

    rows: int
    log_loss: Number = None
    base_rate: Number = None
    brier: Number = None
    accuracy: Number = None
    auc: Number = None
    auc_low: Number = None
    auc_high: Number = None
    ece: Number = None
    certificate: Number = None
    regret: Number = None


@dataclass(frozen=True)
class Histogram:
    """How many rows of each class had a probability in each of equally wide bins of [0, 1], smallest first."""

    negative: Sequence[int]
    positive: Sequence[int]


@dataclass(frozen=True)
class Threshold:
    """True and false positive rate and precision, where rows of at least this probability are called positive."""

    threshold: Number
    true_positive_rate: Number
    false_positive_rate: Number
    precision: Number


@dataclass(frozen=True)
class Weight:
    """What a column, or one step of it, adds to the log-odds, and one standard deviation of that, where known.

    Attributes
    ----------
    probability
        That of the average row after the step; None where the weight is that of one unit of the column.
    """

    name: str
    weight: Number
    uncertainty: Number = None
    probability: Number = None


@dataclass(frozen=True)
class KeyTables:
    """What the page says of the keys of a run with one model a key.

    Attributes
    ----------
    count
        How many keys there are.
    hard, drifted, new
        Some keys of each kind, those most so first.
    new_count, new_loss
        How many keys are new, and the mean loss of their rows.
    """

    count: int
    hard: Sequence[KeyLine] = ()
    drifted: Sequence[KeyLine] = ()
    new: Sequence[KeyLine] = ()
    new_count: int = 0
    new_loss: Number = None


@dataclass(frozen=True)
class Record:
    """A whole run. What is empty has no place on the page.

    Attributes
    ----------
    title
        What was played: the name of the file.
    learner
        The learner's own `repr`.
    positive, negative
        What the two labels are called in the data.
    label, command, date
        The label's column, the command that was given, and the day; empty where not known.
    warnings
        What the reader should know first, a few words each.
    proven
        What the certificate says, in one sentence.
    windows, changes
        Equal windows along the rows, and where the loss changed.
    tails
        Groups of rows between fixed probabilities.
    decisions
        Thresholds, with the rows called positive there, how many of these are, and how many are missed.
    history
        Points of the run, in the order of their rows.
    thresholds
        From the strictest to the most lenient; a few hundred are enough for a curve.
    effects, words
        What each column does to the probability that is announced, the most important first; likewise each word.
    weights
        Coefficients of a linear model, the largest first.
    average
        The probability of the average row, from which the steps of the weights lead.
    keys
        Who is hard, who drifted and who is new, where every key has a model; None where there is one model.
    notes
        Sentences for the reader, such as against which ball the certificate holds.
    """

    title: str
    learner: str
    summary: Summary
    version: str = ""
    seconds: Number = None
    rows_per_second: Number = None
    positive: str = "1"
    negative: str = "0"
    history: Sequence[Point] = ()
    reliability: Sequence[Reliability] = ()
    histogram: Histogram | None = None
    thresholds: Sequence[Threshold] = ()
    effects: Sequence[ColumnEffect] = ()
    words: Sequence[WordEffect] = ()
    weights: Sequence[Weight] = ()
    average: Number = None
    columns: Sequence[Column] = ()
    notes: Sequence[str] = ()
    label: str = ""
    command: str = ""
    date: str = ""
    warnings: Sequence[str] = ()
    proven: str = ""
    windows: Sequence[Window] = ()
    changes: Sequence[Change] = ()
    tails: Sequence[Reliability] = ()
    decisions: Sequence[tuple[float, int, int, int]] = ()
    keys: KeyTables | None = None
