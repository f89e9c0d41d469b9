"""Checks rows of many keys and plays them within a budget of memory."""

import copy
import os
from collections.abc import Iterator, Sequence
from typing import Literal, get_args

import numpy as np

from aioli.errors import KeyUnknown, ParameterRefused
from aioli.fleet.game import Game
from aioli.fleet.integer_table import Integers
from aioli.fleet.keyed_records import Budget, KeyedRecords
from aioli.fleet.keyed_rows import PlaysKeyedRows
from aioli.fleet.keys import Key, as_key
from aioli.fleet.layout import Layout, Storage
from aioli.fleet.plain_game import PlainGame
from aioli.fleet.pooled_game import PooledGame
from aioli.fleet.records import ABSENT
from aioli.fleet.room import Places
from aioli.learners.aioli import AIOLI
from aioli.learners.parameters import require_positive, require_whole
from aioli.learners.protocol import require_fresh
from aioli.numerics.compiling import Vector
from aioli.numerics.logistic import sigmoid_many
from aioli.outcomes.two_classes import Tally
from aioli.streams.rows import Rows, as_labels, as_logits, as_weights

__all__ = ["RIDGES", "FormOfP", "PlayingFleet", "Pooling"]

FormOfP = Literal["packed", "full"]
Pooling = Literal["global"]
RIDGES = (1.0, 5.0, 25.0)
MOST_RIDGES = 16
FEWEST_HOT = 8  # models that memory holds at least
FULL_FROM = 50  # columns from which keeping the whole of P is faster than copying its triangle


