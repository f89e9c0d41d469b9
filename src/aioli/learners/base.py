"""The base of the learners of rows: input checks, one row or many, late labels, and names of columns."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from aioli.errors import ParameterRefused
from aioli.learners.announcements import Announcement, Announcements, Delayed, Late, LateMany
from aioli.learners.column_names import NamedColumns
from aioli.learners.ledger import Ledger
from aioli.learners.predicting import Checked, PredictsRows
from aioli.learners.protocol import Capability
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid_many
from aioli.snapshots.tree import Snapshot
from aioli.states.certificate import Certificate
from aioli.streams.matrices import names_in
from aioli.streams.rows import as_label, as_labels

__all__ = ["ColumnLearner", "CountsLosses", "RowsLearner"]


class CountsLosses(ABC):
    """Whatever learns from rows and adds up its losses."""

    @property
    @abstractmethod
    def rounds(self) -> int:
        """How many rows it has learned from."""

    @property
    @abstractmethod
    def loss(self) -> float:
        """The sum of its losses so far, in nats."""


class ColumnLearner(CountsLosses):
    """A learner of rows with weights and late labels, whose columns may have names."""

    capabilities: frozenset[Capability] = frozenset(
        {
            Capability.CERTIFIES,
            Capability.LEARNS_LATE,
            Capability.NAMES_COLUMNS,
            Capability.SAVES,
            Capability.WEIGHS,
        }
    )

    @property
    @abstractmethod
    def n_features_(self) -> int | None:
        """How many columns a row has; None before the first row."""

    @property
    @abstractmethod
    def feature_names_(self) -> list[str] | None:
        """Names of the columns; None until given."""

    @feature_names_.setter
    @abstractmethod
    def feature_names_(self, names: Sequence[str] | None) -> None: ...

    @abstractmethod
    def predict(self, x: object) -> float:
        """Return the probability that the row's label is 1; changes nothing."""

    @abstractmethod
    def predict_logit(self, x: object) -> float:
        """Return the log-odds of `predict`; changes nothing."""

    @abstractmethod
    def predict_logit_many(self, X: object) -> Vector:
        """Return the log-odds of `predict_many`, which keep their digits where a probability is 0 or 1."""

    @abstractmethod
    def announce(self, x: object) -> Announcement:
        """Return the probability of `predict` and all that the label will need, to be kept until it comes."""

    @abstractmethod
    def announce_many(self, X: object) -> Announcements:
        """Return what `announce` does, for every row: all before the first of their labels."""

    @abstractmethod
    def learn(
        self, x: object, y: object, weight: float = 1.0, logit: float | None = None, announced: Late = None
    ) -> float:
        """Learn from one row and its label; returns the probability announced before the label."""

    @abstractmethod
    def learn_many(
        self, X: object, y: object, weights: object = None, logits: object = None, announced: LateMany = None
    ) -> Vector:
        """Play the rows in order; returns each row's probability before its label.

        The same game as `learn` row by row, at the speed of compiled loops, or of matrix products where rows are many
        and wide. If one row is not a row, nothing is learned from any.
        """

    @abstractmethod
    def learn_batch(self, X: object, y: object, weights: object = None) -> Vector:
        """Announce all rows before the first of their labels, then learn from them; returns what was announced.

        This is the game of whoever scores a batch and is told its labels afterwards.
        """

    @abstractmethod
    def _withdraw(self, announcements: int) -> None:
        """Take back the last announcements, which nobody has seen, and all that came to life for them."""

    def _announce_then_learn(self, X: object, y: object, weights: object) -> Vector:
        """Do what `learn_batch` does by `announce_many` and `learn_many`, where a learner has its own `learn_many`."""
        announced = self.announce_many(X)
        try:
            return self.learn_many(X, y, weights, announced=announced)
        except BaseException:
            self._withdraw(len(announced))
            raise

    @abstractmethod
    def _announce_within(self, X: object) -> tuple[Vector, Matrix]:
        """Return log-odds and the announcements' memory, for a learner around this one that has its own ledger."""

    @abstractmethod
    def _learn_within(self, X: object, y: object, weights: object, delayed: Delayed) -> Vector:
        """Learn what a learner around this one announced by `_announce_within`; returns what was announced."""

    @abstractmethod
    def certificate(self, tight: bool = False) -> Certificate:
        """Return nats of regret proven not to have been exceeded."""

    def predict_many(self, X: object) -> Vector:
        """Return each row's probability, as if it came next; changes nothing."""
        return sigmoid_many(self.predict_logit_many(X))

    def _repr_suffix(self) -> str:
        """Return rows, mean loss and certificate as a comment behind the repr; empty before the first row."""
        if not self.rounds:
            return ""
        mean = self.loss / self.rounds
        return (
            f"  # {self.rounds} rows of {self.n_features_} columns, {mean:.4f} nats a row, "
            f"regret ≤ {self.certificate():.4g} nats"
        )


