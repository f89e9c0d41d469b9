r"""The dense state on a device of PyTorch: a GPU's matrix products, and the scalar part of every round on the CPU.

A block of rows is the same exact game as in `blocks`. Between device and CPU go, for each `inner` rows, one array
each way: their inner products and centres, $[K; w]X^\top$, and what the rounds do to the state,
$M = [\sqrt\Gamma T; \alpha^\top T]$, of which $MK$ is both the factor of the downdate and the step of w.
"""

from typing import Any, Self

import numpy as np

from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.pytorch import Tensor, pytorch, require_device
from aioli.numerics.root import root_many
from aioli.outcomes.spec import GameSpec
from aioli.outcomes.two_classes import Tally
from aioli.snapshots.tree import Snapshot
from aioli.states.dense.squares import play_square, square_effect
from aioli.states.dense.state import State

__all__ = ["DeviceState"]

INNER = 64  # rows that the CPU plays between two copies
OUTER = 1024, 256  # rows that share one product with P, where P is too large for a cache and where it is not
CACHED = 4096  # columns from which P is too large
PANELS = 8  # parts in which half of the downdate is computed
LEAST_PANEL = 1024  # columns below which one product for all of it is faster


class DeviceState:
    """Holds P and w on a device; the running totals stay with the CPU. It is made from a `State`, and turns into one.

    The factored form is not for devices: a state that needs it goes on as a `State`.
    """

    def __init__(self, spec: GameSpec, width: int, device: object) -> None:
        self.torch = torch = pytorch()
        self.device = require_device(device)
        self.spec, self.width = spec, width
        self.rules: Vector = np.array(spec.packed, np.float64)
        self.tally: Vector = np.zeros(len(Tally))
        try:
            self._take_memory()
        except torch.cuda.OutOfMemoryError as error:
            needed = (8.0 * width * width) / 2**30
            told = f"{width:,} columns need {needed:.1f} GiB on {self.device} for P alone; use fewer, or Wide"
            raise MemoryError(f"{told} ({str(error).splitlines()[0]})") from None

    def _take_memory(self) -> None:
        """Take all the memory that a block needs: none runs out of it half-way."""
        torch, width, spec = self.torch, self.width, self.spec
        self._outer = OUTER[width < CACHED]
        self._panel = max(LEAST_PANEL, -(-self.width // PANELS))
        numbers = {"dtype": torch.float64, "device": self.device}
        self.P: Tensor = torch.eye(width, **numbers).div_(spec.ridge)
        self._w: Tensor = torch.zeros(width, **numbers)
        self._w_after: Tensor = self._w.clone()
        self._X: Tensor = torch.zeros((self._outer, self.width), **numbers)
        self._K: Tensor = torch.zeros((self._outer, self.width), **numbers)
        self._sizes: Tensor = torch.zeros((2, self._outer), **numbers)  # ‖x‖ and Σ x_i² P_ii
        self._corner: Tensor = torch.zeros((min(self._panel, self.width),) * 2, **numbers)
        self._effect: Tensor = torch.zeros((INNER + 1) * INNER, **numbers)
        pinned = self.device.type == "cuda"
        self._down: Tensor = torch.zeros((INNER + 3) * INNER, dtype=torch.float64, pin_memory=pinned)
        self._up: Tensor = torch.zeros((INNER + 1) * INNER, dtype=torch.float64, pin_memory=pinned)
        self._graphs: dict[int, Any] = {}
        self._full_blocks = 0  # played so far: the first is not recorded, since PyTorch makes itself ready in it

    @classmethod
    def of(cls, state: State, device: object) -> Self:
        """Return the equal state on a device; it must not be factored."""
        there = cls(state.spec, state.width, device)
        there.P.copy_(there.torch.from_numpy(state.P))
        there._w.copy_(there.torch.from_numpy(state.w))
        there.tally[...] = state.tally
        return there

    @property
    def w(self) -> Vector:
        """The centre, on the CPU."""
        return np.array(self._w.cpu().numpy())

    def to_state(self) -> State:
        """Return the equal state of the CPU."""
        return State(self.spec, self.width).overwrite(self.P.cpu().numpy(), self.w, self.tally, factored=False)

    def snapshot(self) -> Snapshot:
        """Return the snapshot of the equal state of the CPU: files do not know of devices."""
        return self.to_state().snapshot()

    def precision(self) -> Matrix:
        """Return A, as a `State` does."""
        return self.to_state().precision()

    def logits(self, X: Tensor) -> Vector:
        """Return the log-odds of each row, as if it came next. O(d²) each."""
        torch = self.torch
        v = torch.sum((X @ self.P) * X, dim=1).cpu().numpy()
        return root_many((X @ self._w).cpu().numpy(), 0.5 * self.spec.regulariser * np.maximum(v, 0.0))

    def play(self, X: Tensor, y: Vector, weights: Vector, logits: Vector) -> int:
        """Play the rows in order; return how many: fewer than came where the next block would cost P its digits."""
        for first in range(0, len(y), self._outer):
            rows = slice(first, first + self._outer)
            if not self._play_block(X[rows], y[rows], weights[rows], logits[rows]):
                return first
        return len(y)

    def _play_block(self, X: Tensor, y: Vector, weights: Vector, logits: Vector) -> bool:
        """Play all rows of a block and return True, or touch nothing and return False."""
        count = len(y)
        tally, announced = self.tally.copy(), logits.copy()
        gamma, alpha = np.empty(count), np.empty(count)
        self._X[:count].copy_(X)
        for first in range(0, count, INNER):
            self._do(count, first)
            rows = slice(first, min(first + INNER, count))
            H, m, norms, spreads = self._fetched(rows.stop - first)
            part = y[rows], weights[rows], announced[rows], gamma[rows], alpha[rows]
            if not play_square(H, m, self.rules, norms, spreads, *part, tally):
                return False
            size = rows.stop - first
            effect = self._up[: (size + 1) * size].numpy().reshape(size + 1, size)
            square_effect(H, gamma[rows], alpha[rows], effect)
        self._do(count, count)
        self.tally[...], logits[...] = tally, announced
        return True

    def _do(self, count: int, first: int) -> None:
        """Do what the device does before the CPU plays the rows from `first`, and behind the last of a block."""
        if count < self._outer or self.device.type != "cuda" or not self._full_blocks:
            self._step(count, first)
            self._full_blocks += first == self._outer
            return
        if first not in self._graphs:  # some twenty small orders become one, which takes the CPU a tenth of the time
            self._graphs[first] = self._recorded(count, first)
        self._graphs[first].replay()

    def _recorded(self, count: int, first: int) -> Any:
        """Return a step of a full block as a graph of CUDA's; the state stays as it is."""
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph):  # recorded, not done
            self._step(count, first)
        return graph

    def _step(self, count: int, first: int) -> None:
        """Bring in what the CPU has played so far, then send it the inner products of the next rows."""
        torch = self.torch
        X, K, w = self._X[:count], self._K[:count], self._w_after
        if first == 0:
            torch.matmul(X, self.P, out=K)
            torch.linalg.vector_norm(X, dim=1, out=self._sizes[0, :count])
            torch.mv(X * X, self.P.diagonal(), out=self._sizes[1, :count])
            w.copy_(self._w)
        else:
            start = (first - 1) // INNER * INNER
            size = first - start
            effect = self._effect[: (size + 1) * size]
            effect.copy_(self._up[: len(effect)], non_blocking=True)
            done = effect.reshape(size + 1, size) @ K[start:first]
            K[start:first] = done[:size]  # from here on √γ k: P ← P - KᵀK
            w.add_(done[size])
        if first == count:
            self._downdate(K)
            self._w.copy_(w)
            return
        last = min(first + INNER, count)
        XJ, KJ = X[first:last], K[first:last]
        if first:  # what the rows of this block that came before have already taken out of P
            KJ.addmm_(XJ @ K[:first].T, K[:first], alpha=-1.0)
        products = torch.cat([KJ, w[None]]) @ XJ.T
        flat = torch.cat([products.reshape(-1), self._sizes[:, first:last].reshape(-1)])
        self._down[: len(flat)].copy_(flat, non_blocking=True)

    def _fetched(self, size: int) -> tuple[Matrix, Vector, Vector, Vector]:
        """Wait for the device; return the rows' products H, centres m, norms and spreads, in memory that is ours."""
        if self.device.type == "cuda":
            self.torch.cuda.current_stream(self.device).synchronize()
        here = self._down[: (size + 3) * size].numpy().reshape(size + 3, size)
        return here[:size], here[size], here[size + 1], here[size + 2]

    def _downdate(self, K: Tensor) -> None:
        r"""Set $P \leftarrow P - K^\top K$, little more than half of it computed: P stays bitwise symmetric. O(bd²)."""
        for i in range(0, self.width, self._panel):
            e = min(i + self._panel, self.width)
            self.P[i:e, i:].addmm_(K[:, i:e].T, K[:, i:], alpha=-1.0)
            corner, other = self.P[i:e, i:e], self._corner[: e - i, : e - i]
            other.copy_(corner.T)
            corner.add_(other).mul_(0.5)
            self.P[e:, i:e] = self.P[i:e, e:].T
