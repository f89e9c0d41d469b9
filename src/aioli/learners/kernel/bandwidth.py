r"""The bandwidth of a kernel without labels and without tuning: the median distance, and a mixture around it.

Each column is divided by its standard deviation, and all of them by the median distance between rows, so that 1 is a
typical distance. Around it, bandwidths of ¼, ½, 1 and 2 play side by side and `states.mixture.mixture` follows the
best: over the rows that were played on one map, for every bandwidth i that has not retired, however wrong the median
may be,

$$\sum_t \ell_t \le \sum_t \ell_{t,i} + \ln 4 + \ln\tfrac1{0.4} + 1.11\ln\tfrac{n+9}{9}.$$

Scales come from a sample of evenly spaced rows. While it holds all rows that came (the first 512), the map may be made
anew at 4, 8, 16, … rows, and the rows are learned again on it. From then on it is fixed: only where typical distances
have moved by half again does a new epoch begin, at 1024, 2048, … rows, with a fresh learner, so that there are at most
log₂ n of them. A certificate is a sum over epochs.
"""

import math
from collections.abc import Callable

import numpy as np

from aioli.learners.kernel.base_learner import Arrays, Player
from aioli.learners.kernel.scales import Sample, Scaling
from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.logistic import finite_logit_many, sigmoid_many, softplus_many
from aioli.states.certificate import Certificate
from aioli.states.mixture.mixture import Mixture, announce, combine_rows, unpack_compiled

__all__ = ["BandwidthMixture", "require_bandwidth"]

RATIOS = (0.25, 0.5, 1.0, 2.0)  # bandwidths beside the median distance
SETTLED = 64  # rows up to which every new map is better than the last
UNPROVEN = 1e300  # stands for infinity, which no file keeps
RETIRING = 1024  # rows from which a bandwidth that nobody heeds may retire

ROUNDS, LOSS, PAST_LOSS, PAST_REGRET = range(4)  # entries of the tally

MakeExpert = Callable[[int, float, int], Player]  # width, bandwidth, number


def require_bandwidth(bandwidth: object) -> float | None:
    """The bandwidth as a number, or None for "auto"; anything else is refused."""
    if isinstance(bandwidth, str) and bandwidth == "auto":
        return None
    if isinstance(bandwidth, (int, float, np.number)) and 1e-100 <= float(bandwidth) <= 1e100:
        return float(bandwidth)
    raise ValueError(f'bandwidth is {bandwidth!r}; it must be a finite number above 0, or "auto"')


class Blend:
    """A `Mixture` that may be copied: its arrays are views of one mixture_buffer."""

    def __init__(self, size: int) -> None:
        self.mixture = Mixture(np.ones(size))

    def logits(self, Z: Matrix) -> Vector:
        """What it would announce, given what each expert would."""
        out = np.empty(len(Z))
        announce_rows(self.mixture.buffer.copy(), Z, out)  # its own: threads may predict side by side
        return out

    def __getstate__(self) -> Vector:
        return self.mixture.buffer

    def __setstate__(self, mixture_buffer: Vector) -> None:
        self.mixture = Mixture(np.ones(len(RATIOS)))
        self.mixture.buffer[...] = mixture_buffer


@compiled("void(f8[::1],f8[:,::1],f8[::1])")
def announce_rows(mixture_buffer: Vector, Z: Matrix, out: Vector) -> None:
    """Announce row after row, given the log-odds of each expert, and learn nothing. O(K²) a row."""
    parts = unpack_compiled(mixture_buffer, Z.shape[1])
    for t in range(len(Z)):
        out[t] = announce(parts, Z[t])


