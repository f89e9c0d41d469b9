"""Plays a fleet: one AIOLI model a key, for as many keys as memory and disk hold."""

import os
from collections.abc import Sequence
from typing import Self

import numpy as np

from aioli.errors import ParameterRefused, SnapshotRefused
from aioli.fleet.game import read_state
from aioli.fleet.keyed_records import KeyedRecords
from aioli.fleet.keys import as_key
from aioli.fleet.playing import PlayingFleet
from aioli.fleet.pooled_game import PooledGame
from aioli.fleet.pooled_learner import PooledLearner
from aioli.learners.aioli import AIOLI
from aioli.learners.protocol import Certifies
from aioli.learners.remembering import Remembering
from aioli.snapshots.codec import write_snapshot
from aioli.snapshots.open_files import open_snapshot
from aioli.snapshots.tree import Plain, Snapshot
from aioli.states.certificate import Certificate

__all__ = ["Fleet"]


class Fleet(PlayingFleet, Remembering):
    """One `AIOLI` a key (user, shop, sensor, ad) in one process: each learns from its own rows alone.

    A key's model is, bit for bit, the `AIOLI` that had learned that key's rows one by one (with float64 storage),
    whatever the batches, the budget and the other keys. A learner in a dictionary takes some kilobytes and a call a
    row; here it takes one record of contiguous numbers, and all rows of a batch one call.

    Parameters
    ----------
    learner
        An `AIOLI` that has learned nothing: its parameters are every model's.
    pooling
        None plays every key alone. "global" starts a new key from what all keys know: one global model learns from all
        rows, and a key's models add to its log-odds (docs/fleet.md).
    ridges
        The λ that a pooled key's models have, and that are mixed by shares which all keys have in common: large where
        keys are alike.
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

    # ---- models

    def __getitem__(self, key: object) -> Certifies:
        """Return a learner of its own that has learned what the key's model has; the fleet does not see what it learns.

        It is an `AIOLI`; of a pooled fleet, a `PooledLearner`. O(d²).
        """
        number = self._known(key)
        assert self._records is not None
        if self.pooling is not None:
            return PooledLearner(self.only([key]), as_key(key))
        matrix, place = self._records.where(number)
        return self._template.with_state(read_state(matrix, place, self._game.layout, 0, self._spec), self._names)

    def only(self, keys: Sequence[object]) -> "Fleet":
        """Return a fleet of some of the keys, which goes on as this one would with them; this one stays as it is."""
        wanted = list(dict.fromkeys(as_key(key) for key in keys))
        numbers = np.array([self._known(key) for key in wanted], np.int64)
        part = type(self)(self._template, self.pooling, ridges=self.ridges, storage=self.storage, form=self.form)
        part._names, part._rows_learned = self._names, self._rows_learned
        if self._records is not None:
            part._set(self._game.grown(self._game.layout))
            assert part._records is not None
            part._records.copy_from(self._records, numbers, part._records.admit(wanted, 0.0), 0.0)
        return part

    def certificate(self, key: object) -> Certificate:
        """Return nats of regret that are proven not to have been exceeded over the key's rows, against ‖θ‖ ≤ B.

        In a pooled fleet the regret is against the global log-odds plus θᵀx.
        """
        return self[key].certificate()

    @property
    def shares_(self) -> dict[str, float]:
        """How much of the mixture each λ of a pooled fleet holds, and the global model alone; empty without pooling."""
        if self._records is None or not isinstance(self._game, PooledGame):
            return {}
        names = [f"λ = {ridge:g}" for ridge in self.ridges]
        return dict(zip([*names, "global"], self._game.shares.tolist(), strict=True))

    # ---- its life

    def grow(self, columns: int, names: Sequence[str] | None = None) -> Self:
        """Make room for new columns in every model, as if they had been there, and 0, from the first row."""
        names_after = self._names_after_growing(columns, names)
        if self._records is not None and columns:
            records = self._records.grown(columns)
            self._set(self._game.grown(records.layout), records)
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
            self._set(self._game_of(other._game.layout))
        assert self._records is not None
        if self.n_features_ != other.n_features_:
            message = f"{other.n_features_} columns cannot merge into {self.n_features_}; grow() the narrower one"
            raise ParameterRefused(message, parameter="other", value=other)
        keys, before, clock = list(other), len(self), float(self._rows_learned + 1)
        mine, theirs = self._records.admit(keys, clock), np.arange(len(keys))
        new = mine >= before
        self._records.copy_from(other._records, theirs[new], mine[new], clock)
        for number, mate in zip(mine[~new].tolist(), theirs[~new].tolist(), strict=True):
            for _, places in self._records.pieces(np.array([number]), clock):
                self._game.merge_record(self._records.records, int(places[0]), *other._records.where(mate))
        self._game.merge(other._game)
        self._rows_learned += other._rows_learned
        self._names = self._names or other._names
        return self

    def snapshot(self) -> Snapshot:
        """Return the parameters and the records of all keys; budget and folder are the machine's, and not in it."""
        return self._snapshot(None if self._records is None else self._records.snapshot())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fleet to a file, whole or not at all; one loaded from it goes on bit for bit the same.

        Records are written a few at a time: beside the fleet, memory holds four megabytes of them, and the keys.
        """
        write_snapshot(path, self._snapshot(None if self._records is None else self._records.in_pieces()))

    def _snapshot(self, records: Snapshot | None) -> Snapshot:
        values: dict[str, Plain] = {
            "pooling": self.pooling,
            "ridges": self.ridges,
            "storage": self.storage,
            "form": self.form,
            "rows": self._rows_learned,
            "columns": self.n_features_,
            "names": self._names,
        }
        parts = {"learner": self._template.snapshot()}
        if records is not None:
            parts |= {"records": records, **self._game.parts()}
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
        storage, form, pooling = given.text("storage"), given.optional_text("form"), given.optional_text("pooling")
        try:
            budget = {"memory": memory, "hot_models": hot_models, "hot_rows": hot_rows, "spill": spill}
            played = {"ridges": given.values.get("ridges"), "storage": storage, "form": form}
            fleet = cls(learner, pooling, **played, **budget)  # type: ignore[arg-type]  # the class checks them
        except ParameterRefused as error:
            if error.parameter not in ("memory", "hot_models", "hot_rows", "spill"):
                raise SnapshotRefused(f"in a Fleet, {error}") from error
            raise
        fleet._rows_learned = given.whole("rows")
        columns = given.optional_whole("columns")
        if columns is not None:
            game = fleet._game_of(fleet._layout(columns + fleet._spec.intercept))
            records = KeyedRecords.restore(given.part("records"), game.layout, game.ridges, fleet._budget)
            fleet._set(game, records)
            if isinstance(game, PooledGame):
                game.take_part(given.part("common"))
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
        """Read a fleet that `save` wrote, a few records at a time, into the budget given here."""
        with open_snapshot(path) as taken:
            return cls._restored_from(
                path, taken, lambda given: cls.restore(given, memory, hot_models, hot_rows, spill)
            )

    def __repr__(self) -> str:
        rows = f"  # {len(self)} keys, {self.rounds} rows of {self.n_features_} columns" if self.rounds else ""
        pooling = f", pooling={self.pooling!r}, ridges={self.ridges}" if self.pooling else ""
        form = f", form={self.form!r}" if self.form else ""
        return f"Fleet({self._template!r}{pooling}, storage={self.storage!r}{form}){rows}"
