r"""Many learners' log-odds become one: a mixture that tracks the best, and two stackers that may beat it.

The log loss is 1-mixable: $p = \sum_i w_i p_i$ with $w_i \leftarrow w_i\,p_i(y)$ loses at most $\ln(1/w_i^0)$ nats more
than expert i, for ever, on any data. A part $1/(t + 10)$ of every share goes back to the prior each round, which costs
$\ln n$ and lets the mixture follow when another expert becomes the best.

A stacker is online Bayes for the log-odds $z_\mathrm{mix} + u^\top f$, where f holds a 1, the mixture's log-odds, each
expert's deviation from them, the mixture's $2p - 1$, and the labels just seen. It starts as the mixture itself (u = 0)
and learns what the mixture cannot say: that an expert is too bold, that two together know more, that the curve of
probabilities is bent, that labels come in runs. One stacker
remembers everything, one forgets. A second mixture chooses among the three, so that all of this costs at most
$\ln(1/0.4)$ nats, and $0.1\ln n$ for its share, over the first mixture.

An expert that has no influence any more may retire. Its share is divided among the others: every other $w_i$
grows, so each bound above stays true for those who stay; for the one who left it holds up to the round it left. Its
feature is 0 from then on, and its row of Q and entry of u touch those of no other: it may leave altogether.
"""

import math
from collections.abc import Sequence
from typing import Self

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.outcomes.two_classes import HEAVY
from aioli.snapshots.tree import Plain, Snapshot

__all__ = [
    "HEARD",
    "MEMORIES",
    "RETURN",
    "RETURN_START",
    "TIME",
    "Mixture",
    "announce",
    "announce_rows",
    "answer",
    "combine_rows",
    "describe",
    "mixed_logit",
    "mixture_cost",
    "stacked",
    "unpack",
    "unpack_compiled",
]

STACKERS = 2
FORGETTING = 0.999  # of the second stacker
RETURN, UPPER_RETURN, RETURN_START = 1.0, 0.1, 10.0  # of the shares to the prior, each round
BOLD, DEVIANT = 12.0, 8.0  # log-odds beyond which a feature of the stackers says no more
ALONE = 0.4  # the mixture's share to begin with, where it is heard beside its stackers
CERTAIN = 35.0  # log-odds that a stacker may announce: a loss of at most 35 nats
RUN = 0.9  # memory of the running mean of labels
HEARD = 0.05  # log-odds that an expert must weigh in a stacker, to be said to be heard
LEAST = 1e-300  # a probability of which there is still a logarithm

UPPER = STACKERS + 1
MEMORIES = 3
TIME, LAST_LABEL, MEAN_LABEL = range(MEMORIES)  # the rounds, the last label and the running mean of labels, in ±1
LINES = 12  # of the mixture_buffer, before those of the stackers

Parts = tuple[
    *tuple[Vector, Vector, Vector, Vector],  # of the experts: prior, shares, and probabilities announced for, against
    *tuple[Vector, Vector, Vector, Vector],  # of the upper mixture: the same
    *tuple[Vector, Vector, Vector, Vector],  # what the upper mixture hears; the memory; the diagonal of a fresh Q; f
    *tuple[Vector, Vector, Vector, Matrix],  # of the stacker that keeps all: u, k = Qf, the step s due to Q, Q
    *tuple[Vector, Vector, Vector, Matrix],  # of the stacker that forgets: the same
]


