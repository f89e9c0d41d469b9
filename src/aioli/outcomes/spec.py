"""The parameters of one AIOLI game: checked once, and packed into an array for the compiled loops."""

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Literal, NamedTuple, Self, cast, get_args

import numpy as np

from aioli.errors import ParameterRefused, SnapshotRefused
from aioli.numerics.compiling import Vector
from aioli.snapshots.tree import Snapshot

__all__ = ["Curvature", "GameSpec", "Rule"]

Curvature = Literal["paper", "tight", "full"]


class Rules(NamedTuple):
    """Give each parameter its place in the array that the compiled loops read.

    A tuple of plain integers, not an enumeration: Numba before 0.68 does not index an array by a member of one.
    """

    RADIUS: int = 0
    RIDGE: int = 1
    REGULARISER: int = 2
    CURVATURE: int = 3  # as counted in `Curvature`
    FORGETTING: int = 4
    INTERCEPT: int = 5
    WIDEST_ROW: int = 6


Rule = Rules()


@dataclass(frozen=True)
class GameSpec:
    """Hold the parameters of a game, in the paper's letters: B, λ, c, the curvature h, and the drift ρ."""

    radius: float
    ridge: float
    regulariser: float
    curvature: Curvature
    forgetting: float
    intercept: bool

    def __post_init__(self) -> None:
        _require("radius", self.radius, 1e-100 <= self.radius <= 1e100, "a number above 0, from 1e-100 to 1e100")
        wanted = "a number above 0, from 1e-100 to 1e100, or None for 1/radius²"
        _require("ridge", self.ridge, 1e-100 <= self.ridge <= 1e100, wanted)
        _require("regulariser", self.regulariser, 0.0 <= self.regulariser <= 1e6, "a number from 0 to 1e6")
        drifts = 0.0 < self.forgetting <= 1.0 - 1e-9  # closer to 1, P could not keep the digits of what it forgets
        _require(
            "forgetting",
            self.forgetting,
            drifts or self.forgetting == 1.0,
            "1 (never forget) or in (0, 1 - 1e-9]",
        )
        fits = self.widest_row >= 1.0
        _require("radius", self.radius, fits, "below 2e12, or with a ridge above 1/(2e12·radius): no row would fit")
        _require("curvature", self.curvature, self.curvature in get_args(Curvature), '"paper", "tight" or "full"')

    @cached_property
    def packed(self) -> Vector:
        """The same numbers as one array, in the order of `Rule`."""
        curvature = get_args(Curvature).index(self.curvature)
        return np.array(
            [self.radius, self.ridge, self.regulariser, curvature, self.forgetting, self.intercept, self.widest_row]
        )

    def snapshot(self) -> Snapshot:
        """Return the parameters."""
        return Snapshot("GameSpec", asdict(self))

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make the parameters of a snapshot; those of no game are refused."""
        given = snapshot.of("GameSpec")
        try:
            return cls(
                radius=given.number("radius"),
                ridge=given.number("ridge"),
                regulariser=given.number("regulariser"),
                curvature=cast(Curvature, given.text("curvature")),  # checked as any other parameter is
                forgetting=given.number("forgetting"),
                intercept=given.flag("intercept"),
            )
        except ParameterRefused as error:
            raise SnapshotRefused(f"in a {snapshot.kind}, {error}") from error

    @property
    def widest_row(self) -> float:
        """The largest ‖x‖ (times weight) at which a single row leaves the state half of its digits.

        One row shrinks P along itself by 1 + hv/2, at most 1 + ‖x‖/(2λB) as h ≤ 1/(B‖x‖) and v ≤ ‖x‖²/λ (the full
        curvature is h ≤ ¼); the factored form keeps the precision of float64 divided by the square root of that.
        """
        if self.curvature == "full":
            return math.sqrt(8e12 * self.ridge)
        return min(2e12 * self.ridge * self.radius, 1e150)  # beyond, the square of a norm overflows


def _require(name: str, value: object, holds: bool, wanted: str) -> None:
    if not holds:
        raise ParameterRefused.unlike(name, value, wanted)
