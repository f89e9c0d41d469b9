r"""Who of Auto's companions is worth its time: counted as rows come, decided every 1,000 rows.

The gain g of a row is the linear experts' loss less the whole's. Over the rows since the 512th of an audition it has a
mean $\bar g$ and a standard error s; below they are in parts of the linear experts' mean loss.

- A companion retires as soon as it is plain that it brings nothing: s and $\bar g + s$ are below 0.75 %, and it is more
  than 1 % behind the linear experts, or 10 % if it has yet to decide what it reads. Where whole and linear experts say
  the same, that takes a thousand rows; where they differ, s is large, and the rows must decide.
- A companion retires after two reviews if it is still far behind the linear experts and $\bar g + 2s$ is below 0.2 %.
- All retire after four reviews if $\bar g + 2s$ is below 0.2 %, after sixteen if $\bar g$ is.
- A companion retires that has no influence at two reviews running.

Rows whose labels come late are no evidence one by one: the same labels are missing for all of them, and what goes wrong
in one goes wrong in its neighbours. So 1 + delay of them are one observation, the sum of their gains, and s is the
error of such sums, known from the fourth on; rows in time are one observation each.

Where all have retired they begin anew when the linear experts' loss rises, or when 128 times as many rows have come;
that is looked at every 4,000 rows.
"""

import math
from collections.abc import Sequence

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.logistic import log_loss
from aioli.snapshots.tree import Array, Snapshot

__all__ = ["Auditions"]

REVIEW = 1000  # rows after which a companion may retire: just before a forest would make its trees anew
REST = 4  # reviews that pass, where all have retired, until it is asked whether they begin anew
SETTLED = 512  # rows in which the price of mixing, and of companions that know nothing yet, is paid
AUDITION, TRIAL, PATIENCE = 2, 4, 16  # reviews, as told above
WORTH = 0.002  # of the linear experts' loss that all companions together must save, or else
PLAIN = 0.0075  # of it, below which the gain and its error must be for all to retire at once
NEAR = 1.01  # times the linear experts' loss: a companion as near as this may yet overtake them
PROMISE = 0.1  # above it, at the end of the audition, a companion's best member may still be; less and less later
AGAIN = 128  # times as many rows, and those who retired begin a new audition
RISE, LEAST_RISE = 1.5, 0.01  # of the linear experts' loss, beside what it was since: then they do so at once

EARLIER = 9  # numbers of files from before the gain of every row was counted
ROW_BY_ROW = 10  # numbers of files from before late rows were observed together
COUNTED = ROW_BY_ROW + 3
ROUNDS, LOSS, LATE, SEEN, GAINED, AT_STAKE, BEGUN, RETIRED, CALM, SQUARES = range(ROW_BY_ROW)
LATE_SUMS, OPEN_ROWS, OPEN_GAIN = range(ROW_BY_ROW, COUNTED)
# weight of the rows in time, gains, linear losses, squared observations; of late rows: the sums that are complete, and
# the rows and the gain of the one that is not
EVIDENCE = [SEEN, GAINED, AT_STAKE, SQUARES, LATE_SUMS, OPEN_ROWS, OPEN_GAIN]
FEW_SUMS = 4  # below it nothing is known of how they vary


