"""How the cost of `learn_many` grows with the columns and with the rows, in time and in memory."""

import tracemalloc
from collections.abc import Sequence

import numpy as np

from aioli import AIOLI
from aioli.numerics.compiling import Matrix, Vector
from aioli.states.dense.play import BLOCK, BLOCK_WIDTH
from aioli.streams.rows import CHUNK_BYTES
from benchmarks.streams import normal_stream
from benchmarks.table import Table
from benchmarks.timing import Prepare, Run, exponent, side_by_side

__all__ = ["memory_table", "rows_table", "width_table"]

MEGABYTE = 1e6


def width_table(widths: Sequence[int], repeats: int) -> Table:
    """Time a row against d, and its exponent: in the fused loop and in blocks, where `learn_many` uses each."""
    rows = {d: max(8 * BLOCK, 20_000_000 // d**2) for d in widths}
    times = _times({str(d): normal_stream(rows[d], d) for d in widths}, repeats)
    each = np.array([float(np.median(times[str(d)])) / rows[d] for d in widths])
    d = np.array(widths, dtype=np.float64)
    fused, blocks = (d >= 64) & (d < BLOCK_WIDTH), d >= BLOCK_WIDTH
    return Table(
        "Time a row against d (learn_many)",
        ("d", "rows", "µs/row", "ns/row/d²"),
        [(str(w), str(rows[w]), f"{1e6 * t:.3f}", f"{1e9 * t / w**2:.3f}") for w, t in zip(widths, each, strict=True)],
        [
            f"fused loop, d = {d[fused].min():.0f} to {d[fused].max():.0f}: "
            f"time a row grows as d^{exponent(d[fused], each[fused]):.2f}; O(d²) promises 2",
            f"blocks, d = {d[blocks].min():.0f} to {d[blocks].max():.0f}: "
            f"time a row grows as d^{exponent(d[blocks], each[blocks]):.2f}",
        ],
    )


def rows_table(width: int, counts: Sequence[int], repeats: int) -> Table:
    """Total time against n, and its exponent: 1 where a row costs the same however many came before."""
    X, y = normal_stream(max(counts), width)
    times = _times({str(n): (X[:n], y[:n]) for n in counts}, repeats)
    total = np.array([float(np.median(times[str(n)])) for n in counts])
    return Table(
        f"Time against the rows n (learn_many, d = {width})",
        ("n", "total ms", "µs/row"),
        [(str(n), f"{1e3 * t:.2f}", f"{1e6 * t / n:.3f}") for n, t in zip(counts, total, strict=True)],
        [f"total time grows as n^{exponent(np.array(counts, dtype=np.float64), total):.3f}"],
    )


def memory_table(width: int, counts: Sequence[int]) -> Table:
    """The most that `learn_many` holds at any moment, its own arguments not counted."""
    X, y = normal_stream(max(counts), width)
    narrow = X.astype(np.float32)
    del X
    peaks = [_peak_bytes(narrow[:n], y[:n]) for n in counts]
    state = 8 * (width + 1) ** 2
    growth = np.polyfit(counts, peaks, 1)[0]
    return Table(
        f"Memory against the rows n (learn_many, d = {width})",
        ("n", "rows MB", "peak MB", "of it (d+1)² doubles MB", "the rest MB"),
        [
            (str(n), *(f"{size / MEGABYTE:.2f}" for size in (4 * n * width, peak, state, peak - state)))
            for n, peak in zip(counts, peaks, strict=True)
        ],
        [
            "peak: tracemalloc's, of what learn_many allocates; the rows given to it, in float32, are not counted",
            f"the rest: two chunks of {CHUNK_BYTES / MEGABYTE:.2f} MB of rows (in use, in the making) and a block",
            f"the peak grows by {growth:.0f} bytes a row, where a row of float64 is {8 * width}: a label, a weight and "
            "log-odds a row, never the rows",
        ],
    )


def _times(data: dict[str, tuple[Matrix, Vector]], repeats: int) -> dict[str, Vector]:
    def contender(X: Matrix, y: Vector) -> Prepare:
        def prepare() -> Run:
            learner = AIOLI()
            learner.learn_many(X[:BLOCK], y[:BLOCK])
            return lambda: learner.learn_many(X, y)

        return prepare

    return side_by_side({name: contender(*rows) for name, rows in data.items()}, repeats)


def _peak_bytes(X: object, y: Vector) -> int:
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        learner = AIOLI()
        learner.learn_many(X, y)
        _, peak = tracemalloc.get_traced_memory()
        return peak - before
    finally:
        tracemalloc.stop()
