"""What dictionaries cost one at a time, numbers with gaps and words as they come: Auto beside River's usual pipelines.

Every row is predicted and then learned. River scales numbers, fills gaps with the mean and one-hot encodes words in
front of logistic regression, as its own pages do; its adaptive random forest takes the rows as they are.
"""

import argparse
import importlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from aioli import AIOLI, Auto, TableLearner
from aioli.river import AIOLIClassifier
from benchmarks.table import as_markdown, compare, comparison_table
from benchmarks.timing import Prepare, Run, side_by_side

__all__ = ["main", "raw_rows"]

Row = dict[str, object]
Calls = tuple[Callable[[Row], object], Callable[[Row, bool], object]]  # to predict a row, and to learn it
SHOPS = ["Ulm", "Bonn", "Kiel", "Jena", "Trier", "Gera"]
KINDS = ["new", "known", "lapsed"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.raw_rows", description=__doc__)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(arguments)
    rows, labels = raw_rows(options.rows)
    ours: dict[str, Callable[[], Any]] = {
        "Auto(budget='fast')": lambda: Auto(budget="fast"),
        "Auto()": Auto,
        "TableLearner(AIOLI())": lambda: TableLearner(AIOLI()),
    }
    faces = {"aioli.river, AIOLI()": lambda: AIOLIClassifier(AIOLI()), "aioli.river, Auto()": AIOLIClassifier}
    peers = {"River, pipeline": _pipeline, "River, forest": _forest}
    calls = {name: partial(_ours, make, rows) for name, make in ours.items()}
    calls |= {name: partial(_rivers, make) for name, make in (faces | peers).items()}
    contenders = {name: _contender(both, rows, labels) for name, both in calls.items()}
    seconds = side_by_side(contenders, options.repeats)
    found = [
        compare(name, len(rows[0]), seconds[name] / len(rows), peer, seconds[peer] / len(rows))
        for name in ours | faces
        for peer in peers
    ]
    notes = [f"{len(rows):,} rows of four numbers, one of them missing in every fifth, and of two words"]
    print(as_markdown(comparison_table("Dictionaries, predicted and learned one at a time", found, notes)))


def raw_rows(count: int) -> tuple[list[Row], list[bool]]:
    """Return rows of numbers, gaps and words, and labels that go by all of them."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(count, 4)) * [1.0, 100.0, 0.01, 5.0]
    shop, kind = rng.integers(len(SHOPS), size=count), rng.integers(len(KINDS), size=count)
    gap = rng.random(count) < 0.2
    scores = numbers @ [1.0, 0.01, 0.0, -0.2] + (shop % 3) - kind + gap
    labels = scores + rng.logistic(size=count) > 0.5
    rows: list[Row] = []
    for t in range(count):
        row: Row = dict(zip(("age", "price", "rate", "visits"), numbers[t].tolist(), strict=True))
        row |= {"shop": SHOPS[shop[t]], "kind": KINDS[kind[t]]} | ({"price": None} if gap[t] else {})
        rows.append(row)
    return rows, labels.tolist()


def _contender(calls: Callable[[], Calls], rows: Sequence[Row], labels: Sequence[bool]) -> Prepare:
    def prepare() -> Run:
        predict, learn = calls()

        def run() -> None:
            for row, label in zip(rows, labels, strict=True):
                predict(row)
                learn(row, label)

        return run

    return prepare


def _ours(make: Callable[[], Any], rows: Sequence[Row]) -> Calls:
    learner = make()
    learner.learn_many(rows[:2], [False, True])  # it predicts from the first row that is timed on
    return learner.predict, learner.learn


def _rivers(make: Callable[[], Any]) -> Calls:
    model = make()
    return model.predict_proba_one, model.learn_one


def _pipeline() -> Any:
    """Return River's scaled numbers and one-hot words in front of logistic regression."""
    compose, prepare, stats = (
        importlib.import_module(f"river.{name}") for name in ("compose", "preprocessing", "stats")
    )
    filled = prepare.StatImputer(("price", stats.Mean()))
    numbers = compose.Select("age", "price", "rate", "visits") | filled | prepare.StandardScaler()
    words = compose.Select("shop", "kind") | prepare.OneHotEncoder()
    return (numbers + words) | importlib.import_module("river.linear_model").LogisticRegression()


def _forest() -> Any:
    return _WithoutGaps(importlib.import_module("river.forest").ARFClassifier(seed=0))


class _WithoutGaps:
    """Leaves out what is missing, which River's trees do not take."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def predict_proba_one(self, row: Mapping[str, object]) -> Any:
        """Return the model's probabilities."""
        return self._model.predict_proba_one(_present(row))

    def learn_one(self, row: Mapping[str, object], label: bool) -> None:
        """Let the model learn the row."""
        self._model.learn_one(_present(row), label)


def _present(row: Mapping[str, object]) -> Row:
    return {name: value for name, value in row.items() if value is not None}


if __name__ == "__main__":
    main()
