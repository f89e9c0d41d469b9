r"""The mixture when labels come late: what is heard is weighed by what was *announced*, at rates that fit the delay.

The mixture of `states.mixture.mixture` is trained by what it would say with every label known. Where labels come late
that is not what it announces: its stackers lean on a last label that is old, and a share that multiplies many
likelihoods at once jumps to whoever fitted the last batch. So from the first late label on, five members are weighed by
the probabilities that they announced when the row came:

- the experts' own mixture, with shares of its own;
- the experts' log-odds pooled by their prior shares, $\sum_i \pi_i z_i$: where experts lack the same labels they err
  apart, and errors of log-odds cancel, the more of them there are;
- a stacker on the mixture, as the others are, whose steps are four over the delay;
- the base rate, $\ln\frac{\text{ones}}{\text{zeros}}$ of the labels known;
- the whole of the other mixture, its memory of labels faded.

Both levels, experts and members, are exponential weights at a rate η, with a share to the prior:

$$w_i \leftarrow (1-s)\frac{w_i\,p_i(y)^{\eta}}{\sum_j w_j\,p_j(y)^{\eta}} + s\,\pi_i, \qquad
  \mathrm{gap} \leftarrow \mathrm{gap} - \ln p(y) + \tfrac1\eta\ln\sum_j w_j\,p_j(y)^\eta,$$

p being what was announced. Without delay the gap stays 0 at η = 1. With delay it may grow, and η falls (AdaHedge:
$\eta = 1/\max \mathrm{gap}$, never below one over the longest delay). In any order of labels and with any delays

$$\sum_t \ell_t \le \sum_t \ell_{t,i} + \mathrm{gap} +
  \frac1\eta\Bigl(\ln\frac1{\pi_i} + \sum_t\ln\frac1{1-s_t}\Bigr):$$

with $A = \frac1\eta\ln\frac{\pi_i}{w_i}$, a label adds at most $\ell_i + \frac1\eta\ln\sum_j w_jp_j^\eta +
\frac1\eta\ln\frac1{1-s}$ to A, lowering η does not raise A (Jensen), and $A \ge \frac1\eta\ln\pi_i$ at the end. In
batches of B rows the gap stops growing once $\eta \le 1/B$, by Hölder's inequality, but for the share that is given
within a batch.

What is announced need not be the mixture of the shares: the gap counts whatever was. The base rate is heard
$1 + (2.5\,r/m)^4$ times as much as by its share. $m = n\frac{1-\rho}{1+\rho}$ of the labels are independent, ρ being
the correlation of neighbouring labels; r is what the experts' mixture would have lost with every label in time, over
what the chain of labels alone would have, which knows nothing but the last label. Experts that lose several times what
the chain does have learned from a few runs which rows are neighbours, and not what makes a label: of the next run they
know next to nothing.

Whether labels come in runs is tested by the Bayes factor of a Markov chain against independence. Where they do, the
prompt whole is not to be trusted with late labels, and loses its prior share, all but 1/(longest delay). Where they
plainly do not, rows of one delay are as good as any others, and what was best in time is best late: its prior odds
become up to e times as large, at once. Shares that are learned from announcements would take several delays to say so.
"""

import math
from typing import Self

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.tree import Snapshot
from aioli.states.mixture.late_loops import (
    AWAKE,
    CAUTION,
    COUNTS,
    EXPERTS,
    FROM,
    GAP,
    HEDGE,
    MEMBER_PRIOR,
    MEMORY,
    NOBODY,
    NUMBERS,
    ONES,
    POOLED,
    PRIOR,
    RATE,
    RUNS,
    SHARES,
    ZEROS,
    announce_rows_late,
    answer_rows_late,
)
from aioli.states.mixture.mixture import HEARD, Mixture

__all__ = ["LateMixture"]


