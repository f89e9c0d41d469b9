"""A law or an adversary by its name, `synthetic:logistic`, as a stream like any file."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from aioli.streams.filestream import Batch
from aioli.streams.labels import Labels
from aioli.streams.laws import Stream
from aioli.streams.synthetic import STREAMS, named

__all__ = ["SCHEME", "SyntheticStream"]

SCHEME = "synthetic:"
ADVERSARY = "adversary"


class SyntheticStream:
    """So many rows of a law; of the adversary, each label is the one to which the learner gave less."""

    sparse = False
    label = "label"

    def __init__(self, source: str, rows: int, seed: int, state: dict[str, Any] | None = None) -> None:
        self.name = source
        self.law = _law(source)
        self.rows = rows
        self.seed = seed
        self.learner: Any = None  # the adversary's victim
        self.features = [f"x{i + 1}" for i in range(self.law.width)]
        self.kinds = dict.fromkeys(self.features, "number")
        self.labels = Labels("1") if state is None else Labels.restored(state["labels"])
        self._played = 0 if state is None else int(state["position"])
        self.hostile = source == SCHEME + ADVERSARY
        self._answers: list[float] = [] if state is None else list(state["answers"])
        if rows < 1:
            raise ValueError(f"{rows} rows were asked for; ask for at least one")

    @property
    def fraction(self) -> float:
        """How much of it has been played."""
        return self._played / self.rows

    def tables(self) -> Iterator[Any]:
        """Blocks of rows and labels, from where it was left."""
        skipped = self._played
        for X, y in self.law.blocks(self.rows, self.seed):
            if skipped >= len(y):
                skipped -= len(y)
                continue
            X, y, skipped = X[skipped:], y[skipped:], 0
            if self.hostile:
                yield from ((X[t : t + 1], None) for t in range(len(y)))
            else:
                yield X, y

    def again(self) -> Iterator[Batch]:
        """All rows from the first, with the labels that came."""
        begin = 0
        for X, y in self.law.blocks(self.rows, self.seed):
            labels = np.array(self._answers[begin : begin + len(y)]) if self.hostile else y
            yield Batch(X, labels, None, None)
            begin += len(y)

    def encode(self, table: Any) -> Batch:
        """The rows as they are. The adversary asks the learner, which has learned all rows before."""
        X, y = table
        if y is None:
            if self._played == len(self._answers):  # or the learner has learned this row since it was asked
                self._answers.append(float(self.learner.predict(X[0]) < 0.5))
            y = np.array([self._answers[self._played]])
        self._played += len(y)
        return Batch(
            X, self.labels.encode(y, lambda t: f"{self.name}, row {self._played - len(y) + t + 1}"), None, None
        )

    def close(self) -> None:
        """There is no file to let go."""

    def state(self) -> dict[str, Any]:
        """All that is needed to go on. There may be more answers by the time that it is kept."""
        return {"position": self._played, "labels": self.labels.state(), "answers": self._answers}


def _law(source: str) -> Stream:
    name = source.removeprefix(SCHEME)
    if name == ADVERSARY:
        formula = "rows of the logistic stream; each label is the one to which the learner gave less"
        return replace(named("logistic"), name=ADVERSARY, formula=formula)
    if name not in STREAMS:
        raise ValueError(f"{source}: give {SCHEME}NAME, where NAME is one of {', '.join([*STREAMS, ADVERSARY])}")
    return named(name)
