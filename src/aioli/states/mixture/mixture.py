r"""Combines the log-odds of many learners, the experts: a mixture tracks the best, and three stackers may beat it.

The log loss is 1-mixable: $p = \sum_i w_i p_i$ with $w_i \leftarrow w_i\,p_i(y)$ loses at most $\ln(1/w_i^0)$ nats more
than expert i, for ever, on any data. A part $1/(t + 10)$ of every share goes back to the prior each round, which costs
$\ln n$ and lets the mixture follow when another expert becomes the best.

A stacker is online Bayesian logistic regression: it announces the log-odds $z_\mathrm{mix} + u^\top f$, where f holds a
1, the mixture's log-odds, each expert's deviation from them, the mixture's $2p - 1$, the last label, and a running mean
of the labels. It starts as the mixture itself (u = 0) and learns what the mixture cannot say: that an expert is too
bold, that two together know more, that the curve of probabilities is bent, that labels come in runs. One stacker
remembers everything, one forgets, and one begins with a tenth of their prior variance: nobody knows beforehand how far
u will go, and where it stays near 0, a wide prior costs half a nat for every feature. A second, upper mixture of the
first one and the stackers is what is announced; over the first it costs at most $\ln(1/0.4)$ nats, and about $0.1\ln n$
for giving back a tenth as much to its prior. `states.mixture.mixture_loops` has all of it compiled.

An expert that has no influence any more may retire. Its share is divided among the others: every other $w_i$ grows, so
each bound above stays true for those who stay; for the one who left it holds up to the round in which it left. Its
feature is 0 from then on, and its entries of u and Q (u's covariance, times 2) affect no other's: they may be deleted.
"""

import math
from collections.abc import Sequence
from typing import Self

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Vector
from aioli.snapshots.tree import Plain, Snapshot
from aioli.states.mixture.mixture_loops import MEMORIES, STACKERS, TIME, buffer_size, unpack

__all__ = ["HEARD", "Mixture", "mixture_cost"]

ALONE = 0.4  # the first mixture's share in the upper one, to begin with
HEARD = 0.05  # coefficient in a stacker below which an expert is not heard
# The diagonal of each stacker's first Q, twice the prior variance of u; the constant's is a quarter of it.
VARIANCES = (1.0, 1.0, 0.1)


