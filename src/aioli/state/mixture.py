r"""Many learners' log-odds become one: a mixture that tracks the best, and two stackers that may beat it.

The log loss is 1-mixable: $p = \sum_i w_i p_i$ with $w_i \leftarrow w_i\,p_i(y)$ loses at most $\ln(1/w_i^0)$ nats more
than expert i, for ever, on any data. A share $1/(t + 10)$ of the weight goes back to the prior each round, which costs
$\ln n$ and lets the mixture follow when another expert becomes the best.

A stacker is online Bayes for the log-odds $z_\mathrm{mix} + u^\top f$, where f holds a 1, the mixture's log-odds, each
expert's deviation from them, the mixture's $2p - 1$, and the labels just seen. It starts as the mixture itself (u = 0)
and learns what the mixture cannot say: that an expert is too bold, that two together know more, that the curve of
probabilities is bent, that labels come in runs. One stacker
remembers everything, one forgets. A second mixture chooses among the three, so that all of this costs at most
$\ln(1/0.4)$ nats, and $0.1\ln n$ for its share, over the first mixture.

An expert to which nobody listens any more may retire. Its weight is shared out among the others: every other $w_i$
grows, so each bound above stays true for those who stay; for the one who left it holds up to the round it left.
"""

import math

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.state.rounds import HEAVY

__all__ = ["Mixture", "announce", "answer", "combine_rows", "mixture_cost", "unpack_compiled"]

STACKERS = 2
MEMORY = np.array([1.0, 0.999])  # of each stacker
SHARE, UPPER_SHARE, SHARE_START = 1.0, 0.1, 10.0
BOLD, DEVIANT = 12.0, 8.0  # log-odds beyond which a feature of the stackers says no more
CERTAIN = 35.0  # log-odds that a stacker may announce: a loss of at most 35 nats
RUN = 0.9  # memory of the running mean of labels

UPPER = STACKERS + 1
MEMORIES = 3
TIME, LAST_LABEL, MEAN_LABEL = range(MEMORIES)  # the rounds, the last label and the running mean of labels, in ±1
FOR, AGAINST = 2, 3  # rows of the scratch: announced, f, the probabilities for and against, then Qf of each stacker

Parts = tuple[Vector, Vector, Vector, Vector, Vector, Matrix, Matrix, Vector, Matrix]


def unpack(board: Vector, K: int) -> Parts:
    """The arrays that lie on the board: prior, weights, upper prior, upper weights, ridge, Q, u, memory, scratch."""
    F = K + 5
    a, b = 2 * K, 2 * K + 2 * UPPER
    c = b + F
    d = c + STACKERS * F * F
    e = d + STACKERS * F
    f = e + MEMORIES
    return (
        board[:K],
        board[K:a],
        board[a : a + UPPER],
        board[a + UPPER : b],
        board[b:c],
        board[c:d].reshape(STACKERS, F, F),
        board[d:e].reshape(STACKERS, F),
        board[e:f],
        board[f:].reshape(4 + STACKERS, F),
    )


PARTS = "Tuple((f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[:,:,::1],f8[:,::1],f8[::1],f8[:,::1]))"
unpack_compiled = compiled(f"{PARTS}(f8[::1],i8)")(unpack)


class Mixture:
    """The weights of the experts, the stackers, and the weights of these: all that the mixture remembers."""

    def __init__(self, prior: Vector) -> None:
        K = prior.size
        F = K + 5
        self.board: Vector = np.zeros(2 * K + 2 * UPPER + F + STACKERS * (F + 1) * F + MEMORIES + (4 + STACKERS) * F)
        parts = unpack(self.board, K)
        self.prior, self.weights, self.upper_prior, self.upper, self.ridge, self.Q, self.u, self.memory, _ = parts
        self.prior[:] = prior / prior.sum()
        self.weights[:] = self.prior
        self.upper_prior[:] = [0.4, 0.3, 0.3]  # the mixture, and each stacker
        self.upper[:] = self.upper_prior
        self.ridge[:] = 1.0
        self.ridge[0] = 4.0
        self.Q[:] = np.diag(1.0 / self.ridge)

    def unheard(self) -> Vector:
        """Which experts neither the mixture nor a stacker listens to: below 1 % of the weight, and 0.05 of log-odds."""
        listening = self.upper[1:] > 0.01
        said = np.abs(self.u[listening, 2 : 2 + self.weights.size]).max(axis=0, initial=0.0)
        return np.asarray((self.weights < 0.01) & (said < 0.05) & (self.prior > 0.0))

    def retire(self, expert: int) -> None:
        """Listen to an expert no more: its weight goes to the others, which can only lower their bounds."""
        self.prior[expert] = self.weights[expert] = 0.0
        self.prior /= self.prior.sum()
        self.weights /= self.weights.sum()


def mixture_cost(rounds: int, prior: float) -> float:
    r"""The most that the whole can lose over an expert of this prior weight: $\ln\frac1w$, and what shares cost. O(1).

    A weight that keeps $1 - s_t$ of itself each round keeps $\prod(1 - s_t)$: with $s_t = 1/(t+10)$ that is $9/(n+9)$;
    with a tenth of it, more than $(9/(n+9))^{0.11}$.
    """
    shares = math.log((rounds + 9.0) / 9.0)
    return -math.log(prior) - math.log(0.4) + 1.11 * shares


