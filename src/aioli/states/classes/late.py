r"""What is heard of many classes where labels come late: everybody is weighed by what was *announced*.

The mixture of `states.classes.mixture` is trained by what it would say with every label known. Where labels come late
that is not what it announces: shares that multiply the likelihoods of five hundred rows at once go to whoever fitted
that batch, wherever the next one leads. So from the first late label on, what is announced is a mixture of

- the whole of that mixture, which begins with a share of 0.8;
- the shares of the classes whose labels have come, with 0.02;
- every expert alone, with what is left, evenly. One that does not play says what the whole says.

The shares of these members are exponential weights over what each announced, at a rate η and with a share
$s = 0.01/(1 + D)$ to the prior π, D being the longest delay so far:

$$w_i \leftarrow (1-s)\frac{w_i\,p_i(y)^{\eta}}{\sum_j w_j\,p_j(y)^{\eta}} + s\,\pi_i, \qquad
  \mathrm{gap} \leftarrow \mathrm{gap} - \ln p(y) + \tfrac1\eta\ln\sum_j w_j\,p_j(y)^\eta,$$

p being what was announced. η is at most $4/(1 + D)$, and falls to one over the greatest gap so far, but not below $1/(1
+ D)$, at which gaps of batches stop growing. Where η falls to η′, $w_i \propto \pi_i(w_i/\pi_i)^{\eta'/\eta}$. In any
order of labels and with any delays, as is proved for two classes (`states.mixture.late`),

$$\sum_t \ell_t \le \sum_t \ell_{t,i} + \mathrm{gap} +
  \frac1\eta\Bigl(\ln\frac1{\pi_i} + \sum_t\ln\frac1{1-s_t}\Bigr).$$

A row of a weight below 1 is that part of a row; one of a greater weight moves shares as a row does.
"""

import math
from collections.abc import Sequence
from typing import Self

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Cube, Matrix, Vector, compiled
from aioli.outcomes.class_labels import Codes
from aioli.snapshots.tree import Snapshot

__all__ = ["COUNTED", "EXPERTS", "WHOLE", "LateClassMixture"]

WHOLE, COUNTED, EXPERTS = range(3)  # places of the members; experts stand from the last of them on
WHOLE_PRIOR, COUNTED_PRIOR = 0.8, 0.02  # their shares at first: in most streams what is best in time is best late
NUMBERS = 6
# whether a label was late, D, η, the gap and the greatest so far, and Σ ln 1/(1 − s)
AWAKE, LONGEST, RATE, GAP, GREATEST, GIVEN = range(NUMBERS)
SPEED = 4.0  # over one plus the longest delay: the rate, at most
GIVING = 0.01  # over one plus the longest delay: what each label gives to the prior
LEAST = math.log(1e-9)  # as which a smaller probability counts: one row is not to decide
NEVER = math.log(1e-300)  # what is said in place of a probability of 0


class LateClassMixture:
    """Hold the shares of the members, and what bounds their loss.

    Parameters
    ----------
    names
        Of all experts that may ever play.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = [*names]
        self._places = {name: EXPERTS + i for i, name in enumerate(names)}
        each = (1.0 - WHOLE_PRIOR - COUNTED_PRIOR) / max(len(self.names), 1)
        self.prior: Vector = np.array([WHOLE_PRIOR, COUNTED_PRIOR, *[each] * len(self.names)])
        self.prior /= self.prior.sum()
        self.shares: Vector = self.prior.copy()
        self.numbers: Vector = np.zeros(NUMBERS)
        self.numbers[RATE] = 1.0

    @property
    def awake(self) -> bool:
        """Whether a label has come late, so that this mixture is the one that is heard."""
        return bool(self.numbers[AWAKE])

    def places(self, names: Sequence[str]) -> Codes:
        """Return the places of experts among the members."""
        return np.array([self._places[name] for name in names], dtype=np.int64)

    def announce(self, whole: Matrix, counts: Vector, places: Codes, Z: Cube) -> Matrix:
        """Return the logarithms announced of rows; all that is said comes in logarithms. O(experts K) a row.

        `whole` is what the mixture in time says, `counts` how many rows each class has had, Z what the experts at these
        places say.
        """
        out = np.empty(whole.shape)
        mix_rows(self.shares, counts, np.ascontiguousarray(whole), places, np.ascontiguousarray(Z), out)
        return out

    def play(self, whole: Matrix, counts: Vector, places: Codes, Z: Cube, codes: Codes, weights: Vector) -> Matrix:
        """Return what `announce` does of rows whose labels come in time, each learned before the next."""
        out = np.empty(whole.shape)
        own = self.prior, self.shares, self.numbers, counts.copy()
        play_rows(*own, np.ascontiguousarray(whole), places, np.ascontiguousarray(Z), codes, weights, out)
        return out

    def answer(self, said: Vector, members: Matrix, weights: Vector, delays: Vector) -> None:
        """Learn from labels: the logarithms of their probabilities as announced, and as each member announced them.

        Rows in time are passed over until a label has come late.
        """
        if not self.awake and not delays.any():
            return
        self.numbers[AWAKE] = 1.0
        answer_rows(self.prior, self.shares, self.numbers, said, np.ascontiguousarray(members), weights, delays)

    def cost(self, member: int) -> float:
        """Return the most, in nats, that what was announced can have lost over a member since the first late label.

        Of a row that weighs more than 1 only a part of 1 counts.
        """
        n = self.numbers
        return float(n[GAP] + (n[GIVEN] - math.log(self.prior[member])) / n[RATE])

    def snapshot(self) -> Snapshot:
        """Return the experts' names, the shares and the numbers."""
        arrays = {"shares": self.shares.copy(), "numbers": self.numbers.copy()}
        return Snapshot("LateClassMixture", {"names": self.names}, arrays)

    @classmethod
    def restore(cls, snapshot: Snapshot, names: Sequence[str]) -> Self:
        """Make an equal mixture; experts that its version did not have begin with their prior share."""
        given = snapshot.of("LateClassMixture")
        known, made = given.texts("names") or [], cls(names)
        shares, numbers = given.totals("shares", (EXPERTS + len(known),)), given.array("numbers", (NUMBERS,))
        if not set(known) <= set(made.names) or len(set(known)) < len(known):
            raise SnapshotRefused(f"in a LateClassMixture, the experts are {known}, not those of this version")
        if not (0.0 < numbers[RATE] <= 1.0 and abs(shares.sum() - 1.0) <= 1e-6):
            raise SnapshotRefused("in a LateClassMixture, the rate is not above 0, or the shares do not add up to 1")
        if numbers[AWAKE] not in (0.0, 1.0) or not (numbers[[LONGEST, GREATEST, GIVEN]] >= 0.0).all():
            raise SnapshotRefused("in a LateClassMixture, a number is below what it can be")
        made.shares[:EXPERTS], made.shares[made.places(known)] = shares[:EXPERTS], shares[EXPERTS:]
        if len(known) < len(made.names):
            made.shares /= made.shares.sum()
        made.numbers[...] = numbers
        return made


