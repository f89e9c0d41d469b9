"""Wide: the learner for rows of ten thousand to a million columns of which most are 0."""

import math
from collections.abc import Sequence
from typing import Self

import numpy as np

from aioli.errors import AnnouncementRefused, ParameterRefused, SnapshotRefused
from aioli.learners.announcements import Announcement, Delayed, Late
from aioli.learners.base import RowsLearner
from aioli.learners.classes.one_vs_rest import TakesClasses
from aioli.learners.parameters import with_parameters
from aioli.learners.parametrised import Parametrised
from aioli.learners.protocol import Capability
from aioli.learners.remembering import Remembering
from aioli.learners.wide_experts import EXPERTS
from aioli.learners.wide_rows import LONGEST, canonical_row, hashed
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid, sigmoid_many
from aioli.outcomes.class_labels import Classes
from aioli.snapshots.tree import Plain, Snapshot
from aioli.states.certificate import Certificate
from aioli.states.mixture.late_loops import MEMORY
from aioli.states.sparse.loops import WideTally
from aioli.states.sparse.state import WideState
from aioli.states.sparse.views import VIEWS
from aioli.streams.rows import LABELS, as_logits, as_weights, is_logit
from aioli.streams.sparse_rows import SparseChunk, SparseRows

__all__ = ["Wide"]

HEAVIEST = 1e6  # a weight that costs no expert its digits
RADIUS = 4.0  # of the certificate's ball
MOST_BITS = 30


