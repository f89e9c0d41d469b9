"""Auto: the learner that needs no tuning."""

import math
import os
from collections.abc import Sequence
from typing import Any, Self, cast

import numpy as np
from numpy import ndarray

from aioli.learners.columns import ColumnLearner
from aioli.learners.experts import EXPERTS
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid, sigmoid_many, softplus_many
from aioli.state.certificate import Certificate, running_certificate, tight_certificate
from aioli.state.ensemble import DONE, LATE, LONGEST, LOSS, ROUNDS, learn_row, predict_row
from aioli.state.files import read_file, write_file
from aioli.state.mixture import Mixture, combine_rows, mixture_cost
from aioli.state.play import play
from aioli.state.state import State, Tally
from aioli.streams.rows import LABELS, Rows, as_logits, as_weights
from aioli.streams.views import Views

__all__ = ["Auto"]

HEAVIEST = 1e6  # a weight that costs no expert its digits
REVIEW = 4096  # rows after which an expert may retire
TOGETHER = 1024  # rows whose views stay in the cache while expert after expert reads them


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
    the others can only gain by it (`state.mixture`). `predict` may be called from several threads; `learn` may not. A
    label that comes late is learned when it comes; its loss is counted where it was announced.

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
        self._experts = EXPERTS[:experts]
        self._tally: Vector = np.zeros(4)
        self._mixture = Mixture(np.array([expert.prior for expert in self._experts]))
        self._views: Views | None = None
        self._states: list[State] = []
        self._one: tuple[Any, ...] | None = None  # what the compiled single row takes
        self._z: Vector = np.zeros(len(self._experts) + 1)
        self._unheard: Vector = np.zeros(len(self._experts))  # at the last review

    # ---- one row

    def predict(self, x: object) -> float:
        """The probability that the row's label is 1; changes nothing. O(K d²)."""
        return sigmoid(self.predict_logit(x))

    def predict_logit(self, x: object) -> float:
        """The log-odds of `predict`: what to remember, with the row, until a late label comes. O(K d²)."""
        if self._one is not None and type(x) is ndarray:
            try:
                z: float = predict_row(*self._predicting, x)
                if not math.isnan(z):
                    return z
            except TypeError:  # another type of number, or another layout
                pass
        return float(self._logits(self._rows(x, single=True))[0])

    def learn(self, x: object, y: object, weight: float = 1.0, logit: float | None = None) -> float:
        """Learn from one row and its label; returns the probability announced before the label. O(K d²).

        `weight` and `logit` as in `AIOLI.learn`.
        """
        if self._one is not None and weight == 1.0 and logit is None and type(x) is ndarray:
            try:
                label = LABELS[y]
                p = self._play_one(x, label)
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
        for i, expert in enumerate(self._experts):
            if not expert.certified or self._mixture.prior[i] == 0.0:
                continue
            own = prove(self._states[i] if self._states else State(expert.game, 1))
            excess = float(self._tally[LOSS]) - (float(self._states[i].tally[Tally.LOSS]) if self._states else 0.0)
            in_time = 0.0 if self._tally[LATE] == 0.0 else math.inf  # the theorem speaks of what is said when asked
            theorem = (
                in_time + own.theorem + mixture_cost(self.rounds, expert.prior / sum(e.prior for e in self._experts))
            )
            proven = Certificate(own + excess, own.radius, self.rounds, theorem, against=expert.name)
            best = proven if best is None or proven < best else best
        assert best is not None  # the first expert is certified
        return best

    @property
    def rounds(self) -> int:
        """How many rows it has learned from."""
        return int(self._tally[ROUNDS])

    @property
    def loss(self) -> float:
        """The sum of its losses so far, in nats."""
        return float(self._tally[LOSS])

    @property
    def n_features_(self) -> int | None:
        """How many columns a row has; None before the first row."""
        return None if self._views is None else self._views.width

    @property
    def weights_(self) -> dict[str, float]:
        """How much of the mixture each expert holds now."""
        names = [expert.name for expert in self._experts]
        return dict(zip(names, self._mixture.weights.tolist(), strict=True))

    # ---- its life

    def grow(self, columns: int, names: Sequence[str] | None = None) -> Self:
        """Make room for new columns, exactly as if they had been there, and 0, from the first row. O(K d²)."""
        names_after = self._names_after_growing(columns, names)
        if self._views is not None:
            views = self._views.grown(columns)
            widths = views.widths
            states = [
                state.grown(widths[expert.kind] - state.width)
                for expert, state in zip(self._experts, self._states, strict=True)
            ]
            self._settle(views, states)
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
            "played": [expert.name for expert in self._experts],
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
            if header["played"] != [expert.name for expert in learner._experts]:
                raise ValueError(f"its experts are {header['played']}, which this version does not play")
            learner._restore(header["features"], tensors)
            learner.feature_names_ = header["names"]
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"{path}: is not a complete learner ({error}); save it again") from error
        return learner

    def __repr__(self) -> str:
        given = f"Auto(experts={self.experts})" if self.experts is not None else "Auto()"
        return given + self._told()

    # ---- within

    def _rows(self, X: object, single: bool = False) -> Rows:
        return Rows(X, intercept=False, widest=LONGEST, width=self.n_features_, names=self._names, single=single)

    def _logits(self, rows: Rows) -> Vector:
        if self._views is None:
            return np.zeros(len(rows))
        return np.array([predict_row(*self._predicting, x) for _, chunk in rows for x in chunk])

    def _learn(self, rows: Rows, labels: Vector, weights: object, logits: object) -> Vector:
        stakes = as_weights(weights, rows, LONGEST, HEAVIEST)
        late = as_logits(logits, len(rows))
        if self._views is None:
            self._begin(rows.width)
        announced = np.empty(len(rows))
        for start, chunk in rows:
            first = 0
            while first < len(chunk):
                X = chunk[first : first + min(TOGETHER, REVIEW - self.rounds % REVIEW)]
                part = slice(start + first, start + first + len(X))
                self._play(X, labels[part], stakes[part], late[part], announced[part])
                first += len(X)
        return sigmoid_many(announced)

    def _play(self, X: Matrix, labels: Vector, stakes: Vector, late: Vector, announced: Vector) -> None:
        """Views of the rows, then expert after expert, then the mixture: none looks at the one behind it."""
        views = cast(Views, self._views).of_rows(X)
        Z = np.zeros((len(X), len(self._experts)))
        for i, (expert, state) in enumerate(zip(self._experts, self._states, strict=True)):
            if self._mixture.prior[i] > 0.0:
                z = np.full(len(X), math.nan)
                play(state, views[expert.kind], labels, stakes, z)
                Z[:, i] = z
        combine_rows(self._mixture.board, Z, labels, stakes, announced)
        announced[...] = np.where(np.isnan(late), announced, late)
        losses = softplus_many(np.where(labels == 1.0, -announced, announced))
        self._tally += np.array([len(X), stakes.sum(), stakes @ losses, np.count_nonzero(~np.isnan(late))])
        self._review()

    def _review(self) -> None:
        """Every few thousand rows, let those retire to whom nobody has listened since the last time.

        One that forgets stays, for the day the world changes, and so does the first certified one.
        """
        if self._tally.item(ROUNDS) % REVIEW:
            return
        unheard = self._mixture.unheard()
        for i, expert in enumerate(self._experts):
            if unheard[i] and self._unheard[i] and expert.forgetting == 1.0 and i > 0:
                self._mixture.retire(i)
        self._unheard[:] = unheard

    def _play_one(self, x: Vector, label: float) -> float | None:
        """The probability announced; None if x is no row. An expert that would lose digits is factored, and goes on."""
        first = 0
        while True:
            outcome = learn_row(*cast(Any, (*cast(Any, self._one), x, label, first)))
            if outcome == DONE:
                self._review()
                return self._z.item(-1)
            if outcome < 0:
                return None
            self._states[outcome].factor()
            first = outcome

    def _begin(self, width: int) -> None:
        views = Views(width)
        self._settle(views, [State(expert.game, views.widths[expert.kind]) for expert in self._experts])

    def _settle(self, views: Views, states: list[State]) -> None:
        """Lay the experts out side by side in one hall."""
        starts = np.cumsum([0] + [State.size(state.width) for state in states])
        hall = np.zeros(starts[-1])
        self._states = []
        for state, first, last in zip(states, starts[:-1], starts[1:], strict=True):
            moved = State(state.game, state.width, hall[first:last])
            self._states.append(moved.holding(state.P, state.w, state.tally, factored=state.factored))
        self._views = views
        self._hall = hall
        kinds = np.array([expert.kind for expert in self._experts])
        seen = (views.columns, views.totals, views.directions, views.phases)
        board = self._mixture.board
        self._one = (*seen, views.row, hall, starts, kinds, board, self._z, self._tally)
        self._predicting = (*seen, hall, starts, kinds, board)

    def _arrays(self) -> dict[str, Vector]:
        arrays = {"tally": self._tally, "board": self._mixture.board, "unheard": self._unheard}
        if self._views is not None:
            views = self._views
            arrays |= {"hall": self._hall, "columns": views.columns, "totals": views.totals}
            arrays |= {"directions": views.directions, "phases": views.phases}
        return arrays

    def _restore(self, features: int | None, arrays: dict[str, Vector]) -> None:
        if features is not None:
            if arrays["columns"].shape != (4, features):  # before anything of that width is made
                raise ValueError(f"{features} columns, of shape {arrays['columns'].shape}")
            self._begin(features)
        expected = self._arrays()
        shapes = {name: array.shape for name, array in arrays.items()}
        if shapes != {name: array.shape for name, array in expected.items()}:
            raise ValueError(f"its arrays have shapes {shapes}")
        for name, array in expected.items():
            array[...] = arrays[name]

    def __getstate__(self) -> dict[str, Any]:
        return {"experts": self.experts, "features": self.n_features_, "names": self._names, "arrays": self._arrays()}

    def __setstate__(self, contents: dict[str, Any]) -> None:
        fresh = type(self)(contents["experts"])
        self.__dict__.update(fresh.__dict__)
        self._restore(contents["features"], contents["arrays"])
        self._names = contents["names"]
