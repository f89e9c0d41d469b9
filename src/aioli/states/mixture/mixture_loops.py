"""Announces rows and learns their labels in compiled loops, given the log-odds of K experts.

`states.mixture.mixture` tells what each formula is for, and which bound holds. All arrays lie in the one buffer of a
`Mixture`. To answer a row is to learn its label, after it was announced. `announce_row` and `answer_row` are compiled
once for all their callers: two copies of their sums may round apart, and a row must be predicted as it is learned.
"""

import math

from aioli.numerics.compiling import Cube, Matrix, Vector, compiled
from aioli.outcomes.two_classes import HEAVY

__all__ = [
    "BOLD",
    "CERTAIN",
    "DEVIANT",
    "FORGETTING",
    "LAST_LABEL",
    "LEAST",
    "MEAN_LABEL",
    "MEMORIES",
    "RETURN",
    "RETURN_START",
    "RUN",
    "STACKERS",
    "TIME",
    "UPPER",
    "UPPER_RETURN",
    "Parts",
    "announce",
    "announce_row",
    "announce_rows",
    "answer",
    "buffer_size",
    "combine_rows",
    "mixed_logit",
    "unpack",
    "unpack_compiled",
]

STACKERS = 3
FORGETS, FORGETTING = 1, 0.999  # the stacker that forgets, and its ρ
RETURN, UPPER_RETURN, RETURN_START = 1.0, 0.1, 10.0  # RETURN/(t + RETURN_START) goes back to the prior
BOLD, DEVIANT = 12.0, 8.0  # log-odds at which the stackers' features are cut off: the mixture's; deviations
CERTAIN = 35.0  # log-odds at which a stacker is cut off: it loses at most 35 nats a row
RUN = 0.9  # memory of the running mean of labels
LEAST = 1e-300  # probabilities below this count as this, so that there is a logarithm

UPPER = STACKERS + 1
MEMORIES = 3
TIME, LAST_LABEL, MEAN_LABEL = range(MEMORIES)  # the rounds, the last label and the running mean of labels, in ±1
LINES = 11  # of the buffer, before those of the stackers

Parts = tuple[
    *tuple[Vector, Vector, Vector, Vector],  # of the experts: prior, shares, and probabilities announced for, against
    *tuple[Vector, Vector, Vector, Vector],  # of the upper mixture: the same
    *tuple[Vector, Vector, Vector],  # what the upper mixture hears; the memory; the features f
    # with a line a stacker: the diagonal of the first Q; u; k = Qf; s, by which Q is to be changed in the next round
    *tuple[Matrix, Matrix, Matrix, Matrix],
    Cube,  # Q of each stacker
]


def buffer_size(K: int) -> int:
    """Return how many numbers the buffer of a mixture of K experts holds."""
    F = K + 5
    return (LINES + STACKERS * (4 + F)) * F


def unpack(mixture_buffer: Vector, K: int) -> Parts:
    """Return the arrays of a mixture of K experts as views of its buffer, whose lines are as long as f, K + 5."""
    F = K + 5
    lines = mixture_buffer.reshape(mixture_buffer.size // F, F)
    a = LINES
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
        lines[a : a + STACKERS],
        lines[a + STACKERS : a + 2 * STACKERS],
        lines[a + 2 * STACKERS : a + 3 * STACKERS],
        lines[a + 3 * STACKERS : a + 4 * STACKERS],
        lines[a + 4 * STACKERS :].reshape(STACKERS, F, F),
    )


PARTS = f"Tuple(({'f8[::1],' * LINES}{'f8[:,::1],' * 4}f8[:,:,::1]))"
unpack_compiled = compiled(f"{PARTS}(f8[::1],i8)")(unpack)


@compiled("f8(f8[::1],f8[::1],f8[::1],f8[::1])", reassociate=True, inline=True)
def mixed_logit(shares: Vector, z: Vector, yes: Vector, no: Vector) -> float:
    r"""Return the log-odds of $\sum_i w_i\,\sigma(z_i)$, to full precision; `yes`, `no` get $\sigma(\pm z_i)$. O(K)."""
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
    """Write f, the stackers' features: 1, the mixture's z, the experts' deviations, 2p - 1, two of labels. O(K)."""
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


