"""The peers on wide and sparse rows, untuned: each is given its rows in the form that it likes best, ready made."""

from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np

from aioli.commands.peers import River, VowpalWabbit, example_text, rows_as_dicts
from aioli.numerics.compiling import Vector

__all__ = ["PEERS", "vw_lines"]

Play = Callable[[Any, Vector], Vector]


def vw_lines(X: Any, y: Vector) -> list[str]:
    """The rows as Vowpal Wabbit's text: what is 0 is left out."""
    return [example_text(row, label) for row, label in zip(rows_as_dicts(X), y, strict=True)]


def _vowpal_wabbit(options: str) -> Play:
    def play(X: Any, y: Vector) -> Vector:
        with closing(VowpalWabbit(options)) as model:
            return np.array(list(model.announce(X, y)))

    return play


def _river(optimizer: str, *settings: float, scaled: bool = False) -> Play:
    def play(X: Any, y: Vector) -> Vector:
        model = River("StandardScaler" if scaled else "", optimizer, *settings)
        return np.array(list(model.announce(X, y)))

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
