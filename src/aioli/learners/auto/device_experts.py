"""Plays the experts of `Auto` on a device: those that can, trained on blocks of rows."""

import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import cycle
from typing import NamedTuple

import numpy as np

from aioli.errors import DeviceFull, ParameterRefused
from aioli.learners.announcements import Delayed
from aioli.learners.auto.experts import Expert
from aioli.learners.auto.mixed_experts import MixedExperts
from aioli.learners.auto.pipeline import Combine
from aioli.learners.on_device import FACTORED
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.pytorch import Tensor, beside, pytorch, require_device
from aioli.outcomes.spec import Rule
from aioli.outcomes.two_classes import Tally
from aioli.states.dense.device import DeviceState
from aioli.states.dense.device_blocks import play_in_turn
from aioli.states.dense.play import logits_of_rows, play
from aioli.states.dense.state import State
from aioli.states.mixture.single_row import recount_rows
from aioli.states.mixture.view_panels import LinearViews, linear_views, linear_views_apart
from aioli.states.mixture.views import Views
from aioli.streams.device_rows import DeviceRows

__all__ = ["BUDGET", "DeviceExperts", "plays_on_devices"]

BUDGET = "fast"  # of the experts: companions and views that bend play on the CPU
MATRICES = 17 << 30  # bytes of all experts' matrices together: two of 32,768 columns, all five up to 21,000
FEWEST = 2  # experts that play however wide rows are
BLOCK = 1024  # rows whose views are made at a time, where no expert is on the device any more


def plays_on_devices(expert: Expert) -> bool:
    """Return whether an expert plays in blocks of wide rows: one on a linear view, which does not forget."""
    return expert.view in ("standard", "peak") and expert.forgetting == 1.0


class Viewed(NamedTuple):
    """Rows on the device in the views that are read, and the statistics of the columns once they have been counted."""

    seen: dict[int, Tensor]
    after: Vector


