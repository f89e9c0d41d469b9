"""`aioli warm`: compiles what the usual commands and calls use, so that the first run of an image need not."""

import contextlib
import io
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from aioli.learners.aioli import AIOLI
from aioli.learners.auto.auto import Auto
from aioli.learners.wide import Wide
from aioli.numerics import compiling

__all__ = ["warm"]

ROWS = 400


def warm(main: Callable[[Sequence[str]], int]) -> None:
    """Play small streams through the commands and the learners, and print how long that took and where it is kept."""
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        _play_commands(main, Path(folder))
    _play_learners()
    kept = os.environ.get("NUMBA_CACHE_DIR") or f"{Path(compiling.__file__).parents[1]} and below"
    print(f"compiled in {time.perf_counter() - begun:.1f} s; kept in {kept}")


def _play_commands(main: Callable[[Sequence[str]], int], folder: Path) -> None:
    rng = np.random.default_rng(0)
    plain, mixed, model = folder / "plain.csv", folder / "mixed.csv", str(folder / "model.aioli")
    X = rng.normal(size=(ROWS, 3))
    y = (X[:, 0] + rng.logistic(size=ROWS) > 0).astype(int)
    numbers = [f"{a:.4f},{b:.3f},{c:.6f},{k}" for (a, b, c), k in zip(X, y, strict=True)]
    plain.write_text("\n".join(["a,b,c,y", *numbers]))
    colours, answers = rng.choice(["red", '"dark, blue"', ""], ROWS), np.array(["no", "yes"])[y]
    cells = [f"{a:.4f},{colour},{k}" for a, colour, k in zip(X[:, 0], colours, answers, strict=True)]
    mixed.write_text("\n".join(["a,colour,y", *cells]))
    main(["run", str(plain), "--label", "y", "--save", model])
    main(["run", str(mixed), "--label", "y", "--report", str(folder / "page.html"), "--json"])
    main(["run", str(plain), "--label", "y", "--learner", "AIOLI", "--scale", "--delay", "20", "--json"])
    main(["predict", str(plain), "--model", model])
    main(["inspect", model, "--json"])


def _play_learners() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 5))
    y = X[:, 0] > 0
    wide = (rng.random((ROWS, 300)) < 0.03).astype(np.float64)
    for learner, rows in ((Auto(), X), (AIOLI(), X), (Wide(), wide)):
        learner.learn(rows[0], int(y[0]))
        learner.predict(rows[1])
        learner.learn_many(rows[1:], y[1:])
        learner.predict_many(rows)
        learner.learn_batch(rows[:20], y[:20])
        alone = type(learner)()
        for x, label in zip(rows, y, strict=True):  # what joins or leaves along the way takes single rows too
            alone.learn(x, int(label))
