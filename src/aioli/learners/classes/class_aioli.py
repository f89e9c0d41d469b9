"""AIOLI for any number of classes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy import ndarray

from aioli.errors import ParameterRefused, SnapshotRefused
from aioli.learners.classes.announcements import LateClasses
from aioli.learners.classes.class_rows import ClassRows, ClassRowsLearner
from aioli.learners.parameters import require_number, with_parameters, written_parameters
from aioli.learners.protocol import Capability
from aioli.learners.remembering import Remembering
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.class_labels import Classes, Codes, Label
from aioli.outcomes.spec import GameSpec
from aioli.outcomes.two_classes import Tally
from aioli.snapshots.tree import Plain, Snapshot
from aioli.states.certificate import Certificate
from aioli.states.classes.from_two import spec_of_many
from aioli.states.classes.full import FullState
from aioli.states.classes.protocol import ClassState
from aioli.states.classes.shared_game import SharedGame
from aioli.states.classes.single_row import play_one, predict_one
from aioli.states.classes.structure import Structure, make_state, require_structure, restore_state, state_of_two
from aioli.states.classes.tree import TreeState
from aioli.states.dense.state import State

if TYPE_CHECKING:
    from aioli.learners.classes.device_class_aioli import DeviceClassAIOLI

__all__ = ["ClassAIOLI"]

AGAINST = {"tree": "one model a node", "one_vs_rest": "one model a class, scored as games of two classes"}


class ClassAIOLI(Remembering, ClassRowsLearner):
    r"""AIOLI for K classes: `AIOLI(classes=[…])` and `AIOLI(classes="any")` make one.

    A model is a matrix W of one row a contrast between classes (`numerics.helmert`) and one column a feature; its
    probabilities are $\operatorname{softmax}(EWx)$. For every W with $\|W\|_F \le B$, on any stream whatever, with
    $D = (K-1)d$, R the largest ‖x‖, and τ = 0.01:

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
    structure
        "full" is the softmax above, O(D²) a row. "tree" is nested choices between two, and "one_vs_rest" each class
        against the rest: O(Kd²), with certificates of their own. "shared" has one matrix for all classes, O(d² + Kd),
        which proves what its gradients do, and no theorem (`states.classes.shared_game`). None is "full" up
        to D = 512 and K = 32, and nests the classes beyond; `structure_` says what it came to.

    Examples
    --------
    >>> from aioli import AIOLI
    >>> learner = AIOLI(classes="any")
    >>> for x, y in [([1.0], "red"), ([-1.0], "blue"), ([1.1], "red"), ([0.0], "green")]:
    ...     p = learner.learn(x, y)
    >>> learner.classes_
    ['red', 'blue', 'green']
    >>> learner.predict([1.0]).round(2)                                  # a fourth class has the rest
    array([0.2 , 0.03, 0.29])
    """

    capabilities = ClassRowsLearner.capabilities | {Capability.GROWS, Capability.MERGES}

    def __init__(
        self,
        radius: float = 4.0,
        ridge: float | None = None,
        forgetting: float = 1.0,
        intercept: bool = True,
        classes: Classes = "any",
        structure: Structure | None = None,
    ) -> None:
        self.radius, self.ridge, self.forgetting = radius, ridge, forgetting
        self.intercept, self.classes, self.structure = intercept, classes, structure
        require_structure(structure)
        B = require_number("radius", radius)
        self._spec = GameSpec(
            radius=B,
            ridge=require_number("ridge", ridge) if ridge is not None else 1.0 / max(B * B, 1e-300),
            regulariser=0.5,
            curvature="tight",
            forgetting=require_number("forgetting", forgetting),
            intercept=bool(intercept),
        )
        if structure == "shared" and self._spec.forgetting != 1.0:
            message = "a matrix that classes share does not forget; leave out forgetting, or structure"
            raise ParameterRefused(message, parameter="forgetting", value=forgetting)
        super().__init__(classes, intercept=self._spec.intercept, widest=self._spec.widest_row)
        self._structure = structure
        self._state: ClassState | None = None
        self._alone: FullState | None = None  # the state where it is one full softmax, for single rows

    # ---- one row

    def predict(self, x: object) -> Vector:
        """Return the probability of each class; changes nothing."""
        full = self._alone
        if full is not None and type(x) is ndarray:
            p = np.empty(full.classes)
            try:
                if predict_one(full.P, full.w, full.spec.packed, full.E, x, self.escape, p):
                    return p
            except TypeError:  # another type of number, or another layout
                pass
        return super().predict(x)

    def learn(
        self, x: object, y: object, weight: float = 1.0, logits: object = None, announced: LateClasses = None
    ) -> Vector:
        """Learn from one row and its label; returns the probabilities announced before the label.

        A `weight` multiplies the row's loss; where the label comes late, `announced` is what `announce` gave, or
        `logits` what `predict_logits` said.
        """
        full = self._alone
        if full is not None and logits is None and announced is None and weight == 1.0 and type(x) is ndarray:
            code = self._labels.code_of(y)
            if code >= 0:
                p = np.empty(full.classes)
                try:
                    loss = play_one(full.P, full.w, full.tally, full.spec.packed, full.E, x, code, self.escape, p)
                except TypeError:  # another type of number, or another layout
                    loss = np.nan
                if loss == loss:
                    self._rounds += 1
                    self._loss += loss
                    self._unseen.meet(code)
                    return p
        return super().learn(x, y, weight, logits, announced)

    # ---- playing

    def _begin(self, width: int) -> None:
        self._set(make_state(self._structure, self._spec, width + self._spec.intercept, len(self._labels)))

    def _set(self, state: ClassState) -> None:
        self._state = state
        self._look()

    def _look(self) -> None:
        """Find whether single rows can take the short way."""
        state = self._state
        root = state.root if isinstance(state, TreeState) and not state.nodes else state
        self._alone = root if isinstance(root, FullState) and root.classes and not root.factored else None

    def _log_probabilities(self, X: Matrix) -> Matrix:
        return self._known_state.predict(X)

    def _log_probabilities_unseen(self, rows: ClassRows) -> Matrix:
        if self._structure in ("full", "one_vs_rest", "shared"):
            return super()._log_probabilities_unseen(rows)
        fresh = make_state(self._structure, self._spec, rows.width + self._spec.intercept, len(self._labels))
        return np.concatenate([fresh.predict(chunk) for _, chunk in rows])

    def _play(self, X: Matrix, codes: Codes, stakes: Vector) -> Matrix:
        said = self._known_state.play(X, codes, stakes)
        self._look()
        return said

    def _add_class(self, x: Vector) -> None:
        self._known_state.add_class(x)

    @property
    def _known_state(self) -> ClassState:
        assert self._state is not None
        return self._state

    # ---- what it knows

    def certificate(self, tight: bool = False) -> Certificate:
        """Return nats of regret, against every model of the ball, that the run proves not to have been exceeded.

        O(1), and valid at any time; `tight` solves a trust-region problem for a smaller one. Where classes appeared, a
        model is scored, row by row, on the classes seen so far. Its `against` says which models those of a tree, or of
        one class against the rest, are.
        """
        state = self._state or make_state(self._structure, self._spec, 1, len(self._labels))
        nats, theorem = state.certificate(tight)
        nested = isinstance(state, TreeState) and bool(state.nodes)
        against = AGAINST["tree"] if nested else AGAINST.get(self._structure or "", "")
        against = "" if self._structure == "tree" and not nested else against
        excess = self._loss - state.loss
        return Certificate(nats + excess, self._spec.radius, self._rounds, self._promised(theorem), against)

    @property
    def _shared_game(self) -> SharedGame | None:
        """The state where all classes share one matrix; None of another structure, and before the first row."""
        return self._state if isinstance(self._state, SharedGame) else None

    @property
    def structure_(self) -> str:
        """What is played: a full softmax, a tree of so many nodes, or one class against the rest."""
        return "nothing yet" if self._state is None else self._state.described

    @property
    def n_features_(self) -> int | None:
        """How many columns a row has, the intercept not counted; None before the first row."""
        return None if self._state is None else self._state.width - self._spec.intercept

    @property
    def coefficients_(self) -> Matrix | None:
        """The centre of what a full softmax knows, one row a class, which add up to 0; None for other structures.

        The intercept's coefficient is the first, where there is one.
        """
        full = self._state.root if isinstance(self._state, TreeState) and not self._state.nodes else self._state
        return full.E @ full.w.reshape(-1, full.width) if isinstance(full, FullState) else None

    # ---- its life

    @classmethod
    def going_on(
        cls,
        state: State,
        names: list[str] | None,
        labels: tuple[Label, Label],
        classes: Classes,
        structure: Structure | None,
    ) -> Self:
        """Make the learner that a game of two classes goes on as; `labels` are what 0 and 1 meant."""
        spec = spec_of_many(state.spec)
        learner = cls(spec.radius, spec.ridge, spec.forgetting, spec.intercept, classes, structure)
        places, new = learner._labels.encode(list(labels), 2)
        learner._labels.add(new)
        learner._set(state_of_two(structure, state, len(learner._labels), places))
        learner._unseen.begin_after(int(state.tally[Tally.ROUNDS]), len(learner._labels))
        learner._rounds, learner._loss = int(state.tally[Tally.ROUNDS]), float(state.tally[Tally.LOSS])
        learner._names = names
        return learner

    def grow(self, columns: int, names: Sequence[str] | None = None) -> Self:
        """Make room for new columns, exactly as if they had been there, and 0, from the first row."""
        names_after = self._names_after_growing(columns, names)
        if self._state is not None:
            self._state.grow(columns)
            self._look()
        self._names = names_after
        return self

    def to(self, device: object) -> "DeviceClassAIOLI":
        """Return the learner that goes on from what this one knows on a device of PyTorch; this one stays as it is.

        For declared classes that share one matrix, `structure="shared"`.
        """
        from aioli.learners.classes.device_class_aioli import DeviceClassAIOLI

        return DeviceClassAIOLI.of(self, device)

    def merge(self, other: Self) -> Self:
        """Take in what another learner of the same parameters learned from other rows; classes are found by label.

        The result is the state that the definition gives to both games, and its certificate is for both together.
        """
        alike = isinstance(other, ClassAIOLI) and self._spec == other._spec and self._structure == other._structure
        if not alike or self._labels.open != other._labels.open:
            message = f"{other!r} plays by other rules than {self!r}; give both the same parameters"
            raise ParameterRefused(message, parameter="other", value=other)
        places, new = self._labels.encode(other.classes_, len(other.classes_))
        if self._state is not None and other._state is not None:
            if self._state.width != other._state.width:
                message = f"{other.n_features_} columns cannot merge into {self.n_features_}; grow() the narrower one"
                raise ParameterRefused(message, parameter="other", value=other)
            self._set(self._state.merged(other._state, places))
        elif other._state is not None:
            self._set(restore_state(other._state.snapshot()))
        self._labels.add(new)
        self._rounds += other._rounds
        self._unseen.merge(other._unseen, places)
        self._late += other._late
        self._loss += other._loss
        self._names = self._names or other._names
        return self

    def snapshot(self) -> Snapshot:
        """Return the parameters, the classes, what is counted, and the state where rows have come."""
        values: dict[str, Plain] = {"parameters": self._played(), **self._counts()}
        state = {} if self._state is None else {"state": self._state.snapshot()}
        return Snapshot(type(self).__name__, values, parts=self._parts | state)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal learner from a snapshot; it goes on bit for bit the same."""
        learner = with_parameters(cls, snapshot.of(cls.__name__))
        if "state" in snapshot.parts:
            learner._set(restore_state(snapshot.part("state")))
        learner._restore_counts(snapshot)
        state = learner._state
        if state is not None and (state.spec != learner._spec or state.classes != len(learner._labels)):
            raise SnapshotRefused(f"in a {snapshot.kind}, the state is of another game, of {state.classes} classes")
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
            "structure": self._structure,
        }

    def __repr__(self) -> str:
        return f"{type(self).__name__}({written_parameters(self)}){self._repr_suffix()}"
