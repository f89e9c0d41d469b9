r"""Many learners' log-odds become one: a mixture that tracks the best, and two stackers that may beat it.

The log loss is 1-mixable: $p = \sum_i w_i p_i$ with $w_i \leftarrow w_i\,p_i(y)$ loses at most $\ln(1/w_i^0)$ nats more than
expert i, for ever, on any data. A share $1/(t + 10)$ of the weight goes back to the prior each round, which costs
$\ln n$ and lets the mixture follow when another expert becomes the best.

A stacker is online Bayes for the log-odds $z_\mathrm{mix} + u^\top f$, where f holds a 1, the mixture's log-odds, each
expert's deviation from them, and the labels just seen. It starts as the mixture itself (u = 0) and learns what the
mixture cannot say: that an expert is too bold, that two together know more, that labels come in runs. One stacker
remembers everything, one forgets. A second mixture chooses among the three, so that all of this costs at most
$\ln(1/0.4)$ nats, and $0.1\ln n$ for its share, over the first mixture.
"""

import math

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.logistic import sigmoid, softplus

__all__ = ["Mixture"]

STACKERS = 2
MEMORY = np.array([1.0, 0.999])  # of each stacker
SHARE, UPPER_SHARE, SHARE_START = 1.0, 0.1, 10.0
BOLD, DEVIANT = 12.0, 8.0  # log-odds beyond which a feature of the stackers says no more
CERTAIN = 35.0  # log-odds that a stacker may announce: a loss of at most 35 nats
RUN = 0.9  # memory of the running mean of labels

TIME, LAST_LABEL, MEAN_LABEL = range(3)


class Mixture:
    """The weights of the experts, the stackers, and the weights of these: all that the mixture remembers."""

    def __init__(self, prior: Vector) -> None:
        K = prior.size
        F = K + 4
        self.prior: Vector = prior / prior.sum()
        self.weights: Vector = self.prior.copy()
        self.upper_prior: Vector = np.array([0.4, 0.3, 0.3])  # the mixture, and each stacker
        self.upper: Vector = self.upper_prior.copy()
        self.ridge: Vector = np.concatenate([[4.0], np.ones(F - 1)])
        self.Q: Matrix = np.stack([np.diag(1.0 / self.ridge)] * STACKERS)
        self.u: Matrix = np.zeros((STACKERS, F))
        self.memory: Vector = np.zeros(3)  # rounds, the last label and the running mean of labels, in ±1
        self.scratch: Matrix = np.zeros((2 + STACKERS, F))  # announced log-odds; f; Qf of each stacker

    def arrays(self) -> tuple[Vector, ...]:
        """What the kernels take, in their order."""
        return self.prior, self.weights, self.upper_prior, self.upper, self.ridge, self.Q, self.u, self.memory, self.scratch


@compiled("f8(f8[::1],f8[::1],f8[::1],f8[:,:,::1],f8[:,::1],f8[::1],f8[:,::1],f8[::1])", reassociate=True)
def announce(
    weights: Vector, upper: Vector, ridge: Vector, Q: Matrix, u: Matrix, memory: Vector, scratch: Matrix, z: Vector
) -> float:
    """The log-odds of the whole, given those of the experts; touches only `scratch`. O(K²)."""
    K = z.size
    F = ridge.size
    said, f = scratch[0], scratch[1]
    yes, no = 0.0, 0.0
    for i in range(K):
        yes += weights[i] * sigmoid(z[i])
        no += weights[i] * sigmoid(-z[i])
    mixed = math.log(max(yes, 1e-300)) - math.log(max(no, 1e-300))
    f[0] = 1.0
    f[1] = min(max(mixed, -BOLD), BOLD)
    for i in range(K):
        f[2 + i] = min(max(z[i] - mixed, -DEVIANT), DEVIANT)
    f[F - 2] = memory[LAST_LABEL]
    f[F - 1] = memory[MEAN_LABEL]
    said[0] = mixed
    for a in range(STACKERS):
        total = mixed
        for i in range(F):
            product = 0.0
            for j in range(F):
                product += Q[a, i, j] * f[j]
            scratch[2 + a, i] = product
            total += u[a, i] * f[i]
        said[1 + a] = min(max(total, -CERTAIN), CERTAIN)
    yes, no = 0.0, 0.0
    for a in range(STACKERS + 1):
        yes += upper[a] * sigmoid(said[a])
        no += upper[a] * sigmoid(-said[a])
    return math.log(max(yes, 1e-300)) - math.log(max(no, 1e-300))


