"""A fleet: one AIOLI model a key, for as many keys as memory and disk hold."""

import copy
import os
from collections.abc import Iterator, Sequence
from typing import Literal, Self, get_args

import numpy as np

from aioli.errors import KeyUnknown, ParameterRefused, SnapshotRefused
from aioli.fleet.integer_table import Integers
from aioli.fleet.keyed_records import Budget, KeyedRecords
from aioli.fleet.keyed_rows import PlaysKeyedRows
from aioli.fleet.keys import Key, as_key
from aioli.fleet.layout import Layout, Storage
from aioli.fleet.plain_game import PlainGame, read_state, write_state
from aioli.fleet.records import ABSENT
from aioli.learners.aioli import AIOLI
from aioli.learners.parameters import require_whole
from aioli.learners.protocol import require_fresh
from aioli.learners.remembering import Remembering
from aioli.numerics.compiling import Vector
from aioli.numerics.logistic import sigmoid_many
from aioli.outcomes.two_classes import Tally
from aioli.snapshots.tree import Snapshot
from aioli.states.certificate import Certificate
from aioli.states.dense.state import State
from aioli.streams.rows import Rows, as_labels, as_logits, as_weights

__all__ = ["Fleet"]

FormOfP = Literal["packed", "full"]
FEWEST_HOT = 8  # models that memory holds at least
FULL_FROM = 50  # columns from which keeping the whole of P is faster than copying its triangle