class RowsLearner(NamedColumns, PredictsRows[Checked], ColumnLearner):
    """A learner whose rows pass the border once, single or many, and are then played as checked rows of one kind.

    A subclass writes `_rows` (the border), `_logits` and `_learn` over checked rows, and what it can tell of itself.
    """

    def __init__(self) -> None:
        super().__init__()
        self._ledger = Ledger()

    @abstractmethod
    def _learn(self, rows: Checked, labels: Vector, weights: object, logits: object) -> Vector: ...

    def announce(self, x: object) -> Announcement:
        """Return the probability of `predict` and all that the label will need, to be kept until it comes."""
        logits, memory = self._announce(self._rows(x, single=True))
        return self._ledger.issue_one(self.rounds, logits.item(0), memory[0] if memory.shape[1] else None)

    def announce_many(self, X: object) -> Announcements:
        """Return what `announce` does, for every row: all before the first of their labels."""
        rows = self._rows(X)
        logits, memory = self._announce(rows)
        return self._ledger.issue(len(rows), self.rounds, logits, memory)

    def learn(
        self, x: object, y: object, weight: float = 1.0, logit: float | None = None, announced: Late = None
    ) -> float:
        """Learn from one row and its label; return the probability announced before the label.

        `weight`, `logit` and `announced` as in `AIOLI.learn`.
        """
        return self._learn_one(x, y, weight, logit, announced)

    def learn_many(
        self, X: object, y: object, weights: object = None, logits: object = None, announced: LateMany = None
    ) -> Vector:
        """Play the rows in order; returns each row's probability before its label.

        The same game as `learn` row by row, at the speed of compiled loops, or of matrix products where rows are many
        and wide. If one row is not a row, nothing is learned from any. `announced` is what `announce_many` gave for
        these rows, or announcements in the order of the rows (`Announcements.joined`).
        """
        rows = self._rows(X)
        p = self._play(rows, as_labels(y, len(rows)), weights, logits, announced)
        self._learn_names(X)
        return p

    def learn_batch(self, X: object, y: object, weights: object = None) -> Vector:
        """Announce all rows before the first of their labels, then learn from them; returns what was announced.

        It does what `announce_many` and then `learn_many` do, bit for bit; rows pass the border once, and nobody else
        can have had these announcements, so that the ledger is not asked whether they stand.
        """
        rows = self._rows(X)
        labels = as_labels(y, len(rows))
        announced = self._ledger.issue(len(rows), self.rounds, *self._announce(rows))
        try:
            self._answer(rows, labels, weights, self._ledger.delayed(announced, self.rounds))
        except BaseException:
            self._withdraw(len(announced))
            raise
        self._ledger.settle_last(len(announced))
        self._learn_names(X)
        return announced.probabilities

    def _learn_names(self, X: object) -> None:
        """Take the names of a data frame's columns: one to come may have them in another order."""
        if self._names is None and (names := names_in(X)) is not None and len(names) == self.n_features_:
            self._set_names(names)

    def _learn_one(self, x: object, y: object, weight: float, logit: float | None, announced: Late) -> float:
        """Learn from one row of any kind, through the border."""
        late, row = None if logit is None else [logit], None if announced is None else announced.row
        rows = self._rows(x, single=True)
        return float(self._play(rows, np.array([as_label(y)]), [weight], late, row)[0])

    def _play(self, rows: Checked, labels: Vector, weights: object, logits: object, announced: LateMany) -> Vector:
        """Learn from checked rows, in time or as they were announced."""
        if announced is None:
            return self._learn(rows, labels, weights, logits)
        if logits is not None:
            raise ParameterRefused(
                "logits and announced came together; announced alone says all (nothing was learned)",
                parameter="logits",
                value=logits,
            )
        self._ledger.check(announced, len(rows))
        self._answer(rows, labels, weights, self._ledger.delayed(announced, self.rounds))
        self._ledger.settle(announced)
        return announced.probabilities

    def _announce(self, rows: Checked) -> tuple[Vector, Matrix]:
        """Return the log-odds of rows, each as if it came next, and the memory of their announcements."""
        return self._logits(rows), np.empty((len(rows), 0))

    def _answer(self, rows: Checked, labels: Vector, weights: object, delayed: Delayed) -> None:
        """Learn from the labels of rows that were announced earlier; the ledger has been asked."""
        self._learn(rows, labels, weights, delayed.logits)

    def _announce_within(self, X: object) -> tuple[Vector, Matrix]:
        return self._announce(self._rows(X))

    def _learn_within(self, X: object, y: object, weights: object, delayed: Delayed) -> Vector:
        rows = self._rows(X)
        self._answer(rows, as_labels(y, len(rows)), weights, delayed)
        return sigmoid_many(delayed.logits)

    def _withdraw(self, announcements: int) -> None:
        self._ledger.withdraw(announcements)
        if not self._ledger.issued:
            self._forget_announcing()

    def _forget_announcing(self) -> None:
        """Drop what came to life with the first announcement, which was taken back."""

    @property
    def has_announced(self) -> bool:
        """Whether a row has been announced, so that its label may come late."""
        return self._ledger.issued > 0

    @property
    def _ledger_part(self) -> dict[str, Snapshot]:
        """The part of a snapshot that tells of announcements: none where there were none."""
        return {"ledger": self._ledger.snapshot()} if self._ledger.issued else {}

    def _take_names(self, snapshot: Snapshot) -> None:
        """Take the names of the columns from a snapshot, once the width is known, and the announcements."""
        if "ledger" in snapshot.parts:
            self._ledger = Ledger.restore(snapshot.part("ledger"))
        self._restore_names(snapshot)
