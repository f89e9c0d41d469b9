"""The base of learners of many classes: labels, classes that appear, losses as announced, late labels."""

import math
from abc import abstractmethod
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from aioli.errors import UNCHANGED, AnnouncementRefused, ParameterRefused
from aioli.learners.announcements import Announcements
from aioli.learners.classes.announcements import ClassAnnouncements, LateClasses
from aioli.learners.classes.unseen_class import AllDeclared, UnseenByCounts, UnseenClass
from aioli.learners.column_names import NamedColumns
from aioli.learners.ledger import Ledger
from aioli.learners.predicting import Checked
from aioli.learners.protocol import Capability
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.class_labels import ClassLabels, Codes, Label, plain_label
from aioli.snapshots.tree import Plain, Snapshot
from aioli.states.certificate import Certificate
from aioli.streams.matrices import names_in
from aioli.streams.rows import as_weights

__all__ = ["PlaysClasses"]


class PlaysClasses(NamedColumns, Generic[Checked]):
    """A learner of many classes, whose rows pass the border once and are then played as checked rows of one kind.

    A subclass writes `_rows` (the border), `_among_known`, which predicts among the classes known, and `_play_rows`,
    which learns. Both see codes and logarithms of probabilities of the known classes only: an unseen one has its share
    here, unless the subclass takes another `_unseen_class`.

    Parameters
    ----------
    classes
        The labels of all classes, or "any".
    widest
        The greatest norm that a row may have, times its weight.
    """

    capabilities: frozenset[Capability] = frozenset(
        {
            Capability.CERTIFIES,
            Capability.CLASSES,
            Capability.LEARNS_LATE,
            Capability.NAMES_COLUMNS,
            Capability.SAVES,
            Capability.WEIGHS,
        }
    )

    def __init__(self, classes: object, *, widest: float) -> None:
        super().__init__()
        self._labels = ClassLabels(classes)
        self._widest = widest
        self._rounds, self._late = 0, 0
        # whether the rows being played had been announced: their labels then teach by what was announced
        self._announced_before = False
        self._loss = 0.0
        self._unseen = self._unseen_class()
        self._ledger = Ledger()

    # ---- what a subclass writes

    @abstractmethod
    def _rows(self, X: object, single: bool = False) -> Checked:
        """Return the rows checked, or refuse them."""

    @abstractmethod
    def _among_known(self, rows: Checked) -> Matrix:
        """Return the logarithms of the probabilities of the known classes, each row as if it came next."""

    @abstractmethod
    def _play_rows(self, rows: Checked, codes: Codes, stakes: Vector, is_new: NDArray[np.bool_], log_p: Matrix) -> None:
        """Learn from the rows in order; `log_p`, of -inf, receives what is said among the classes known before each.

        `is_new` marks the rows that bring a class, whose codes follow those known.
        """

    @abstractmethod
    def certificate(self, tight: bool = False) -> Certificate:
        """Return nats of regret proven not to have been exceeded."""

    def _announced(self, rows: Checked) -> tuple[Matrix, Matrix]:
        """Return the logarithms announced for rows whose labels come late, and what to remember of each row."""
        return self._logits(rows), np.empty((len(rows), 0))

    def _answer_late(self, announced: Announcements, codes: Codes, stakes: Vector) -> None:
        """Learn from labels what goes by what was announced, before the rows are learned; most learners need not."""

    def _unseen_class(self) -> UnseenClass:
        """Return the class that stands for those which nobody has seen, before the first row."""
        return UnseenByCounts() if self._labels.open else AllDeclared()

    # ---- what it knows

    @property
    def classes_(self) -> list[Label]:
        """The classes, in the order declared or of first appearance."""
        return list(self._labels.classes)

    @property
    def rounds(self) -> int:
        """How many rows it has learned from."""
        return self._rounds

    @property
    def loss(self) -> float:
        """The sum of its losses so far as announced, in nats."""
        return self._loss

    @property
    def escape(self) -> float:
        """The probability of a class that nobody has seen, as the counts tell it; 0 where all classes were declared.

        Most learners announce it for every row; `escape_many` is what is announced for certain rows.
        """
        return self._unseen.probability

    def escape_many(self, X: object) -> Vector:
        """Return, for each row, the probability announced for a class that nobody has seen; changes nothing."""
        rows = self._rows(X)
        return self._unseen.shares(len(rows), lambda: self._among_known(rows))

    # ---- predicting

    def predict(self, x: object) -> Vector:
        """Return the probability of each class; changes nothing."""
        return np.asarray(np.exp(self.predict_logits(x)))

    def predict_many(self, X: object) -> Matrix:
        """Return each row's probabilities, as if it came next, one column a class; changes nothing."""
        return np.exp(self.predict_logits_many(X))

    def predict_logits(self, x: object) -> Vector:
        """Return the logarithms of `predict`: what to remember, with the row, until a late label comes."""
        return np.asarray(self._logits(self._rows(x, single=True))[0])

    def predict_logits_many(self, X: object) -> Matrix:
        """Return the logarithms of `predict_many`, which keep their digits where a probability is 0 or 1."""
        return self._logits(self._rows(X))

    def _logits(self, rows: Checked) -> Matrix:
        return self._unseen.announced(self._among_known(rows)) if len(self._labels) else np.empty((len(rows), 0))

    # ---- learning

    def learn(
        self, x: object, y: object, weight: float = 1.0, logits: object = None, announced: LateClasses = None
    ) -> Vector:
        """Learn from one row and its label; returns the probabilities announced before the label.

        A `weight` multiplies the row's loss, and what is learned from it. Where the label comes late, `announced` is
        what `announce` gave when the row came, or `logits` what `predict_logits` said: what is learned is learned from
        where the learner stands now, and the loss is counted where it was announced.
        """
        rows = self._rows(x, single=True)
        codes, new = self._labels.encode([plain_label(y)], None)
        late = None if logits is None else np.asarray(logits, dtype=np.float64)[None, ...]
        return np.asarray(np.exp(self._learn(rows, codes, new, [weight], late, announced)[0]))

    def learn_many(
        self, X: object, y: object, weights: object = None, logits: object = None, announced: LateClasses = None
    ) -> Matrix:
        """Play the rows in order; returns each row's probabilities before its label, one column a class.

        A class that appears within these rows has 0 in its column before, and the escape's probability in the row where
        it first came. If one row is not a row, or one label no label, nothing is learned from any.
        """
        rows = self._rows(X)
        codes, new = self._labels.encode(y, len(rows))
        p: Matrix = np.exp(self._learn(rows, codes, new, weights, logits, announced))
        if self._names is None:  # a data frame to come may have its columns in another order
            names = names_in(X)
            self.feature_names_ = names if names is not None and len(names) == self.n_features_ else None
        return p

    def learn_batch(self, X: object, y: object, weights: object = None) -> Matrix:
        """Announce all rows before the first of their labels, then learn from them; returns what was announced."""
        announced = self.announce_many(X)
        try:
            return self.learn_many(X, y, weights, announced=announced)
        except BaseException:
            self._ledger.withdraw(len(announced))
            raise

    def announce(self, x: object) -> ClassAnnouncements:
        """Return the probabilities of `predict` and all that the label will need, to be kept until it comes."""
        return self._announce(self._rows(x, single=True))

    def announce_many(self, X: object) -> ClassAnnouncements:
        """Return what `announce` does, for every row: all before the first of their labels."""
        return self._announce(self._rows(X))

    def _announce(self, rows: Checked) -> ClassAnnouncements:
        logits, memory = self._announced(rows)
        tickets = self._ledger.issue(len(rows), self._rounds, np.zeros(len(rows)), memory)
        return ClassAnnouncements(tickets, logits)

    def _learn(
        self, rows: Checked, codes: Codes, new: list[Label], weights: object, logits: object, announced: LateClasses
    ) -> Matrix:
        """Learn from checked rows; return the logarithms of what was announced for them."""
        stakes = as_weights(weights, rows, self._widest)
        known = len(self._labels) + len(new)
        if announced is not None:
            if logits is not None:
                message = "logits and announced came together; announced alone says all (nothing was learned)"
                raise ParameterRefused(message, parameter="logits", value=logits)
            if not isinstance(announced, ClassAnnouncements):
                raise AnnouncementRefused("the announcements are of a learner of two classes" + UNCHANGED)
            self._ledger.check(announced.tickets, len(rows))
            logits = announced.logits
        late = None if logits is None else self._unseen.as_announced(logits, len(rows), known)
        is_new = np.zeros(len(rows), dtype=bool)
        if new:
            is_new[[int(np.argmax(codes == len(self._labels) + j)) for j in range(len(new))]] = True
        said = np.full((len(rows), known + self._unseen.places), -math.inf)
        if announced is not None:
            self._answer_late(announced.tickets, codes, stakes)
        self._announced_before = late is not None
        self._play_rows(rows, codes, stakes, is_new, said)
        self._labels.add(new)
        log_p = self._unseen.play(said, codes, is_new)
        if late is not None:
            log_p = self._unseen.with_remainders(late, codes)
        own = log_p[np.arange(len(rows)), codes]
        self._rounds += len(rows)
        self._late += 0 if late is None else len(rows)
        self._loss -= float(stakes @ own)
        if announced is not None:
            self._ledger.settle(announced.tickets)
        return log_p

    # ---- within

    def _counts(self) -> dict[str, Plain]:
        """Return what is counted here, for a snapshot."""
        return {"names": self._names, "rounds": self._rounds, "late": self._late, "loss": self._loss}

    def _restore_counts(self, snapshot: Snapshot) -> None:
        """Take what is counted here from a snapshot."""
        self._labels = ClassLabels.restore(snapshot.part("labels"))
        self._rounds, self._late = snapshot.whole("rounds"), snapshot.whole("late")
        self._unseen = self._unseen_class().recall(snapshot, len(self._labels))
        self._loss = snapshot.number("loss")
        if "ledger" in snapshot.parts:
            self._ledger = Ledger.restore(snapshot.part("ledger"))
        self._restore_names(snapshot)

    @property
    def _parts(self) -> dict[str, Snapshot]:
        """The parts of a snapshot that are kept here: labels, the unseen class, and announcements where there were."""
        ledger = {"ledger": self._ledger.snapshot()} if self._ledger.issued else {}
        return {"labels": self._labels.snapshot(), **self._unseen.parts(), **ledger}

    def _promised(self, theorem: float) -> float:
        """Return what the theorem and the escape's code length promise together; late labels are not promised for."""
        if self._late:
            return math.inf
        return theorem + self._unseen.code_length()

    def _repr_suffix(self) -> str:
        """Return rows, classes, mean loss and certificate as a comment behind the repr; empty before the first row."""
        if not self.rounds:
            return ""
        proven = f", regret ≤ {self.certificate():.4g} nats" if Capability.CERTIFIES in self.capabilities else ""
        return (
            f"  # {self.rounds} rows of {self.n_features_} columns, {len(self._labels)} classes, "
            f"{self.loss / self.rounds:.4f} nats a row{proven}"
        )
