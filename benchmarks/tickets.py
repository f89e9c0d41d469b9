"""What late labels cost, and what a prediction costs beside a lesson: rows one by one, batches, and whole tables."""

from collections.abc import Callable
from functools import partial

from aioli import AIOLI, Auto, Forest, Nystrom, RandomFeatures, Wide
from aioli.learners.base import ColumnLearner
from aioli.numerics.compiling import Matrix, Vector
from benchmarks.streams import normal_stream
from benchmarks.table import Comparison, compare
from benchmarks.timing import Prepare, Run, side_by_side

__all__ = ["compare_batches", "compare_scoring", "compare_tickets"]

BATCH = 500
Make = Callable[[], ColumnLearner]
LEARNERS: dict[str, Make] = {
    "AIOLI": AIOLI,
    "Auto(budget='fast')": partial(Auto, budget="fast"),
    "Auto": Auto,
    "Wide": Wide,
}
SCORERS = LEARNERS | {
    "Forest": partial(Forest, trees=8),
    "RandomFeatures": partial(RandomFeatures, features=128),
    "Nystrom": partial(Nystrom, points=64),
}


def with_ticket(learner: ColumnLearner, x: Vector, label: bool) -> None:
    """Announce a row, and learn it by its announcement."""
    learner.learn(x, label, announced=learner.announce(x))


def in_time(learner: ColumnLearner, x: Vector, label: bool) -> None:
    """Predict a row, and learn it."""
    learner.predict(x)
    learner.learn(x, label)


def with_logit(learner: ColumnLearner, x: Vector, label: bool) -> None:
    """Learn a row whose log-odds were announced earlier."""
    learner.learn(x, label, logit=0.25)


def on_time(learner: ColumnLearner, x: Vector, label: bool) -> None:
    """Learn a row."""
    learner.learn(x, label)


def log_odds(learner: ColumnLearner, x: Vector, _label: bool) -> None:
    """Ask for the log-odds of a row."""
    learner.predict_logit(x)


def probability(learner: ColumnLearner, x: Vector, _label: bool) -> None:
    """Ask for the probability of a row."""
    learner.predict(x)


Act = Callable[[ColumnLearner, Vector, bool], None]
PAIRS: list[tuple[str, Act, str, Act]] = [
    ("announce + learn", with_ticket, "predict + learn", in_time),
    ("learn(logit=…)", with_logit, "learn", on_time),
    ("predict_logit", log_odds, "predict", probability),
]


def compare_tickets(width: int, rows: int, repeats: int, goal: float) -> list[Comparison]:
    """Compare what a late label needs with what one in time does: one row at a time, from Python."""
    X, y = normal_stream(rows, width)
    found: list[Comparison] = []
    for what, act, beside, other in PAIRS:
        for name, make in LEARNERS.items():
            times = side_by_side(
                {"late": _one_by_one(make, X, y, act), "in time": _one_by_one(make, X, y, other)}, repeats
            )
            late, prompt = times["late"] / rows, times["in time"] / rows
            found.append(compare(f"{name}: {what}, one row", width, late, beside, prompt, goal))
    return found


def compare_batches(width: int, rows: int, repeats: int, goal: float) -> list[Comparison]:
    """Compare `learn_batch` of 500 rows each with `learn_many` of the same rows, 500 at a time.

    A mixture's experts retire at other rows where labels come late. So the last lines compare the two calls for the
    second batch, by learners that have learned the first one late: the same experts play.
    """
    X, y = normal_stream(rows, width)
    found: list[Comparison] = []
    for name, make in LEARNERS.items():
        times = side_by_side(
            {"late": _batches(make, X, y, late=True), "many": _batches(make, X, y, late=False)}, repeats
        )
        late, many = times["late"] / rows, times["many"] / rows
        found.append(compare(f"{name}: learn_batch, {BATCH} rows", width, late, "learn_many", many, goal))
    for name, make in LEARNERS.items():
        times = side_by_side(
            {"late": _second_batch(make, X, y, late=True), "many": _second_batch(make, X, y, late=False)}, repeats
        )
        late, many = times["late"] / BATCH, times["many"] / BATCH
        found.append(compare(f"{name}: learn_batch, the same experts", width, late, "learn_many", many, goal))
    return found


def compare_scoring(width: int, rows: int, repeats: int, goal: float) -> list[Comparison]:
    """Compare `predict_many` with `learn_many` of the same rows, by a learner that knows as many."""
    X, y = normal_stream(rows, width)
    found: list[Comparison] = []
    for name, make in SCORERS.items():
        knowing = make()
        knowing.learn_many(X, y)
        times = side_by_side({"predict": _asked(knowing, X), "learn": _taught(make, X, y)}, repeats)
        predicted, learned = times["predict"] / rows, times["learn"] / rows
        found.append(compare(f"{name}: predict_many", width, predicted, "learn_many", learned, goal))
    return found


def _one_by_one(make: Make, X: Matrix, y: Vector, act: Act) -> Prepare:
    rows, labels = list(X), [bool(label) for label in y]

    def prepare() -> Run:
        learner = make()
        learner.learn(rows[0], labels[0])

        def run() -> None:
            for x, label in zip(rows, labels, strict=True):
                act(learner, x, label)

        return run

    return prepare


def _batches(make: Make, X: Matrix, y: Vector, *, late: bool) -> Prepare:
    def prepare() -> Run:
        learner = make()
        learner.learn(X[0], y[0])
        play = learner.learn_batch if late else learner.learn_many

        def run() -> None:
            for start in range(0, len(y), BATCH):
                play(X[start : start + BATCH], y[start : start + BATCH])

        return run

    return prepare


def _second_batch(make: Make, X: Matrix, y: Vector, *, late: bool) -> Prepare:
    def prepare() -> Run:
        learner = make()
        learner.learn_batch(X[:BATCH], y[:BATCH])
        return partial(learner.learn_batch if late else learner.learn_many, X[BATCH : 2 * BATCH], y[BATCH : 2 * BATCH])

    return prepare


def _asked(knowing: ColumnLearner, X: Matrix) -> Prepare:
    return lambda: partial(knowing.predict_many, X)


def _taught(make: Make, X: Matrix, y: Vector) -> Prepare:
    def prepare() -> Run:
        learner = make()
        learner.learn_many(X, y)
        return partial(learner.learn_many, X, y)

    return prepare
