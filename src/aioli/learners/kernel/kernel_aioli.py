"""AIOLI in the space of a kernel: the same game, from inner products alone."""

import math
import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from typing import Self

import numpy as np
from scipy import sparse

from aioli.errors import AioliError, CapabilityMissing, ParameterRefused, SnapshotRefused
from aioli.learners.base import RowsLearner
from aioli.learners.classes.one_vs_rest import TakesClasses
from aioli.learners.game_parameters import game_of
from aioli.learners.kernel.functions import Function, Kernel
from aioli.learners.kernel.memory import KernelMemory, tables_of
from aioli.learners.parameters import as_given, with_parameters, written_parameters
from aioli.learners.parametrised import Parametrised
from aioli.learners.protocol import Capability
from aioli.learners.remembering import RemembersParts
from aioli.numerics.compiling import Vector
from aioli.numerics.logistic import sigmoid_many
from aioli.numerics.threads import one_blas_thread
from aioli.outcomes.class_labels import Classes
from aioli.outcomes.spec import Curvature
from aioli.outcomes.two_classes import Tally
from aioli.snapshots.tree import Plain, Snapshot
from aioli.states.certificate import Certificate
from aioli.states.kernel.certificate import dimension_at, dimension_learned, running_certificate, tight_certificate
from aioli.states.kernel.growing_cholesky import GrowingCholesky
from aioli.streams.rows import Rows, as_logits, as_weights
from aioli.streams.sparse_rows import SparseRows

__all__ = ["KernelAIOLI"]

WIDEST = 1e100  # of a row's columns, well below where a square would overflow; the kernel's space has its own limit