class Fleet(PlaysKeyedRows, Remembering):
    """One `AIOLI` a key (user, shop, sensor, ad) in one process: each learns from its own rows alone.

    A key's model is, bit for bit, the `AIOLI` that had learned that key's rows one by one (with float64 storage),
    whatever the batches, the budget and the other keys. A learner in a dictionary takes some kilobytes and a call a
    row; here it takes one record of contiguous numbers, and all rows of a batch one call.

    Parameters
    ----------
    learner
        An `AIOLI` that has learned nothing: its parameters are every model's.
    storage
        "float64", or "float32": half the memory, w and P rounded after every row (docs/fleet.md says what it costs).
    form
        "packed" keeps the lower triangle of P, "full" all of it: from 50 columns on the latter is faster, and takes
        twice the memory. None chooses by the columns.
    memory
        How many bytes records and keys may take; the models that have waited longest for a row lie in a file beyond.
    hot_models
        How many models may lie in memory.
    hot_rows
        A model whose key had none of the last so many rows leaves memory.
    spill
        The folder of that file; None is the system's folder for temporary files.

    Examples
    --------
    >>> import numpy as np
    >>> from aioli import AIOLI, Fleet
    >>> rng = np.random.default_rng(0)
    >>> users = rng.integers(0, 50, size=2000)
    >>> X = rng.normal(size=(2000, 3))
    >>> y = X[:, 0] * np.where(users < 25, 2.0, -2.0) + rng.logistic(size=2000) > 0
    >>> fleet = Fleet(AIOLI())
    >>> p = fleet.learn_many(users, X, y)          # each row's probability before its label
    >>> len(fleet), fleet.rounds
    (50, 2000)
    >>> bool(fleet.predict(7, [1.0, 0.0, 0.0]) > 0.5 > fleet.predict(40, [1.0, 0.0, 0.0]))
    True
    >>> learner = fleet[7]                         # an AIOLI of its own
    """

    def __init__(
        self,
        learner: AIOLI | None = None,
        *,
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
        self.storage, self.form = storage, form
        self._budget = as_budget(memory, hot_models, hot_rows, spill)
        self._spec = self._template.spec
        self._rows_learned = 0
        self._records: KeyedRecords | None = None

    # ---- models

    def __len__(self) -> int:
        return 0 if self._records is None else self._records.keys.count

    def __contains__(self, key: object) -> bool:
        return self._number(as_key(key)) >= 0

    def __iter__(self) -> Iterator[Key]:
        """Yield the keys in order of first appearance."""
        return iter(()) if self._records is None else iter(self._records.keys)

    def __getitem__(self, key: object) -> AIOLI:
        """Return a learner of its own that has learned what the key's model has; the fleet does not see what it learns.

        O(d²).
        """
        number = self._number(as_key(key))
        if number < 0 or self._records is None:
            raise KeyUnknown(f"no row has had the key {key!r}; ask `key in fleet` first")
        return self._learner(number)

    def certificate(self, key: object) -> Certificate:
        """Return nats of regret that the key's model is proven not to have exceeded, against ‖θ‖ ≤ B."""
        return self[key].certificate()

    def by_key(self) -> dict[str, Vector]:
        """Return for every key, in order of first appearance, its rows, its loss in nats, and its certificate."""
        tallies = np.empty((0, len(Tally))) if self._records is None else self._records.tallies()
        prior = self._spec.ridge * self._spec.radius**2
        regret = tallies[:, Tally.REGRET] + prior if self._spec.curvature != "full" else np.full(len(tallies), np.inf)
        return {"rows": tallies[:, Tally.ROUNDS], "loss": tallies[:, Tally.LOSS], "certificate": regret}

    @property
    def rounds(self) -> int:
        """How many rows it has learned from."""
        return self._rows_learned

    @property
    def loss(self) -> float:
        """The sum of the losses of all keys so far, in nats."""
        return float(self.by_key()["loss"].sum())

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

    # ---- its life

    def grow(self, columns: int, names: Sequence[str] | None = None) -> Self:
        """Make room for new columns in every model, as if they had been there, and 0, from the first row."""
        names_after = self._names_after_growing(columns, names)
        if self._records is not None and columns:
            self._set_records(self._records.grown(columns))
        self._names = names_after
        return self

    def merge(self, other: Self) -> Self:
        """Take in another fleet's models: keys that this one lacks are copied, those of both are merged.

        As with `AIOLI.merge`, the two must have learned from different rows; certificates are for both together.
        """
        if not isinstance(other, Fleet) or other._like() != self._like():
            message = f"{other!r} plays by other rules than {self!r}; give both the same parameters"
            raise ParameterRefused(message, parameter="other", value=other)
        if other._records is None:
            return self
        if self._records is None:
            self._set_records(self._made(other._records.layout))
        assert self._records is not None
        if self.n_features_ != other.n_features_:
            message = f"{other.n_features_} columns cannot merge into {self.n_features_}; grow() the narrower one"
            raise ParameterRefused(message, parameter="other", value=other)
        keys = list(other)
        before = len(self)
        clock = float(self._rows_learned)
        mine = self._records.admit(keys, clock)
        theirs = np.arange(len(keys))
        new = mine >= before
        self._records.copy_from(other._records, theirs[new], mine[new], clock)
        for number, mate in zip(mine[~new].tolist(), theirs[~new].tolist(), strict=True):
            for _, places in self._records.pieces(np.array([number]), clock):
                merged = self._state(number).merged(other._state(mate))
                write_state(self._records.records, int(places[0]), self._records.layout, 0, merged)
        self._rows_learned += other._rows_learned
        self._names = self._names or other._names
        return self

    def snapshot(self) -> Snapshot:
        """Return the parameters and the records of all keys; budget and folder are the machine's, and not in it."""
        values = {
            "storage": self.storage,
            "form": self.form,
            "rows": self._rows_learned,
            "columns": self.n_features_,
            "names": self._names,
        }
        parts = {"learner": self._template.snapshot()}
        if self._records is not None:
            parts["records"] = self._records.snapshot()
        return Snapshot("Fleet", values, parts=parts)

    @classmethod
    def restore(
        cls,
        snapshot: Snapshot,
        memory: int | None = None,
        hot_models: int | None = None,
        hot_rows: int | None = None,
        spill: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Make an equal fleet, which goes on bit for bit the same, within the budget given here."""
        given = snapshot.of("Fleet")
        learner = AIOLI.restore(given.part("learner"))
        storage, form = given.text("storage"), given.optional_text("form")
        try:
            budget = {"memory": memory, "hot_models": hot_models, "hot_rows": hot_rows, "spill": spill}
            fleet = cls(learner, storage=storage, form=form, **budget)  # type: ignore[arg-type]
        except ParameterRefused as error:
            if error.parameter in ("storage", "form", "learner"):
                raise SnapshotRefused(f"in a Fleet, {error}") from error
            raise
        fleet._rows_learned = given.whole("rows")
        columns = given.optional_whole("columns")
        if columns is not None:
            layout = fleet._layout(columns + fleet._spec.intercept)
            ridges = np.array([fleet._spec.ridge])
            records = KeyedRecords.restore(given.part("records"), layout, ridges, fleet._budget)
            fleet._set_records(records)
        fleet._restore_names(given)
        return fleet

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        memory: int | None = None,
        hot_models: int | None = None,
        hot_rows: int | None = None,
        spill: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Read a fleet that `save` wrote, into the budget given here."""
        return cls._load(path, lambda snapshot: cls.restore(snapshot, memory, hot_models, hot_rows, spill))

    def __repr__(self) -> str:
        rows = f"  # {len(self)} keys, {self.rounds} rows of {self.n_features_} columns" if self.rounds else ""
        form = f", form={self.form!r}" if self.form else ""
        return f"Fleet({self._template!r}, storage={self.storage!r}{form}){rows}"

    # ---- within

    def _checked_rows(self, X: object, single: bool = False) -> Rows:
        spec, width = self._spec, self.n_features_
        return Rows(X, intercept=spec.intercept, widest=spec.widest_row, width=width, names=self._names, single=single)

    def _logits(self, keys: Sequence[Key] | Integers, rows: Rows) -> Vector:
        logits = np.zeros(len(rows))
        if self._records is None:
            return logits
        places = self._records.places_of(self._records.keys.find(keys))
        game, records = self._game, self._records.records
        for start, chunk in rows:
            part = slice(start, start + len(chunk))
            game.logits(records.hot, places[part], chunk, logits[part])
            if places[part].min() < ABSENT:
                game.logits(records.cold, -2 - places[part], chunk, logits[part])
                records.forget_pages()
        return logits

    def _learn(self, keys: Sequence[Key] | Integers, rows: Rows, y: object, weights: object, logits: object) -> Vector:
        labels = as_labels(y, len(rows))
        row_weights = as_weights(weights, rows, self._spec.widest_row)
        announced = as_logits(logits, len(rows))
        made = self._records or self._made(self._layout(rows.width + self._spec.intercept))
        clock = float(self._rows_learned + 1)
        numbers = made.admit(keys, clock)
        self._set_records(made)
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
        return Layout(width, 1, full, self.storage)

    def _made(self, layout: Layout) -> KeyedRecords:
        return KeyedRecords(layout, np.array([self._spec.ridge]), self._budget)

    def _set_records(self, records: KeyedRecords) -> None:
        if records is not self._records:
            self._records = records
            self._game = PlainGame(self._spec, records.layout)

    def _number(self, key: Key) -> int:
        return -1 if self._records is None else int(self._records.keys.find([key])[0])

    def _state(self, number: int) -> State:
        assert self._records is not None
        matrix, place = self._records.where(number)
        return read_state(matrix, place, self._records.layout, 0, self._spec)

    def _learner(self, number: int) -> AIOLI:
        return self._template.with_state(self._state(number), self._names)

    def _like(self) -> tuple[object, ...]:
        return self._spec, self.storage


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
