"""What a run leaves behind for its report: plain numbers and names, in JSON too."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from numbers import Integral, Real
from typing import Any, Self

from aioli.evaluate.scores import Reliability

__all__ = ["Column", "Histogram", "Number", "Point", "Record", "Reliability", "Summary", "Threshold", "Weight"]

Number = float | None  # a measured number; None, NaN and the infinities alike are left out of the page


@dataclass(frozen=True)
class Summary:
    """The scores of the whole run; what was not measured is None.

    Attributes
    ----------
    log_loss, base_rate
        Mean log loss of the learner, and of the running base rate, in nats a row.
    auc_error
        How far at most `auc` is from the exact area.
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
    auc_error: Number = None
    ece: Number = None
    certificate: Number = None
    regret: Number = None


@dataclass(frozen=True)
class Point:
    """How it stood after some rows.

    Attributes
    ----------
    log_loss, base_rate
        Mean log loss so far, in nats a row.
    recent
        Mean log loss of the rows since the point before.
    certificate, regret
        In nats, over all rows so far.
    weights
        The share of the mixture that each expert holds; None where there is no mixture.
    peers
        Mean log loss so far of other learners, by name.
    """

    rows: int
    log_loss: Number
    recent: Number = None
    base_rate: Number = None
    certificate: Number = None
    regret: Number = None
    weights: Mapping[str, Number] | None = None
    peers: Mapping[str, Number] = field(default_factory=dict)


@dataclass(frozen=True)
class Histogram:
    """How many rows of each class had a probability in each of equally wide bins of [0, 1], smallest first."""

    negative: Sequence[int]
    positive: Sequence[int]


@dataclass(frozen=True)
class Threshold:
    """What is found, and at what price, where every row with at least this probability is called positive."""

    threshold: Number
    true_positive_rate: Number
    false_positive_rate: Number
    precision: Number


@dataclass(frozen=True)
class Weight:
    """What a column adds to the log-odds, and one standard deviation of it, where known."""

    name: str
    weight: Number
    uncertainty: Number = None


@dataclass(frozen=True)
class Column:
    """A column of the data: its kind, the share of missing values, and what else is known of its values."""

    name: str
    kind: str
    missing: Number = None
    categories: int | None = None
    note: str = ""
    least: Number = None
    mean: Number = None
    greatest: Number = None


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
    history
        Points of the run, in the order of their rows.
    thresholds
        From the strictest to the most lenient; a few hundred are enough for a curve.
    weights
        The largest first.
    notes
        Sentences for the reader, such as against which ball the certificate holds.

    Examples
    --------
    >>> record = Record("clicks.csv", "AIOLI(radius=4)", Summary(rows=2, log_loss=0.5), history=(Point(2, 0.5),))
    >>> Record.from_json(record.to_json()) == record
    True
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
    weights: Sequence[Weight] = ()
    columns: Sequence[Column] = ()
    notes: Sequence[str] = ()

    def to_json(self) -> str:
        """The record as a JSON object; numbers that are not finite, for which JSON has no word, become null."""
        return json.dumps(_plain(self), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The record that `to_json` wrote; anything else is a `ValueError`."""
        kinds: dict[str, Any] = {
            "history": Point,
            "reliability": Reliability,
            "thresholds": Threshold,
            "weights": Weight,
            "columns": Column,
            "notes": str,
        }
        try:
            given = json.loads(text)
            for name, kind in kinds.items():
                given[name] = tuple(kind(**item) if isinstance(item, dict) else kind(item) for item in given[name])
            given["summary"] = Summary(**given["summary"])
            if given["histogram"] is not None:
                given["histogram"] = Histogram(**{side: tuple(n) for side, n in given["histogram"].items()})
            return cls(**given)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"this is not the JSON of a report ({error}); give what to_json() wrote") from error


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {part.name: _plain(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, Integral):  # NumPy's integers are among them
        return int(value)
    if isinstance(value, Real):
        return float(value) if math.isfinite(value) else None
    return [_plain(part) for part in value]