class DeviceExperts(MixedExperts):
    """Holds the states of the experts on a device, and trains them on blocks of rows, whose views the CPU makes.

    Attributes
    ----------
    states
        The state of each expert that plays; one that needs its factored form goes on on the CPU.
    """

    def __init__(self, experts: int | None, device: object) -> None:
        super().__init__(None, BUDGET)
        self.device = str(require_device(device))
        self.states: list[DeviceState | State] = []
        self.most = experts
        able = [i for i, expert in enumerate(self.invited) if plays_on_devices(expert)]
        if experts is not None and not (type(experts) is int and 1 <= experts <= len(able)):
            wanted = f"a whole number from 1 to {len(able)} on a device, or None for all that memory is worth"
            raise ParameterRefused.unlike("experts", experts, wanted)
        self._leave([i for i in range(len(self.invited)) if i not in able[:experts]])

    @property
    def _games(self) -> Sequence[DeviceState | State]:
        return self.states

    def _keep(self, staying: Sequence[int]) -> None:
        self.states = [self.states[i] for i in staying]

    def _recount(self, now: Matrix, announced: Matrix, y: Vector, weights: Vector) -> None:
        rules = len(Rule)
        tallies = np.zeros((len(self.states), rules + len(Tally)))
        for own, state in zip(tallies, self.states, strict=True):
            own[rules:] = state.tally
        starts = tallies.shape[1] * np.arange(len(tallies) + 1)
        recount_rows(tallies.reshape(-1), starts, now, announced, y, weights)
        for own, state in zip(tallies, self.states, strict=True):
            state.tally[...] = own[rules:]

    def _begin(self, width: int) -> None:
        """Make the views and the experts' states, of as many experts as the memory is worth."""
        views = Views(width, bending=False)
        affordable = max(FEWEST, MATRICES // (8 * (width + 1) ** 2))
        playing = self.playing if self.most is not None else self.playing[:affordable]
        states: list[DeviceState | State] = []
        for expert in playing:
            try:
                states.append(DeviceState(expert.spec, width + 1, self.device))
            except DeviceFull as error:
                told = f"{len(playing)} experts do not fit on {self.device}, and {len(states)} do: {error.problem}"
                remedy = f"give experts={len(states)}" if states else error.remedy
                raise DeviceFull(told, reason=error.reason, remedy=remedy) from None
        if len(playing) < len(self.playing):
            self._leave(list(range(len(playing), len(self.playing))))
        self._views, self.states = views, states

    @property
    def _kinds(self) -> list[int]:
        """The views that are read."""
        return sorted({expert.kind for expert in self.playing})

    def _seen(self, views: LinearViews) -> dict[int, Tensor]:
        """Return rows on the device as each view that is read shows them: with their factors, behind the 1."""
        torch = pytorch()
        seen = {}
        for kind, given in views.rows.items():
            rows = torch.from_numpy(given).to(self.device, non_blocking=True)
            rows.mul_(torch.from_numpy(views.factors[kind]).to(self.device)[:, None])
            rows[:, 0] = 1.0
            seen[kind] = rows
        return seen

    def _blocks(self, rows: DeviceRows) -> Iterator[tuple[int, Matrix]]:
        """Yield blocks of the rows, of which none goes over the next review, each with the number of its first row."""
        most = self._most_rows
        before = self.rounds  # which rises while blocks are asked for
        for start, part in rows:
            X: Matrix = part.numpy()
            first = 0
            while first < len(X):
                last = min(len(X), first + min(most, self._rows_to_review(before + start + first)))
                yield start + first, X[first:last]
                first = last

    @property
    def _most_rows(self) -> int:
        """How many rows a block has at most."""
        return min((state.outer for state in self.states if isinstance(state, DeviceState)), default=BLOCK)

    def _consult(self, rows: DeviceRows) -> Matrix:
        """Return each expert's log-odds of each row, as if it came next."""
        Z = np.zeros((len(rows), len(self.playing)))
        if self._views is None:
            return Z
        for start, X in self._blocks(rows):
            seen = self._seen(linear_views_apart(self._views.statistics, X, self._kinds))
            for i, (expert, state) in enumerate(zip(self.playing, self.states, strict=True)):
                part = seen[expert.kind]
                said = logits_of_rows(state, _here(part)) if isinstance(state, State) else state.logits(part)
                Z[start : start + len(X), i] = said
        return Z

    def _learn_rows(
        self, rows: DeviceRows, labels: Vector, weights: Vector, late: Vector, out: Vector, delayed: Delayed | None
    ) -> None:
        """Learn the rows block by block: where memory ends, the blocks before it have been learned, and no other."""
        if self._views is None:
            self._begin(rows.width)
        for part, viewed in self._viewed(rows):
            given = labels[part], weights[part]
            late_rows = None if delayed is None else delayed.of(part)
            self._learn_part(partial(self._play_block, viewed, *given), *given, late[part], out[part], late_rows)

    def _viewed(self, rows: DeviceRows) -> Iterator[tuple[slice, Viewed]]:
        """Yield blocks in the views that are read, each with its place: the next is made while one is played."""
        assert self._views is not None
        statistics, kinds = self._views.statistics.copy(), self._kinds
        rooms = self._rooms(min(self._most_rows, len(rows)), rows.width + 1)

        def room(shape: tuple[int, int]) -> Matrix:
            return next(rooms)[: shape[0]]

        def view(X: Matrix) -> Viewed:
            views = linear_views(statistics, X, kinds, room)
            with beside(self.device):
                return Viewed(self._seen(views), statistics.copy())

        with ThreadPoolExecutor(1) as ahead:
            coming: tuple[slice, Future[Viewed]] | None = None
            for start, X in self._blocks(rows):
                following = slice(start, start + len(X)), ahead.submit(view, X)
                if coming is not None:
                    yield coming[0], coming[1].result()
                coming = following
            if coming is not None:
                yield coming[0], coming[1].result()

    def _rooms(self, rows: int, width: int) -> Iterator[Matrix]:
        """Yield arrays for the views of a block, of memory that the device reads by itself, the same ones ever again.

        There are two for each view that is made: one block is played while the next is made.
        """
        torch = pytorch()
        pinned = self.device.startswith("cuda")
        made = 2 * (1 + max(self._kinds))  # the standard view is made always
        arrays = [torch.empty((rows, width), dtype=torch.float64, pin_memory=pinned).numpy() for _ in range(made)]
        return cycle(arrays)

    def _play_block(self, viewed: Viewed, y: Vector, weights: Vector, combine: Combine) -> None:
        """Let the experts learn a block in turn, all of them or none, and hand on what they said."""
        assert self._views is not None
        seen = viewed.seen
        logits = np.full((len(self.playing), len(y)), np.nan)
        there = [(i, state) for i, state in enumerate(self.states) if isinstance(state, DeviceState)]
        blocks = [state.block(seen[self.playing[i].kind], y, weights, logits[i]) for i, state in there]
        for (i, state), played in zip(there, play_in_turn(blocks), strict=True):
            if not played:
                self.states[i] = state.to_state()
                warnings.warn(FACTORED, RuntimeWarning, stacklevel=7)
        for i, now in enumerate(self.states):
            if isinstance(now, State):
                play(now, _here(seen[self.playing[i].kind]), y, weights, logits[i])
        combine(np.ascontiguousarray(logits.T), slice(0, len(y)))
        self._views.statistics[...] = viewed.after


def _here(rows: Tensor) -> Matrix:
    return np.ascontiguousarray(rows.cpu().numpy())
