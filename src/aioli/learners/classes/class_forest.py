"""Forest for any number of classes."""

from collections.abc import Sequence
from typing import Self

import numpy as np

from aioli.errors import CapabilityMissing, SnapshotRefused
from aioli.learners.classes.class_rows import ClassRowsLearner
from aioli.learners.parameters import require_whole, with_parameters, written_parameters
from aioli.learners.parametrised import Parametrised
from aioli.learners.protocol import Capability
from aioli.learners.remembering import Remembering
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.class_labels import Classes, Codes
from aioli.snapshots.tree import Plain, Snapshot
from aioli.states.certificate import Certificate
from aioli.states.classes.forest import ClassForestState
from aioli.states.forest.kinds import MEMBERS

__all__ = ["ClassForest"]

WIDEST = 1e150  # the length of a row: its square is still a number


class ClassForest(Parametrised, Remembering, ClassRowsLearner):
    """Online trees for any number of classes: `Forest(classes=[…])` and `Forest(classes="any")` make one.

    The trees of `Forest` count K classes in every node; their members (four kinds of trees, all together, and a softmax
    in the nodes on a row's paths) are combined by the mixture and the stackers of `Auto` for many classes.

    Parameters
    ----------
    trees
        How many trees. Time and memory are proportional to it; more are better, ever more slowly.
    classes
        The labels of all classes; or "any": classes appear as they come, and a class that nobody has seen has a
        probability too, the escape (`outcomes.escape`).

    Notes
    -----
    A row takes O(trees × depth × (d + K)). All nodes together take at most 32 MiB: where classes become so many that
    there is no room for those in use, the trees are made anew from a sample of a thousand rows. No certificate against
    linear models: use `Auto` for one.

    Examples
    --------
    >>> import numpy as np
    >>> from aioli import Forest
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 2))
    >>> y = np.array(["centre", "ring", "outside"])[np.digitize(np.hypot(*X.T), [0.8, 1.5])]
    >>> forest = Forest(classes="any")
    >>> p = forest.learn_many(X, y)
    >>> right = np.array(forest.classes_)[p.argmax(axis=1)] == y
    >>> bool(right[500:].mean() > 0.9)
    True
    """

    capabilities = (ClassRowsLearner.capabilities - {Capability.CERTIFIES}) | {Capability.GROWS, Capability.MIXES}

    def __init__(self, trees: int = 20, classes: Classes = "any") -> None:
        super().__init__(classes, intercept=False, widest=WIDEST)
        self.trees, self.classes = require_whole("trees", trees, 1), classes
        self._state: ClassForestState | None = None

    # ---- playing

    def _begin(self, width: int) -> None:
        self._state = ClassForestState(width, len(self._labels), self.trees)

    def _log_probabilities(self, X: Matrix) -> Matrix:
        said = np.empty((len(X), self._playing.classes))
        self._playing.consult(X, said)
        return said

    def _play(self, X: Matrix, codes: Codes, stakes: Vector) -> Matrix:
        said = np.empty((len(X), self._playing.classes))
        self._playing.play(X, codes, stakes, said)
        return said

    def _add_class(self, x: Vector) -> None:  # noqa: ARG002  (the base's signature)
        self._playing.add_class()

    @property
    def _playing(self) -> ClassForestState:
        assert self._state is not None
        return self._state

    # ---- what it knows

    def certificate(self, tight: bool = False) -> Certificate:
        """Refuse: a forest proves nothing against linear models."""
        del tight
        raise CapabilityMissing("Forest has no certificate against linear models; Auto(classes=…) has one")

    @property
    def n_features_(self) -> int | None:
        """How many columns a row has; None before the first row."""
        return None if self._state is None else self._state.width

    @property
    def weights_(self) -> dict[str, float]:
        """How much each member is heard now; the shares of the classes so far have the rest."""
        shares = np.full(len(MEMBERS), 1.0 / len(MEMBERS)) if self._state is None else self._state.mixture.shares
        return dict(zip(MEMBERS, shares.tolist(), strict=False))

    @property
    def memory_(self) -> int:
        """Bytes of the trees and of the sample of rows."""
        return 0 if self._state is None else self._state.forest.bytes

    # ---- its life

    def grow(self, columns: int, names: Sequence[str] | None = None) -> Self:
        """Make room for new columns, exactly as if they had been there, and 0, from the first row. O(memory)."""
        names_after = self._names_after_growing(columns, names)
        if self._state is not None:
            self._state = self._state.grown(self._state.width + columns, np.arange(self._state.width))
        self._names = names_after
        return self

    def snapshot(self) -> Snapshot:
        """Return the number of trees, the classes, what is counted, the trees and their mixture."""
        values: dict[str, Plain] = {"parameters": {"trees": self.trees, "classes": self._labels.given}}
        state = {} if self._state is None else {"state": self._state.snapshot()}
        return Snapshot(type(self).__name__, values | self._counts(), parts=self._parts | state)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal learner from a snapshot; it goes on bit for bit the same."""
        learner = with_parameters(cls, snapshot.of(cls.__name__))
        if "state" in snapshot.parts:
            learner._state = ClassForestState.restore(snapshot.part("state"))
        learner._restore_counts(snapshot)
        state = learner._state
        if state is not None and (state.trees, state.classes) != (learner.trees, len(learner._labels)):
            raise SnapshotRefused(f"in a {snapshot.kind}, {state.trees} trees of {state.classes} classes are another's")
        return learner

    def __repr__(self) -> str:
        return f"Forest({written_parameters(self)}){self._repr_suffix()}"