@compiled("void(f8[::1],f8[::1],f8[:,::1],i8[::1],f8[:,:,::1],i8,f8[::1])", uncounted=True)
def mix_row(shares: Vector, counts: Vector, whole: Matrix, places: Codes, Z: Cube, t: int, out: Vector) -> None:
    """Write the logarithms that the members announce together of row t. O(experts K)."""
    classes = counts.size
    total, absent = 0.0, 1.0 - shares[WHOLE] - shares[COUNTED]
    for k in range(classes):
        total += counts[k]
    for i in range(places.size):
        absent -= shares[places[i]]
    for k in range(classes):
        p = (shares[WHOLE] + max(absent, 0.0)) * math.exp(whole[t, k])
        p += shares[COUNTED] * (counts[k] + 0.5) / (total + 0.5 * classes)
        for i in range(places.size):
            p += shares[places[i]] * math.exp(Z[i, t, k])
        out[k] = math.log(p) if p > 0.0 else NEVER


@compiled("void(f8[::1],f8[::1],f8[:,::1],i8[::1],f8[:,:,::1],f8[:,::1])")
def mix_rows(shares: Vector, counts: Vector, whole: Matrix, places: Codes, Z: Cube, out: Matrix) -> None:
    """Write the logarithms that the members announce together, for rows as if each came next. O(experts K) each."""
    for t in range(len(whole)):
        mix_row(shares, counts, whole, places, Z, t, out[t])


@compiled("void(f8[::1],f8[::1],f8[::1],f8,f8[::1],f8,f8)", uncounted=True)
def observe(
    prior: Vector, shares: Vector, numbers: Vector, said: float, members: Vector, weight: float, delay: float
) -> None:
    """Learn from one label. O(members)."""
    numbers[LONGEST] = max(numbers[LONGEST], delay)
    rows, part = 1.0 + numbers[LONGEST], min(weight, 1.0)
    rate = min(1.0, SPEED / rows, max(1.0 / rows, 1.0 / max(numbers[GREATEST], 1e-3)))
    if rate < numbers[RATE]:
        total = 0.0
        for i in range(shares.size):
            shares[i] = prior[i] * (shares[i] / prior[i]) ** (rate / numbers[RATE])
            total += shares[i]
        for i in range(shares.size):
            shares[i] /= total
        numbers[RATE] = rate
    total = 0.0
    for i in range(shares.size):
        shares[i] *= math.exp(rate * part * max(members[i], LEAST))
        total += shares[i]
    given = GIVING / rows
    for i in range(shares.size):
        shares[i] = (1.0 - given) * shares[i] / total + given * prior[i]
    numbers[GAP] += math.log(total) / rate - part * said
    numbers[GREATEST] = max(numbers[GREATEST], numbers[GAP])
    numbers[GIVEN] -= math.log1p(-given)


@compiled("void(f8[::1],f8[::1],f8[::1],f8[::1],f8[:,::1],f8[::1],f8[::1])")
def answer_rows(
    prior: Vector, shares: Vector, numbers: Vector, said: Vector, members: Matrix, weights: Vector, delays: Vector
) -> None:
    """Learn from labels in their order, as `observe` does. O(members) each."""
    for t in range(said.size):
        observe(prior, shares, numbers, said[t], members[t], weights[t], delays[t])


@compiled(
    "void(f8[::1],f8[::1],f8[::1],f8[::1],f8[:,::1],i8[::1],f8[:,:,::1],i8[::1],f8[::1],f8[:,::1])",
)
def play_rows(
    prior: Vector,
    shares: Vector,
    numbers: Vector,
    counts: Vector,
    whole: Matrix,
    places: Codes,
    Z: Cube,
    codes: Codes,
    weights: Vector,
    out: Matrix,
) -> None:
    """Announce each row, as `mix_rows` does, and learn its label before the next. O(experts K) each."""
    members, total = np.empty(shares.size), counts.sum()
    for t in range(len(whole)):
        mix_row(shares, counts, whole, places, Z, t, out[t])
        code = codes[t]
        members[:] = whole[t, code]
        members[COUNTED] = math.log((counts[code] + 0.5) / (total + 0.5 * counts.size))
        for i in range(places.size):
            members[places[i]] = Z[i, t, code]
        observe(prior, shares, numbers, out[t, code], members, weights[t], 0.0)
        counts[code] += weights[t]
        total += weights[t]