class LateMixture:
    """Hold what is learned from announcements: shares, rates, a stacker and the counts of labels.

    Parameters
    ----------
    prior, shares
        Of the experts, when the first row was announced.
    """

    def __init__(self, prior: Vector, shares: Vector) -> None:
        K = prior.size
        F = K + 5
        self.numbers: Vector = np.zeros(NUMBERS)
        self.numbers[RATE] = self.numbers[HEDGE + RATE] = 1.0
        self.numbers[PRIOR:SHARES] = self.numbers[SHARES:COUNTS] = MEMBER_PRIOR
        self.numbers[ONES] = self.numbers[ZEROS] = 0.5
        self.numbers[FROM] = NOBODY
        self.numbers[CAUTION] = 1.0
        self.numbers[RUNS:] = 0.5
        begin = 0.5 * (prior / prior.sum() + shares / shares.sum())  # what is known, and a chance for all
        self.experts: Matrix = np.array([begin, begin])  # prior and shares
        self.stacker: Matrix = np.zeros((F + 1, F))  # u, then Q
        np.fill_diagonal(self.stacker[1:], 1.0)
        self.stacker[1, 0] = 0.25

    @property
    def awake(self) -> bool:
        """Whether a label has come late, so that this mixture is the one that is heard."""
        return bool(self.numbers[AWAKE])

    @property
    def shares(self) -> Vector:
        """How much of the experts' mixture each expert holds."""
        shares: Vector = self.experts[1]
        return shares

    def announce(self, mixture: Mixture, Z: Matrix) -> tuple[Vector, Matrix]:
        """Return the log-odds of the whole and the announcements' memory, given the experts' log-odds. O(K²) a row."""
        out, kept = np.empty(len(Z)), np.empty((len(Z), Z.shape[1] + MEMORY))
        announce_rows_late(mixture.buffer.copy(), self.numbers, self.experts, self.stacker, Z, kept, out)
        return out, kept

    def answer(self, mixture: Mixture, Z: Matrix, y: Vector, weights: Vector, kept: Matrix, late: Vector) -> Vector:
        """Learn from labels: of rows that were announced as `kept` says, or are announced now where that is NaN.

        Z are the experts' log-odds when the labels come, `late` is how many rows each label was late. The mixture
        itself learns as if the rows came now: returned are the log-odds that it then says before each label. O(K²) a
        row.
        """
        prompt = np.empty(len(Z))
        answer_rows_late(mixture.buffer, self.numbers, self.experts, self.stacker, Z, y, weights, kept, late, prompt)
        return prompt

    def as_cautious_as(self, other: "LateMixture") -> None:
        """Hear the base rate as much as another mixture of the same rows does, whose experts know more of them."""
        self.numbers[CAUTION] = other.numbers[CAUTION]

    def cost(self, rounds: int, prior: float) -> float:
        r"""Return the most that the whole can have lost over an expert of this prior share, in nats. O(1).

        Both levels' $\mathrm{gap} + \frac1\eta(\ln\frac1\pi + \text{shares})$, as proved above. ln 12 is what the test
        for runs may have added to A: 1 where it raised the odds of a member that held all shares, and
        $\ln\frac1{1-\pi}$ where it then took a prior share of at most π = 0.77 from one that held none.
        """
        n = self.numbers
        shares = math.log((rounds + 9.0) / 9.0)
        lower = n[GAP] + (shares - math.log(prior)) / n[RATE]
        member = float(n[PRIOR + EXPERTS])
        upper = n[HEDGE + GAP] + (0.11 * shares - math.log(member) + math.log(12.0)) / n[HEDGE + RATE]
        return float(lower + upper)

    def negligible(self, heard: float | Vector = HEARD) -> Vector:
        """Return which experts have no influence here, as the mixture's own `negligible` does, nor in the pool."""
        said = np.abs(self.stacker[0, 2 : 2 + self.shares.size])
        pooled = self.numbers[SHARES + POOLED] * self.experts[0]
        return np.asarray((self.shares < 0.01) & (pooled < 0.01) & (said < heard))

    def retire(self, expert: int) -> None:
        """Take an expert out that keeps its place: its share goes to the others."""
        self.experts[:, expert] = 0.0
        self.experts /= self.experts.sum(axis=1, keepdims=True)

    def revive(self, expert: int, share: float) -> None:
        """Let an expert that retired begin anew with this share."""
        self.experts *= 1.0 - share
        self.experts[:, expert] = share
        place = 2 + expert
        self.stacker[:, place] = self.stacker[1 + place] = 0.0
        self.stacker[1 + place, place] = 1.0

    def without(self, experts: list[int]) -> Self:
        """Return the mixture without these experts, whose shares go to the others."""
        staying = np.delete(np.arange(self.shares.size), experts)
        smaller = type(self)(self.experts[0, staying], self.experts[1, staying])
        smaller.experts[...] = self.experts[:, staying] / self.experts[:, staying].sum(axis=1, keepdims=True)
        smaller.numbers[...] = self.numbers
        features = np.r_[0, 1, 2 + staying, np.arange(-3, 0)]
        smaller.stacker[0] = self.stacker[0, features]
        smaller.stacker[1:] = self.stacker[1:][np.ix_(features, features)]
        return smaller

    def snapshot(self) -> Snapshot:
        """Return the counts, the experts' prior and shares, and the stacker."""
        arrays = {"numbers": self.numbers.copy(), "experts": self.experts.copy(), "stacker": self.stacker.copy()}
        return Snapshot("LateMixture", arrays=arrays)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal mixture from a snapshot."""
        given = snapshot.of("LateMixture")
        experts = given.array("experts", (2, None))
        K = experts.shape[1]
        made = cls(np.ones(K), np.ones(K))
        made.numbers[...] = given.array("numbers", (NUMBERS,))
        made.experts[...] = experts
        made.stacker[...] = given.array("stacker", (K + 6, K + 5))
        if (experts < 0.0).any() or not made.numbers[RATE] > 0.0 or not made.numbers[HEDGE + RATE] > 0.0:
            raise SnapshotRefused("in a LateMixture, a share is negative or a rate is not above 0")
        counts = made.numbers[[ONES, ZEROS, RUNS, RUNS + 1, RUNS + 2, RUNS + 3]]
        if made.numbers[FROM] not in (NOBODY, 0.0, 1.0) or not (counts > 0.0).all():
            raise SnapshotRefused("in a LateMixture, labels are counted that are neither 0 nor 1, or fewer than none")
        return made