class Mixture:
    """Hold all that the mixture remembers: the experts' shares, the stackers, and the upper mixture's shares.

    Parameters
    ----------
    prior
        The experts' shares to begin with, not yet normalised.
    alone
        The first mixture's share in the upper one, to begin with; the stackers divide the rest.
    heard
        How many stackers are heard: all, or the first two, as in files older than the third.
    """

    def __init__(self, prior: Vector, alone: float = ALONE, heard: int = STACKERS) -> None:
        K = prior.size
        self.alone, self.heard = alone, heard
        self.buffer: Vector = np.zeros(buffer_size(K))
        parts = unpack(self.buffer, K)
        self.prior, self.shares, upper_prior, self.upper = parts[0], parts[1], parts[4], parts[5]
        self.memory, self.fresh = parts[9], parts[11]
        self.stackers = list(zip(*parts[12:], strict=True))
        self.prior[:] = prior / prior.sum()
        self.shares[:] = self.prior
        upper_prior[0], upper_prior[1 : 1 + heard] = alone, (1.0 - alone) / heard  # the first mixture, and each stacker
        self.upper[:] = upper_prior
        self.fresh[:] = np.outer(VARIANCES, np.r_[0.25, np.ones(K + 4)])
        for (_, _, _, Q), fresh in zip(self.stackers, self.fresh, strict=True):
            np.fill_diagonal(Q, fresh)

    def negligible(self, heard: float | Vector = HEARD) -> Vector:
        """Return which experts have no influence: a share below 1 %, and in stackers a coefficient below `heard`."""
        said = np.zeros(self.shares.size)
        for (u, *_), weight in zip(self.stackers, self.upper[1:], strict=True):
            if weight > 0.01:
                said = np.maximum(said, np.abs(u[2 : 2 + said.size]))
        return np.asarray((self.shares < 0.01) & (said < heard) & (self.prior > 0.0))

    def worthless(self, nats: float) -> Vector:
        r"""Return which experts would hardly be missed: a share below 5 %, and in stackers less evidence than `nats`.

        A stacker's coefficients have the posterior $N(u, \tfrac12 Q)$: without its i-th feature, the others set anew to
        $u' = u - Q_{\cdot i}u_i/Q_{ii}$, prior and labels would be less likely by $u_i^2/Q_{ii}$ nats. What the prior
        has in it, $\sum_j (u_j'^2 - u_j^2)/\mathrm{fresh}_j$, is no evidence. Two experts that say the same have large
        coefficients and little evidence.
        """
        evidence, experts = np.zeros(self.shares.size), slice(2, 2 + self.shares.size)
        for (u, _, s, Q), fresh, weight in zip(self.stackers, self.fresh, self.upper[1:], strict=True):
            if weight > 0.01:
                known = Q - np.outer(s, s)
                spread = np.maximum(np.diag(known), 1e-12)
                anew = u[:, None] - known * (u / spread)
                in_prior = ((anew**2 - u[:, None] ** 2) / fresh[:, None]).sum(axis=0)
                evidence = np.maximum(evidence, (u**2 / spread - in_prior)[experts])
        return np.asarray((self.shares < 0.05) & (evidence < nats) & (self.prior > 0.0))

    def retire(self, expert: int) -> None:
        """Take an expert out: its share goes to the others, which can only lower their bounds."""
        self.prior[expert] = self.shares[expert] = 0.0
        self.prior /= self.prior.sum()
        self.shares /= self.shares.sum()

    def revive(self, expert: int, share: float) -> None:
        r"""Let an expert that retired begin anew with the share w, which costs the others $\ln\frac1{1-w}$ nats."""
        for shares in (self.prior, self.shares):
            shares *= 1.0 - share
            shares[expert] = share
        place = 2 + expert
        for (u, k, s, Q), fresh in zip(self.stackers, self.fresh, strict=True):
            u[place] = k[place] = s[place] = Q[place, :] = Q[:, place] = 0.0
            Q[place, place] = fresh[place]

    def without(self, experts: Sequence[int]) -> "Mixture":
        """Return the mixture without these experts: it announces what it would if they had retired and were kept."""
        staying = np.delete(np.arange(self.shares.size), experts)
        smaller = Mixture(self.prior[staying], self.alone, self.heard)
        smaller.shares[:] = self.shares[staying] / self.shares[staying].sum()
        smaller.upper[:] = self.upper
        smaller.memory[:MEMORIES] = self.memory[:MEMORIES]
        features = np.r_[0, 1, 2 + staying, np.arange(-3, 0)]
        for (u, k, s, Q), (own_u, own_k, own_s, own_Q) in zip(self.stackers, smaller.stackers, strict=True):
            own_u[:], own_k[:], own_s[:], own_Q[:] = (
                u[features],
                k[features],
                s[features],
                Q[np.ix_(features, features)],
            )
        return smaller

    def snapshot(self) -> Snapshot:
        """Return the shares of experts and stackers, the memory of labels, and each stacker's u, s and Q."""
        upper = self.upper[: 1 + self.heard]
        arrays = {"prior": self.prior, "shares": self.shares, "upper": upper, "memory": self.memory[:MEMORIES]}
        for i, (u, _, s, Q) in enumerate(self.stackers[: self.heard]):
            arrays |= {f"u{i}": u, f"s{i}": s, f"Q{i}": Q}
        values: dict[str, Plain] = {} if self.alone == ALONE else {"alone": self.alone}
        return Snapshot("Mixture", values, {name: array.copy() for name, array in arrays.items()})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal mixture."""
        given = snapshot.of("Mixture")
        prior = given.array("prior", (None,))
        if not (prior >= 0.0).all() or not prior.sum() > 0.0:
            raise SnapshotRefused(f"in a Mixture, the prior shares are {prior.tolist()}")
        alone = given.number("alone") if "alone" in given.values else ALONE
        if not 0.0 < alone < 1.0:
            raise SnapshotRefused(f"in a Mixture, its own share begins with {alone}")
        heard = STACKERS if f"u{STACKERS - 1}" in given.arrays else STACKERS - 1
        mixture = cls(prior, alone, heard)
        mixture.prior[:] = prior
        mixture.shares[:] = given.totals("shares", prior.shape)
        mixture.upper[: 1 + heard] = given.totals("upper", (1 + heard,))
        if not (mixture.shares.sum() > 0.0 and mixture.upper.sum() > 0.0):
            raise SnapshotRefused("in a Mixture, nobody has a share")
        mixture.memory[:MEMORIES] = given.array("memory", (MEMORIES,))
        if not mixture.memory[TIME] >= 0.0:
            raise SnapshotRefused(f"in a Mixture, {mixture.memory[TIME]:g} rows have come")
        for i, (u, _, s, Q) in enumerate(mixture.stackers[:heard]):
            u[:], s[:], Q[:] = (given.array(f"{name}{i}", own.shape) for name, own in (("u", u), ("s", s), ("Q", Q)))
        return mixture

    def __reduce__(self) -> tuple[object, ...]:
        return type(self).restore, (self.snapshot(),)  # its arrays are views of one buffer


def mixture_cost(rounds: int, prior: float, alone: float = ALONE) -> float:
    r"""Return the most nats that the whole can lose over an expert of prior share w in n rounds. O(1).

    That is $\ln\frac1w + \ln\frac1{\mathrm{alone}} + 1.11\ln\frac{n+9}9$, the last term for giving back to the priors.

    A share that keeps $1 - s_t$ of itself each round keeps $\prod(1 - s_t)$: with $s_t = 1/(t+10)$ that is $9/(n+9)$;
    with a tenth of it, more than $(9/(n+9))^{0.11}$.
    """
    shares = math.log((rounds + 9.0) / 9.0)
    return -math.log(prior) - math.log(alone) + 1.11 * shares
