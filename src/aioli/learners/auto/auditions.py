r"""Who of Auto's companions is worth its time: counted as rows come, decided every 500 rows.

What a companion is worth is what the whole would lose without it (`learners.auto.absences`), and what all are worth
together is what the linear experts lose alone: in each row a gain g. Over the rows since the 512th of an audition the
gains of a companion, or of all, have a sum G, of standard error s, and the whole has lost L. At a review,

- a companion that has failed retires, for good;
- from 1,000 rows on, one that has no influence at two reviews running retires;
- from 1,000 rows on, and once L is 20 nats, since labels that are rare tell who is right when they come, all retire
  where $G + 2s < L/100$ for all of them together: it is plain that they save less than 1 %. Else, where nobody leaves
  so far, the one of least $G + 2s$ retires, if that is below $L/100$. One at a time: of two that say the same, each
  alone is worth nothing.

Rows whose labels come late are no evidence one by one: the same labels are missing for all of them, and what goes wrong
in one goes wrong in its neighbours. So 1 + delay of them are one observation, the sum of their gains, and s is the
error of such sums, known from the fourth on; rows in time are one observation each, unless such a sum is open. What the
whole would have announced without one companion is not known then: late labels decide on all together, and where $G +
3s < L/500$, since of few sums the error is not known well.

Those who have retired begin anew when the loss rises, or when 128 times as many rows have come; that is looked at every
4,000 rows.
"""

import math

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.logistic import log_loss
from aioli.snapshots.tree import Array, Snapshot

__all__ = ["Auditions"]

REVIEW = 500  # rows after which a companion may retire
LEAST = 1000  # rows of an audition before anyone retires
REST = 8  # reviews that pass until it is asked whether those who have retired begin anew
SETTLED = 512  # rows in which the price of mixing, and of companions that know nothing yet, is paid
WORTH, WORTH_LATE = 0.01, 0.002  # part of the loss; a companion, or all together, that plainly save less retire
ERRORS, ERRORS_LATE = 2.0, 3.0  # standard errors that are granted beside it
TELLING = 20.0  # nats that the whole must have lost before anyone retires for that: fewer hold few rare labels, or none
AGAIN = 128  # times as many rows, and those who retired begin a new audition
RISE, LEAST_RISE = 1.5, 0.01  # of the loss, beside what it was since: then they do so at once
ROUNDING = 1e-9  # of the loss: what is nearer is the same, summed in another order
FEW_SUMS = 4  # of late rows, below which nothing is known of how they vary

# rows, losses of the whole, rows whose loss was counted where it was announced; rows at which the audition began and
# somebody last retired; the mean loss since then, and all losses at the last look at it
TOTALS = 14
ROUNDS, LOSS, LATE, BEGUN, RETIRED, CALM, LOOKED = range(7)
# evidence: rows in time, gains of all together, squared observations, losses of the whole; of late rows
# the sums that are complete, and the rows and the gain of the one that is not
SEEN, GAINED, SQUARES, AT_STAKE, LATE_SUMS, OPEN_ROWS, OPEN_GAIN = range(7, TOTALS)
EVIDENCE = slice(SEEN, TOTALS)

OWN_GAINED, OWN_SQUARES = range(2)  # of a companion, on rows in time
EARLIER = {9, 10, 13}  # how many totals there were in files from before a companion's own worth was counted
KNOWN_EARLIER = {ROUNDS: 0, LOSS: 1, LATE: 2, RETIRED: 7, CALM: 8}  # and where these stood


