r"""Many learners' probabilities of K classes become one: a mixture that tracks the best, and two stackers above it.

As of two classes (`states.mixture.mixture`), but over probability vectors. The mixture $p = \sum_i w_ip_i$, $w_i
\leftarrow w_i\,p_i(y)$, loses at most $\ln(1/w_i^0)$ more than expert i, and a share for moving on. A stacker has the
logits $\log p_{\mathrm{mix},k} + \Phi_ku + b_k$ with coefficients u *shared by all classes*: $\Phi_k$ holds $\log
p_{\mathrm{mix},k}$, how far each expert's $\log p_k$ is from it, $2p_{\mathrm{mix},k}$, whether k is the last label,
and the running share of k. So what is learned of one class serves the others, and a class that comes late is known as
soon as it is there. It begins as the mixture itself, u = 0 and b = 0; one stacker remembers everything, one forgets.
A second mixture, over the first and the stackers, takes them or leaves them.

One expert is always there, and costs nothing: the shares of the classes so far, $(n_k + \tfrac12)/(n + \tfrac K2)$.

Up to twelve classes, u and b are learned together, with a precision matrix of both. Beyond, each $b_k$ has a
precision of its own: O(K) numbers and time in place of O(K²).
"""

from collections.abc import Callable, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Cube, Matrix, Vector, bound
from aioli.outcomes.class_labels import Codes
from aioli.snapshots.tree import Snapshot
from aioli.states.classes.mixture_loops import BESIDE, NOBODY, STACKERS, announce_rows, combine_rows

__all__ = ["ClassMixture"]

JOINT = 12  # classes up to which a stacker's biases are learned together with its coefficients
UPPER = (0.4, 0.3, 0.3)  # prior shares of the mixture and of each stacker