@compiled("f8(f8[::1],f8[::1],f8[::1],f8[::1])")
def mixed_logit(weights: Vector, z: Vector, yes: Vector, no: Vector) -> float:
    r"""The log-odds of $\sum_i w_i\,\sigma(z_i)$, to full precision; keeps each $\sigma(\pm z_i)$. O(K)."""
    p, q = 0.0, 0.0
    for i in range(z.size):
        e = math.exp(-abs(z[i]))
        likely, unlikely = 1.0 / (1.0 + e), e / (1.0 + e)
        yes[i], no[i] = (likely, unlikely) if z[i] >= 0.0 else (unlikely, likely)
        p += weights[i] * yes[i]
        q += weights[i] * no[i]
    return math.log(max(p, 1e-300)) - math.log(max(q, 1e-300))


@compiled(f"f8({PARTS},f8[::1])", reassociate=True)
def announce(parts: Parts, z: Vector) -> float:
    """The log-odds of the whole, given those of the experts; touches only the scratch. O(K²)."""
    prior, weights, _, upper, ridge, Q, u, memory, scratch = parts
    K = z.size
    F = ridge.size
    said, f = scratch[0], scratch[1]
    mixed = mixed_logit(weights, z, scratch[FOR, :K], scratch[AGAINST, :K])
    f[0] = 1.0
    f[1] = min(max(mixed, -BOLD), BOLD)
    for i in range(K):
        f[2 + i] = min(max(z[i] - mixed, -DEVIANT), DEVIANT) if prior[i] > 0.0 else 0.0
    f[F - 3] = math.tanh(0.5 * mixed)
    f[F - 2] = memory[LAST_LABEL]
    f[F - 1] = memory[MEAN_LABEL]
    said[0] = mixed
    for a in range(STACKERS):
        total = mixed
        for i in range(F):
            product = 0.0
            for j in range(F):
                product += Q[a, i, j] * f[j]
            scratch[4 + a, i] = product
            total += u[a, i] * f[i]
        said[1 + a] = min(max(total, -CERTAIN), CERTAIN)
    return mixed_logit(
        upper, said[: STACKERS + 1], scratch[FOR, K : K + STACKERS + 1], scratch[AGAINST, K : K + STACKERS + 1]
    )


@compiled("void(f8[::1],f8[::1],f8[::1],f8,f8)")
def reweigh(weights: Vector, prior: Vector, p: Vector, rate: float, share: float) -> None:
    r"""$w_i \leftarrow w_i\,p_i(y)^\omega$, normalised, and a share of it given back to the prior. O(K)."""
    total = 0.0
    for i in range(p.size):
        weights[i] *= p[i] if rate == 1.0 else p[i] ** rate
        total += weights[i]
    if not total > 0.0:  # every expert was certain, and wrong: begin again
        weights[:] = prior
        total = 1.0
    for i in range(p.size):
        weights[i] = (1.0 - share) * (weights[i] / total) + share * prior[i]


@compiled(f"void({PARTS},f8,f8)", reassociate=True)
def answer(parts: Parts, y: float, weight: float) -> None:
    """Learn from the label of the row that `announce` was just asked about. O(K²)."""
    prior, weights, upper_prior, upper, ridge, Q, u, memory, scratch = parts
    K = weights.size
    f = scratch[1]
    rate = min(weight, 1.0)  # p^ω is mixable for ω ≤ 1 only
    right = scratch[FOR] if y > 0.5 else scratch[AGAINST]
    reweigh(weights, prior, right[:K], rate, SHARE / (memory[TIME] + SHARE_START))
    reweigh(upper, upper_prior, right[K : K + STACKERS + 1], rate, UPPER_SHARE / (memory[TIME] + SHARE_START))
    for a in range(STACKERS):
        k = scratch[4 + a]
        v = 0.0
        for i in range(f.size):
            v += f[i] * k[i]
        p = scratch[FOR, K + 1 + a]
        stake = min(weight, HEAVY)  # a stacker may be led, not thrown
        h = stake * p * scratch[AGAINST, K + 1 + a]
        D = 1.0 + 0.5 * h * max(v, 0.0)
        gamma = 0.5 * h / D
        alpha = 0.5 * stake * (y - p) / D
        rho = MEMORY[a]
        for i in range(f.size):
            u[a, i] += alpha * k[i]
            taken = gamma * k[i]
            for j in range(f.size):
                Q[a, i, j] = rho * (Q[a, i, j] - taken * k[j])
            Q[a, i, i] += (1.0 - rho) / ridge[i]
    memory[TIME] += 1.0
    memory[LAST_LABEL] += rate * (2.0 * y - 1.0 - memory[LAST_LABEL])
    memory[MEAN_LABEL] += rate * (1.0 - RUN) * (2.0 * y - 1.0 - memory[MEAN_LABEL])


@compiled("void(f8[::1],f8[:,::1],f8[::1],f8[::1],f8[::1])")
def combine_rows(board: Vector, Z: Matrix, y: Vector, stakes: Vector, out: Vector) -> None:
    """Announce and learn, row after row, given the log-odds that each expert announced. O(K²) a row."""
    parts = unpack_compiled(board, Z.shape[1])
    for t in range(len(Z)):
        out[t] = announce(parts, Z[t])
        answer(parts, y[t], stakes[t])
