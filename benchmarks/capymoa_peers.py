"""Auto beside CapyMOA's forest, boosting and linear learner: log loss, accuracy and time a row, all in one run.

    pip install '.[bench]' capymoa           # in an environment of its own; CapyMOA needs Java
    python -m benchmarks.capymoa_peers       # about four minutes

The streams are those that scikit-learn and River ship, and rows around an abrupt change that River makes. CapyMOA's
learners are at their defaults, but for the linear one: it says probabilities only with `loss="log_loss"`, and is given
columns scaled by the rows so far, as scikit-learn advises for it. Instances are made beforehand: what is timed is
`predict_proba` and `train`, beside `predict` and `learn`.
"""

import argparse
import importlib
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from aioli import Auto
from aioli.numerics.compiling import Matrix, Vector
from benchmarks.drift import ROWS as CHANGING_ROWS
from benchmarks.drift import drifting_stream
from benchmarks.late_labels import Contender, Stream
from benchmarks.online_contenders import announced_in_time
from benchmarks.progressive import one_thread
from benchmarks.real_streams import load_stream
from benchmarks.scores import ROUGH_CLIP, accuracy, log_loss
from benchmarks.table import Table, as_markdown
from benchmarks.tuned import standardised

__all__ = ["PLAYERS", "STREAMS", "OfCapyMOA", "RowByRow", "main", "score_table"]

WARM_ROWS = 300  # played by a learner of its own before the clock starts, so that Java and Numba have compiled
SHIPPED = ("bananas", "breast_cancer", "digits_odd", "phishing", "segments_window")
CHANGING = ("Agrawal, abrupt", "Sine, abrupt", "SEA, abrupt")


class RowByRow:
    """Play an `Auto` as a service would: a row's probability, then its label."""

    def __init__(self, learner: Auto, stream: Stream) -> None:
        self._learner, self._rows, self._labels = learner, list(stream.X), stream.y.astype(bool).tolist()

    def announce(self, rows: slice) -> Vector:
        """See `Contender`."""
        return np.array([self._learner.predict(x) for x in self._rows[rows]])

    def learn(self, rows: slice) -> None:
        """See `Contender`."""
        for x, label in zip(self._rows[rows], self._labels[rows], strict=True):
            self._learner.learn(x, label)

    def close(self) -> None:
        """It holds nothing."""


class OfCapyMOA:
    """Play a classifier of CapyMOA on its own instances; where it says nothing yet, it says ½."""

    def __init__(self, make: Callable[[Any], Any], stream: Stream) -> None:
        rows = importlib.import_module("capymoa.stream").NumpyStream(stream.X, stream.y.astype(np.int64))
        self._instances, self._model = list(rows), make(rows.get_schema())

    def announce(self, rows: slice) -> Vector:
        """See `Contender`."""
        said = [self._model.predict_proba(instance) for instance in self._instances[rows]]
        return np.array([0.5 if p is None else p[1] for p in said])

    def learn(self, rows: slice) -> None:
        """See `Contender`."""
        for instance in self._instances[rows]:
            self._model.train(instance)

    def close(self) -> None:
        """It holds nothing that Java's collector would not find."""


def _of_capymoa(name: str, scaled: bool = False, **settings: object) -> Callable[[Stream], Contender]:
    def make(stream: Stream) -> Contender:
        classifier = getattr(importlib.import_module("capymoa.classifier"), name)
        given = Stream(standardised(stream.X), stream.y) if scaled else stream
        return OfCapyMOA(lambda schema: classifier(schema, **settings), given)

    return make


PLAYERS: dict[str, Callable[[Stream], Contender]] = {
    "Auto()": lambda stream: RowByRow(Auto(), stream),
    'Auto(budget="fast")': lambda stream: RowByRow(Auto(budget="fast"), stream),
    "CapyMOA's adaptive random forest": _of_capymoa("AdaptiveRandomForestClassifier"),
    "its streaming gradient boosting": _of_capymoa("StreamingGradientBoostedTrees"),
    "its SGD": _of_capymoa("SGDClassifier", scaled=True, loss="log_loss", random_seed=1),
}


def _around_the_change(name: str, rows: int) -> tuple[Matrix, Vector]:
    X, y = drifting_stream(name, (CHANGING_ROWS + rows) // 2)
    return X[-rows:], y[-rows:]


STREAMS: dict[str, Callable[[int], tuple[Matrix, Vector]]] = {
    **{name: partial(load_stream, None, name) for name in SHIPPED},
    **{name: partial(_around_the_change, name) for name in CHANGING},
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Play every stream by everybody and print two tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.capymoa_peers", description=__doc__)
    parser.add_argument("--rows", type=int, default=2000, help="of each stream: its first, or those around the change")
    parser.add_argument("--only", nargs="*", default=list(STREAMS), metavar="NAME", help="streams, by name")
    options = parser.parse_args(arguments)
    try:
        version = importlib.import_module("capymoa").__version__
    except ModuleNotFoundError:
        raise SystemExit(
            "CapyMOA is not here: pip install capymoa, in an environment of its own; it needs Java"
        ) from None
    scores, times = [], []
    for name in options.only:
        X, y = STREAMS[name](options.rows)
        played = {player: _played(make, np.ascontiguousarray(X), y) for player, make in PLAYERS.items()}
        about = [name, str(len(y)), str(X.shape[1])]
        scores.append([*about, *score_table([p for p, _ in played.values()], y)])
        times.append([*about, *(f"{1e6 * seconds / len(y):,.0f}" for _, seconds in played.values())])
    heading = ["stream", "rows", "columns", *PLAYERS]
    notes = [f"CapyMOA {version}; probabilities count as at least {ROUGH_CLIP}; the least loss of a stream is bold"]
    print(as_markdown(Table("Log loss in nats a row, and the share of rows foretold", heading, scores, notes)))
    print(as_markdown(Table("Microseconds a row, to predict and learn it", heading, times)))


def score_table(announced: Sequence[Vector], y: Vector) -> list[str]:
    """Return for each player its log loss and its accuracy as a cell; the least loss is bold."""
    losses = [f"{log_loss(p, y, ROUGH_CLIP):.4f}" for p in announced]
    best = min(losses, key=float)
    shown = [f"**{loss}**" if loss == best else loss for loss in losses]
    return [f"{loss}, {100.0 * accuracy(p, y):.1f} %" for loss, p in zip(shown, announced, strict=True)]


def _played(make: Callable[[Stream], Contender], X: Matrix, y: Vector) -> tuple[Vector, float]:
    """Return every row's probability before its label, and the seconds that the rows took."""
    with one_thread():
        warm = min(WARM_ROWS, len(y))
        list(announced_in_time(make(Stream(X[:warm], y[:warm])), warm))
        contender = make(Stream(X, y))
        begin = time.perf_counter()
        p = np.fromiter(announced_in_time(contender, len(y)), dtype=np.float64, count=len(y))
        return p, time.perf_counter() - begin


if __name__ == "__main__":
    main()
