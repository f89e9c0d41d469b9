"""The compiled loops of the mixture for late labels: rows announced, and labels learned from what was announced.

What each formula is for, and the bound that they keep, is told in `states.mixture.late`. All arrays belong to a
`LateMixture`: `numbers` (rates, gaps, the members' prior and shares, counts of labels, at the places below), `experts`
(prior and shares) and `stacker` (u, then Q).
"""

import math

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.copying import copy_numbers
from aioli.numerics.logistic import sigmoid, softplus
from aioli.outcomes.two_classes import HEAVY
from aioli.states.mixture.late_hedge import GAP, HEDGE, RATE, hedge, slow_down
from aioli.states.mixture.mixture_loops import (
    BOLD,
    CERTAIN,
    DEVIANT,
    LAST_LABEL,
    LEAST,
    MEAN_LABEL,
    RETURN_START,
    RUN,
    TIME,
    UPPER_RETURN,
    announce_row,
    combine_rows,
    unpack_compiled,
)

__all__ = [
    "AWAKE",
    "CAUTION",
    "COUNTS",
    "EXPERTS",
    "FROM",
    "GAP",
    "HEDGE",
    "MEMBER_PRIOR",
    "MEMORY",
    "NOBODY",
    "NUMBERS",
    "ONES",
    "POOLED",
    "PRIOR",
    "PROMPT",
    "RATE",
    "RUNS",
    "SHARES",
    "WHOLE",
    "ZEROS",
    "announce_rows_late",
    "answer_rows_late",
    "next_unannounced",
]

MEMBERS = 5
EXPERTS, POOLED, STACKED, BASE_RATE, PROMPT = range(MEMBERS)
MEMBER_PRIOR = (0.18, 0.18, 0.08, 0.01, 0.55)  # where order says nothing, what is trained in time is best
MEMORY = MEMBERS + 3  # numbers of an announcement's memory behind the experts' log-odds: the members', then these
WHOLE, LAST, MEAN = range(MEMBERS, MEMORY)

PRIOR, SHARES = 2 * HEDGE, 2 * HEDGE + MEMBERS  # of the members, behind the two levels' hedges
COUNTS = 2 * HEDGE + 2 * MEMBERS
ONES, ZEROS, FROM, EVIDENCE, BELIEVED, LONGEST, AWAKE, IN_TIME, CHAIN, CAUTION = range(COUNTS, COUNTS + 10)
RUNS = COUNTS + 10  # four counts of (last label, label)
NUMBERS = RUNS + 4
NOBODY = -1.0  # the last label, before there is one

# over the longest delay: the rates at which the experts' and the members' shares begin to be learned from late labels
FIRST_RATE, FIRST_UPPER_RATE = 4.0, 16.0
STEP = 4.0  # over the delay: of the stacker's steps
FEW = 2.5  # m/r: where so few labels speak for the experts, the base rate is heard twice as much as by its share
SURE = 5.0  # nats of evidence for runs that chance brings to one stream in 150, e^-5
UNLIKELY = 1.0  # nats of evidence against runs that a first long run brings, too, while no other label has come


@compiled("f8(f8[::1],f8[::1])")
def mixed_odds(shares: Vector, z: Vector) -> float:
    r"""Return the log-odds of $\sum_i w_i\sigma(z_i)$. O(K)."""
    p, q = 0.0, 0.0
    for i in range(z.size):
        e = math.exp(-abs(z[i]))
        likely = shares[i] / (1.0 + e)
        p += likely if z[i] >= 0.0 else e * likely
        q += e * likely if z[i] >= 0.0 else likely
    return math.log(max(p, LEAST) / max(q, LEAST))


@compiled("f8(f8[::1],f8[::1],f8[::1])", reassociate=True)
def odds_of_shares(shares: Vector, yes: Vector, no: Vector) -> float:
    r"""Return the log-odds of $\sum_i w_i p_i$, given each $p_i$ and $1 - p_i$. O(K)."""
    p, q = 0.0, 0.0
    for i in range(yes.size):
        p += shares[i] * yes[i]
        q += shares[i] * no[i]
    return math.log(max(p, LEAST) / max(q, LEAST))


