"""The peers on wide and sparse rows, untuned: each is given its rows in the form that it likes best, ready made."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from aioli.numerics.compiling import Vector

__all__ = ["PEERS", "river_rows", "vw_learns", "vw_lines"]

Play = Callable[[Any, Vector], Vector]


def vw_lines(X: Any, y: Vector) -> list[str]:
    """The rows as Vowpal Wabbit's text: what is 0 is left out."""
    return [
        f"{1 if label else -1} | " + " ".join(f"{j}:{value:.9g}" for j, value in row.items())
        for row, label in zip(river_rows(X), y, strict=True)
    ]


def river_rows(X: Any) -> list[dict[int, float]]:
    """The rows as River's dictionaries of what is not 0."""
    parts = [slice(X.indptr[t], X.indptr[t + 1]) for t in range(X.shape[0])]
    return [dict(zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True)) for part in parts]


def vw_learns(options: str = "") -> Any:
    """A fresh Vowpal Wabbit with logistic loss and link."""
    return importlib.import_module("vowpalwabbit").Workspace(
        f"--quiet --no_stdin --loss_function logistic --link logistic {options}"
    )


def _vowpal_wabbit(options: str) -> Play:
    def play(X: Any, y: Vector) -> Vector:
        model, said = vw_learns(options), []
        for line in vw_lines(X, y):
            example = model.parse(line)
            said.append(model.predict(example))
            model.learn(example)
            model.finish_example(example)
        model.finish()
        return np.array(said)

    return play


def _river(optimizer: str, *settings: float, scaled: bool = False) -> Play:
    def play(X: Any, y: Vector) -> Vector:
        optim = importlib.import_module("river.optim")
        model = importlib.import_module("river.linear_model").LogisticRegression(getattr(optim, optimizer)(*settings))
        if scaled:
            model = importlib.import_module("river.preprocessing").StandardScaler() | model
        said = []
        for row, label in zip(river_rows(X), y, strict=True):
            said.append(model.predict_proba_one(row)[True])
            model.learn_one(row, bool(label))
        return np.array(said)

    return play


PEERS: dict[str, Play] = {
    "vw": _vowpal_wabbit(""),
    "vw --coin": _vowpal_wabbit("--coin"),
    "vw --ftrl": _vowpal_wabbit("--ftrl"),
    "river SGD(0.01)": _river("SGD", 0.01),
    "river SGD(0.1)": _river("SGD", 0.1),
    "river AdaGrad": _river("AdaGrad"),
    "river FTRL": _river("FTRLProximal"),
    "river scaled SGD(0.01)": _river("SGD", 0.01, scaled=True),
    "river scaled SGD(0.1)": _river("SGD", 0.1, scaled=True),
    "river scaled AdaGrad": _river("AdaGrad", scaled=True),
}