class Auditions:
    """Count losses and gains, and say who retires and when they begin anew.

    Parameters
    ----------
    members
        The places of each companion's members in the mixture; place 0 is the linear experts'.
    """

    def __init__(self, members: list[list[int]]) -> None:
        self.members = members
        self.totals: Vector = np.zeros(TOTALS)
        self.own: Matrix = np.zeros((len(members), 2))
        self.silent: Vector = np.zeros(len(members))  # at the last review
        self.failed: Vector = np.zeros(len(members))  # those who never begin anew

    @property
    def rounds(self) -> int:
        """How many rows there were."""
        return int(self.totals[ROUNDS])

    @property
    def loss(self) -> float:
        """The sum of the whole's losses."""
        return float(self.totals[LOSS])

    @property
    def any_late(self) -> bool:
        """Whether the loss of any row was counted where it was announced, as those of late labels are."""
        return bool(self.totals[LATE])

    @property
    def rows_to_review(self) -> int:
        """How many rows may come until the next review."""
        return REVIEW - self.rounds % REVIEW

    @property
    def due(self) -> bool:
        """Whether a review is due."""
        return not self.totals.item(ROUNDS) % REVIEW

    @property
    def look_due(self) -> bool:
        """Whether it is to be asked if those who have retired begin anew."""
        return not self.totals.item(ROUNDS) % (REST * REVIEW)

    def count(self, losses: Vector, weights: Vector, late: int = 0) -> None:
        """Count rows, given the whole's loss of each, and of how many it was counted where it was announced."""
        self.totals[: LATE + 1] += np.array([len(losses), weights @ losses, late])

    def count_gains(
        self, losses: Vector, gains: Vector, own: Matrix | None, weights: Vector, delays: Vector | None = None
    ) -> None:
        """Count what companions saved on each row, before `count` does: those since the 512th.

        `losses` are the whole's, `gains` what all together saved, `own` what each did, companions × rows, None where
        that is not known; `delays` is how many rows late each label is, None where all come in time.
        """
        first = max(0, int(SETTLED - self.totals[ROUNDS] + self.totals[BEGUN]))
        if first >= len(gains):
            return
        g, w, totals = gains[first:], weights[first:], self.totals
        totals[AT_STAKE] += w @ losses[first:]
        totals[GAINED] += w @ g
        if own is not None:
            self.own += np.stack([own[:, first:] @ w, own[:, first:] ** 2 @ w**2], axis=1)
        late = np.zeros(len(g)) if delays is None else np.array(delays[first:], dtype=np.float64)
        observe_rows(totals, g, w, late)

    def count_row(
        self, without: Vector, y: float, linear: float, in_time: float, said: float, late: bool, delay: float
    ) -> None:
        """Count one row of weight 1 while companions play: what `count_gains` and `count` do.

        Given are the log-odds of the whole without each companion, none where they are not known; of the linear
        experts; of the whole as if labels came in time, and as it was announced; `late` says whether its loss is
        counted where it was announced.
        """
        count_row(self.totals, self.own, without, y, linear, in_time, said, late, delay)

    def forget_own(self) -> None:
        """Drop what each companion has saved by itself: from now on labels come late."""
        self.own[:] = 0.0

    def look(self) -> bool:
        """Look at the loss since the last look, and remember it; return whether it has risen, or rows are many more."""
        totals = self.totals
        since, lost = totals[ROUNDS] - totals[RETIRED], totals[LOSS] - totals[LOOKED]
        now = lost / min(since, REST * REVIEW)
        risen = now > RISE * totals[CALM] + LEAST_RISE
        looks = since / (REST * REVIEW)
        totals[CALM] += (now - totals[CALM]) / (looks + 1.0)
        totals[LOOKED] = totals[LOSS]
        return bool(risen or totals[ROUNDS] >= AGAIN * totals[RETIRED])

    def begin(self) -> None:
        """Let those who have retired begin anew."""
        self.silent[:] = self.own[:] = 0.0
        self.totals[BEGUN] = self.totals[ROUNDS]
        self.totals[EVIDENCE] = 0.0

    def retiring(self, playing: list[bool], dismissed: list[bool], unheard: Vector, alone_known: bool) -> list[int]:
        """Review: return the companions that retire, given which of all members have no influence.

        `alone_known` says whether it is known what the whole would be without each.
        """
        leaving = [i for i, plays in enumerate(playing) if plays and dismissed[i]]
        self.failed[leaving] = 1.0
        if self.totals[ROUNDS] - self.totals[BEGUN] >= LEAST:
            for i, members in enumerate(self.members):
                silent = bool(unheard[members].all())
                if playing[i] and silent and self.silent[i] and i not in leaving:
                    leaving.append(i)
                self.silent[i] = silent
            leaving = self._not_worth(playing, leaving, alone_known)
        if leaving:
            totals = self.totals
            seen = totals[ROUNDS] - totals[BEGUN] - SETTLED
            totals[CALM] = totals[AT_STAKE] / seen if seen > 0.0 else totals[LOSS] / totals[ROUNDS]
            totals[RETIRED], totals[LOOKED] = totals[ROUNDS], totals[LOSS]
        return sorted(leaving)

    def _not_worth(self, playing: list[bool], leaving: list[int], alone_known: bool) -> list[int]:
        """Return who leaves, with those who are plainly not worth their time: all, or one beside who leaves anyway."""
        if self.totals[AT_STAKE] < TELLING:
            return leaving
        worth = (WORTH if alone_known else WORTH_LATE) * self.totals[AT_STAKE]
        if self._at_most() < worth:
            return [i for i, plays in enumerate(playing) if plays]
        if leaving or not alone_known:
            return leaving
        bounds = {i: self._own_at_most(i) for i, plays in enumerate(playing) if plays}
        least = min(bounds.values())
        alike = [i for i, bound in bounds.items() if bound <= least + ROUNDING * self.totals[AT_STAKE]]
        return alike[-1:] if least < worth else []  # of two that say the same, the later one: rounding does not decide

    def _at_most(self) -> float:
        """Return what all companions save together, with the errors granted; infinite where too little is known."""
        totals = self.totals
        observed = totals[SEEN] + totals[LATE_SUMS]
        if (totals[LATE_SUMS] or totals[OPEN_ROWS]) and observed < FEW_SUMS:
            return math.inf
        closed = totals[GAINED] - totals[OPEN_GAIN]
        errors = ERRORS_LATE if totals[LATE_SUMS] else ERRORS
        return float(totals[GAINED] + errors * spread(totals[SQUARES], closed, observed))

    def _own_at_most(self, companion: int) -> float:
        """Return what one companion saves, with the errors granted."""
        gained, squares = self.own[companion].tolist()
        return float(gained + ERRORS * spread(squares, gained, self.totals[SEEN]))

    def arrays(self) -> dict[str, Array]:
        """Return what is counted, for a snapshot."""
        arrays = {"totals": self.totals, "own": self.own, "silent": self.silent, "failed": self.failed}
        return {name: array.copy() for name, array in arrays.items()}

    def recall(self, given: Snapshot) -> None:
        """Take over what `arrays` returned; evidence of files from before a companion's own was counted begins anew."""
        totals = given.array("totals", (None,))
        self.totals[:] = self.own[:] = 0.0
        if totals.size in EARLIER:
            for new, old in KNOWN_EARLIER.items():
                self.totals[new] = totals[old] if old < totals.size else 0.0
            self.totals[LOOKED] = self.totals[LOSS]
            self.totals[BEGUN] = self.totals[ROUNDS]
        else:
            self.totals[:] = given.array("totals", self.totals.shape)
            self.own[:] = given.array("own", self.own.shape)
            self.failed[:] = given.array("failed", self.failed.shape)
        self.silent[:] = given.array("silent", self.silent.shape)