class PlayingFleet(PlaysKeyedRows):
    """Predicts and learns rows of many keys; see `Fleet` for the parameters."""

    def __init__(
        self,
        learner: AIOLI | None = None,
        pooling: Pooling | None = None,
        *,
        ridges: Sequence[float] = RIDGES,
        storage: Storage = "float64",
        form: FormOfP | None = None,
        memory: int | None = None,
        hot_models: int | None = None,
        hot_rows: int | None = None,
        spill: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__()
        self._template = _template(learner)
        if storage not in get_args(Storage):
            raise ParameterRefused.unlike("storage", storage, '"float64" or "float32"')
        if form not in (None, *get_args(FormOfP)) or (form == "full" and storage == "float32"):
            raise ParameterRefused.unlike("form", form, '"packed", "full" with float64 storage, or None')
        if pooling not in (None, *get_args(Pooling)):
            raise ParameterRefused.unlike("pooling", pooling, '"global" or None')
        self.pooling, self.storage, self.form = pooling, storage, form
        self.ridges = _as_ridges(ridges)
        self._budget = as_budget(memory, hot_models, hot_rows, spill)
        self._spec = self._template.spec
        self._rows_learned = 0
        self._records: KeyedRecords | None = None
        self._game: Game

    def __len__(self) -> int:
        return 0 if self._records is None else self._records.keys.count

    def __contains__(self, key: object) -> bool:
        return self._number(as_key(key)) >= 0

    def __iter__(self) -> Iterator[Key]:
        """Yield the keys in order of first appearance."""
        return iter(()) if self._records is None else iter(self._records.keys)

    def key(self, number: int) -> Key:
        """Return the key that came as so many-th, from 0: those of `by_key` are in this order."""
        if self._records is None or not 0 <= number < len(self):
            raise KeyUnknown(f"there are {len(self)} keys; give a number from 0 on, below that")
        return self._records.keys.key(number)

    def by_key(self) -> dict[str, Vector]:
        """Return for every key, in order of first appearance, its rows, its loss in nats, and its certificate."""
        if self._records is None:
            return {"rows": np.empty(0), "loss": np.empty(0), "certificate": np.empty(0)}
        losses, certificates = self._game.losses_and_certificates(self._records)
        return {"rows": self._records.tallies()[:, Tally.ROUNDS], "loss": losses, "certificate": certificates}

    @property
    def rounds(self) -> int:
        """How many rows it has learned from."""
        return self._rows_learned

    @property
    def loss(self) -> float:
        """The sum of the losses of all keys so far, in nats."""
        return float(self.by_key()["loss"].sum())

    @property
    def radius(self) -> float:
        """B: regret is proven against every θ of this norm."""
        return self._spec.radius

    @property
    def n_features_(self) -> int | None:
        """How many columns a row has, the intercept not counted; None before the first row."""
        return None if self._records is None else self._records.layout.width - self._spec.intercept

    @property
    def nbytes(self) -> int:
        """How much memory the models and their keys take."""
        return 0 if self._records is None else self._records.nbytes

    @property
    def on_disk(self) -> int:
        """How many models lie in the file."""
        return 0 if self._records is None else self._records.records.on_disk

    # ---- within

    def _checked_rows(self, X: object, single: bool = False) -> Rows:
        spec, width = self._spec, self.n_features_
        return Rows(X, intercept=spec.intercept, widest=spec.widest_row, width=width, names=self._names, single=single)

    def _logits(self, keys: Sequence[Key] | Integers, rows: Rows) -> Vector:
        if self._records is None:
            return np.zeros(len(rows))
        return self._logits_at(self._records.places_of(self._records.keys.find(keys)), rows)

    def _logits_at(self, places: Places, rows: Rows) -> Vector:
        logits = np.zeros(len(rows))
        if self._records is None:
            return logits
        game, records = self._game, self._records.records
        for start, chunk in rows:
            part = slice(start, start + len(chunk))
            here = places[part]
            game.logits(records.hot, here, chunk, logits[part])
            if here.min() < ABSENT:
                game.logits(records.cold, -2 - here, chunk, logits[part])
                records.forget_pages()
            if (here == ABSENT).any():
                game.logits(records.fresh[None, :], np.where(here == ABSENT, 0, -1), chunk, logits[part])
        return logits

    def predict_new_many(self, X: object) -> Vector:
        """Return each row's probability as of a key that had no row so far; changes nothing."""
        return sigmoid_many(self.predict_new_logit_many(X))

    def predict_new_logit_many(self, X: object) -> Vector:
        """Return the log-odds of `predict_new_many`."""
        rows = self._checked_rows(X)
        return self._logits_at(np.full(len(rows), ABSENT), rows)

    def _learn(self, keys: Sequence[Key] | Integers, rows: Rows, y: object, weights: object, logits: object) -> Vector:
        labels = as_labels(y, len(rows))
        row_weights = as_weights(weights, rows, self._spec.widest_row)
        announced = as_logits(logits, len(rows))
        made, game = self._records, None
        if made is None:
            game = self._game_of(self._layout(rows.width + self._spec.intercept))
            made = KeyedRecords(game.layout, game.ridges, self._budget)
        clock = float(self._rows_learned + 1)
        numbers = made.admit(keys, clock)
        if game is not None:
            self._set(game, made)
        for start, chunk in rows:
            inside = slice(start, start + len(chunk))
            for part, places in made.pieces(numbers[inside], clock + start):
                these = slice(start + part.start, start + part.start + len(places))
                parts = chunk[part], labels[these], row_weights[these], announced[these]
                self._game.play(made.records, places, *parts, clock + these.start)
        self._rows_learned += len(rows)
        return sigmoid_many(announced)

    def _layout(self, width: int) -> Layout:
        full = self.form == "full" or (self.form is None and width > FULL_FROM and self.storage == "float64")
        return Layout(width, 1 if self.pooling is None else len(self.ridges), full, self.storage)

    def _game_of(self, layout: Layout) -> Game:
        return PlainGame(self._spec, layout) if self.pooling is None else PooledGame(self._spec, self.ridges, layout)

    def _set(self, game: Game, records: KeyedRecords | None = None) -> None:
        self._game = game
        self._records = KeyedRecords(game.layout, game.ridges, self._budget) if records is None else records

    def _number(self, key: Key) -> int:
        return -1 if self._records is None else int(self._records.keys.find([key])[0])

    def _known(self, key: object) -> int:
        number = self._number(as_key(key))
        if number < 0:
            raise KeyUnknown(f"no row has had the key {key!r}; ask `key in fleet` first")
        return number

    def _like(self) -> tuple[object, ...]:
        return self._spec, self.storage, self.pooling, tuple(self.ridges)


def _template(learner: object) -> AIOLI:
    """Return a fresh copy of the learner whose parameters all models have."""
    given = AIOLI() if learner is None else learner
    if not isinstance(given, AIOLI):
        message = f"learner is {given!r}; a fleet is of AIOLI of two classes: give AIOLI(…)"
        raise ParameterRefused(message, parameter="learner", value=given)
    require_fresh(given, "; give a fresh one: its parameters are every model's")
    return copy.copy(given)


def as_budget(memory: object, hot_models: object, hot_rows: object, spill: str | os.PathLike[str] | None) -> Budget:
    """Return the budget, or refuse what is none by its name."""
    if spill is not None and not os.path.isdir(spill):
        message = f"spill is {os.fspath(spill)!r}, which is no folder; make it first, or give another"
        raise ParameterRefused(message, parameter="spill", value=spill)
    return Budget(
        memory=None if memory is None else require_whole("memory", memory, 1),
        models=None if hot_models is None else require_whole("hot_models", hot_models, FEWEST_HOT),
        rows=None if hot_rows is None else require_whole("hot_rows", hot_rows, 1),
        folder=None if spill is None else os.fspath(spill),
    )


def _as_ridges(ridges: object) -> list[float]:
    """Return the λ of a pooled key's models, or refuse what is no list of numbers above 0."""
    if not isinstance(ridges, (list, tuple)) or not 1 <= len(ridges) <= MOST_RIDGES:
        raise ParameterRefused.unlike("ridges", ridges, f"a list of 1 to {MOST_RIDGES} numbers above 0")
    require_positive(**{f"ridges[{i}]": ridge for i, ridge in enumerate(ridges)})
    return [float(ridge) for ridge in ridges]