class Auditions:
    """Count losses and gains, and say who retires and when all begin anew.

    Parameters
    ----------
    members
        The places of each companion's members in the mixture; place 0 is the linear experts'.
    """

    def __init__(self, members: list[list[int]]) -> None:
        self.members = members
        self.totals: Vector = np.zeros(COUNTED)
        self.losses: Vector = np.zeros(1 + sum(map(len, members)))  # of every member, since the last review
        self.silent: Vector = np.zeros(len(members))  # at the last review

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
        """Whether any loss was counted where it was announced, and its label came late."""
        return bool(self.totals[LATE])

    def rows_to_review(self, alone: bool) -> int:
        """Return how many rows may come until the next review, where the linear experts play alone or not."""
        every = REST * REVIEW if alone else REVIEW
        return every - self.rounds % every

    def due(self, alone: bool) -> bool:
        """Return whether a review is due."""
        return not self.totals.item(ROUNDS) % (REST * REVIEW if alone else REVIEW)

    def count(self, losses: Vector, weights: Vector, late: int = 0) -> None:
        """Count rows, given the whole's loss of each."""
        self.totals[: LATE + 1] += np.array([len(losses), weights @ losses, late])

    def count_gains(self, gains: Vector, linear: Vector, weights: Vector, late: Vector | None = None) -> None:
        """Count what the companions saved on each row, before `count` does: those since the 512th.

        `late` is how many rows late each label is; None where all come in time.
        """
        first = max(0, int(SETTLED - self.totals[ROUNDS] + self.totals[BEGUN]))
        if first >= len(gains):
            return
        g, w, totals = gains[first:], weights[first:], self.totals
        if late is None or not late.any():
            totals[[SEEN, GAINED, AT_STAKE, SQUARES]] += [w.sum(), w @ g, w @ linear[first:], w @ (g * g)]
            return
        totals[[GAINED, AT_STAKE]] += [w @ g, w @ linear[first:]]
        rows = 1 + int(late.max())  # of one observation
        begin = 0
        while begin < len(g):
            part = slice(begin, begin + max(1, rows - int(totals[OPEN_ROWS])))
            totals[OPEN_ROWS] += len(g[part])
            totals[OPEN_GAIN] += w[part] @ g[part]
            if totals[OPEN_ROWS] >= rows:
                totals[[LATE_SUMS, SQUARES]] += [1.0, totals[OPEN_GAIN] ** 2]
                totals[[OPEN_ROWS, OPEN_GAIN]] = 0.0
            begin = part.stop

    def count_row(self, Z: Matrix, y: float, linear: float, said: float, late: bool, delay: float) -> None:
        """Count one row of weight 1 while companions play: what `count_gains` and `count` do, and the members' losses.

        Z is what each member says, `linear` what the linear experts and `said` what the whole announced, as log-odds;
        `late` says whether the loss is counted where it was announced.
        """
        count_row(self.totals, self.losses, Z, y, linear, said, late, delay)

    def begins_anew(self) -> bool:
        """Review where nobody plays: whether the linear experts' loss has risen, or rows have become many more."""
        totals = self.totals
        since = totals[ROUNDS] - totals[RETIRED]
        reviews = since / (REST * REVIEW)
        now = self.losses[0] / min(since, REST * REVIEW)
        risen = now > RISE * totals[CALM] + LEAST_RISE
        totals[CALM] += (now - totals[CALM]) / (reviews + 1.0)
        self.losses[:] = 0.0
        return bool(risen or totals[ROUNDS] >= AGAIN * totals[RETIRED])

    def begin(self) -> None:
        """Let all companions begin anew."""
        self.silent[:] = self.losses[:] = 0.0
        self.totals[BEGUN] = self.totals[ROUNDS]
        self.totals[EVIDENCE] = 0.0

    def retiring(
        self, playing: list[bool], dismissed: list[bool], unheard: Vector, unsettled: Sequence[bool] = ()
    ) -> list[int]:
        """Review: return the companions that retire, given which members have no influence, and who is unsettled."""
        totals, linear = self.totals, self.losses[0]
        reviews = (totals[ROUNDS] - totals[BEGUN]) / REVIEW
        gain, error, worth = self._gain()
        doubtful = gain + 2.0 * error < WORTH * worth
        in_vain = (reviews >= TRIAL and doubtful) or (reviews >= PATIENCE and gain < WORTH * worth)
        plain = max(error, gain + error) < PLAIN * worth
        leaving = []
        for i, members in enumerate(self.members):
            silent = bool(unheard[members].all())
            best = self.losses[members].min()
            behind = best > (1.0 + PROMISE * AUDITION / reviews) * linear
            useless = reviews >= AUDITION and ((behind and doubtful) or (silent and self.silent[i]))
            near = 1.0 + PROMISE if any(unsettled[i : i + 1]) else NEAR
            useless = useless or (plain and (best > near * linear or best == linear))  # equal: it says what they say
            if playing[i] and (dismissed[i] or in_vain or useless):
                leaving.append(i)
            self.silent[i] = silent
        totals[CALM] = linear / REVIEW
        self.losses[:] = 0.0
        if leaving:
            totals[RETIRED] = totals[ROUNDS]
        return leaving

    def _gain(self) -> tuple[float, float, float]:
        """Return what was gained on all rows of the evidence, the standard error of that sum, and what was at stake."""
        seen, gained, at_stake, squares, late_sums, open_rows, open_gain = self.totals[EVIDENCE].tolist()
        observed = seen + late_sums
        if (late_sums or open_rows) and observed < FEW_SUMS:
            return gained, math.inf, at_stake
        closed = gained - open_gain
        return gained, math.sqrt(max(squares - closed * closed / max(observed, 1.0), 0.0)), at_stake

    def arrays(self) -> dict[str, Array]:
        """Return what is counted, for a snapshot."""
        return {"totals": self.totals.copy(), "losses": self.losses.copy(), "silent": self.silent.copy()}

    def recall(self, given: Snapshot) -> None:
        """Take over what `arrays` returned."""
        totals = given.array("totals", (None,))
        if totals.size not in (EARLIER, ROW_BY_ROW):
            totals = given.array("totals", self.totals.shape)
        self.totals[...] = 0.0
        self.totals[: totals.size] = totals
        if totals.size == EARLIER:
            self.totals[EVIDENCE] = 0.0
        self.losses[...] = given.array("losses", self.losses.shape)
        self.silent[...] = given.array("silent", self.silent.shape)


@compiled("void(f8[::1],f8[::1],f8[:,::1],f8,f8,f8,b1,f8)")
def count_row(
    totals: Vector, losses: Vector, Z: Matrix, y: float, linear: float, said: float, late: bool, delay: float
) -> None:
    """Count a row of weight 1, as `Auditions.count_row` says. O(members)."""
    for i in range(Z.shape[1]):
        losses[i] += log_loss(Z[0, i], y)
    linear_loss, loss = log_loss(linear, y), log_loss(said, y)
    gain = linear_loss - loss
    if totals[ROUNDS] - totals[BEGUN] >= SETTLED:
        totals[GAINED] += gain
        totals[AT_STAKE] += linear_loss
        if delay == 0.0:
            totals[SEEN] += 1.0
            totals[SQUARES] += gain * gain
        else:
            totals[OPEN_ROWS] += 1.0
            totals[OPEN_GAIN] += gain
            if totals[OPEN_ROWS] >= 1.0 + delay:
                totals[LATE_SUMS] += 1.0
                totals[SQUARES] += totals[OPEN_GAIN] * totals[OPEN_GAIN]
                totals[OPEN_ROWS] = totals[OPEN_GAIN] = 0.0
    totals[ROUNDS] += 1.0
    totals[LOSS] += loss
    if late:
        totals[LATE] += 1.0
