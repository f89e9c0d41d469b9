"""Auto: the learner that needs no tuning."""

import math
import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy import ndarray

from aioli.learners.columns import ColumnLearner
from aioli.learners.company import Company
from aioli.learners.experts import EXPERTS, Expert
from aioli.numerics.compiling import Vector
from aioli.numerics.logistic import sigmoid, sigmoid_many
from aioli.state.certificate import Certificate, running_certificate, tight_certificate
from aioli.state.ensemble import LONGEST
from aioli.state.files import read_file, write_file
from aioli.state.mixture import mixture_cost
from aioli.state.state import State, Tally
from aioli.streams.rows import LABELS, Rows, as_logits, as_weights

__all__ = ["Auto"]

HEAVIEST = 1e6  # a weight that costs no expert its digits


class Auto(ColumnLearner):
    r"""Online logistic regression without a parameter: a mixture of AIOLI learners that tracks the best, and beats it.

    Nobody who streams data knows B, λ or whether the world drifts. Here eight learners play side by side, on views of
    the row that do not depend on the unit or the origin of a column (`streams.views`), and a mixture follows the best
    of them: the log loss is 1-mixable, so with prior weights $w_i$

    $$\sum_t \ell_t \le \sum_t \ell_{t,i} + \ln\frac1{w_i} + \ln\frac{n+9}{9} + \ln\frac1{0.4} + 0.11\ln\frac{n+9}{9}$$

    for every expert i, on any data, for ever or until it retires; each certified expert adds its own logarithmic bound
    against every fixed linear model of a ball. Two stackers on top learn what experts know together, and that labels
    come in runs (`state.mixture`). O(K d²) a row, K = 8.

    Parameters
    ----------
    experts
        A budget: how many of the eight to play, the most useful first. None plays all. Time goes with the number; the
        bound holds against those that play.

    Notes
    -----
    Every column may be multiplied by a positive constant, or have one added, and nothing changes but rounding. An
    expert to which nobody listens retires after some thousands of rows, and costs nothing from then on: the bounds of
    the others can only gain by it (`state.mixture`). `predict` may be called from several threads; `learn` may not.
    `learn_many` plays long streams on up to four threads of its own, where cores are free, which changes no bit of what
    is learned. A label that comes late is learned when it comes; its loss is counted where it was announced.

    Examples
    --------
    >>> import numpy as np
    >>> from aioli import Auto
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3)) * [1.0, 1e6, 1e-6]
    >>> y = np.hypot(X[:, 0], X[:, 1] / 1e6) < 1.2          # a ring: no linear model sees it
    >>> learner = Auto()
    >>> p = learner.learn_many(X, y)
    >>> print(f"{-np.log(np.where(y, p, 1 - p))[1000:].mean():.2f} nats a row in the second half")
    0.04 nats a row in the second half
    >>> max(learner.weights_, key=learner.weights_.get)
    'AIOLI on the square view, λ = 0.1'
    """

    def __init__(self, experts: int | None = None) -> None:
        super().__init__()
        if experts is not None and not (isinstance(experts, int) and 1 <= experts <= len(EXPERTS)):
            raise ValueError(
                f"experts is {experts!r}; it must be a whole number from 1 to {len(EXPERTS)}, or None for all"
            )
        self.experts = experts
        self._company = Company(EXPERTS[:experts])

    # ---- one row

    def predict(self, x: object) -> float:
        """The probability that the row's label is 1; changes nothing. O(K d²)."""
        return sigmoid(self.predict_logit(x))

    def predict_logit(self, x: object) -> float:
        """The log-odds of `predict`: what to remember, with the row, until a late label comes. O(K d²)."""
        if self._company.views is not None and type(x) is ndarray:
            try:
                z = self._company.predict_logit(x)
                if not math.isnan(z):
                    return z
            except TypeError:  # another type of number, or another layout
                pass
        return float(self._logits(self._rows(x, single=True))[0])

    def learn(self, x: object, y: object, weight: float = 1.0, logit: float | None = None) -> float:
        """Learn from one row and its label; returns the probability announced before the label. O(K d²).

        `weight` and `logit` as in `AIOLI.learn`.
        """
        if self._company.views is not None and weight == 1.0 and logit is None and type(x) is ndarray:
            try:
                p = self._company.learn_one(x, LABELS[y])
                if p is not None:
                    return p
            except (TypeError, KeyError):  # another type of number, another layout, or not a label
                pass
        return self._learn_one(x, y, weight, logit)

    # ---- what it knows

    def certificate(self, tight: bool = False) -> Certificate:
        """Nats of regret, against every fixed linear model of a ball, proven not to have been exceeded.

        The model is linear in the view of the expert that proves it, which `against` names: columns scaled as the
        stream went, ‖θ‖ ≤ `radius`. It is that expert's own certificate, plus all that the mixture lost more than the
        expert: nothing needs to be assumed of the mixture, so weights, drift and late labels are covered.
        """
        best: Certificate | None = None
        prove = tight_certificate if tight else running_certificate
        total_prior = sum(expert.prior for expert in EXPERTS[: self.experts])
        states = self._states or [State(expert.game, 1) for expert in self._experts]
        for expert, state in zip(self._experts, states, strict=True):
            if not expert.certified:
                continue
            own = prove(state)
            excess = self.loss - float(state.tally[Tally.LOSS])
            in_time = (
                math.inf if self._company.had_late_labels else 0.0
            )  # the theorem speaks of what is said when asked
            theorem = in_time + own.theorem + mixture_cost(self.rounds, expert.prior / total_prior)
            proven = Certificate(own + excess, own.radius, self.rounds, theorem, against=expert.name)
            best = proven if best is None or proven < best else best
        assert best is not None  # the first expert is certified
        return best

    @property
    def rounds(self) -> int:
        """How many rows it has learned from."""
        return self._company.rounds

    @property
    def loss(self) -> float:
        """The sum of its losses so far, in nats."""
        return self._company.loss

    @property
    def n_features_(self) -> int | None:
        """How many columns a row has; None before the first row."""
        return None if self._company.views is None else self._company.views.width

    @property
    def weights_(self) -> dict[str, float]:
        """How much of the mixture each expert holds now: 0 if it has retired."""
        playing = zip(self._company.played, self._company.mixture.weights.tolist(), strict=True)
        return dict.fromkeys([expert.name for expert in EXPERTS[: self.experts]], 0.0) | dict(playing)

    # ---- its life

    def grow(self, columns: int, names: Sequence[str] | None = None) -> Self:
        """Make room for new columns, exactly as if they had been there, and 0, from the first row. O(K d²)."""
        names_after = self._names_after_growing(columns, names)
        self._company.grow(columns)
        self._names = names_after
        return self

    def merge(self, _other: Self) -> Self:
        """Refused: each learner scales its columns by the rows that it saw, so the two speak of different numbers."""
        raise ValueError(
            "Auto learners do not merge: each has scaled its columns by its own rows; merge AIOLI learners"
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner to a file, whole or not at all; a learner loaded from it goes on bit for bit the same."""
        header = {
            "learner": "Auto",
            "parameters": {"experts": self.experts},
            "played": self._company.played,
            "features": self.n_features_,
            "names": self._names,
        }
        write_file(path, header, self._arrays())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a learner that `save` wrote. Runs no code from the file; a file that is not right is a `ValueError`."""
        header, tensors = read_file(path, "Auto")
        try:
            learner = cls(**header["parameters"])
            learner._restore(header["features"], tensors)
            if header["played"] != learner._company.played:
                raise ValueError(f"its experts are {header['played']}, which this version does not play")
            learner.feature_names_ = header["names"]
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"{path}: is not a complete learner ({error}); save it again") from error
        return learner

    def __repr__(self) -> str:
        given = f"Auto(experts={self.experts})" if self.experts is not None else "Auto()"
        return given + self._told()

    # ---- within

    @property
    def _experts(self) -> list[Expert]:
        """Those who still play."""
        return self._company.experts

    @property
    def _states(self) -> list[State]:
        """What each of them remembers; empty before the first row."""
        return self._company.states

    def _rows(self, X: object, single: bool = False) -> Rows:
        return Rows(X, intercept=False, widest=LONGEST, width=self.n_features_, names=self._names, single=single)

    def _logits(self, rows: Rows) -> Vector:
        if self._company.views is None:
            return np.zeros(len(rows))
        return np.array([self._company.predict_logit(x) for _, chunk in rows for x in chunk])

    def _learn(self, rows: Rows, labels: Vector, weights: object, logits: object) -> Vector:
        stakes = as_weights(weights, rows, LONGEST, HEAVIEST)
        late = as_logits(logits, len(rows))
        if self._company.views is None:
            self._company.begin(rows.width)
        announced = np.empty(len(rows))
        for start, chunk in rows:
            part = slice(start, start + len(chunk))
            self._company.learn(chunk, labels[part], stakes[part], late[part], announced[part])
        return sigmoid_many(announced)

    def _arrays(self) -> dict[str, Vector]:
        return self._company.arrays()

    def _restore(self, features: int | None, arrays: dict[str, Vector]) -> None:
        company = Company.restored(features, arrays)
        if not set(company.experts) <= set(EXPERTS[: self.experts]):
            raise ValueError(f"its experts are {company.played}, of which Auto(experts={self.experts}) has fewer")
        self._company = company

    def __getstate__(self) -> dict[str, Any]:
        return {"experts": self.experts, "features": self.n_features_, "names": self._names, "arrays": self._arrays()}

    def __setstate__(self, contents: dict[str, Any]) -> None:
        self.experts, self._names = contents["experts"], contents["names"]
        self._restore(contents["features"], contents["arrays"])