@compiled("void(f8[:,::1],f8[::1],f8,f8[::1])", reassociate=True, inline=True)
def stack(u: Matrix, f: Vector, mixed: float, said: Vector) -> None:
    r"""Write the mixture's log-odds and those of each stacker, $z_\mathrm{mix} + u^\top f$. O(K)."""
    said[0] = mixed
    for a in range(STACKERS):
        total = mixed
        for i in range(f.size):
            total += u[a, i] * f[i]
        said[1 + a] = min(max(total, -CERTAIN), CERTAIN)


@compiled("void(f8[::1],f8[::1],f8[::1],f8[::1],f8,f8,f8)", reassociate=True, inline=True)
def update_shares(
    shares: Vector, prior: Vector, yes: Vector, no: Vector, y: float, rate: float, returned: float
) -> None:
    r"""Set $w_i \leftarrow w_i\,p_i(y)^\omega$, normalised, and give the part `returned` back to the prior. O(K)."""
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


@compiled("void(f8[:,:,::1],f8[:,::1],f8[:,::1],f8[::1],f8[:,::1])", reassociate=True, inline=True)
def step_and_multiply(Q: Cube, s: Matrix, fresh: Matrix, f: Vector, k: Matrix) -> None:
    r"""Set $Q \leftarrow \rho(Q - ss^\top) + (1-\rho)\,\mathrm{diag}(\mathrm{fresh})$ and $k = Qf$ at once. O(K²)."""
    for a in range(STACKERS):
        rho = FORGETTING if a == FORGETS else 1.0
        for i in range(f.size):
            si = s[a, i]
            total = 0.0
            for j in range(f.size):
                entry = rho * (Q[a, i, j] - si * s[a, j])  # s[i]*s[j] commutes, so Q stays bitwise symmetric
                Q[a, i, j] = entry
                total += entry * f[j]
            back = (1.0 - rho) * fresh[a, i]
            Q[a, i, i] += back
            k[a, i] = total + back * f[i]


@compiled("void(f8[:,::1],f8[:,::1],f8[:,::1],f8[::1],f8[::1],f8[::1],f8,f8)", reassociate=True, inline=True)
def correct(u: Matrix, k: Matrix, s: Matrix, f: Vector, yes: Vector, no: Vector, y: float, capped: float) -> None:
    r"""Set $u \leftarrow u + \alpha k$ and $s = \sqrt{h/2D}\,k$ in each stacker. O(K).

    With p announced, $v = f^\top k$, $h = \omega p(1-p)$ and $D = 1 + hv/2$, the step is $\alpha = \omega(y-p)/2D$.
    In the next round `step_and_multiply` takes $ss^\top$ off Q.
    """
    for a in range(STACKERS):
        v = 0.0
        for i in range(f.size):
            v += f[i] * k[a, i]
        h = capped * yes[1 + a] * no[1 + a]
        D = 1.0 + 0.5 * h * max(v, 0.0)
        alpha = 0.5 * capped * (y - yes[1 + a]) / D
        root_gamma = math.sqrt(0.5 * h / D)
        for i in range(f.size):
            u[a, i] += alpha * k[a, i]
            s[a, i] = root_gamma * k[a, i]


@compiled(
    "f8(f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[:,::1],f8[::1])",
    reassociate=True,
    uncounted=True,
)
def announce_row(
    prior: Vector,
    shares: Vector,
    yes: Vector,
    no: Vector,
    upper: Vector,
    upper_yes: Vector,
    upper_no: Vector,
    said: Vector,
    memory: Vector,
    f: Vector,
    u: Matrix,
    z: Vector,
) -> float:
    """Return the upper mixture's log-odds, given those of the experts; changes workspace only. O(K)."""
    mixed = mixed_logit(shares, z, yes, no)
    describe(prior, shares, yes, no, memory, z, mixed, f)
    stack(u, f, mixed, said)
    return mixed_logit(upper, said, upper_yes, upper_no)


