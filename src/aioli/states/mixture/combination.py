"""A fixed number of members, whose log-odds of a row are given, heard as one: in time, or as they were announced."""

import math
from typing import Self

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.tree import Snapshot
from aioli.states.mixture.late import LateMixture
from aioli.states.mixture.late_loops import MEMORY, PROMPT, WHOLE
from aioli.states.mixture.mixture import Mixture
from aioli.states.mixture.mixture_loops import STACKERS, announce_rows, combine_rows

__all__ = ["Combination"]


class Combination:
    """Hold the mixture of the members, and from the first announcement on the mixture for late labels.

    Parameters
    ----------
    prior
        The share of each member before the first row, up to a factor.
    heard
        How many of the mixture's stackers are heard, as in `Mixture`.
    """

    def __init__(self, prior: Vector, heard: int = STACKERS) -> None:
        self.mixture = Mixture(prior, heard=heard)
        self.late: LateMixture | None = None
        self._said: Vector = np.empty(1)  # of a single row

    @property
    def members(self) -> int:
        """How many members there are."""
        return self.mixture.prior.size

    @property
    def memory_width(self) -> int:
        """How many numbers the memory of an announcement has."""
        return self.members + MEMORY

    @property
    def shares(self) -> Vector:
        """How much each member is heard now."""
        return self.late.shares if self.late is not None and self.late.awake else self.mixture.shares

    def logits(self, Z: Matrix) -> Vector:
        """Return the log-odds of rows, each as if it came next, given those of the members. O(K²) a row."""
        if self.late is not None:
            return self.late.announce(self.mixture, Z)[0]
        out = np.empty(len(Z))
        announce_rows(self.mixture.buffer.copy(), Z, out)  # its own: threads may predict side by side
        return out

    def announce(self, Z: Matrix) -> tuple[Vector, Matrix]:
        """Return what `logits` does and the memory of the announcements, for rows whose labels come late."""
        return self._hear_announcements().announce(self.mixture, Z)

    def answer(
        self, Z: Matrix, y: Vector, weights: Vector, memory: Matrix | None = None, late: Vector | None = None
    ) -> Vector:
        """Learn from labels; return the log-odds of each row before its label. O(K²) a row.

        `memory` is what `announce` kept, where rows were announced, and `late` how many rows late each label is.
        """
        if self.late is None and memory is None:
            said = np.empty(len(Z))
            combine_rows(self.mixture.buffer, Z, y, weights, said)
            return said
        layer = self._hear_announcements()
        heard = self.members + (WHOLE if layer.awake else PROMPT)
        kept = np.full((len(Z), self.memory_width), math.nan) if memory is None else memory.copy()
        layer.answer(self.mixture, Z, y, weights, kept, np.zeros(len(Z)) if late is None else late)
        return kept[:, heard].copy()

    def answer_row(self, Z: Matrix, y: Vector, weights: Vector) -> float:
        """Learn from the label of a single row, where no row has been announced; return what `answer` does. O(K²)."""
        combine_rows(self.mixture.buffer, Z, y, weights, self._said)
        said: float = self._said.item()
        return said

    def negligible(self) -> Vector:
        """Return which members have no influence, in time or late."""
        unheard = self.mixture.negligible()
        if self.late is not None and self.late.awake:
            unheard = np.minimum(unheard, self.late.negligible())
        return unheard

    def retire(self, member: int) -> None:
        """Take a member out that keeps its place: its share goes to the others."""
        self.mixture.retire(member)
        if self.late is not None:
            self.late.retire(member)

    def revive(self, member: int, share: float) -> None:
        """Let a member that retired begin anew with this share."""
        self.mixture.revive(member, share)
        if self.late is not None:
            self.late.revive(member, share)

    def begun_anew(self) -> Self:
        """Return a combination that has heard nothing, of as many members and stackers, and announcements if any."""
        anew = type(self)(np.ones(self.members), self.mixture.heard)
        if self.late is not None:
            anew._hear_announcements()
        return anew

    def forget_announcing(self) -> None:
        """Drop what came to life with the first announcement, which was taken back."""
        self.late = None

    def _hear_announcements(self) -> LateMixture:
        if self.late is None:
            self.late = LateMixture(self.mixture.prior, self.mixture.shares)
        return self.late

    def snapshot(self) -> Snapshot:
        """Return both mixtures."""
        parts = {"mixture": self.mixture.snapshot()}
        if self.late is not None:
            parts["late"] = self.late.snapshot()
        return Snapshot("Combination", parts=parts)

    @classmethod
    def restore(cls, snapshot: Snapshot, members: int) -> Self:
        """Make an equal combination of so many members."""
        given = snapshot.of("Combination")
        made = cls(np.ones(members))
        made.mixture = Mixture.restore(given.part("mixture"))
        if "late" in given.parts:
            made.late = LateMixture.restore(given.part("late"))
        if made.members != members or made.shares.size != members:
            raise SnapshotRefused(f"in a Combination, {made.members} members came in place of {members}")
        return made
