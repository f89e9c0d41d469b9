"""Pseudo-random numbers of compiled loops, determined by where they are drawn: no generator has to be saved."""

import numpy as np

from aioli.numerics.compiling import compiled

__all__ = ["uniform"]


@compiled("f8(i8,i8,i8)", inline=True)
def uniform(tree: int, row: int, place: int) -> float:
    """Return a pseudo-random number in (0, 1) that three numbers determine, by the mixing of SplitMix64. O(1)."""
    x = (
        np.uint64(tree + 1) * np.uint64(0x9E3779B97F4A7C15)
        + np.uint64(row + 1) * np.uint64(0xBF58476D1CE4E5B9)
        + np.uint64(place + 1) * np.uint64(0x94D049BB133111EB)
    )
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return (np.float64(x >> np.uint64(11)) + 0.5) / 9007199254740992.0