@compiled("f8(f8[::1],f8[::1])", reassociate=True)
def pooled_odds(shares: Vector, z: Vector) -> float:
    r"""Return $\sum_i w_i z_i$, no log-odds counted beyond ±12. O(K)."""
    total = 0.0
    for i in range(z.size):
        total += shares[i] * min(max(z[i], -BOLD), BOLD)
    return total


@compiled("f8(f8[::1])")
def independent_labels(numbers: Vector) -> float:
    r"""Return how many independent labels say as much as those known: $n\frac{1-\rho}{1+\rho}$. O(1).

    ρ is the correlation of neighbouring labels, as far as it is positive. Where it is a Markov chain's, the mean of its
    n labels varies as that of so many independent ones.
    """
    after_zero = numbers[RUNS + 1] / (numbers[RUNS] + numbers[RUNS + 1])
    after_one = numbers[RUNS + 3] / (numbers[RUNS + 2] + numbers[RUNS + 3])
    rho = max(after_one - after_zero, 0.0)
    return float((numbers[ONES] + numbers[ZEROS]) * (1.0 - rho) / (1.0 + rho))


@compiled("f8(f8[::1])")
def caution(numbers: Vector) -> float:
    r"""Return $1 + (2.5\,r/m)^4$, how much more the base rate is heard than by its share. O(1).

    m is how many labels are independent, r what the experts lose in time over what the chain of labels alone loses.
    """
    told = numbers[IN_TIME] / max(numbers[CHAIN], 1.0)
    return 1.0 + float(FEW * told / max(independent_labels(numbers), 1.0)) ** 4


@compiled("void(f8[::1],f8[::1],f8,f8,f8,f8[::1])")
def describe_late(prior: Vector, z: Vector, mixed: float, last: float, mean: float, f: Vector) -> None:
    """Write the stacker's features, as the mixture's stackers have them, with the labels known then. O(K)."""
    K = z.size
    f[0] = 1.0
    f[1] = min(max(mixed, -BOLD), BOLD)
    for i in range(K):
        f[2 + i] = min(max(z[i] - mixed, -DEVIANT), DEVIANT) if prior[i] > 0.0 else 0.0
    f[K + 2] = math.tanh(0.5 * mixed)
    f[K + 3] = last
    f[K + 4] = mean


@compiled("f8(f8[:,::1],f8[::1],f8)", reassociate=True)
def stacked_late(stacker: Matrix, f: Vector, mixed: float) -> float:
    r"""Return the stacker's log-odds, $z_\mathrm{mix} + u^\top f$. O(K)."""
    total = mixed
    for i in range(f.size):
        total += stacker[0, i] * f[i]
    return min(max(total, -CERTAIN), CERTAIN)