class KernelAIOLI(TakesClasses, Parametrised, RemembersParts, RowsLearner[Rows | SparseRows]):
    r"""AIOLI with a kernel: curved boundaries, the same rounds, and the same kind of bound.

    With $k_x$ the kernel of x with the t rows so far, K that among them, and $D = \mathrm{diag}(2\lambda/h_s)$, a round
    is AIOLI's with

    $$v = \frac{k(x,x) - k_x^\top(K + D)^{-1}k_x}\lambda, \qquad m = k_x^\top(K+D)^{-1}u,
      \qquad u_s = z_s + \frac{y_s - p_s}{h_s}$$

    by a Cholesky factor that grows: O(t²) a row, and 4t² bytes in all. It is exact: with the linear kernel it is AIOLI.
    For every function f of norm ‖f‖ ≤ B in the kernel's space, on any stream, with $R^2$ the largest k(x,x), the
    intercept's 1 counted in, and c ≥ ½:

    $$\sum_t \ell_t - \sum_t \ell_t(f) \le \lambda\|f\|^2 + c(1+BR)\log\det(I + D^{-1}K)$$

    Parameters
    ----------
    kernel
        "rbf", "laplacian", "poly" or "linear", as in `sklearn.metrics.pairwise`; or a function k(X, Y) of two matrices
        of rows that gives the matrix of all pairs, such as those of scikit-learn. It is handed NumPy arrays, or CSR
        arrays once a sparse row has been learned from.
    gamma
        γ of the kernels that have one; None is 1 over the number of columns of the first row.
    degree, coef0
        Of the polynomial kernel $(\gamma x^\top y + c_0)^p$.
    radius, ridge, regulariser, curvature, forgetting
        B, λ, c, h and ρ: see `AIOLI`.
    intercept
        Whether 1 is added to the kernel: a constant, and a coordinate of f like any other.
    budget
        The most rows it may keep, since memory grows with their square (10,000 rows are 400 MB); None is no limit.
    classes
        None is the game of two classes, 0 and 1, with one probability a row. A list of labels, or "any", makes a
        `OneVsRest` of this learner, with one probability a class.

    Attributes
    ----------
    feature_names_
        Names of the columns, for messages, saved files and reports; None until given.

    Notes
    -----
    Sparse rows stay sparse. v is a difference, whose rounding error is about 1e-16·k(x,x)/λ: rows for which that is
    beyond 1e-6 are refused. A row of weight 0 is kept like any other. `predict` may be called from several threads;
    `learn` may not.

    Examples
    --------
    >>> import numpy as np
    >>> from aioli import AIOLI, KernelAIOLI
    >>> X = np.random.default_rng(0).normal(size=(600, 2))
    >>> y = (X**2).sum(axis=1) > 1.4                 # a ring around a disc
    >>> for learner in (AIOLI(), KernelAIOLI()):
    ...     p = learner.learn_many(X, y)             # each row's probability before its label
    ...     print(f"{-np.log(np.where(y, p, 1 - p)).mean():.3f} nats a row")
    0.706 nats a row
    0.188 nats a row
    >>> learner.certificate()
    Certificate(46.4203 nats against ‖θ‖ ≤ 4 over 600 rows)
    >>> print(f"{learner.effective_dimension_:.1f} dimensions learned")
    17.6 dimensions learned
    """

    capabilities = RowsLearner.capabilities | {Capability.GROWS, Capability.SPARSE_ROWS}

    def __init__(
        self,
        kernel: str | Function = "rbf",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        radius: float = 4.0,
        ridge: float | None = None,
        regulariser: float = 1.0,
        curvature: Curvature = "tight",
        forgetting: float = 1.0,
        intercept: bool = True,
        budget: int | None = 10_000,
        *,
        classes: Classes | None = None,  # noqa: ARG002  (None here: `__new__` has made a `OneVsRest` of others)
    ) -> None:
        super().__init__()
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.radius = radius
        self.ridge = ridge
        self.regulariser = regulariser
        self.curvature = curvature
        self.forgetting = forgetting
        self.intercept = intercept
        self.budget = budget
        self._spec = game_of(radius, ridge, regulariser, curvature, forgetting, intercept)
        self._kernel = Kernel(kernel, gamma, degree, coef0)
        if budget is not None and not (isinstance(budget, (int, np.integer)) and budget >= 1):
            raise ParameterRefused.unlike("budget", budget, "a whole number of rows, at least 1, or None")
        if not isinstance(kernel, str):  # a file does not hold it, and it may not take columns of zeros for nothing
            self.capabilities = self.capabilities - {Capability.GROWS, Capability.SAVES}
        self._memory: KernelMemory | None = None

    # ---- what it knows

    def certificate(self, tight: bool = False) -> Certificate:
        """Return nats of regret, against every function of the ball, that the run itself proves not exceeded.

        O(1), and valid at any time. `tight` solves a trust-region problem in the span of the rows for a smaller one,
        O(t³). Its `theorem` is the bound above, with the log-determinant of this run.
        """
        if self._memory is None:
            return running_certificate(GrowingCholesky(self._spec))
        if not tight:
            return running_certificate(self._memory.state)
        with one_blas_thread():
            K = self._memory.whole_kernel()
            return tight_certificate(self._memory.state, K, self._memory.length(K))

    @property
    def effective_dimension_(self) -> float:
        r"""Return $\mathrm{Tr}\,K(K+D)^{-1}$: how many directions of the kernel's space have been learned so far.

        O(t²) for each row since it was last asked for (with forgetting, and a kernel of all rows), and nothing for
        whoever does not ask.
        """
        if self._memory is None:
            return 0.0
        with one_blas_thread():
            return dimension_learned(self._memory.state, self._memory.kernel_columns)

    def effective_dimension(self, ridge: float | None = None) -> float:
        r"""Return $d_\mathrm{eff}(\lambda) = \mathrm{Tr}\,K(K+\lambda I)^{-1}$, λ being `ridge` or its own. O(t³)."""
        at = self._spec.ridge if ridge is None else ridge
        if not at > 0.0:
            raise ParameterRefused.unlike("ridge", ridge, "a number above 0, or None for the learner's own")
        if self._memory is None:
            return 0.0
        with one_blas_thread():
            return dimension_at(self._memory.whole_kernel(), at)

    @property
    def rounds(self) -> int:
        """Return how many rows it has learned from, and keeps."""
        return 0 if self._memory is None else self._memory.state.count

    @property
    def loss(self) -> float:
        """Return the sum of its losses so far, in nats."""
        return 0.0 if self._memory is None else float(self._memory.state.tally[Tally.LOSS])

    @property
    def n_features_(self) -> int | None:
        """Return how many columns a row has; None before the first row."""
        return None if self._memory is None else self._memory.kept.width

    @property
    def gamma_(self) -> float | None:
        """Return γ as it is used; None until the first row says how many columns there are."""
        gamma = self._kernel.gamma if self._memory is None else self._memory.kernel.gamma
        return None if gamma is None else float(gamma)

    # ---- its life

    def grow(self, columns: int, names: Sequence[str] | None = None) -> Self:
        """Make room for new columns, exactly as if they had been there, and 0, from the first row; γ stays. O(td)."""
        names_after = self._names_after_growing(columns, names)
        if not isinstance(self._kernel.kernel, str):
            raise CapabilityMissing(
                "a kernel of one's own may not take columns of zeros for nothing; only named ones grow"
            )
        if self._memory is not None:
            self._memory = self._memory.widened(columns)
        self._names = names_after
        return self

    def snapshot(self) -> Snapshot:
        """Return all that it remembers; a kernel that is a function is null there, and must be given to `restore`."""
        kernel = self._kernel.kernel if isinstance(self._kernel.kernel, str) else None
        values: dict[str, Plain] = {"kernel": kernel, "parameters": self._played(), "names": self._names}
        parts = self._ledger_part | ({} if self._memory is None else {"memory": self._memory.snapshot()})
        return Snapshot(type(self).__name__, values, parts=parts)

    @classmethod
    def restore(cls, snapshot: Snapshot, kernel: Function | None = None) -> Self:
        """Make an equal learner from a snapshot, with its kernel where that is a function."""
        name = snapshot.of(cls.__name__).values.get("kernel")
        if name is None and kernel is None:
            raise ParameterRefused(
                "its kernel is a function, which no file holds; give it: load(path, kernel=…)", parameter="kernel"
            )
        if name is not None and kernel is not None:
            raise ParameterRefused(f"its kernel is {name!r}; load it without another", parameter="kernel", value=kernel)
        learner = with_parameters(partial(cls, snapshot.text("kernel") if kernel is None else kernel), snapshot)
        if "memory" in snapshot.parts:
            learner._memory = KernelMemory.restore(snapshot.part("memory"), learner._kernel)
            if learner._memory.state.spec != learner._spec:
                raise SnapshotRefused(f"in a KernelAIOLI, the state is of another game, {learner._memory.state.spec}")
        learner._take_names(snapshot)
        return learner

    @classmethod
    def load(cls, path: str | os.PathLike[str], kernel: Function | None = None) -> Self:
        """Read a learner that `save` wrote, with its kernel where that is a function. Runs no code from the file."""
        return cls._load(path, partial(cls.restore, kernel=kernel))

    def _played(self) -> dict[str, Plain]:
        """Return the parameters as the game has them, but for the kernel."""
        kernel = self._kernel
        played = asdict(self._spec) | {
            "ridge": None if self.ridge is None else self._spec.ridge,
            "gamma": None if kernel.gamma is None else float(kernel.gamma),
            "degree": int(kernel.degree),
            "coef0": float(kernel.coef0),
            "budget": None if self.budget is None else int(self.budget),
        }
        return as_given(self, played)

    def __repr__(self) -> str:
        return f"KernelAIOLI({written_parameters(self, without=('classes',))}){self._repr_suffix()}"

    # ---- within

    def _rows(self, X: object, single: bool = False) -> Rows | SparseRows:
        """Return Rows or SparseRows: what is sparse stays so."""
        border = SparseRows if sparse.issparse(X) else Rows
        return border(X, intercept=False, widest=WIDEST, width=self.n_features_, names=self._names, single=single)

    def _logits(self, rows: Rows | SparseRows) -> Vector:
        if self._memory is None:
            return np.zeros(len(rows))
        with one_blas_thread() if len(rows) > 1 else nullcontext():
            return np.concatenate(
                [self._memory.logits(X, None if rows.single else start) for start, X in tables_of(rows)]
            )

    def _learn(self, rows: Rows | SparseRows, labels: Vector, weights: object, logits: object) -> Vector:
        stakes = as_weights(weights, rows, math.inf)
        announced = as_logits(logits, len(rows))
        if self.budget is not None and self.rounds + len(rows) > self.budget:
            raise AioliError(
                f"{self.rounds} rows are kept and {len(rows)} more came, beyond the budget of {self.budget}: memory "
                "grows with their square. Raise the budget, or use Nystrom or RandomFeatures, whose memory stays "
                "(nothing was learned)"
            )
        known = self._memory or KernelMemory.empty(self._kernel, rows.width, self._spec)
        memory = known.draft()  # dropped where a row is refused
        with one_blas_thread() if len(rows) > 1 else nullcontext():
            for start, X in tables_of(rows):
                part = slice(start, start + X.shape[0])
                memory.play(X, labels[part], stakes[part], announced[part], None if rows.single else start)
        self._memory = memory
        return sigmoid_many(announced)