def unpack(mixture_buffer: Vector, K: int) -> Parts:
    """Return the arrays that lie in the buffer of a mixture of K experts, in lines as long as f."""
    F = K + 5
    lines = mixture_buffer.reshape(mixture_buffer.size // F, F)
    a, b = LINES, LINES + 3 + F
    return (
        lines[0, :K],
        lines[1, :K],
        lines[2, :K],
        lines[3, :K],
        lines[4, :UPPER],
        lines[5, :UPPER],
        lines[6, :UPPER],
        lines[7, :UPPER],
        lines[8, :UPPER],
        lines[9],
        lines[10],
        lines[11],
        lines[a],
        lines[a + 1],
        lines[a + 2],
        lines[a + 3 : b],
        lines[b],
        lines[b + 1],
        lines[b + 2],
        lines[b + 3 :],
    )


STACKER = "f8[::1],f8[::1],f8[::1],f8[:,::1]"
PARTS = f"Tuple(({'f8[::1],' * 12}{STACKER},{STACKER}))"
unpack_compiled = compiled(f"{PARTS}(f8[::1],i8)")(unpack)


class Mixture:
    """Hold the shares of the experts, the stackers, and the shares of these: all that the mixture remembers.

    Parameters
    ----------
    prior
        The experts' shares to begin with, not yet normalised.
    alone
        The mixture's own share to begin with; the two stackers divide the rest.
    """

    def __init__(self, prior: Vector, alone: float = ALONE) -> None:
        K = prior.size
        self.alone = alone
        F = K + 5
        self.buffer: Vector = np.zeros((LINES + STACKERS * (3 + F)) * F)
        parts = unpack(self.buffer, K)
        self.prior, self.shares, upper_prior, self.upper = parts[0], parts[1], parts[4], parts[5]
        self.memory, fresh = parts[9], parts[10]
        self.stackers = parts[12:16], parts[16:20]
        self.prior[:] = prior / prior.sum()
        self.shares[:] = self.prior
        upper_prior[:] = [alone, 0.5 * (1.0 - alone), 0.5 * (1.0 - alone)]  # the mixture, and each stacker
        self.upper[:] = upper_prior
        fresh[:] = 1.0
        fresh[0] = 0.25
        for _, _, _, Q in self.stackers:
            np.fill_diagonal(Q, fresh)

    def negligible(self, heard: float | Vector = HEARD) -> Vector:
        """Return which experts have no influence: below 1 % of the shares, and `heard` of log-odds in the stackers."""
        said = np.zeros(self.shares.size)
        for (u, *_), weight in zip(self.stackers, self.upper[1:], strict=True):
            if weight > 0.01:
                said = np.maximum(said, np.abs(u[2 : 2 + said.size]))
        return np.asarray((self.shares < 0.01) & (said < heard) & (self.prior > 0.0))

    def worthless(self, nats: float) -> Vector:
        r"""Return which experts would hardly be missed: below 5 % of shares, and this evidence in the stackers.

        A stacker's coefficients have the posterior $N(u, \tfrac12 Q)$: without its i-th feature, the others set anew,
        it would have lost about $u_i^2/Q_{ii}$ nats more in all. Two experts that say the same have large
        coefficients and little evidence.
        """
        evidence = np.zeros(self.shares.size)
        for (u, _, s, Q), weight in zip(self.stackers, self.upper[1:], strict=True):
            if weight > 0.01:
                experts = slice(2, 2 + evidence.size)
                spread = np.maximum(np.diag(Q)[experts] - s[experts] ** 2, 1e-12)
                evidence = np.maximum(evidence, u[experts] ** 2 / spread)
        return np.asarray((self.shares < 0.05) & (evidence < nats) & (self.prior > 0.0))

    def retire(self, expert: int) -> None:
        """Take an expert out: its share goes to the others, which can only lower their bounds."""
        self.prior[expert] = self.shares[expert] = 0.0
        self.prior /= self.prior.sum()
        self.shares /= self.shares.sum()

    def revive(self, expert: int, share: float) -> None:
        r"""Let an expert that retired begin anew with this share, which costs the others $\ln\frac1{1-w}$ nats."""
        for shares in (self.prior, self.shares):
            shares *= 1.0 - share
            shares[expert] = share
        place = 2 + expert
        fresh = unpack(self.buffer, self.prior.size)[10]
        for u, k, s, Q in self.stackers:
            u[place] = k[place] = s[place] = Q[place, :] = Q[:, place] = 0.0
            Q[place, place] = fresh[place]

    def without(self, experts: Sequence[int]) -> "Mixture":
        """Return the mixture without these experts: it says what it would say had they retired and stayed."""
        staying = np.delete(np.arange(self.shares.size), experts)
        smaller = Mixture(self.prior[staying], self.alone)
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
        arrays = {"prior": self.prior, "shares": self.shares, "upper": self.upper, "memory": self.memory[:MEMORIES]}
        for i, (u, _, s, Q) in enumerate(self.stackers):
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
        mixture = cls(prior, alone)
        mixture.prior[:] = prior
        mixture.shares[:] = given.totals("shares", prior.shape)
        mixture.upper[:] = given.array("upper", (UPPER,))
        mixture.memory[:MEMORIES] = given.array("memory", (MEMORIES,))
        for i, (u, _, s, Q) in enumerate(mixture.stackers):
            u[:], s[:], Q[:] = (given.array(f"{name}{i}", own.shape) for name, own in (("u", u), ("s", s), ("Q", Q)))
        return mixture

    def __reduce__(self) -> tuple[object, ...]:
        return type(self).restore, (self.snapshot(),)  # its arrays are views of one buffer


def mixture_cost(rounds: int, prior: float, alone: float = ALONE) -> float:
    r"""Return the most that the mixture can lose over an expert of prior share w: $\ln\frac1w$, and for sharing. O(1).

    A share that keeps $1 - s_t$ of itself each round keeps $\prod(1 - s_t)$: with $s_t = 1/(t+10)$ that is $9/(n+9)$;
    with a tenth of it, more than $(9/(n+9))^{0.11}$.
    """
    shares = math.log((rounds + 9.0) / 9.0)
    return -math.log(prior) - math.log(alone) + 1.11 * shares


@compiled("f8(f8[::1],f8[::1],f8[::1],f8[::1])", reassociate=True, inline=True)
def mixed_logit(shares: Vector, z: Vector, yes: Vector, no: Vector) -> float:
    r"""Return the log-odds of $\sum_i w_i\,\sigma(z_i)$, to full precision; keeps each $\sigma(\pm z_i)$. O(K)."""
    for i in range(z.size):
        no[i] = math.exp(-abs(z[i]))
    p, q = 0.0, 0.0
    for i in range(z.size):
        likely = 1.0 / (1.0 + no[i])
        unlikely = no[i] * likely
        yes[i] = likely if z[i] >= 0.0 else unlikely
        no[i] = unlikely if z[i] >= 0.0 else likely
        p += shares[i] * yes[i]
        q += shares[i] * no[i]
    return math.log(max(p, LEAST) / max(q, LEAST))


@compiled("void(f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8,f8[::1])", reassociate=True, inline=True)
def describe(
    prior: Vector, shares: Vector, yes: Vector, no: Vector, memory: Vector, z: Vector, mixed: float, f: Vector
) -> None:
    """Write f, the features that the stackers see of the row. O(K)."""
    belief = 0.0
    for i in range(z.size):
        f[2 + i] = min(max(z[i] - mixed, -DEVIANT), DEVIANT) if prior[i] > 0.0 else 0.0
    for i in range(z.size):
        belief += shares[i] * (yes[i] - no[i])
    F = f.size
    f[0] = 1.0
    f[1] = min(max(mixed, -BOLD), BOLD)
    f[F - 3] = belief  # tanh(mixed/2), since the shares sum to one
    f[F - 2] = memory[LAST_LABEL]
    f[F - 1] = memory[MEAN_LABEL]


@compiled("f8(f8[::1],f8[::1],f8)", reassociate=True, inline=True)
def stacked(u: Vector, f: Vector, mixed: float) -> float:
    r"""Return a stacker's log-odds, $z_\mathrm{mix} + u^\top f$. O(K)."""
    total = mixed
    for i in range(f.size):
        total += u[i] * f[i]
    return min(max(total, -CERTAIN), CERTAIN)


@compiled("void(f8[::1],f8[::1],f8[::1],f8[::1],f8,f8,f8)", reassociate=True, inline=True)
def update_shares(
    shares: Vector, prior: Vector, yes: Vector, no: Vector, y: float, rate: float, returned: float
) -> None:
    r"""Set $w_i \leftarrow w_i\,p_i(y)^\omega$, normalised, and give a part of it back to the prior. O(K)."""
    if rate != 1.0:
        for i in range(prior.size):
            yes[i], no[i] = yes[i] ** rate, no[i] ** rate
    total = 0.0
    for i in range(prior.size):
        shares[i] *= yes[i] if y > 0.5 else no[i]
        total += shares[i]
    if not total > 0.0:  # every expert was certain, and wrong: begin again
        for i in range(prior.size):
            shares[i] = prior[i]
        total = 1.0
    for i in range(prior.size):
        shares[i] = (1.0 - returned) * (shares[i] / total) + returned * prior[i]


@compiled("void(f8[:,::1],f8[::1],f8[::1],f8,f8[::1],f8[::1])", reassociate=True, inline=True)
def step_and_multiply(Q: Matrix, s: Vector, fresh: Vector, rho: float, f: Vector, k: Vector) -> None:
    r"""Set $Q \leftarrow \rho(Q - ss^\top) + (1-\rho)\,\mathrm{diag}(\mathrm{fresh})$ and $k = Qf$ at once. O(K²)."""
    for i in range(f.size):
        si = s[i]
        total = 0.0
        for j in range(f.size):
            entry = rho * (Q[i, j] - si * s[j])  # s[i]*s[j] commutes, so Q stays bitwise symmetric
            Q[i, j] = entry
            total += entry * f[j]
        back = (1.0 - rho) * fresh[i]
        Q[i, i] += back
        k[i] = total + back * f[i]


@compiled("void(f8[::1],f8[::1],f8[::1],f8[::1],f8,f8,f8,f8)", reassociate=True, inline=True)
def correct(u: Vector, k: Vector, s: Vector, f: Vector, p: float, q: float, y: float, capped: float) -> None:
    """Move u of a stacker that announced p = 1 - q; leaves in s the step that Q has still to take. O(K)."""
    v = 0.0
    for i in range(f.size):
        v += f[i] * k[i]
    h = capped * p * q
    D = 1.0 + 0.5 * h * max(v, 0.0)
    alpha = 0.5 * capped * (y - p) / D
    root_gamma = math.sqrt(0.5 * h / D)
    for i in range(f.size):
        u[i] += alpha * k[i]
        s[i] = root_gamma * k[i]


@compiled(f"f8({PARTS},f8[::1])", reassociate=True)
def announce(parts: Parts, z: Vector) -> float:
    """Return the mixture's log-odds, given those of the experts; touches nothing that lasts. O(K)."""
    prior, shares, yes, no, _, upper, upper_yes, upper_no, said, memory, _, f, u, _, _, _, u2, _, _, _ = parts
    mixed = mixed_logit(shares, z, yes, no)
    describe(prior, shares, yes, no, memory, z, mixed, f)
    said[0], said[1], said[2] = mixed, stacked(u, f, mixed), stacked(u2, f, mixed)
    return mixed_logit(upper, said, upper_yes, upper_no)


@compiled(f"void({PARTS},f8,f8)", reassociate=True)
def answer(parts: Parts, y: float, weight: float) -> None:
    """Learn from the label of the row that `announce` was just asked about. O(K²)."""
    prior, shares, yes, no, upper_prior, upper, upper_yes, upper_no = parts[:8]
    _, memory, fresh, f, u, k, s, Q, u2, k2, s2, Q2 = parts[8:]
    capped = min(weight, HEAVY)  # a stacker may be led, not thrown
    step_and_multiply(Q, s, fresh, 1.0, f, k)
    step_and_multiply(Q2, s2, fresh, FORGETTING, f, k2)
    correct(u, k, s, f, upper_yes[1], upper_no[1], y, capped)
    correct(u2, k2, s2, f, upper_yes[2], upper_no[2], y, capped)
    rate = min(weight, 1.0)  # p^ω is mixable for ω ≤ 1 only
    returned = 1.0 / (memory[TIME] + RETURN_START)
    update_shares(shares, prior, yes, no, y, rate, RETURN * returned)
    update_shares(upper, upper_prior, upper_yes, upper_no, y, rate, UPPER_RETURN * returned)
    memory[TIME] += 1.0
    memory[LAST_LABEL] += rate * (2.0 * y - 1.0 - memory[LAST_LABEL])
    memory[MEAN_LABEL] += rate * (1.0 - RUN) * (2.0 * y - 1.0 - memory[MEAN_LABEL])


@compiled("void(f8[::1],f8[:,::1],f8[::1],f8[::1],f8[::1])", reassociate=True)
def combine_rows(mixture_buffer: Vector, Z: Matrix, y: Vector, weights: Vector, out: Vector) -> None:
    """Announce and answer row after row, given the log-odds that each expert announced. O(K²) a row."""
    # the lines of both again: a tuple opened for each row has its twenty references counted for each row, at 50 ns
    parts = unpack_compiled(mixture_buffer, Z.shape[1])
    prior, shares, yes, no, upper_prior, upper, upper_yes, upper_no = parts[:8]
    said, memory, fresh, f, u, k, s, Q, u2, k2, s2, Q2 = parts[8:]
    for t in range(len(Z)):
        z = Z[t]
        mixed = mixed_logit(shares, z, yes, no)
        describe(prior, shares, yes, no, memory, z, mixed, f)
        said[0], said[1], said[2] = mixed, stacked(u, f, mixed), stacked(u2, f, mixed)
        out[t] = mixed_logit(upper, said, upper_yes, upper_no)
        capped = min(weights[t], HEAVY)  # a stacker may be led, not thrown
        step_and_multiply(Q, s, fresh, 1.0, f, k)
        step_and_multiply(Q2, s2, fresh, FORGETTING, f, k2)
        correct(u, k, s, f, upper_yes[1], upper_no[1], y[t], capped)
        correct(u2, k2, s2, f, upper_yes[2], upper_no[2], y[t], capped)
        rate = min(weights[t], 1.0)  # p^ω is mixable for ω ≤ 1 only
        returned = 1.0 / (memory[TIME] + RETURN_START)
        update_shares(shares, prior, yes, no, y[t], rate, RETURN * returned)
        update_shares(upper, upper_prior, upper_yes, upper_no, y[t], rate, UPPER_RETURN * returned)
        memory[TIME] += 1.0
        memory[LAST_LABEL] += rate * (2.0 * y[t] - 1.0 - memory[LAST_LABEL])
        memory[MEAN_LABEL] += rate * (1.0 - RUN) * (2.0 * y[t] - 1.0 - memory[MEAN_LABEL])


@compiled("void(f8[::1],f8[:,::1],f8[::1])")
def announce_rows(mixture_buffer: Vector, Z: Matrix, out: Vector) -> None:
    """Announce row after row, given the log-odds of each expert, and learn nothing. O(K²) a row."""
    parts = unpack_compiled(mixture_buffer, Z.shape[1])
    for t in range(len(Z)):
        out[t] = announce(parts, Z[t])