@compiled("void(f8[::1],f8[::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[::1])", reassociate=True)
def announce_rows_late(
    mixture_buffer: Vector, numbers: Vector, experts: Matrix, stacker: Matrix, Z: Matrix, kept: Matrix, out: Vector
) -> None:
    """Write the log-odds of the whole for rows, each as if it came next, and their announcements' memory. O(K) a row.

    The buffer is scratch, nothing else is touched. What is the same for all rows is made once.
    """
    K = Z.shape[1]
    parts = unpack_compiled(mixture_buffer, K)  # opened once: see `mixture_loops.combine_rows`
    prior, shares, yes, no, _, upper, upper_yes, upper_no, each, memory, seen, _, u, _, _, _ = parts
    last, mean, fade = memory[LAST_LABEL], memory[MEAN_LABEL], RUN ** numbers[LONGEST]
    base_rate, awake = math.log(numbers[ONES] / numbers[ZEROS]), numbers[AWAKE] > 0.0
    f, heard = np.empty(K + 5), numbers[SHARES:COUNTS].copy()
    if awake:  # more of the base rate where caution asks for it
        heard[BASE_RATE] *= numbers[CAUTION]
    memory[LAST_LABEL], memory[MEAN_LABEL] = fade * last, fade * mean
    for t in range(len(Z)):
        z, said = Z[t], kept[t, K:]
        said[PROMPT] = announce_row(prior, shares, yes, no, upper, upper_yes, upper_no, each, memory, seen, u, z)
        mixed = odds_of_shares(experts[1], yes, no)
        describe_late(experts[0], z, mixed, last, mean, f)
        copy_numbers(z, kept[t])
        said[EXPERTS], said[POOLED] = mixed, pooled_odds(experts[0], z)
        said[STACKED], said[BASE_RATE] = stacked_late(stacker, f, mixed), base_rate
        said[WHOLE] = mixed_odds(heard, said[:MEMBERS])
        said[LAST], said[MEAN] = last, mean
        out[t] = said[WHOLE] if awake else said[PROMPT]
    memory[LAST_LABEL], memory[MEAN_LABEL] = last, mean


@compiled("void(f8[:,::1],f8[::1],f8[::1],f8,f8,f8)", reassociate=True)
def correct_late(stacker: Matrix, f: Vector, k: Vector, mixed: float, y: float, stake: float) -> None:
    """Take one step of online Bayes from where the stacker stands now, for features announced earlier. O(K²)."""
    u, Q = stacker[0], stacker[1:]
    z = stacked_late(stacker, f, mixed)
    p, q = sigmoid(z), sigmoid(-z)
    for i in range(f.size):
        total = 0.0
        for j in range(f.size):
            total += Q[i, j] * f[j]
        k[i] = total
    v = 0.0
    for i in range(f.size):
        v += f[i] * k[i]
    h = stake * p * q
    D = 1.0 + 0.5 * h * max(v, 0.0)
    alpha, root_gamma = 0.5 * stake * (y - p) / D, math.sqrt(0.5 * h / D)
    for i in range(f.size):
        u[i] += alpha * k[i]
        k[i] *= root_gamma
    for i in range(f.size):
        for j in range(f.size):
            Q[i, j] -= k[i] * k[j]


@compiled("f8(f8,f8)", inline=True)
def belief_in_runs(evidence: float, longest: float) -> float:
    r"""Return by how many nats runs lower the prior share of what is trained in time; below 0 they raise it. O(1).

    The evidence is a Bayes factor's logarithm: a chain of labels against independent ones, whose n labels lead to about
    $-\tfrac12\ln n$. What an old label cannot do is worth $\ln(1 + \text{delay})$ at most. One nat is the most that
    independent labels are worth: the columns may drift though the labels do not tell.
    """
    if evidence < -UNLIKELY:
        return max(evidence + UNLIKELY, -1.0)
    return min(evidence - SURE, math.log(1.0 + longest)) if evidence > SURE else 0.0


@compiled("void(f8[::1],f8)")
def count_label(numbers: Vector, y: float) -> None:
    """Count a label; the prompt whole's prior share falls with evidence for runs, and rises with that against. O(1)."""
    label = 1 if y > 0.5 else 0
    if numbers[FROM] >= 0.0:
        first = RUNS + 2 * int(numbers[FROM])
        lost = -math.log(numbers[first + label] / (numbers[first] + numbers[first + 1]))
        numbers[CHAIN] += lost
        numbers[EVIDENCE] -= lost
        numbers[EVIDENCE] -= math.log(numbers[ONES if label else ZEROS] / (numbers[ONES] + numbers[ZEROS]))
        numbers[first + label] += 1.0
    numbers[FROM] = label
    numbers[ONES if label else ZEROS] += 1.0
    believed = belief_in_runs(numbers[EVIDENCE], numbers[LONGEST])
    against, in_favour = believed < numbers[BELIEVED] <= 0.0, believed > max(numbers[BELIEVED], 0.0)
    if not (against or in_favour):  # the share rises first, then falls: a bound is on each way, not on going to and fro
        return
    for first in (PRIOR, SHARES):
        numbers[first + PROMPT] *= math.exp(numbers[BELIEVED] - believed)
        total = 0.0
        for i in range(first, first + MEMBERS):
            total += numbers[i]
        for i in range(first, first + MEMBERS):
            numbers[i] /= total
    numbers[BELIEVED] = believed


