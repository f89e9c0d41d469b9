r"""P and the centres on a device of PyTorch, and blocks of rows: its matrix products, the CPU's scalars.

Between device and CPU go, for each `INNER` rows, one array each way: their inner products and centres,
$[K; W]X^\top$, and what the rounds do to the state, $M = [\sqrt\Gamma T; AT]$, of which $MK$ is both the factor of the
downdate and the step of W. Two classes have one centre, w; many classes that share P have one each.

A block is a generator that pauses whenever the device has work to do: several states played in turn keep both the
device and the CPU busy. Nothing of a state changes before the last of its steps, for which all memory is there.
"""

from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeAlias

import numpy as np

from aioli.errors import DeviceFull
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.pytorch import Tensor, pytorch, require_device

__all__ = ["INNER", "Answer", "Block", "DeviceBlocks", "block_rows", "play_in_turn"]

INNER = 64  # rows that the CPU plays between two copies
OUTER = 1024, 256  # rows that share one product with P, where P is too large for a cache and where it is not
CACHED = 4096  # columns from which P is too large
PANELS = 8  # parts in which half of the downdate is computed
LEAST_PANEL = 1024  # columns below which one product for all of it is faster

# plays rows given their numbers, H = KXᵀ, the centres WXᵀ, norms and spreads; writes M; False refuses the block
Answer: TypeAlias = Callable[[slice, Matrix, Matrix, Vector, Vector, Matrix], bool]
Block: TypeAlias = Generator[None, None, bool]


def block_rows(width: int) -> int:
    """Return how many rows a block has at most."""
    return OUTER[width < CACHED]


