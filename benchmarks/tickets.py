"""What late labels cost: tickets beside predictions, and batches that are announced first beside `learn_many`."""

from collections.abc import Callable

from aioli import AIOLI, Auto, Wide
from aioli.learners.base import ColumnLearner
from aioli.numerics.compiling import Matrix, Vector
from benchmarks.streams import normal_stream
from benchmarks.table import Comparison, compare
from benchmarks.timing import Prepare, Run, side_by_side

__all__ = ["compare_batches", "compare_tickets"]

BATCH = 500
LEARNERS: tuple[Callable[[], ColumnLearner], ...] = (AIOLI, Auto, Wide)


def compare_tickets(width: int, rows: int, repeats: int, goal: float) -> list[Comparison]:
    """`announce`, then `learn` with the ticket, against `predict` and `learn`: one row at a time, from Python."""
    X, y = normal_stream(rows, width)
    found: list[Comparison] = []
    for make in LEARNERS:
        times = side_by_side({"late": _late(make, X, y), "in time": _in_time(make, X, y)}, repeats)
        what = f"{make().__class__.__name__}: announce + learn, one row"
        found.append(compare(what, width, times["late"] / rows, "predict + learn", times["in time"] / rows, goal))
    return found


def compare_batches(width: int, rows: int, repeats: int, goal: float) -> list[Comparison]:
    """`learn_batch` of 500 rows each against `learn_many` of the same rows, 500 at a time."""
    X, y = normal_stream(rows, width)
    found: list[Comparison] = []
    for make in LEARNERS:
        times = side_by_side(
            {"late": _batches(make, X, y, late=True), "many": _batches(make, X, y, late=False)}, repeats
        )
        what = f"{make().__class__.__name__}: learn_batch, {BATCH} rows"
        found.append(compare(what, width, times["late"] / rows, "learn_many", times["many"] / rows, goal))
    return found


def _late(make: Callable[[], ColumnLearner], X: Matrix, y: Vector) -> Prepare:
    rows, labels = list(X), [bool(label) for label in y]

    def prepare() -> Run:
        learner = make()
        learner.learn(rows[0], labels[0])

        def run() -> None:
            for x, label in zip(rows, labels, strict=True):
                learner.learn(x, label, announced=learner.announce(x))

        return run

    return prepare


def _in_time(make: Callable[[], ColumnLearner], X: Matrix, y: Vector) -> Prepare:
    rows, labels = list(X), [bool(label) for label in y]

    def prepare() -> Run:
        learner = make()
        learner.learn(rows[0], labels[0])

        def run() -> None:
            for x, label in zip(rows, labels, strict=True):
                learner.predict(x)
                learner.learn(x, label)

        return run

    return prepare


def _batches(make: Callable[[], ColumnLearner], X: Matrix, y: Vector, *, late: bool) -> Prepare:
    def prepare() -> Run:
        learner = make()
        learner.learn(X[0], y[0])
        play = learner.learn_batch if late else learner.learn_many

        def run() -> None:
            for start in range(0, len(y), BATCH):
                play(X[start : start + BATCH], y[start : start + BATCH])

        return run

    return prepare
