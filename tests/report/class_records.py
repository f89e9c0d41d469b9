"""Records of runs of K classes to make reports of: ten classes, forty, three hundred, and the strangest."""

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from records import HOSTILE, broken_record, one_row_record

from aioli.evaluate.class_functions import CalibrationError, ClassFigures, Period
from aioli.evaluate.class_scores import ClassScores
from aioli.evaluate.score_functions import Reliability
from aioli.report.class_record import ClassRecord, record_of_classes
from aioli.report.record import Column, Point, Record, Summary

DIGITS = [str(k) for k in range(10)]
OBJECTS = [f"object {k}" if k % 3 else f"a rather long name of object {k}" for k in range(40)]


def of_classes(names: list[str], rows: int, seed: int = 0, drifting: bool = True) -> ClassRecord:
    """A game that gets better as it goes; classes come in an order, and some are taken for their neighbours."""
    rng = np.random.default_rng(seed)
    size = len(names)
    scores = ClassScores()
    points, before = [], 0.0
    spacing = np.unique(np.geomspace(1, rows, 40).astype(int))
    for first, last in zip([0, *spacing[:-1]], spacing, strict=True):
        t = np.arange(first, last)
        known = np.minimum(size, 2 + size * 3 * t // rows) if drifting else np.full(len(t), size)
        y = np.where(rng.random(len(t)) < 0.7, rng.integers(known), np.minimum(known - 1, known * t // rows))
        z = rng.normal(size=(len(t), size)) - 50.0 * (np.arange(size) >= known[:, None])
        z[np.arange(len(t)), y] += 2.0 + 3.0 * t / rows
        z[np.arange(len(t)), (y + 1) % size] += 1.5 * (y % 3 == 0)
        P = np.exp(z - z.max(axis=1, keepdims=True))
        scores.count(P / P.sum(axis=1, keepdims=True), y.astype(float), classes=names)
        recent = (scores.nats - before) / (last - first)
        before = scores.nats
        points.append(Point(int(last), scores.log_loss, recent, scores.base_rate, 30.0 * math.log1p(last)))
    run = Record(
        title="digits.csv" if size == 10 else "outdoor.csv",
        learner="Auto(classes='any')",
        version="0.1.0",
        seconds=2.5,
        rows_per_second=rows / 2.5,
        summary=Summary(
            rows=rows,
            log_loss=scores.log_loss,
            base_rate=scores.base_rate,
            brier=scores.brier,
            accuracy=scores.accuracy,
            auc=scores.auc,
            ece=scores.ece,
            certificate=points[-1].certificate,
        ),
        history=points,
        columns=[Column(f"x{i}", "number", 0.0, None, "", -1.0, 0.0, 1.0) for i in range(4)],
        notes=["The certificate holds against every linear model of the ball."],
    )
    return record_of_classes(run, scores)


@cache
def ten() -> ClassRecord:
    return of_classes(DIGITS, 3_000, drifting=False)


@cache
def forty() -> ClassRecord:
    return of_classes(OBJECTS, 2_500)


@cache
def three_hundred() -> ClassRecord:
    return of_classes([f"{HOSTILE} {'long ' * 40}{k}" for k in range(300)], 900)


def three_rows() -> ClassRecord:
    scores = ClassScores()
    scores.update([[0.2, 0.3, 0.5]] * 3, ["a", "b", "c"], ["a", "b", "c"])
    return record_of_classes(one_row_record(), scores)


def broken() -> ClassRecord:
    """Numbers that no drawing can hold, wherever a number may be."""
    bad = math.nan
    error = CalibrationError(bad, bad, bad)
    nothing = np.array([bad, math.inf, 0.0])
    return ClassRecord(
        run=broken_record(),
        classes=["", "b", "c"],
        top3=bad,
        macro_f1=math.inf,
        kappa=bad,
        confusion=[[0.0, 0.0, 0.0], [0.0, 1e-9, 0.0], [1.0, 0.0, 0.0]],
        figures=[ClassFigures(0, 0.0, 0.0, bad, bad, bad, bad, bad, error, bad)] * 3,
        reliability=[[], [Reliability(0, bad, bad)], [Reliability(1, 0.0, 1.0)]],
        confidence=error,
        confidence_reliability=[Reliability(2, 0.0, 1.0)],
        sure=[(0.0, 0.0)] * 20,
        class_ece=bad,
        class_ece_limit=bad,
        periods=[Period(first, 1, nothing, nothing, nothing) for first in range(3)],
    )


CLASS_RECORDS: dict[str, Callable[[], ClassRecord]] = {
    "ten": ten,
    "forty": forty,
    "three hundred": three_hundred,
    "three rows": three_rows,
    "broken": broken,
}