class DeviceBlocks:
    """Holds P = I/λ and so many centres on a device, and all the memory that a block of rows needs."""

    def __init__(self, ridge: float, width: int, centres: int, device: object) -> None:
        self.torch = torch = pytorch()
        self.device = require_device(device)
        self.width, self.centres = width, centres
        try:
            self._take_memory(ridge)
        except torch.cuda.OutOfMemoryError as error:
            needed = (8.0 * width * width) / 2**30
            told = f"{width:,} columns need {needed:.1f} GiB on {self.device} for one matrix"
            raise DeviceFull(told, reason=str(error), remedy="use fewer columns, or Wide") from None

    def _take_memory(self, ridge: float) -> None:
        """Take all the memory that a block needs: none runs out of it half-way."""
        torch, width = self.torch, self.width
        self.outer = block_rows(width)
        self._panel = max(LEAST_PANEL, -(-width // PANELS))
        numbers = {"dtype": torch.float64, "device": self.device}
        self.P: Tensor = torch.eye(width, **numbers).div_(ridge)
        self.W: Tensor = torch.zeros((self.centres, width), **numbers)
        self._W_after: Tensor = self.W.clone()
        self._X: Tensor = torch.zeros((self.outer, width), **numbers)
        self._K: Tensor = torch.zeros((self.outer, width), **numbers)
        self._done: Tensor = torch.zeros((INNER + self.centres, width), **numbers)
        self._sizes: Tensor = torch.zeros((2, self.outer), **numbers)  # ‖x‖ and Σ x_i² P_ii
        self._corner: Tensor = torch.zeros((min(self._panel, width),) * 2, **numbers)
        self._effect: Tensor = torch.zeros((INNER + self.centres) * INNER, **numbers)
        pinned = self.device.type == "cuda"
        down, up = (INNER + self.centres + 2) * INNER, (INNER + self.centres) * INNER
        self._down: Tensor = torch.zeros(down, dtype=torch.float64, pin_memory=pinned)
        self._up: Tensor = torch.zeros(up, dtype=torch.float64, pin_memory=pinned)
        self._arrived = torch.cuda.Event() if pinned else None
        self._graphs: dict[int, Any] = {}
        self._full_blocks = 0  # played so far: the first is not recorded, since PyTorch makes itself ready in it

    def block(self, X: Tensor, answer: Answer) -> Block:
        """Play at most `outer` rows; returns True, or False where `answer` refused some and nothing was touched."""
        count = len(X)
        self._X[:count].copy_(X)
        for first in range(0, count, INNER):
            self._do(count, first)
            if self._arrived is not None:
                self._arrived.record()
            yield
            rows = slice(first, min(first + INNER, count))
            size = rows.stop - first
            H, centres, norms, spreads = self._fetched(size)
            effect = self._up[: (size + self.centres) * size].numpy().reshape(size + self.centres, size)
            if not answer(rows, H, centres, norms, spreads, effect):
                return False
        self._do(count, count)
        return True

    def _do(self, count: int, first: int) -> None:
        """Do what the device does before the CPU plays the rows from `first`, and behind the last of a block."""
        if count < self.outer or self.device.type != "cuda" or not self._full_blocks:
            self._step(count, first)
            self._full_blocks += first == self.outer
            return
        if not self._graphs:  # some twenty small orders become one, which takes the CPU a tenth of the time
            self._graphs = {step: self._recorded(count, step) for step in [*range(0, count, INNER), count]}
        self._graphs[first].replay()

    def _recorded(self, count: int, first: int) -> Any:
        """Record a step of a full block as a graph of CUDA's, which is not done by that: the state stays as it is."""
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph, capture_error_mode="thread_local"):  # other threads may bring up rows
            self._step(count, first)
        return graph

    def _step(self, count: int, first: int) -> None:
        """Bring in what the CPU has played so far, then send it the inner products of the next rows."""
        torch = self.torch
        X, K, W = self._X[:count], self._K[:count], self._W_after
        if first == 0:
            torch.matmul(X, self.P, out=K)
            torch.linalg.vector_norm(X, dim=1, out=self._sizes[0, :count])
            torch.mv(X * X, self.P.diagonal(), out=self._sizes[1, :count])
            W.copy_(self.W)
        else:
            start = (first - 1) // INNER * INNER
            size = first - start
            effect = self._effect[: (size + self.centres) * size]
            effect.copy_(self._up[: len(effect)], non_blocking=True)
            done = self._done[: size + self.centres]
            torch.matmul(effect.reshape(size + self.centres, size), K[start:first], out=done)
            K[start:first] = done[:size]  # from here on √γ k: P ← P - KᵀK
            W.add_(done[size:])
        if first == count:
            self._downdate(K)
            self.W.copy_(W)
            return
        last = min(first + INNER, count)
        XJ, KJ = X[first:last], K[first:last]
        if first:  # what the rows of this block that came before have already taken out of P
            KJ.addmm_(XJ @ K[:first].T, K[:first], alpha=-1.0)
        products = torch.cat([KJ, W]) @ XJ.T
        flat = torch.cat([products.reshape(-1), self._sizes[:, first:last].reshape(-1)])
        self._down[: len(flat)].copy_(flat, non_blocking=True)

    def _fetched(self, size: int) -> tuple[Matrix, Matrix, Vector, Vector]:
        """Wait for the device; return the rows' products H, centres, norms and spreads, in memory that is ours."""
        if self._arrived is not None:
            self._arrived.synchronize()
        end = size + self.centres
        here = self._down[: (end + 2) * size].numpy().reshape(end + 2, size)
        return here[:size], here[size:end], here[end], here[end + 1]

    def _downdate(self, K: Tensor) -> None:
        r"""Set $P \leftarrow P - K^\top K$, little more than half of it computed: P stays bitwise symmetric. O(bd²)."""
        for i in range(0, self.width, self._panel):
            e = min(i + self._panel, self.width)
            self.P[i:e, i:].addmm_(K[:, i:e].T, K[:, i:], alpha=-1.0)
            corner, other = self.P[i:e, i:e], self._corner[: e - i, : e - i]
            other.copy_(corner.T)
            corner.add_(other).mul_(0.5)
            self.P[e:, i:e] = self.P[i:e, e:].T

    def spreads(self, X: Tensor) -> Vector:
        r"""Return $v = x^\top P x$ of each row, none below 0. O(d²) each."""
        v: Vector = np.maximum(self.torch.sum((X @ self.P) * X, dim=1).cpu().numpy(), 0.0)
        return v


def play_in_turn(blocks: Sequence[Block]) -> list[bool]:
    """Play a block of each of several states to the end, in turn; return what each came to.

    All come to their last step, the only one that changes a state, in the same turn: where memory ends before it, none
    has changed.
    """
    outcomes = [False] * len(blocks)
    playing = dict(enumerate(blocks))
    while playing:
        for i, block in list(playing.items()):
            try:
                next(block)
            except StopIteration as end:
                outcomes[i] = bool(end.value)
                del playing[i]
    return outcomes
