"""AIOLI for any number of classes."""

from collections.abc import Sequence
from typing import Self

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.learners.classes.base import ClassRowsLearner
from aioli.learners.parameters import require_number, with_parameters, written_parameters
from aioli.learners.protocol import Capability
from aioli.learners.remembering import Remembering
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.class_labels import Classes, Codes
from aioli.outcomes.spec import GameSpec
from aioli.snapshots.tree import Plain, Snapshot
from aioli.states.certificate import Certificate
from aioli.states.classes.full import FullState

__all__ = ["ClassAIOLI"]


class ClassAIOLI(Remembering, ClassRowsLearner):
    r"""AIOLI for K classes: `AIOLI(classes=[…])` and `AIOLI(classes="any")` make one.

    A model is a matrix W of one row a contrast between classes (`numerics.helmert`) and one column a feature; its
    probabilities are $\operatorname{softmax}(EWx)$. For every W with $\|W\|_F \le B$, on any stream whatever, with
    $D = (K-1)d$ and R the largest ‖x‖:

    $$\sum_t \ell_t - \sum_t \ell_t(W) \le \lambda\|W\|^2
      + \tfrac14(1+\tau)(\log K + \sqrt2BR + 2)\,D\log\Bigl(1 + \frac{nR^2}{D\lambda}\Bigr)$$

    Parameters
    ----------
    radius
        B: the regret is bounded against every W of this norm.
    ridge
        λ: half the prior precision; None is 1/B².
    forgetting
        ρ: 1 never forgets; below 1 the state drifts back to its prior by this factor a row.
    intercept
        Whether every row has a further column of ones.
    classes
        The labels of all classes; or "any": classes appear as they come, and a class that nobody has seen has a
        probability too, the escape (`outcomes.escape`).

    Examples
    --------
    >>> from aioli import AIOLI
    >>> learner = AIOLI(classes="any")
    >>> for x, y in [([1.0], "red"), ([-1.0], "blue"), ([1.1], "red"), ([0.0], "green")]:
    ...     p = learner.learn([*x], y)
    >>> learner.classes_
    ['red', 'blue', 'green']
    >>> learner.predict([1.0]).round(2)
    array([0.11, 0.02, 0.17])
    """

    capabilities = ClassRowsLearner.capabilities | {Capability.GROWS}

    def __init__(
        self,
        radius: float = 4.0,
        ridge: float | None = None,
        forgetting: float = 1.0,
        intercept: bool = True,
        classes: Classes = "any",
    ) -> None:
        self.radius, self.ridge, self.forgetting, self.intercept, self.classes = (
            radius,
            ridge,
            forgetting,
            intercept,
            classes,
        )
        B = require_number("radius", radius)
        self._spec = GameSpec(
            radius=B,
            ridge=require_number("ridge", ridge) if ridge is not None else 1.0 / max(B * B, 1e-300),
            regulariser=0.5,
            curvature="tight",
            forgetting=require_number("forgetting", forgetting),
            intercept=bool(intercept),
        )
        super().__init__(classes, intercept=self._spec.intercept, widest=self._spec.widest_row)
        self._state: FullState | None = None

    # ---- playing

    def _begin(self, width: int) -> None:
        self._state = FullState(self._spec, width + self._spec.intercept, len(self._labels))

    def _log_probabilities(self, X: Matrix) -> Matrix:
        return self._known_state.predict(X)

    def _play(self, X: Matrix, codes: Codes, stakes: Vector) -> Matrix:
        return self._known_state.play(X, codes, stakes)

    def _add_class(self) -> None:
        self._known_state.add_class()

    @property
    def _known_state(self) -> FullState:
        assert self._state is not None
        return self._state

    # ---- what it knows

    def certificate(self, tight: bool = False) -> Certificate:
        """Return nats of regret, against every W of the ball, that the run itself proves not to have been exceeded.

        O(1), and valid at any time; `tight` solves a trust-region problem for a smaller one. Where classes appeared,
        W is scored, row by row, on the classes seen so far.
        """
        state = self._state or FullState(self._spec, 1, 0)
        nats, theorem = state.certificate(tight)
        excess = self._loss - state.loss
        return Certificate(nats + excess, self._spec.radius, self._rounds, theorem)

    @property
    def n_features_(self) -> int | None:
        """How many columns a row has, the intercept not counted; None before the first row."""
        return None if self._state is None else self._state.width - self._spec.intercept

    @property
    def coefficients_(self) -> Matrix:
        """The centre of what it knows, one row a class, which add up to 0; the intercept first, where there is one."""
        if self._state is None:
            return np.empty((len(self._labels), 0))
        return np.asarray(self._state.E @ self._state.w.reshape(-1, self._state.width))

    # ---- its life

    def grow(self, columns: int, names: Sequence[str] | None = None) -> Self:
        """Make room for new columns, exactly as if they had been there, and 0, from the first row."""
        names_after = self._names_after_growing(columns, names)
        if self._state is not None:
            self._state.grow(columns)
        self._names = names_after
        return self

    def snapshot(self) -> Snapshot:
        """Return the parameters, the classes, what is counted, and the state where rows have come."""
        values: dict[str, Plain] = {"parameters": self._played(), **self._counts()}
        parts = {"labels": self._labels.snapshot()}
        if self._state is not None:
            parts["state"] = self._state.snapshot()
        return Snapshot(type(self).__name__, values, parts=parts)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal learner from a snapshot; it goes on bit for bit the same."""
        given = snapshot.of(cls.__name__)
        learner = with_parameters(cls, given)
        if "state" in given.parts:
            state = FullState.restore(given.part("state"))
            if state.spec != learner._spec:
                raise SnapshotRefused(f"in a {given.kind}, the state is of another game, {state.spec}")
            learner._state = state
        learner._restore_counts(given)
        if learner._state is not None and learner._state.classes != len(learner._labels):
            raise SnapshotRefused(f"in a {given.kind}, the state knows {learner._state.classes} classes")
        return learner

    def _played(self) -> dict[str, Plain]:
        """Return the parameters of the game itself, whatever the attributes have been set to since."""
        spec = self._spec
        return {
            "radius": spec.radius,
            "ridge": None if self.ridge is None else spec.ridge,
            "forgetting": spec.forgetting,
            "intercept": spec.intercept,
            "classes": self._labels.given,
        }

    def __repr__(self) -> str:
        return f"{type(self).__name__}({written_parameters(self)}){self._repr_suffix()}"
