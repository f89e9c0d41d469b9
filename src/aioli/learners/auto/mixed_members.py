"""The linear experts and their companions heard as one: a mixture of what they say, and reviews of who is worth it."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from aioli.learners.auto.absences import Absences
from aioli.learners.auto.auditions import Auditions
from aioli.learners.auto.companions import Companion
from aioli.learners.auto.members import Members
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import log_loss, log_loss_many
from aioli.snapshots.tree import Array, Snapshot
from aioli.states.mixture.combination import Combination
from aioli.states.mixture.late import LateMixture

__all__ = ["LINEAR", "LateRows", "MixedMembers"]

LINEAR = 0.4  # prior share of the linear experts, which know most where rows are few


class LateRows(NamedTuple):
    """What is known of rows whose labels come late: what the members announced, and where the linear experts stand."""

    kept: Matrix  # the memory of the members' announcements
    delay: Vector  # how many rows late each label is
    in_time: Vector  # the linear experts' log-odds by their mixture that learns as if labels came in time


class MixedMembers:
    """Hold the companions, the mixture that hears them beside the linear experts, and the evidence of their worth.

    What the linear experts say of a row is given. Where all companions have retired, that is what is announced.

    Parameters
    ----------
    companions
        None of which has learned from a row.
    """

    def __init__(self, companions: Sequence[Companion]) -> None:
        self._members = Members(companions)
        self._combination = Combination(self._members.prior(LINEAR))
        self._auditions = Auditions(self._members.places)
        self._absences = Absences(self._members.places, self._combination.mixture)
        waiting = [i for i, companion in enumerate(companions) if companion.only_late]
        if waiting:
            self._retire(waiting)

    # ---- what it knows

    @property
    def companions(self) -> Sequence[Companion | None]:
        """The companions, None in place of one that has retired."""
        return self._members.companions

    @property
    def count(self) -> int:
        """How many members there are, the linear experts as one of them."""
        return self._members.count

    @property
    def memory_width(self) -> int:
        """How many numbers the memory of an announcement has."""
        return self._combination.memory_width

    @property
    def rounds(self) -> int:
        """How many rows it has learned from."""
        return self._auditions.rounds

    @property
    def loss(self) -> float:
        """The sum of its losses so far, in nats."""
        return self._auditions.loss

    @property
    def any_late(self) -> bool:
        """Whether the loss of any row was counted where it was announced, as those of late labels are."""
        return self._auditions.any_late

    @property
    def linear_share(self) -> float:
        """How much of the mixture the linear experts hold."""
        return float(self._combination.shares[0])

    @property
    def shares(self) -> dict[str, float]:
        """How much of the mixture each companion's member holds now: 0 if it has retired."""
        names = [name for names in self._members.names for name in names]
        return dict(zip(names, self._combination.shares[1:].tolist(), strict=True))

    # ---- rows

    def rows_at_once(self, delays: Vector | None) -> int:
        """Return how many rows may be learned in one call: until a review, and before the first label that is late."""
        rows = self._auditions.rows_to_review
        if delays is None or not self._in_time:
            return rows
        late = np.flatnonzero(delays[:rows])
        return int(late[0]) if late.size and late[0] else rows

    def logits(self, X: Matrix, linear: Vector) -> Vector:
        """Return the log-odds of rows, each as if it came next, given those of the linear experts."""
        return linear if self._members.none_plays else self._combination.logits(self._members.consult(X, linear))

    def logit_of_row(self, x: Vector, linear: float) -> float:
        """Return the log-odds of one row, as `logits` does."""
        if self._members.none_plays:
            return linear
        return self._combination.logits(self._members.consult_row(x, linear)).item()

    def announce(self, X: Matrix, linear: Vector) -> tuple[Vector, Matrix]:
        """Return what `logits` does and the memory of the announcements, for rows whose labels come late."""
        if self._members.none_plays:  # should companions play when the label comes, the row counts as one not announced
            nothing = np.full((len(X), self.memory_width), math.nan)
            nothing[:, 0] = linear
            return linear, nothing
        return self._combination.announce(self._members.consult(X, linear))

    def forget_announcing(self) -> None:
        """Drop what came to life with the first announcement, which was taken back."""
        self._combination.forget_announcing()

    def learn(
        self,
        X: Matrix,
        y: Vector,
        weights: Vector,
        linear: Vector,
        announced: Vector,
        late: LateRows | None,
        layer: LateMixture | None,
    ) -> Vector:
        """Learn rows up to a review, given the linear experts' log-odds; return those announced.

        They are those of `announced` where it is not NaN. `layer` is where the linear experts count late labels.
        """
        if late is not None and late.delay[0] > 0.0 and self._in_time:
            self._begin_late()
        now = linear if late is None else late.in_time
        unannounced = np.isnan(announced)
        counted_late = int(np.count_nonzero(~unannounced))
        if self._members.none_plays:
            said = np.where(unannounced, linear, announced)
            self._auditions.count(log_loss_many(said, y), weights, counted_late)
        else:
            Z = self._members.play(X, now, y, weights)
            answered = self._answered(Z, y, weights, late, layer)
            without = self._answered_without(Z, y, weights)
            said = np.where(unannounced, answered, announced)
            losses = log_loss_many(said, y)
            own = None if without is None else log_loss_many(without, y) - log_loss_many(answered, y)
            delays = None if late is None else late.delay
            self._auditions.count_gains(losses, log_loss_many(linear, y) - losses, own, weights, delays)
            self._auditions.count(losses, weights, counted_late)
        self._review_when_due()
        return said

    def learn_row(
        self,
        x: Vector,
        y: float,
        linear: float,
        announced: float | None,
        late: LateRows | None,
        layer: LateMixture | None,
    ) -> float:
        """Learn one row of weight 1, as `learn` does; return its log-odds as announced."""
        if late is not None and late.delay[0] > 0.0 and self._in_time:
            self._begin_late()
        counted_late = announced is not None
        if self._members.none_plays:
            said = linear if announced is None else announced
            self._auditions.count(np.array([log_loss(said, y)]), np.ones(1), counted_late)
        else:
            row = self._members.play_row(x, linear if late is None else late.in_time.item(), y)
            if late is None and self._combination.late is None:
                answered = self._combination.answer_row(row.Z, row.y, row.weights)
            else:
                answered = self._answered(row.Z, row.y, row.weights, late, layer).item()
            without = self._answered_without(row.Z, row.y, row.weights)
            said, delay = answered if announced is None else announced, 0.0 if late is None else late.delay.item()
            alone = np.empty(0) if without is None else without[:, 0].copy()
            self._auditions.count_row(alone, y, linear, answered, said, counted_late, delay)
        self._review_when_due()
        return said

    # ---- its life

    def mark_gaps(self, gaps: Sequence[tuple[int, int]]) -> None:
        """Tell the companions of columns whose missing numbers are marked, as `Companion.mark_gaps` says."""
        for companion in (*self.companions, *self._members.fresh):
            if companion is not None:
                companion.mark_gaps(gaps)

    def tell_companions(self) -> None:
        """Tell the companions that from now on labels may come late."""
        for companion in (*self.companions, *self._members.fresh):
            if companion is not None:
                companion.labels_come_late()

    def grow(self, columns: int) -> None:
        """Make room for new columns, 0 in all rows so far."""
        self._members.grow(columns)

    def arrays(self) -> dict[str, Array]:
        """Return what is counted, for a snapshot."""
        return self._auditions.arrays()

    def parts(self) -> dict[str, Snapshot]:
        """Return the companions that play, and the mixtures with all of them and without each."""
        without = self._absences.snapshots(self._combination.mixture) if self._in_time else {}
        return {"combination": self._combination.snapshot(), **self._members.snapshots(), **without}

    def recall(self, given: Snapshot) -> None:
        """Take over what `arrays` and `parts` returned."""
        self._combination = Combination.restore(given.part("combination"), self._combination.members)
        self._auditions.recall(given)
        self._members.recall(given)
        self._absences.recall(given, self._combination.mixture, self._playing)
        if not self._in_time:
            self.tell_companions()

    # ---- within

    @property
    def _playing(self) -> list[bool]:
        return [companion is not None for companion in self.companions]

    @property
    def _away(self) -> list[int]:
        """The companions that have retired, but for those that failed, and those that wait for late labels."""
        waiting = [fresh.only_late and self._in_time for fresh in self._members.fresh]
        retired = [i for i, plays in enumerate(self._playing) if not plays]
        return [i for i in retired if not waiting[i] and not self._auditions.failed[i]]

    @property
    def _in_time(self) -> bool:
        """Whether no label has come late yet."""
        return self._combination.late is None or not self._combination.late.awake

    def _answered(
        self, Z: Matrix, y: Vector, weights: Vector, late: LateRows | None, layer: LateMixture | None
    ) -> Vector:
        """Let the combination learn labels; return the log-odds of each row before its label."""
        kept, delay = (None, None) if late is None else (late.kept, late.delay)
        answered = self._combination.answer(Z, y, weights, kept, delay)
        if self._combination.late is not None and layer is not None:
            # the combination sees all linear experts as one member; their own mixture has counted them one by one
            self._combination.late.as_cautious_as(layer)
        return answered

    def _answered_without(self, Z: Matrix, y: Vector, weights: Vector) -> Matrix | None:
        """Return the log-odds of each row before its label without each companion; None where that is not known."""
        return self._absences.answer(Z, y, weights) if self._alone_known else None

    @property
    def _alone_known(self) -> bool:
        """Whether it is known what the whole would announce without each companion: not where labels come late."""
        return self._in_time and self._absences.known

    def _review_when_due(self) -> None:
        """Retire companions that are not worth their time; let them begin anew much later, or when losses rise."""
        if not self._auditions.due:
            return
        playing, away = self._playing, self._away
        if away and self._auditions.look_due and self._auditions.look():
            self._begin_anew(away)
        elif any(playing):
            dismissed = [companion is not None and companion.dismissed for companion in self.companions]
            unheard = self._combination.negligible()
            leaving = self._auditions.retiring(playing, dismissed, unheard, self._alone_known)
            if leaving:
                self._retire(leaving)

    def _retire(self, leaving: Sequence[int]) -> None:
        for companion in leaving:
            self._members.retire(companion)
            for member in self._members.places[companion]:
                self._combination.retire(member)
        self._absences.begin(self._combination.mixture, self._playing)

    def _begin_late(self) -> None:
        """Begin the game of late labels, in which nobody's worth is known yet: whoever is away plays."""
        self.tell_companions()
        self._auditions.forget_own()
        retired = [i for i, plays in enumerate(self._playing) if not plays]
        self._begin_anew([i for i in retired if not self._auditions.failed[i]])

    def _begin_anew(self, companions: Sequence[int]) -> None:
        """Let companions that do not play do so, as if they had seen no row."""
        self._members.begin_anew(companions)
        prior = self._members.prior(LINEAR)
        for companion in companions:
            for member in self._members.places[companion]:
                self._combination.revive(member, float(prior[member]))
        self._auditions.begin()
        self._absences.begin(self._combination.mixture, self._playing)
