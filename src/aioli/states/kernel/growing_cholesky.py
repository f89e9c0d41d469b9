r"""The state of the kernel form: a triangular factor that grows by a row a round, and knows only inner products.

Where AIOLI keeps $P = A^{-1}$ and w, this keeps $P = \tfrac1\lambda(I - \Phi^\top M\Phi)$ with
$M^{-1} = K + \mathrm{diag}(2\lambda/h_s) = LL^\top$, Φ the rows so far in the kernel's own space, $K = \Phi\Phi^\top$.
For a row x, with $k_x$ its kernel with every row so far:

$$g = L^{-1}k_x, \qquad v = \frac{k(x,x) - \|g\|^2}\lambda, \qquad m = \beta^\top g$$

and once the label is answered (γ and α as in every form of the learner) L grows by the row $(g^\top, d)$ and β by a
number, $d = \sqrt{\lambda/\gamma}$, $\beta_t = \alpha d/\lambda$. One triangular solve a row, O(t²), and no second
one for the weights: $w = \Phi^\top L^{-\top}\beta$ is never formed. Forgetting, $M \leftarrow \rho M$, makes the row
$(\rho^{t-s}g_s)_s$ and $\|g\|^2$ the sum of $\rho^{t-s}g_s^2$; β and what is written of L stay as they are.
"""

import copy
import math
from typing import Self

import numpy as np
from scipy import linalg

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.outcomes.spec import GameSpec, Rule
from aioli.outcomes.two_classes import Tally, count_round, play_round
from aioli.snapshots.tree import Snapshot
from aioli.states.kernel.surrogates import SLOPE, TOUCH, touching_point

__all__ = ["LEVERAGE", "LOG_DET", "NOISE", "PANEL", "ROUNDING", "GrowingCholesky"]

PANEL = 128  # rows of L that lie together, and that `learn_many` plays at once
LOG_DET = len(Tally)  # where the tally has Σ log(1 + hv/2) = log det(I + diag(h/2λ) K)
ROUNDING = 1e-6  # the share of k(x,x) by which rounding may make v negative; a kernel that does more is none
STIFFEST = 1e140  # of d: where h underflows, the row still moves the mean, and teaches nothing about v
BETA, NOISE, DIAGONAL, LEVERAGE = range(4)


