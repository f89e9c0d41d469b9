"""The dense state, explicit and complete: two equal states have equal futures."""

from typing import Self

import numpy as np

from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.spec import GameSpec, Rule
from aioli.outcomes.two_classes import Tally
from aioli.snapshots.tree import Snapshot
from aioli.states.merging import Quadratic, check_descent, merge_games, merge_games_since

__all__ = ["State"]


class State:
    r"""Hold $P = A^{-1}$ and $w = A^{-1}b$ for $A = \lambda I + \sum \tfrac12 h_s x_s x_s^\top$, and running totals.

    Where P would lose its digits, the state turns to its factored form once and for all: `P` then holds S with
    $A^{-1} = SS^\top$, which keeps twice as many.

    All of it lies in one array, the buffer, so that a single row costs Python one argument and not eight.
    """

    SLOTS = len(Rule) + len(Tally) + 4  # and: factored or not; the label, weight and log-odds of a single row

    def __init__(self, spec: GameSpec, width: int, buffer: Vector | None = None) -> None:
        self.spec = spec
        self.width = width
        self.buffer: Vector = np.zeros(self.size(width)) if buffer is None else buffer
        rules, tally = len(Rule), len(Rule) + len(Tally)
        self.buffer[:rules] = spec.packed
        self.tally: Vector = self.buffer[rules:tally]
        rest = self.buffer[self.SLOTS :].reshape(4 + width, width)
        self.w: Vector = rest[0]
        self.workspace: Matrix = rest[1:4]  # the row, k and s: what a round needs beside the state
        self.P: Matrix = rest[4:]
        np.fill_diagonal(self.P, 1.0 / spec.ridge)

    @classmethod
    def size(cls, width: int) -> int:
        """Return how many numbers the buffer of a state of this width holds."""
        return cls.SLOTS + (4 + width) * width

    @property
    def rules(self) -> Vector:
        """The parameters, as the compiled loops read them."""
        return self.buffer[: len(Rule)]

    @property
    def factored(self) -> bool:
        """Whether `P` holds S, with $A^{-1} = SS^\\top$."""
        return bool(self.buffer[self.SLOTS - 4])

    def overwrite(self, P: Matrix, w: Vector, tally: Vector, *, factored: bool) -> Self:
        """Overwrite the contents with these, and return the state itself."""
        self.P[...], self.w[...], self.tally[...] = P, w, tally
        self.buffer[self.SLOTS - 4] = factored
        return self

    def copy(self) -> Self:
        """Return an equal state that shares nothing with this one."""
        return type(self)(self.spec, self.width).overwrite(self.P, self.w, self.tally, factored=self.factored)

    def factor(self) -> None:
        r"""Turn P into S with $P = SS^\top$, in place. O(d³), at most once in a life."""
        if not self.factored:
            self.overwrite(np.asarray(np.linalg.cholesky(self.P), np.float64), self.w, self.tally, factored=True)

    def covariance(self) -> Matrix:
        r"""Return $A^{-1}$, whichever form the state is in. O(d³) if factored."""
        return self.P @ self.P.T if self.factored else self.P

    def precision(self) -> Matrix:
        r"""Return $A = \lambda I + \sum \tfrac12 h x x^\top$, recovered from its inverse. O(d³)."""
        S = self.P if self.factored else np.linalg.cholesky(self.P)
        inverse = np.linalg.solve(S, np.eye(self.width))
        return inverse.T @ inverse

    def grown(self, columns: int) -> Self:
        """Return the state had so many further columns been there, and 0, from the first row. O(d²), as a round."""
        larger = type(self)(self.spec, self.width + columns)
        P = larger.P.copy() if not self.factored else np.sqrt(larger.P)
        P[: self.width, : self.width] = self.P
        return larger.overwrite(P, np.append(self.w, np.zeros(columns)), self.tally, factored=self.factored)

    def merged(self, other: Self, since: Self | None = None) -> Self:
        r"""Return the state of both games: surrogates add, $A = A_1 + A_2 - \lambda I$, $b = b_1 + b_2$. O(d³).

        Where both went on from a third, `since`, that one is counted once (`states.merging.merge_games_since`).
        """
        if since is None:
            S, w, tally = merge_games(self._game(), other._game(), self.spec.ridge)
        else:
            forgets = self.spec.forgetting < 1.0
            ancestor, games = since._game(), (self._game(), other._game())
            for game in games:
                check_descent(game, ancestor, forgets)
            S, w, tally = merge_games_since(*games, ancestor, forgets)
        factored = self.factored or other.factored
        return type(self)(self.spec, self.width).overwrite(S if factored else S @ S.T, w, tally, factored=factored)

    def _game(self) -> Quadratic:
        return self.precision(), self.w, self.tally

    def snapshot(self) -> Snapshot:
        """Return P (or S), w, the tally and the parameters."""
        arrays = {"P": self.P.copy(), "w": self.w.copy(), "tally": self.tally.copy()}
        return Snapshot("State", {"factored": self.factored}, arrays, {"spec": self.spec.snapshot()})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal state."""
        given = snapshot.of("State")
        spec = GameSpec.restore(given.part("spec"))
        w = given.array("w", (None,))
        factored = given.flag("factored")
        P = given.array("P", (w.size, w.size)) if factored else given.covariance("P", w.size)
        tally = given.totals("tally", (len(Tally),), signed=[Tally.REGRET])
        return cls(spec, w.size).overwrite(P, w, tally, factored=factored)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self).restore, (self.snapshot(),)