class Wide(TakesClasses, Parametrised, Remembering, RowsLearner[SparseRows]):
    r"""Online logistic regression for wide and sparse rows: words, clicks, one-hot categories. Nothing to tune.

    AIOLI's matrix has d² entries; here an expert keeps of it a diagonal and the mean row (`states.sparse.diagonal`),
    and takes each step to where it ends, so that correlated words cannot throw it. Ten of them, on three views of the
    row that do not depend on the unit of a column (`states.sparse.views`), play beside naive Bayes in the mixture of
    `Auto`:

    $$\sum_t \ell_t \le \sum_t \ell_{t,i} + \ln\frac{11}{0.4} + 1.11\ln\frac{n+9}{9} \quad \text{for every expert } i,$$

    on any data. Time O(K nnz + K²) a row and memory O(K d), K = 10: 360 bytes for a column that was met, never d².

    Parameters
    ----------
    hashing
        None keeps every column apart, and all rows have one width. b puts the columns into 2^b buckets by a hash of
        their number: rows may have any width, new columns need no `grow`, and memory stays below 360·2^b bytes.
    experts
        A budget: how many of the ten to play, the most useful first. None plays all. Time and memory go with it.
    classes
        None is the game of two classes, 0 and 1, with one probability a row. A list of labels, or "any", makes a
        `OneVsRest` of this learner, with one probability a class.

    Notes
    -----
    Rows may be SciPy's sparse arrays, which are never made dense, or dense arrays. Multiplying a column by a positive
    constant changes no prediction but by rounding. What is 0 is absent. `predict` may be called from several threads;
    `learn` may not. What the certificate proves is said at `certificate`.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from aioli import Wide
    >>> rng = np.random.default_rng(0)
    >>> words = np.minimum(rng.zipf(1.2, size=(3000, 40)), 50_000) - 1      # 40 of 50,000 words, some often
    >>> X = sparse.csr_array((np.ones(words.size), words.ravel(), np.arange(3001) * 40), shape=(3000, 50_000))
    >>> y = X @ rng.normal(size=50_000) + rng.logistic(size=3000) > 0
    >>> learner = Wide()
    >>> p = learner.learn_many(X, y)                # each row's probability before its label
    >>> print(f"{-np.log(np.where(y, p, 1 - p)).mean():.2f} nats a row")
    0.51 nats a row
    >>> print(f"regret below {learner.certificate():.0f} nats against every model of norm 4")
    regret below 62 nats against every model of norm 4
    """

    capabilities = RowsLearner.capabilities | {Capability.GROWS, Capability.MIXES, Capability.SPARSE_ROWS}

    def __init__(
        self,
        hashing: int | None = None,
        experts: int | None = None,
        *,
        classes: Classes | None = None,  # noqa: ARG002  (None here: `__new__` has made a `OneVsRest` of others)
    ) -> None:
        super().__init__()
        if hashing is not None and not (type(hashing) is int and 1 <= hashing <= MOST_BITS):
            raise ParameterRefused(
                f"hashing is {hashing!r}; it must be a number of bits from 1 to {MOST_BITS}, or None",
                parameter="hashing",
                value=hashing,
            )
        if experts is not None and not (type(experts) is int and 1 <= experts <= len(EXPERTS)):
            raise ParameterRefused(
                f"experts is {experts!r}; it must be a whole number from 1 to {len(EXPERTS)}, or None for all",
                parameter="experts",
                value=experts,
            )
        self.hashing = hashing
        self.experts = experts
        self._experts = EXPERTS[:experts]
        self._state = WideState(
            kinds=np.array([VIEWS.index(expert.view) for expert in self._experts], dtype=np.int64),
            ridge=np.array([expert.ridge for expert in self._experts]),
            forgetting=np.array([expert.forgetting for expert in self._experts]),
        )

    # ---- one row

    def predict(self, x: object) -> float:
        """Return the probability that the row's label is 1; changes nothing. O(K nnz)."""
        return sigmoid(self.predict_logit(x))

    def predict_logit(self, x: object) -> float:
        """Return the log-odds of `predict`: what to remember, with the row, until a late label comes. O(K nnz)."""
        entries = self._entries(x)
        if entries is None:
            return float(self._logits(self._rows(x, single=True))[0])
        return self._state.predict(entries).item()

    def announce(self, x: object) -> Announcement:
        """Return the probability of `predict` and all that the label will need, to be kept until it comes. O(K nnz)."""
        entries = self._entries(x)
        if entries is None:
            return super().announce(x)
        logits, kept = self._state.announce(entries)
        return self._ledger.issue_one(self._state.tally.item(WideTally.ROUNDS), logits.item(), kept[0])

    def learn(
        self, x: object, y: object, weight: float = 1.0, logit: float | None = None, announced: Late = None
    ) -> float:
        """Learn from one row and its label; returns the probability announced before the label. O(K nnz).

        `weight`, `logit` and `announced` as in `AIOLI.learn`.
        """
        try:
            label = LABELS.get(y)
        except TypeError:  # not even hashable: the border says what is wrong
            label = None
        known = logit is None or (announced is None and is_logit(logit))
        plain = weight == 1.0 and known and label is not None
        entries = self._entries(x) if plain else None
        if entries is None:
            return self._learn_one(x, y, weight, logit, announced)
        if announced is not None:
            return self._learn_one_late(entries, label, announced)
        said = np.array([math.nan if logit is None else logit])
        self._state.play(entries, np.array([label]), np.ones(1), said)
        return sigmoid(said.item())

    def _learn_one_late(self, row: SparseChunk, label: float | None, announced: Announcement) -> float:
        """Learn a row that was announced, and is in canonical form."""
        self._ledger.settle_one(announced)
        try:
            late = self._ledger.late_one(announced, self._state.tally.item(WideTally.ROUNDS))
            kept = self._kept(np.empty((1, 0)) if announced.memory is None else announced.memory[None])
            self._state.play(row, np.array([label]), np.ones(1), np.array([announced.logit]), kept, np.array([late]))
        except BaseException:
            self._ledger.reopen_one(announced)
            raise
        return announced.probability

    # ---- what it knows

    def certificate(self, tight: bool = False, radius: float = RADIUS) -> Certificate:
        r"""Return nats of regret, against every linear model of rows of unit length, proven not to have been exceeded.

        The models are $\theta_0 + \theta^\top x/\|x\|$ with ‖θ‖ ≤ `radius`, the intercept counted in. The loss is
        convex, so $\sum g_t z_t + B\|\sum g_t\bar x_t\|$ bounds the regret of whatever was announced
        (`states.sparse.loops`): weights, drift and late labels are covered, and so is every radius at once. It is the
        run's own proof and no theorem: nothing is promised beforehand. `tight` has nothing to add here. O(d).
        """
        del tight
        if not 0.0 <= radius < math.inf:
            raise ParameterRefused(
                f"radius is {radius!r}; it must be a finite number of at least 0", parameter="radius", value=radius
            )
        return self._state.certificate(radius)

    @property
    def rounds(self) -> int:
        """How many rows it has learned from."""
        return int(self._state.tally[WideTally.ROUNDS])

    @property
    def loss(self) -> float:
        """The sum of its losses so far, in nats."""
        return float(self._state.tally[WideTally.LOSS])

    @property
    def n_features_(self) -> int | None:
        """How many columns a row has; None before the first row, and with hashing, where a row may have any number."""
        return self._state.width if self.hashing is None else None

    @property
    def weights_(self) -> dict[str, float]:
        """How much of the mixture each expert holds now."""
        names = [*(expert.name for expert in self._experts), "naive Bayes"]
        return dict(zip(names, self._state.shares.tolist(), strict=True))

    @property
    def memory_(self) -> int:
        """Bytes of all that it keeps; of columns that were never met, most systems give none."""
        return self._state.bytes

    # ---- its life

    def grow(self, columns: int, names: Sequence[str] | None = None) -> Self:
        """Make room for new columns, exactly as if they had been there, and 0, from the first row. O(K) a column."""
        names_after = self._names_after_growing(columns, names)
        if self.n_features_ is not None:
            self._state.make_room(self.n_features_ + columns)
        self._names = names_after
        return self

    def snapshot(self) -> Snapshot:
        """Return the parameters, the names of the columns, and the state without the columns that were never met."""
        parameters: dict[str, Plain] = {"hashing": self.hashing, "experts": self.experts}
        values: dict[str, Plain] = {"parameters": parameters, "names": self._names}
        return Snapshot(type(self).__name__, values, parts={"state": self._state.snapshot(), **self._ledger_part})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal learner from a snapshot; it goes on bit for bit the same."""
        given = snapshot.of(cls.__name__)
        learner = with_parameters(cls, given)
        state = WideState.restore(given.part("state"))
        if not state.has_experts_of(learner._state):
            raise SnapshotRefused(f"in a {given.kind}, the experts are others than those that this version plays")
        if learner.hashing is not None and state.width not in (None, 1 << learner.hashing):
            raise SnapshotRefused(f"in a {given.kind}, {state.width} buckets are not 2^{learner.hashing}")
        learner._state = state
        learner._take_names(given)
        return learner

    def __repr__(self) -> str:
        return f"Wide(hashing={self.hashing}, experts={self.experts}){self._repr_suffix()}"

    # ---- within

    def _rows(self, X: object, single: bool = False) -> SparseRows:
        names = self._names if self.hashing is None else None
        rows = SparseRows(X, intercept=False, widest=LONGEST, width=self.n_features_, names=names, single=single)
        return rows if self.hashing is None else hashed(rows, self.hashing)

    def _entries(self, x: object) -> SparseChunk | None:
        """Return a single row that is in canonical form already; None for any other."""
        return None if self._state.width is None else canonical_row(x, self._state.width, self.hashing)

    def _logits(self, rows: SparseRows) -> Vector:
        if self._state.width is None:
            return np.zeros(len(rows))
        return np.concatenate([self._state.predict(chunk) for _, chunk in rows])

    def _learn(self, rows: SparseRows, labels: Vector, weights: object, logits: object) -> Vector:
        row_weights = as_weights(weights, rows, LONGEST, HEAVIEST)
        announced = as_logits(logits, len(rows))
        self._make_room(rows)
        for start, chunk in rows:
            part = slice(start, start + len(chunk.norms))
            self._state.play(chunk, labels[part], row_weights[part], announced[part])
        return sigmoid_many(announced)

    def _make_room(self, rows: SparseRows) -> None:
        if self._state.width is None:
            self._state.make_room(rows.width)

    def _announce(self, rows: SparseRows) -> tuple[Vector, Matrix]:
        parts = [self._state.announce(chunk) for _, chunk in rows]
        return np.concatenate([logits for logits, _ in parts]), np.concatenate([kept for _, kept in parts])

    def _kept(self, memory: Matrix) -> Matrix:
        """Return a copy of the announcements' memory, which learning overwrites."""
        if memory.shape[1] != len(self._experts) + 1 + MEMORY:
            raise AnnouncementRefused("the announcements are of another kind of learner (nothing was learned)")
        return memory.copy()

    def _answer(self, rows: SparseRows, labels: Vector, weights: object, delayed: Delayed) -> None:
        row_weights = as_weights(weights, rows, LONGEST, HEAVIEST)
        kept, late = self._kept(delayed.memory), delayed.late
        self._make_room(rows)
        logits = delayed.logits.copy()
        for start, chunk in rows:
            part = slice(start, start + len(chunk.norms))
            self._state.play(chunk, labels[part], row_weights[part], logits[part], kept[part], late[part])

    def _forget_announcing(self) -> None:
        self._state.late = None