class ClassMixture:
    """Holds the shares of the experts, the stackers, the shares of these, and counts of the labels.

    Parameters
    ----------
    prior
        The experts' shares at the beginning, not yet normalised; the last is that of the class shares.
    classes
        How many classes there are.
    """

    def __init__(self, prior: Vector, classes: int) -> None:
        self.prior: Vector = prior / prior.sum()
        self.shares: Vector = self.prior.copy()
        self.upper: Vector = np.array(UPPER)
        self.memory: Vector = np.array([0.0, NOBODY, 0.0])
        self.counts: Vector = np.zeros(classes)
        self.recent: Vector = np.full(classes, 1.0 / max(classes, 1))
        features = prior.size + BESIDE
        self.u: Matrix = np.zeros((STACKERS, features))
        self.bias: Matrix = np.zeros((STACKERS, classes))
        self.A: Cube = np.zeros((STACKERS, _size(features, classes), _size(features, classes)))
        self.A[:] = np.eye(self.A.shape[1])
        self.certain: Matrix = np.ones((STACKERS, classes))

    @property
    def experts(self) -> int:
        """How many experts there are, the class shares not counted."""
        return self.prior.size - 1

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return self.counts.size

    def combine(self, Z: Cube, codes: Codes, weights: Vector) -> Matrix:
        """Return the probabilities announced row by row, and learn; Z holds the experts' logarithms of theirs."""
        out, combine = self.prepared(Z, codes, weights)
        combine()
        return out

    def prepared(self, Z: Cube, codes: Codes, weights: Vector) -> tuple[Matrix, Callable[[], None]]:
        """Return room for the probabilities announced, and the call that fills it and learns, again and again."""
        out = np.empty(Z.shape[1:])
        own = self.prior, self.shares, np.array(UPPER), self.upper, self.memory, self.counts, self.recent
        stackers = self.u, self.bias, self.A, self.certain
        return out, bound(combine_rows, *own, *stackers, Z, codes, weights, out)

    def announce(self, Z: Cube) -> Matrix:
        """Return the probabilities of rows, each as if it came next; changes nothing. O(K) a row."""
        out = np.empty(Z.shape[1:])
        announce_rows(self.shares, self.upper, self.memory, self.counts, self.recent, self.u, self.bias, Z, out)
        return out

    def prepared_announce(self, Z: Cube) -> tuple[Matrix, Callable[[], None]]:
        """Return room for the probabilities of rows, and the call that fills it, again and again."""
        out = np.empty(Z.shape[1:])
        own = self.shares, self.upper, self.memory, self.counts, self.recent, self.u, self.bias
        return out, bound(announce_rows, *own, Z, out)

    def add_class(self) -> None:
        """Make room for one further class, which nobody has seen."""
        features, classes = self.u.shape[1], self.classes + 1
        size, known = _size(features, classes), self.A.shape[1]
        A: Cube = np.zeros((STACKERS, size, size))
        A[:] = np.eye(size)
        kept = min(size, known)
        A[:, :kept, :kept] = self.A[:, :kept, :kept]
        for i in range(STACKERS):
            if known > features:  # where biases are learned apart from now on, each has what it has learned
                self.certain[i] = self.A[i].diagonal()[features:]
        self.A = A
        self.bias = np.column_stack([self.bias, np.zeros(STACKERS)])
        self.certain = np.column_stack([self.certain, np.ones(STACKERS)])
        self.counts, self.recent = np.append(self.counts, 0.0), np.append(self.recent, 0.0 if self.classes else 1.0)

    def negligible(self) -> NDArray[np.bool_]:
        """Return which experts have no influence: below 1 % of the shares, and 0.05 in the stackers."""
        said = np.zeros(self.experts)
        for u, share in zip(self.u, self.upper[1:], strict=True):
            if share > 0.01:
                said = np.maximum(said, np.abs(u[1 : 1 + self.experts]))
        return np.asarray((self.shares[:-1] < 0.01) & (said < 0.05))

    def without(self, leaving: Sequence[int]) -> Self:
        """Return the mixture without these experts, whose shares go to the others."""
        staying = np.delete(np.arange(self.prior.size), leaving)
        return self._with(staying, self.prior[staying], self.shares[staying])

    def joined(self, prior: float) -> Self:
        """Return the mixture with a further expert, the last but the class shares, of this part of all prior shares."""
        places = np.insert(np.arange(self.prior.size), self.experts, -1)
        new = places < 0
        priors = np.where(new, prior, (1.0 - prior) * self.prior[places])
        return self._with(places, priors, np.where(new, prior, (1.0 - prior) * self.shares[places]))

    def _with(self, places: NDArray[np.int64], prior: Vector, shares: Vector) -> Self:
        """Return a mixture whose experts have these places in this one, -1 for a new one."""
        made = type(self)(prior, self.classes)
        made.shares[:] = shares / shares.sum()
        made.upper, made.memory = self.upper.copy(), self.memory.copy()
        made.counts, made.recent = self.counts.copy(), self.recent.copy()
        made.bias, made.certain = self.bias.copy(), self.certain.copy()
        beside = np.arange(self.prior.size, self.u.shape[1] - 1)
        features = np.concatenate([[0], np.where(places < 0, -1, places + 1), 1 + beside])
        biases = np.arange(self.u.shape[1], self.A.shape[1])
        here = np.concatenate([features, biases])
        old = here >= 0
        made.u[:, features >= 0] = self.u[:, features[features >= 0]]
        for i in range(STACKERS):
            made.A[i][np.ix_(old, old)] = self.A[i][np.ix_(here[old], here[old])]
        return made

    def snapshot(self) -> Snapshot:
        """Return all of its arrays."""
        return Snapshot("ClassMixture", arrays={name: array.copy() for name, array in self._arrays().items()})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal mixture."""
        given = snapshot.of("ClassMixture")
        prior, counts = given.array("prior", (None,)), given.array("counts", (None,))
        if prior.size < 1 or not (prior >= 0.0).all() or not prior.sum() > 0.0 or not (counts >= 0.0).all():
            raise SnapshotRefused(f"in a ClassMixture, the prior shares are {prior.tolist()}, or a count is negative")
        made = cls(prior, counts.size)
        for name, array in made._arrays().items():
            array[...] = given.array(name, array.shape)
        if not made.shares.sum() > 0.0 or not all(np.isfinite(array).all() for array in made._arrays().values()):
            raise SnapshotRefused("in a ClassMixture, the shares are 0, or a number is not finite")
        return made

    def _arrays(self) -> dict[str, NDArray[np.float64]]:
        names = ("prior", "shares", "upper", "memory", "counts", "recent", "u", "bias", "A", "certain")
        own = vars(self)
        return {name: own[name] for name in names}


def _size(features: int, classes: int) -> int:
    return features + classes if classes <= JOINT else features
