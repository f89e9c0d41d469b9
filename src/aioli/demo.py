"""`aioli demo`: the whole job on a real table, by the very commands that a user types; or the digits, as a figure."""

import csv
import importlib
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import ModuleType

import numpy as np

from aioli.evaluate.hindsight import best_in_ball
from aioli.evaluate.progressive import progressive
from aioli.learners.aioli import AIOLI
from aioli.numerics.compiling import Matrix, Vector

__all__ = ["FOLDER", "digits", "draw_digits", "run_demo"]

FOLDER = "demo"
LABEL = "diagnosis"
POINTS = 64  # rows between two points of the figure


def run_demo(command: Callable[[Sequence[str]], int], folder: str = FOLDER) -> int:
    """Learn a table of tumours row by row, then score one new row; return the exit status of the first that fails.

    `command` is the aioli command itself: it gets the arguments, and each command is printed before it is run.
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    table, row, model, page = (place / name for name in ("tumours.csv", "new.csv", "model.aioli", "report.html"))
    truth = write_tumours(table, row)
    print(f"{table}: 568 real tumours, 30 measurements each, and what the doctors found; {row}: one more, unlabelled")
    asked = ["run", table, "--label", LABEL, "--positive", "malignant", "--save", model, "--report", page]
    for arguments in (list(map(str, asked)), ["predict", str(row), "--model", str(model)]):
        print(f"\n$ {shlex.join([called(), *arguments])}\n", flush=True)
        status = command(arguments)
        if status:
            return status
    print(f"\nThat is the probability that the new tumour is malignant; it was {truth}.")
    print(f"Open {page} in a browser: the same run in plots.")
    return 0


def called() -> str:
    """Return the name or path by which aioli was called, so that printed command lines can be copied."""
    name = sys.argv[0]
    if Path(name).stem == "__main__":
        return "aioli"
    known = shutil.which("aioli")
    return "aioli" if known is not None and Path(known).resolve() == Path(name).resolve() else name


def write_tumours(table: Path, row: Path) -> str:
    """Write the breast cancers that scikit-learn ships, the last of them apart and unlabelled; return its label."""
    found = _datasets().load_breast_cancer()
    names = [str(name) for name in found.feature_names]
    labels = [str(found.target_names[index]) for index in found.target]
    rows = found.data.tolist()
    last = rows.pop()
    _write_csv(table, [[*names, LABEL], *([*values, label] for values, label in zip(rows, labels, strict=False))])
    _write_csv(row, [names, last])
    return labels[-1]


def _write_csv(path: Path, lines: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)


def _datasets() -> ModuleType:
    try:
        return importlib.import_module("sklearn.datasets")
    except ImportError:
        sentence = "the demo plays data that scikit-learn ships: pip install 'aioli-online[sklearn]'"
        raise ImportError(sentence) from None


def digits() -> tuple[Matrix, Vector]:
    """The 1,797 digits of 8×8 pixels that scikit-learn ships, in its order, pixels in [0, 1]; 1 for an odd digit."""
    X, digit = _datasets().load_digits(return_X_y=True)
    return np.asarray(X, dtype=np.float64) / 16.0, np.asarray(digit % 2, dtype=np.float64)


def draw_digits(figure: str) -> None:
    """Play the digits, draw the game into a file, and print regret ≤ certificate ≤ theorem."""
    X, y = digits()
    learner = AIOLI()
    points = list(progressive(learner, [(X, y)], every=POINTS))
    regrets = [p.rows * p.log_loss - best_in_ball(X[: p.rows], y[: p.rows], learner.radius).loss for p in points]
    best, certificate = best_in_ball(X, y, learner.radius), learner.certificate()
    print(
        f"{len(X)} handwritten digits, odd or even, against the best fixed θ with ‖θ‖ ≤ {learner.radius:g}, which is "
        f"known only now ({best.loss / len(X):.4f} a row):\n"
        f"  regret {learner.loss - best.loss:.1f}  ≤  tight certificate {learner.certificate(tight=True):.1f}  "
        f"≤  certificate {certificate:.1f}  ≤  theorem {certificate.theorem:.0f} nats"
    )
    importlib.import_module("aioli.report.figures").draw_game(points, regrets, figure)
    print(f"{figure} shows it")