class GrowingCholesky:
    """L in panels of rows, β, the noise 2λ/h of each row, and the tally: all that the rounds need beside the kernel.

    L takes 4t² bytes, is never copied, and nothing that was written is written again: a `draft` shares it.
    """

    def __init__(self, spec: GameSpec) -> None:
        self.spec = spec
        self.count = 0
        self.tally: Vector = np.zeros(len(Tally) + 1)
        self.panels: list[Matrix] = []  # the i-th has PANEL rows of L, as long as the last of them
        self.ledger: Matrix = np.zeros((PANEL, 4))  # a row each: β, 2λ/h, k(x,x), and its leverage once asked for
        self.levers = 0  # how many have been asked for
        self.surrogates: Matrix | None = np.zeros(
            (PANEL, 2)
        )  # z and g of each row; None where an older file lacks them

    def draft(self) -> Self:
        """Return the same state, to play on with and keep or drop: it writes beyond what the original reads. O(t)."""
        draft = copy.copy(self)
        draft.tally, draft.panels = self.tally.copy(), list(self.panels)
        return draft

    def snapshot(self) -> Snapshot:
        """Return the rules, the factor, panel by panel, and what is known of each row. O(t²)."""
        panels = {
            f"factor {i}": panel[: min(PANEL, self.count - i * PANEL)].copy() for i, panel in enumerate(self.panels)
        }
        arrays = {"ledger": self.ledger[: self.count].copy(), "tally": self.tally.copy(), **panels}
        if self.surrogates is not None:
            arrays["surrogates"] = self.surrogates[: self.count].copy()
        values = {"count": self.count, "levers": self.levers, "with surrogates": self.surrogates is not None}
        return Snapshot("GrowingCholesky", values, arrays, {"spec": self.spec.snapshot()})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal state from a snapshot. O(t²)."""
        snapshot.of("GrowingCholesky")
        state = cls(GameSpec.restore(snapshot.part("spec")))
        state.count, state.levers = snapshot.whole("count"), snapshot.whole("levers")
        if state.levers > state.count:
            raise SnapshotRefused(f"in a GrowingCholesky, {state.levers} leverages are known of {state.count} rows")
        starts = range(0, state.count, PANEL)
        for i, start in enumerate(starts):
            rows = snapshot.array(f"factor {i}", (min(PANEL, state.count - start), start + PANEL))
            state.panels.append(np.zeros((PANEL, start + PANEL)))
            if not (np.diagonal(rows, offset=start) > 0.0).all():
                raise SnapshotRefused(f"in a GrowingCholesky, the array 'factor {i}' is of no positive matrix")
            state.panels[i][: len(rows)] = rows
        state.ledger = np.zeros((max(len(starts), 1) * PANEL, state.ledger.shape[1]))
        state.ledger[: state.count] = snapshot.totals("ledger", (state.count, state.ledger.shape[1]), [BETA])
        state.tally[:] = snapshot.totals("tally", state.tally.shape, [Tally.REGRET])
        state.surrogates = None
        if "with surrogates" in snapshot.values and snapshot.flag("with surrogates"):
            state.surrogates = np.zeros((len(state.ledger), 2))
            state.surrogates[: state.count] = snapshot.array("surrogates", (state.count, 2))
        return state

    @property
    def room(self) -> int:
        """Return how many rows can be played at once."""
        return PANEL - self.count % PANEL

    @property
    def beta(self) -> Vector:
        r"""Return β, in which $m = \beta^\top g$."""
        return self.ledger[: self.count, BETA]

    @property
    def diagonal(self) -> Vector:
        """Return k(x, x) of each row so far."""
        return self.ledger[: self.count, DIAGONAL]

    def decay(self) -> Vector:
        r"""Return $\rho^{t-s}$: how much of each row is still remembered."""
        decay: Vector = self.spec.forgetting ** np.arange(self.count, 0, -1.0)
        return decay

    def whiten(self, K: Matrix) -> Matrix:
        r"""Return $g = L^{-1}k$ for each row of K. O(t²) a row, at the speed of matrix products where rows are many."""
        G: Matrix = np.array(K, dtype=np.float64, order="C")
        for i, panel in enumerate(self.panels):
            start = i * PANEL
            rows = min(PANEL, self.count - start)
            if len(G) == 1:
                substitute(panel, rows, G[0])
                continue
            stop = start + rows
            right = G[:, start:stop] - G[:, :start] @ panel[:rows, :start].T
            corner = panel[:rows, start:stop]
            G[:, start:stop] = linalg.solve_triangular(corner, right.T, lower=True, check_finite=False).T
        return G

    def moments(self, K: Matrix, diagonal: Vector) -> tuple[Vector, Vector]:
        r"""Return m and λv of rows, given their kernel with the rows so far and with themselves. O(t²) a row."""
        G = self.whiten(K)
        return G @ self.beta, diagonal - (G * G) @ self.decay()

    def play(self, K: Matrix, own: Matrix, y: Vector, weights: Vector, logits: Vector) -> int:
        """Play at most `room` rows in order, all or none; return how many come before one whose v is clearly negative.

        K is their kernel with the rows so far, `own` that among themselves; `logits` as in every form of the learner.
        """
        G = self.whiten(K)
        decay = self.decay()
        m = G @ self.beta
        powers: Vector = self.spec.forgetting ** np.arange(float(len(y)))
        square = own - powers * ((G * decay) @ G.T)  # column j: what the rows before j leave
        norms = np.sqrt(np.diagonal(own))
        entries = np.empty((len(y), LEVERAGE))
        entries[:, DIAGONAL] = np.diagonal(own)
        tally, touches = self.tally.copy(), np.empty((len(y), 2))
        played = play_square(square, m, self.spec.packed, powers, norms, y, weights, logits, entries, touches, tally)
        if played < len(y):
            return int(played)
        start = self.count - self.count % PANEL
        if start == self.count:
            self.panels.append(np.zeros((PANEL, start + PANEL)))
        rows = slice(self.count - start, self.count - start + len(y))
        self.panels[-1][rows, : self.count] = powers[:, None] * decay * G
        self.panels[-1][rows, self.count : self.count + len(y)] = square
        after = self.count + len(y)
        if after > len(self.ledger):
            self.ledger = np.concatenate([self.ledger, np.zeros_like(self.ledger)])
            if self.surrogates is not None:
                self.surrogates = np.concatenate([self.surrogates, np.zeros_like(self.surrogates)])
        self.ledger[self.count : after, :LEVERAGE] = entries
        if self.surrogates is not None:
            self.surrogates[self.count : after] = touches
        self.count, self.tally = after, tally
        return len(y)

    def factor(self) -> Matrix:
        """Return the whole of L. O(t²)."""
        L = np.zeros((self.count, self.count))
        for i, panel in enumerate(self.panels):
            rows = L[i * PANEL : (i + 1) * PANEL]
            rows[:, : (i + 1) * PANEL] = panel[: len(rows), : self.count]
        return L

    def inverse_rows(self, start: int, stop: int) -> Matrix:
        """Return these rows of the inverse of L, of one panel, up to their diagonal. O(t²) a row."""
        C = np.zeros((stop - start, stop))
        C[:, start:] = np.eye(stop - start)
        for i in range(start // PANEL, -1, -1):
            first, last = i * PANEL, min((i + 1) * PANEL, stop)
            corner = self.panels[i][: last - first, first:last]
            part = linalg.solve_triangular(corner, C[:, first:last].T, lower=True, trans="T", check_finite=False).T
            C[:, first:last] = part
            C[:, :first] -= part @ self.panels[i][: last - first, :first]
        return C


@compiled("void(f8[:,::1],i8,f8[::1])", reassociate=True)
def substitute(panel: Matrix, rows: int, g: Vector) -> None:
    """Turn the panel's part of g from k into the solution, given the parts before it. O(t) a row of the panel."""
    start = panel.shape[1] - panel.shape[0]
    for r in range(rows):
        total = 0.0
        for j in range(start + r):
            total += panel[r, j] * g[j]
        g[start + r] = (g[start + r] - total) / panel[r, start + r]