@compiled("void(f8[::1],f8[::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[::1],f8[::1],f8[:,::1],f8[::1],f8[::1])")
def answer_rows_late(
    mixture_buffer: Vector,
    numbers: Vector,
    experts: Matrix,
    stacker: Matrix,
    Z: Matrix,
    y: Vector,
    weights: Vector,
    kept: Matrix,
    late: Vector,
    prompt: Vector,
) -> None:
    """Learn the labels of rows in order. O(K²) a row.

    `kept[t]` is the memory of the row's announcement; where it is NaN, the row is announced now, and what was announced
    is left there: the log-odds of the whole behind those of the members. `prompt` receives what the mixture in time
    says of each row, with every label before it known.
    """
    K = Z.shape[1]
    f, k = np.empty(K + 5), np.empty(K + 5)
    time, announced_until = unpack_compiled(mixture_buffer, K)[9][TIME], 0
    members, shares = numbers[PRIOR:SHARES], numbers[SHARES:COUNTS]
    lower, upper = numbers[:HEDGE], numbers[HEDGE : 2 * HEDGE]
    for t in range(len(Z)):
        said = kept[t, K:]
        if t == announced_until:  # the mixture learns at once up to the next row that is announced from where it stands
            if math.isnan(said[WHOLE]):
                announce_rows_late(mixture_buffer, numbers, experts, stacker, Z[t : t + 1], kept[t : t + 1], prompt[t:])
            announced_until = next_unannounced(kept, K + WHOLE, t + 1)
            run = slice(t, announced_until)
            combine_rows(mixture_buffer, Z[run], y[run], weights[run], prompt[run])
        if late[t] > 0.0:
            numbers[AWAKE] = 1.0
        if late[t] > numbers[LONGEST]:
            numbers[LONGEST] = late[t]
            slow_down(lower, experts[0], experts[1], FIRST_RATE / max(late[t], FIRST_RATE))
            slow_down(upper, members, shares, min(1.0, FIRST_UPPER_RATE / (1.0 + late[t])))
        slowest = 1.0 / (1.0 + numbers[LONGEST])
        z = mixed_odds(experts[1], Z[t])
        numbers[IN_TIME] += softplus(-z if y[t] > 0.5 else z)
        describe_late(experts[0], kept[t, :K], said[EXPERTS], said[LAST], said[MEAN], f)
        correct_late(stacker, f, k, said[EXPERTS], y[t], min(weights[t], HEAVY) * min(1.0, STEP / (1.0 + late[t])))
        rate, share = min(weights[t], 1.0), 1.0 / (time + t + RETURN_START)  # p^ω is mixable for ω ≤ 1 only
        hedge(lower, experts[0], experts[1], kept[t, :K], said[EXPERTS], y[t], rate, share, slowest)
        hedge(upper, members, shares, said[:MEMBERS], said[WHOLE], y[t], rate, UPPER_RETURN * share, slowest)
        count_label(numbers, y[t])
    numbers[CAUTION] = caution(numbers)


@compiled("i8(f8[:,::1],i8,i8)")
def next_unannounced(kept: Matrix, whole: int, first: int) -> int:
    """Return the first row from `first` on that has not been announced, or the number of rows. O(1) a row."""
    t = first
    while t < len(kept) and not math.isnan(kept[t, whole]):
        t += 1
    return t
