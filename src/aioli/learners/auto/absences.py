"""What Auto would say without each of its companions: mixtures of all others, trained beside the one that is heard."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.snapshots.tree import Snapshot
from aioli.states.mixture.mixture import Mixture
from aioli.states.mixture.mixture_loops import combine_rows

__all__ = ["MOST", "Absences"]

MOST = 16  # companions; of more, the mixtures without one would take longer than the companions themselves


class Absences:
    """Hold, for each companion, the mixture and stackers of all members but its own.

    They hear the same log-odds as the mixture that is heard, and cost a microsecond a row: shares and stackers are
    small beside what companions do. They only judge: where a companion retires, its members leave the mixture that is
    heard, whose bounds then stay (`states.mixture.mixture`), and the absences of the others begin anew from it.
    Of more than 16 companions nothing is known one by one.

    Parameters
    ----------
    members
        The places of each companion's members in the mixture.
    mixture
        The one that is heard.
    """

    def __init__(self, members: Sequence[Sequence[int]], mixture: Mixture) -> None:
        self.known = len(members) <= MOST
        self._members = members if self.known else []
        self.begin(mixture, [True] * len(members))

    def begin(self, mixture: Mixture, playing: Sequence[bool]) -> None:
        """Go on from the mixture that is heard: of each companion that plays, the members retire from a copy of it."""
        playing = playing if self.known else []
        self._playing = np.array(playing, dtype=np.bool_)
        self._buffers: Matrix = np.tile(mixture.buffer, (len(self._members), 1))
        for buffer, members, plays in zip(self._buffers, self._members, playing, strict=True):
            if plays:
                copy = _mixture_in(buffer, mixture)
                for member in members:
                    copy.retire(member)
                buffer[:] = copy.buffer

    def answer(self, Z: Matrix, y: Vector, weights: Vector) -> Matrix:
        """Learn from labels; return the log-odds before each without each companion, companions × rows. O(K²) each."""
        out = np.zeros((len(self._buffers), len(Z)))
        combine_rows_each(self._buffers, self._playing, Z, y, weights, out)
        return out

    def snapshots(self, mixture: Mixture) -> dict[str, Snapshot]:
        """Return what the mixture without each companion that plays remembers."""
        playing = np.flatnonzero(self._playing).tolist()
        return {f"without{i}": _mixture_in(self._buffers[i], mixture).snapshot() for i in playing}

    def recall(self, given: Snapshot, mixture: Mixture, playing: Sequence[bool]) -> None:
        """Take over what `snapshots` returned; in files from before there were absences, they begin anew."""
        self.begin(mixture, playing)
        for i in np.flatnonzero(self._playing).tolist():
            if f"without{i}" in given.parts:
                known = Mixture.restore(given.part(f"without{i}"))
                if known.buffer.shape != mixture.buffer.shape or known.heard != mixture.heard:
                    raise SnapshotRefused(f"in a {given.kind}, the mixture without a companion is of other members")
                self._buffers[i] = known.buffer


def _mixture_in(buffer: Vector, like: Mixture) -> Mixture:
    """Return the mixture that a buffer holds, of as many members and stackers as another."""
    made = Mixture(np.ones(like.prior.size), like.alone, like.heard)
    made.buffer[:] = buffer
    return made


@compiled("void(f8[:,::1],b1[::1],f8[:,::1],f8[::1],f8[::1],f8[:,::1])")
def combine_rows_each(
    buffers: Matrix, playing: NDArray[np.bool_], Z: Matrix, y: Vector, weights: Vector, out: Matrix
) -> None:
    """Let the mixture of each buffer announce and answer row after row. O(K²) a row and buffer."""
    for i in range(len(buffers)):
        if playing[i]:
            combine_rows(buffers[i], Z, y, weights, out[i])