@compiled("void(f8[::1],f8[::1],f8[::1],f8,f8,f8)")
def reweigh(weights: Vector, prior: Vector, z: Vector, y: float, rate: float, share: float) -> None:
    r"""$w_i \leftarrow w_i\,p_i(y)^\omega$, normalised, and a share of it given back to the prior."""
    total = 0.0
    for i in range(z.size):
        weights[i] *= math.exp(-rate * softplus(-z[i] if y > 0.5 else z[i]))
        total += weights[i]
    if not total > 0.0:  # every expert was certain, and wrong: begin again
        weights[:] = prior
        total = 1.0
    for i in range(z.size):
        weights[i] = (1.0 - share) * (weights[i] / total) + share * prior[i]


@compiled(
    "void(f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[:,:,::1],f8[:,::1],f8[::1],f8[:,::1],f8[::1],f8,f8)",
    reassociate=True,
)
def answer(
    prior: Vector,
    weights: Vector,
    upper_prior: Vector,
    upper: Vector,
    ridge: Vector,
    Q: Matrix,
    u: Matrix,
    memory: Vector,
    scratch: Matrix,
    z: Vector,
    y: float,
    weight: float,
) -> None:
    """Learn from the label of the row that `announce` was just asked about. O(K²)."""
    said, f = scratch[0], scratch[1]
    rate = min(weight, 1.0)  # p^ω is mixable for ω ≤ 1 only
    reweigh(weights, prior, z, y, rate, SHARE / (memory[TIME] + SHARE_START))
    reweigh(upper, upper_prior, said[: STACKERS + 1], y, rate, UPPER_SHARE / (memory[TIME] + SHARE_START))
    for a in range(STACKERS):
        k = scratch[2 + a]
        v = 0.0
        for i in range(f.size):
            v += f[i] * k[i]
        p = sigmoid(said[1 + a])
        h = weight * p * sigmoid(-said[1 + a])
        D = 1.0 + 0.5 * h * max(v, 0.0)
        gamma = 0.5 * h / D
        alpha = 0.5 * weight * (y - p) / D
        rho = MEMORY[a]
        for i in range(f.size):
            u[a, i] += alpha * k[i]
            taken = gamma * k[i]
            for j in range(f.size):
                Q[a, i, j] = rho * (Q[a, i, j] - taken * k[j])
            Q[a, i, i] += (1.0 - rho) / ridge[i]
    memory[TIME] += 1.0
    memory[LAST_LABEL] = 2.0 * y - 1.0
    memory[MEAN_LABEL] = RUN * memory[MEAN_LABEL] + (1.0 - RUN) * (2.0 * y - 1.0)


@compiled(
    "void(f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[:,:,::1],f8[:,::1],f8[::1],"
    "f8[:,::1],f8[:,::1],f8[::1],f8[::1],f8[::1])"
)
def combine_rows(
    prior: Vector,
    weights: Vector,
    upper_prior: Vector,
    upper: Vector,
    ridge: Vector,
    Q: Matrix,
    u: Matrix,
    memory: Vector,
    scratch: Matrix,
    Z: Matrix,
    y: Vector,
    stakes: Vector,
    out: Vector,
) -> None:
    """Announce and learn, row after row, given the log-odds that each expert announced. O(K²) a row."""
    for t in range(len(Z)):
        out[t] = announce(weights, upper, ridge, Q, u, memory, scratch, Z[t])
        answer(prior, weights, upper_prior, upper, ridge, Q, u, memory, scratch, Z[t], y[t], stakes[t])