def spread(squares: float, total: float, observed: float) -> float:
    """Return the standard error of a sum of so many observations, given their squares."""
    return math.sqrt(max(squares - total * total / max(observed, 1.0), 0.0))


@compiled("void(f8[::1],f8,f8,f8)", uncounted=True)
def observe(totals: Vector, gain: float, weight: float, delay: float) -> None:
    """Count a row of the evidence: by itself where its label came in time, else in the sum that is open. O(1)."""
    if delay == 0.0 and totals[OPEN_ROWS] == 0.0:
        totals[SEEN] += 1.0
        totals[SQUARES] += (weight * gain) * (weight * gain)
        return
    totals[OPEN_ROWS] += 1.0
    totals[OPEN_GAIN] += weight * gain
    if totals[OPEN_ROWS] >= 1.0 + delay:
        totals[LATE_SUMS] += 1.0
        totals[SQUARES] += totals[OPEN_GAIN] * totals[OPEN_GAIN]
        totals[OPEN_ROWS] = totals[OPEN_GAIN] = 0.0


@compiled("void(f8[::1],f8[::1],f8[::1],f8[::1])")
def observe_rows(totals: Vector, gains: Vector, weights: Vector, delays: Vector) -> None:
    """Count rows of the evidence in order, as `observe` does. O(1) each."""
    for t in range(gains.size):
        observe(totals, gains[t], weights[t], delays[t])


@compiled("void(f8[::1],f8[:,::1],f8[::1],f8,f8,f8,f8,b1,f8)")
def count_row(
    totals: Vector,
    own: Matrix,
    without: Vector,
    y: float,
    linear: float,
    in_time: float,
    said: float,
    late: bool,
    delay: float,
) -> None:
    """Count a row of weight 1, as `Auditions.count_row` says. O(companions)."""
    loss = log_loss(said, y)
    gain = log_loss(linear, y) - loss
    if totals[ROUNDS] - totals[BEGUN] >= SETTLED:
        totals[GAINED] += gain
        totals[AT_STAKE] += loss
        for i in range(without.size):
            alone = log_loss(without[i], y) - log_loss(in_time, y)
            own[i, OWN_GAINED] += alone
            own[i, OWN_SQUARES] += alone * alone
        observe(totals, gain, 1.0, delay)
    totals[ROUNDS] += 1.0
    totals[LOSS] += loss
    if late:
        totals[LATE] += 1.0
