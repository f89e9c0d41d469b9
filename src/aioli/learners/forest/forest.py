"""Forest: online trees, each aggregated over all its prunings, and what they say together."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from aioli.errors import AnnouncementRefused, CapabilityMissing, SnapshotRefused
from aioli.learners.announcements import Delayed
from aioli.learners.base import RowsLearner
from aioli.learners.classes.class_forest import ClassForest
from aioli.learners.counted import CountsTotals
from aioli.learners.parameters import require_whole, with_parameters, written_parameters
from aioli.learners.parametrised import Parametrised
from aioli.learners.protocol import Capability
from aioli.learners.remembering import Remembering
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid_many, softplus_many
from aioli.outcomes.class_labels import Classes
from aioli.snapshots.tree import Snapshot
from aioli.states.certificate import Certificate
from aioli.states.forest.kinds import MEMBERS
from aioli.states.forest.state import ForestState
from aioli.states.mixture.combination import Combination
from aioli.streams.rows import Rows, as_logits, as_weights

__all__ = ["Forest"]

WIDEST = 1e150  # the length of a row: its square is still a number
HEAVIEST = 1e6  # a weight that costs no tree its digits


class Forest(Parametrised, Remembering, CountsTotals, RowsLearner[Rows]):
    r"""Online trees for a world that bends: no parameter to tune, no unit that matters, a bounded memory.

    Each tree grows with every row (a Mondrian process on ranks), and predicts by all of its prunings at once, which
    costs at most ln 2 nats a node over the best of them, whatever comes (`states.forest.trees`). Four kinds of trees
    prefer columns that have spoken of the label more or less, and one forgets. A linear model in the nodes on a row's
    paths learns what several trees say together, and the mixture and stackers of `Auto` combine all of it.

    Parameters
    ----------
    trees
        How many trees. Time and memory are proportional to it; more are better, ever more slowly.
    classes
        None is the game of two classes, 0 and 1, with one probability a row. A list of labels, or "any", makes a
        `ClassForest` in place of this learner, with one probability a class.

    Attributes
    ----------
    feature_names_
        Names of the columns, for messages and saved files; None until given.

    Notes
    -----
    A row takes O(trees × depth × d). A tree has at most 2,048 nodes, all together take at most 32 MiB; a forest
    that grows columns keeps the nodes that it has. No certificate against linear models: use `Auto` for one. `predict`
    may be called from several threads; `learn` may not.

    Examples
    --------
    >>> import numpy as np
    >>> from aioli import Auto, Forest
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = X[:, 0] * X[:, 1] > 0                 # no line divides these
    >>> forest = Forest()
    >>> p = forest.learn_many(X, y)               # each row's probability before its label
    >>> bool(-np.log(np.where(y, p, 1 - p)).mean() < 0.2)
    True

    References
    ----------
    Mourtada, Gaïffas, Scornet. AMF: Aggregated Mondrian forests for online learning. JRSS B 83, 2021.
    """

    capabilities = (RowsLearner.capabilities - {Capability.CERTIFIES}) | {Capability.GROWS, Capability.MIXES}

    def __new__(cls, trees: int = 20, classes: Classes | None = None) -> Any:
        """Make a learner of two classes, or the `ClassForest` of the classes given."""
        return super().__new__(cls) if classes is None else ClassForest(trees, classes)

    def __init__(self, trees: int = 20, classes: Classes | None = None) -> None:  # noqa: ARG002  (see `__new__`)
        super().__init__()
        self.trees = require_whole("trees", trees, 1)
        self._state: ForestState | None = None
        self._combination = Combination(np.ones(len(MEMBERS)))
        self._totals: Vector = np.zeros(3)

    def certificate(self, tight: bool = False) -> Certificate:
        """Refuse: a forest proves nothing against linear models."""
        del tight
        raise CapabilityMissing("Forest has no certificate against linear models; Auto() has one, and hears a forest")

    @property
    def n_features_(self) -> int | None:
        """How many columns a row has; None before the first row."""
        return None if self._state is None else self._state.width

    @property
    def weights_(self) -> dict[str, float]:
        """How much each member is heard now."""
        return dict(zip(MEMBERS, self._combination.shares.tolist(), strict=True))

    @property
    def memory_(self) -> int:
        """Bytes of the trees and of the sample of rows."""
        return 0 if self._state is None else self._state.bytes

    def grow(self, columns: int, names: Sequence[str] | None = None) -> Self:
        """Make room for new columns, exactly as if they had been there, and 0, from the first row. O(memory)."""
        names_after = self._names_after_growing(columns, names)
        if self._state is not None:
            self._state = self._state.grown(columns)
        self._names = names_after
        return self

    def snapshot(self) -> Snapshot:
        """Return the number of trees, the totals, the trees and their combination."""
        parts = {"combination": self._combination.snapshot(), **self._ledger_part}
        if self._state is not None:
            parts["state"] = self._state.snapshot()
        values = {"parameters": {"trees": self.trees}, "names": self._names}
        return Snapshot(type(self).__name__, values, {"totals": self._totals.copy()}, parts)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal learner from a snapshot; it goes on bit for bit the same."""
        given = snapshot.of(cls.__name__)
        learner = with_parameters(cls, given)
        learner._totals[...] = given.array("totals", (3,))
        learner._combination = Combination.restore(given.part("combination"), learner._combination.members)
        if "state" in given.parts:
            learner._state = ForestState.restore(given.part("state"))
            if learner._state.trees != learner.trees or learner._state.classes != 2:
                raise SnapshotRefused(f"in a Forest of {learner.trees} trees, there are {learner._state.trees}")
        learner._take_names(given)
        return learner

    def __repr__(self) -> str:
        written = f"Forest({written_parameters(self, without=('classes',))})"
        if not self.rounds:
            return written
        return (
            f"{written}  # {self.rounds} rows of {self.n_features_} columns, {self.loss / self.rounds:.4f} nats a row"
        )

    # ---- within

    def _rows(self, X: object, single: bool = False) -> Rows:
        return Rows(X, intercept=False, widest=WIDEST, width=self.n_features_, names=self._names, single=single)

    def _asked(self, rows: Rows) -> Matrix:
        """Return each member's log-odds of each row, as if it came next."""
        if self._state is None:
            return np.zeros((len(rows), self._combination.members))
        return np.concatenate([self._state.consult_odds(chunk) for _, chunk in rows])

    def _logits(self, rows: Rows) -> Vector:
        return self._combination.logits(self._asked(rows))

    def _announce(self, rows: Rows) -> tuple[Vector, Matrix]:
        return self._combination.announce(self._asked(rows))

    def _learn(self, rows: Rows, labels: Vector, weights: object, logits: object) -> Vector:
        late = as_logits(logits, len(rows))
        return self._learn_rows(rows, labels, as_weights(weights, rows, WIDEST, HEAVIEST), late, None)

    def _answer(self, rows: Rows, labels: Vector, weights: object, delayed: Delayed) -> None:
        if delayed.memory.shape[1] != self._combination.memory_width:
            raise AnnouncementRefused("the announcements are of another kind of learner (nothing was learned)")
        self._learn_rows(rows, labels, as_weights(weights, rows, WIDEST, HEAVIEST), delayed.logits, delayed)

    def _learn_rows(self, rows: Rows, labels: Vector, weights: Vector, late: Vector, delayed: Delayed | None) -> Vector:
        if self._state is None:
            self._state = ForestState(rows.width, 2, self.trees)
        announced = np.empty(len(rows))
        for start, chunk in rows:
            part = slice(start, start + len(chunk))
            y, omega = labels[part], weights[part]
            Z = self._state.play_odds(chunk, y, omega)
            kept = (None, None) if delayed is None else (delayed.memory[part], delayed.late[part])
            said = self._combination.answer(Z, y, omega, *kept)
            said = np.where(np.isnan(late[part]), said, late[part])
            losses = softplus_many(np.where(y == 1.0, -said, said))
            self._totals += np.array([len(y), omega.sum(), omega @ losses])
            announced[part] = said
        return sigmoid_many(announced)

    def _forget_announcing(self) -> None:
        self._combination.forget_announcing()