class BandwidthMixture(Player):
    """Experts of several bandwidths on scaled rows, and the mixture of them."""

    def __init__(self, width: int, kernel: str, make: MakeExpert) -> None:
        self.width, self.kernel, self.make = width, kernel, make
        self.sample = Sample(width)
        self.tally: Vector = np.zeros(4)
        self.unheard: Vector = np.zeros(len(RATIOS))
        self.scaling: Scaling | None = None
        self.experts: list[Player] = []
        self.blend = Blend(len(RATIOS))

    @property
    def rounds(self) -> int:
        """How many rows it has learned from."""
        return int(self.tally[ROUNDS])

    @property
    def loss(self) -> float:
        """The sum of its losses so far, in nats."""
        return float(self.tally[LOSS])

    @property
    def weights(self) -> Vector:
        """How much of the mixture each bandwidth holds now."""
        return self.blend.mixture.weights

    def logits(self, X: Matrix) -> Vector:
        """Each row's log-odds, as if it came next; 0 before there is a map."""
        if self.scaling is None:
            return np.zeros(len(X))
        U = self.scaling(X)
        Z = np.zeros((len(X), len(RATIOS)))
        for i in self._heard():
            Z[:, i] = self.experts[i].logits(U)
        return self.blend.logits(Z)

    def play(self, X: Matrix, y: Vector, weights: Vector | None, logits: Vector | None) -> Vector:
        """Learn from the rows in order; each announces before its label."""
        stakes = np.ones(len(X)) if weights is None else weights
        said = np.empty(len(X))
        first = 0
        while first < len(X):
            due = self.sample.until_due
            part = slice(first, first + due)
            said[part] = self._play(X[part], y[part], stakes[part], None if logits is None else logits[part])
            self.sample.keep(X[part], y[part], stakes[part])
            if len(X) - first >= due:
                self._review()
            first += due
        return sigmoid_many(said)

    def certificate(self, tight: bool) -> Certificate:
        """That of the bandwidth of most weight, plus what the mixture lost more than it; summed over epochs.

        Nothing is assumed of the mixture, so weights, late labels and the first rows, which had no map, are covered.
        """
        heard = self._heard()
        if not heard:
            return Certificate(math.inf, math.inf, self.rounds, math.inf)
        i = max(heard, key=lambda expert: float(self.weights[expert]))
        own = self.experts[i].certificate(tight)
        excess = self.loss - float(self.tally[PAST_LOSS]) - self.experts[i].loss
        nats = float(self.tally[PAST_REGRET]) + own + excess
        return Certificate(nats, own.radius, self.rounds, math.inf, f"bandwidth {RATIOS[i]:g} × the median distance")

    def arrays(self) -> Arrays:
        """All that it has learned."""
        sample = self.sample
        found = {
            "tally": self.tally,
            "unheard": self.unheard,
            "sample": sample.table[: sample.count],
            "sampled": np.array([sample.seen, sample.stride], dtype=np.float64),
        }
        if self.scaling is not None:
            found |= {
                "centre": self.scaling.centre,
                "unit": self.scaling.unit,
                "mixture_buffer": self.blend.mixture.buffer,
            }
            for i, expert in enumerate(self.experts):
                found |= {f"{i}.{name}": array for name, array in expert.arrays().items()}
        return found

    def restore(self, arrays: Arrays) -> None:
        """Take back what `arrays` gave."""
        count = len(arrays["sample"])
        self.tally[...], self.unheard[...] = arrays["tally"], arrays["unheard"]
        self.sample.table[:count] = arrays["sample"]
        self.sample.count = count
        self.sample.seen, self.sample.stride = (int(number) for number in arrays["sampled"])
        if "unit" not in arrays:
            return
        if arrays["unit"].shape != (self.width,) or arrays["centre"].shape != (self.width,):
            raise ValueError(f"scales of shape {arrays['unit'].shape} for {self.width} columns")
        self._begin(Scaling(arrays["centre"], arrays["unit"]))
        self.unheard[...] = arrays["unheard"]
        self.blend.mixture.buffer[...] = arrays["mixture_buffer"]
        for i, expert in enumerate(self.experts):
            prefix = f"{i}."
            expert.restore({name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)})

    # ---- within

    def _heard(self) -> list[int]:
        return [i for i in range(len(self.experts)) if self.blend.mixture.prior[i] > 0.0]

    def _announced(self, U: Matrix, y: Vector, stakes: Vector) -> Vector:
        """Each expert plays the rows by itself; the mixture of what they said."""
        Z = np.zeros((len(U), len(RATIOS)))
        plain = None if (stakes == 1.0).all() else stakes
        for i in self._heard():
            Z[:, i] = finite_logit_many(self.experts[i].play(U, y, plain, None))
        said = np.empty(len(U))
        combine_rows(self.blend.mixture.buffer, Z, y, stakes, said)
        return said

    def _play(self, X: Matrix, y: Vector, stakes: Vector, late: Vector | None) -> Vector:
        said = np.zeros(len(X)) if self.scaling is None else self._announced(self.scaling(X), y, stakes)
        if late is not None:
            said = np.where(np.isnan(late), said, late)
        self.tally[ROUNDS] += len(X)
        self.tally[LOSS] += stakes @ softplus_many(np.where(y == 1.0, -said, said))
        return said

    def _review(self) -> None:
        """Whether a new map is due, or an expert to which nobody has listened since the last time may retire."""
        rows, y, stakes = self.sample.kept
        now = Scaling.of(rows, self.kernel)
        old = self.scaling
        if old is None or self.rounds <= SETTLED or old.has_moved(now, rows, self.kernel):
            whole = self.sample.whole
            if not whole:  # an epoch ends: what it proved stays proven
                self.tally[PAST_REGRET] = min(self.certificate(tight=False), UNPROVEN)
                self.tally[PAST_LOSS] = self.tally[LOSS]
            self._begin(now)
            if whole:
                self._announced(now(rows), y, stakes)
        elif self.rounds >= RETIRING:
            unheard = self.blend.mixture.unheard()
            for i in np.flatnonzero(unheard * self.unheard):
                self.blend.mixture.retire(int(i))
            self.unheard[:] = unheard
        self.sample.thin()

    def _begin(self, scaling: Scaling) -> None:
        self.scaling = scaling
        self.experts = [self.make(self.width, ratio, i) for i, ratio in enumerate(RATIOS)]
        self.blend = Blend(len(RATIOS))
        self.unheard[:] = 0.0