@compiled(
    "void(f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[:,:,::1],f8,f8)",
    reassociate=True,
    uncounted=True,
)
def answer_row(
    prior: Vector,
    shares: Vector,
    yes: Vector,
    no: Vector,
    upper_prior: Vector,
    upper: Vector,
    upper_yes: Vector,
    upper_no: Vector,
    memory: Vector,
    f: Vector,
    fresh: Matrix,
    u: Matrix,
    k: Matrix,
    s: Matrix,
    Q: Cube,
    y: float,
    weight: float,
) -> None:
    """Learn from the label of the row that was just announced. O(K²)."""
    step_and_multiply(Q, s, fresh, f, k)
    correct(u, k, s, f, upper_yes, upper_no, y, min(weight, HEAVY))  # heavier rows would throw u too far
    rate = min(weight, 1.0)  # p^ω is mixable for ω ≤ 1 only
    returned = 1.0 / (memory[TIME] + RETURN_START)
    update_shares(shares, prior, yes, no, y, rate, RETURN * returned)
    update_shares(upper, upper_prior, upper_yes, upper_no, y, rate, UPPER_RETURN * returned)
    memory[TIME] += 1.0
    memory[LAST_LABEL] += rate * (2.0 * y - 1.0 - memory[LAST_LABEL])
    memory[MEAN_LABEL] += rate * (1.0 - RUN) * (2.0 * y - 1.0 - memory[MEAN_LABEL])


@compiled(f"f8({PARTS},f8[::1])", reassociate=True)
def announce(parts: Parts, z: Vector) -> float:
    """Return the upper mixture's log-odds, given those of the experts; changes workspace only. O(K)."""
    prior, shares, yes, no, _, upper, upper_yes, upper_no, said, memory, f, _, u, _, _, _ = parts
    return announce_row(prior, shares, yes, no, upper, upper_yes, upper_no, said, memory, f, u, z)


@compiled(f"void({PARTS},f8,f8)", reassociate=True)
def answer(parts: Parts, y: float, weight: float) -> None:
    """Learn from the label of the row that `announce` was just asked about. O(K²)."""
    prior, shares, yes, no, upper_prior, upper, upper_yes, upper_no, _, memory, f, fresh, u, k, s, Q = parts
    answer_row(prior, shares, yes, no, upper_prior, upper, upper_yes, upper_no, memory, f, fresh, u, k, s, Q, y, weight)


@compiled("void(f8[::1],f8[:,::1],f8[::1],f8[::1],f8[::1])", reassociate=True)
def combine_rows(mixture_buffer: Vector, Z: Matrix, y: Vector, weights: Vector, out: Vector) -> None:
    """Announce and answer row after row, given the log-odds that each expert announced. O(K²) a row."""
    # Unpacked once: `announce` would count references to all arrays in every row, which takes 50 ns.
    parts = unpack_compiled(mixture_buffer, Z.shape[1])
    prior, shares, yes, no, upper_prior, upper, upper_yes, upper_no, said, memory, f, fresh, u, k, s, Q = parts
    for t in range(len(Z)):
        out[t] = announce_row(prior, shares, yes, no, upper, upper_yes, upper_no, said, memory, f, u, Z[t])
        omega = weights[t]
        answer_row(
            prior, shares, yes, no, upper_prior, upper, upper_yes, upper_no, memory, f, fresh, u, k, s, Q, y[t], omega
        )


@compiled("void(f8[::1],f8[:,::1],f8[::1])")
def announce_rows(mixture_buffer: Vector, Z: Matrix, out: Vector) -> None:
    """Announce row after row, given the log-odds of each expert, and learn nothing. O(K) a row."""
    parts = unpack_compiled(mixture_buffer, Z.shape[1])
    for t in range(len(Z)):
        out[t] = announce(parts, Z[t])