@compiled(
    "i8(f8[:,::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[:,::1],f8[:,::1],f8[::1])",
    reassociate=True,
)
def play_square(
    square: Matrix,
    m: Vector,
    rules: Vector,
    powers: Vector,
    norms: Vector,
    y: Vector,
    weights: Vector,
    logits: Vector,
    entries: Matrix,
    touches: Matrix,
    tally: Vector,
) -> int:
    """Play b rows knowing what earlier rows leave of their kernel; `square` becomes their corner of L. O(b²) a row."""
    ridge = rules[Rule.RIDGE]
    for j in range(m.size):
        left = square[j, j]
        if not left >= -ROUNDING * norms[j] * norms[j]:
            return j
        v = max(left, 0.0) / ridge
        touches[j, TOUCH], touches[j, SLOPE] = touching_point(rules, m[j], v, y[j], weights[j])
        z, gamma, alpha, inst, loss, v_after = play_round(rules, m[j], v, norms[j], y[j], weights[j], logits[j])
        d = STIFFEST
        if gamma > 0.0:
            d = min(math.sqrt(ridge / gamma), STIFFEST)
        square[j, j] = d
        beta = alpha * d / ridge
        shrunk = v_after / v if v > 0.0 else 1.0  # 1/(1 + hv/2)
        entries[j, BETA] = beta
        entries[j, NOISE] = d * d * shrunk  # 2λ/h without the cancellation of d² - λv
        for i in range(j + 1, m.size):
            square[i, j] /= d
            m[i] += square[i, j] * beta
            for q in range(j + 1, i + 1):
                square[i, q] -= powers[q - j] * square[q, j] * square[i, j]
        count_round(tally, weights[j], loss, inst, norms[j], logits[j])
        tally[LOG_DET] += -math.log1p(-gamma * v) if gamma * v < 0.5 else -math.log(shrunk)
        logits[j] = z
    for i in range(m.size):
        for j in range(i):
            square[i, j] *= powers[i - j]
            square[j, i] = 0.0
    return m.size
