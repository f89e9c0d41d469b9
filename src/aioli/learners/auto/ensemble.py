"""The ensemble of Auto: experts on views of the rows, and the mixture of what they say."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self, cast

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.learners.auto.experts import EXPERTS, Expert
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import softplus_many
from aioli.numerics.threads import do_all
from aioli.snapshots.tree import Snapshot
from aioli.states.dense.play import play
from aioli.states.dense.state import State
from aioli.states.mixture.mixture import Mixture, combine_rows
from aioli.states.mixture.single_row import DONE, LATE, LOSS, ROUNDS, SLOTS, learn_row, predict_row
from aioli.states.mixture.views import Views

__all__ = ["Ensemble"]

REVIEW = 4096  # rows after which an expert may retire
TOGETHER = 1024  # rows whose views stay in the cache while expert after expert reads them
WORTHWHILE = 512  # rows from which a second thread earns more than it costs


class Ensemble:
    """Who plays, what each remembers, and what the mixture makes of what they say."""

    def __init__(self, experts: Sequence[Expert]) -> None:
        self.tally: Vector = np.zeros(4)
        self.views: Views | None = None
        self.states: list[State] = []
        self._one: tuple[Any, ...] = ()  # what the compiled single row takes
        self._predicting: tuple[Any, ...] = ()
        self._seat(experts, Mixture(np.array([expert.prior for expert in experts])))

    @property
    def rounds(self) -> int:
        """How many rows it has learned from."""
        return int(self.tally[ROUNDS])

    @property
    def loss(self) -> float:
        """The sum of its losses so far, in nats."""
        return float(self.tally[LOSS])

    @property
    def played(self) -> list[str]:
        """The names of those who still play."""
        return [expert.name for expert in self.experts]

    @property
    def had_late_labels(self) -> bool:
        """Whether a label came after its row was announced."""
        return bool(self.tally[LATE] > 0.0)

    # ---- rows

    def predict_logit(self, x: Vector) -> float:
        """The log-odds of the whole, as if the row came next, or NaN where it is no row; changes nothing. O(K d²)."""
        return predict_row(*cast(Any, (*self._predicting, x)))

    def learn_one(self, x: Vector, label: float) -> float | None:
        """The probability announced; None if x is no row. An expert that would lose digits is factored, and goes on."""
        first = 0
        while True:
            outcome = learn_row(*cast(Any, (*self._one, x, label, first)))
            if outcome == DONE:
                p: float = self._z.item(-1)
                self._review()
                return p
            if outcome < 0:
                return None
            self.states[outcome].factor()
            first = outcome

    def learn(self, X: Matrix, labels: Vector, stakes: Vector, late: Vector, announced: Vector) -> None:
        """Play the rows; `announced` receives the log-odds, of `late` where a label comes late. O(K d²) a row."""
        first = 0
        while first < len(X):
            part = slice(first, first + REVIEW - self.rounds % REVIEW)
            y, weights, z = labels[part], stakes[part], announced[part]
            self._play(X[part], y, weights, z)
            in_time = np.isnan(late[part])
            z[...] = np.where(in_time, z, late[part])
            losses = softplus_many(np.where(y == 1.0, -z, z))
            self.tally += np.array([len(z), weights.sum(), weights @ losses, np.count_nonzero(~in_time)])
            self._review()
            first += len(z)

    def _play(self, X: Matrix, labels: Vector, stakes: Vector, announced: Vector) -> None:
        """Views of the rows, then the experts, then the mixture: none looks at the one behind it.

        So while the experts play a block, the views of the next and the mixture of the last are made beside them, and
        expert beside expert. Nothing that comes out depends on who was first.
        """
        blocks = [slice(first, first + TOGETHER) for first in range(0, len(X), TOGETHER)]
        seen: dict[int, list[Matrix]] = {}
        said: dict[int, Matrix] = {}
        read = {expert.kind for expert in self.experts}

        def see(b: int) -> None:
            seen[b] = cast(Views, self.views).of_rows(X[blocks[b]], read)
            said[b] = np.full((len(self.experts), len(seen[b][0])), math.nan)

        def ask(i: int, b: int) -> None:
            play(self.states[i], seen[b][self.experts[i].kind], labels[blocks[b]], stakes[blocks[b]], said[b][i])

        def combine(b: int) -> None:
            Z = np.ascontiguousarray(said.pop(b).T)
            combine_rows(self.mixture.buffer, Z, labels[blocks[b]], stakes[blocks[b]], announced[blocks[b]])

        widest_first = sorted(range(len(self.experts)), key=lambda i: -self.states[i].width)
        see(0)
        for b in range(len(blocks)):
            tasks: list[Callable[[], None]] = [partial(ask, i, b) for i in widest_first]
            if b > 0:
                tasks.append(partial(combine, b - 1))
            if b + 1 < len(blocks):
                tasks.append(partial(see, b + 1))
            do_all(tasks, side_by_side=len(said[b][0]) >= WORTHWHILE)
            del seen[b]
        combine(len(blocks) - 1)

    # ---- who plays

    def _review(self) -> None:
        """Every few thousand rows, let those retire to whom nobody has listened since the last time.

        One that forgets stays, for the day the world changes, and so does the first certified one.
        """
        if self.tally.item(ROUNDS) % REVIEW:
            return
        unheard = self.mixture.unheard()
        staying: list[int] = []
        leaving: list[int] = []
        for i, expert in enumerate(self.experts):
            retires = unheard[i] and self.unheard[i] and i > 0 and expert.forgetting == 1.0
            (leaving if retires else staying).append(i)
        self.unheard[:] = unheard
        if leaving:
            states = [self.states[i] for i in staying]
            self._seat([self.experts[i] for i in staying], self.mixture.without(leaving))
            self.unheard[:] = unheard[staying]
            self._settle(cast(Views, self.views), states)

    def _seat(self, experts: Sequence[Expert], mixture: Mixture) -> None:
        """These play from now on."""
        self.experts = list(experts)
        self.mixture = mixture
        self.unheard: Vector = np.zeros(len(experts))  # at the last review
        self._z: Vector = np.zeros(len(experts) + SLOTS)

    def begin(self, width: int) -> None:
        """The first row has come: it has so many columns."""
        views = Views(width)
        self._settle(views, [State(expert.spec, views.widths[expert.kind]) for expert in self.experts])

    def grow(self, columns: int) -> None:
        """Make room for new columns, exactly as if they had been there, and 0, from the first row. O(K d²)."""
        if self.views is not None:
            views = self.views.grown(columns)
            playing = zip(self.experts, self.states, strict=True)
            self._settle(views, [state.grown(views.widths[expert.kind] - state.width) for expert, state in playing])

    def _settle(self, views: Views, states: list[State]) -> None:
        """Lay the experts out side by side in one expert_buffers."""
        starts = np.cumsum([0] + [State.size(state.width) for state in states])
        expert_buffers = np.zeros(starts[-1])
        self.states = []
        for state, first, last in zip(states, starts[:-1], starts[1:], strict=True):
            moved = State(state.spec, state.width, expert_buffers[first:last])
            self.states.append(moved.holding(state.P, state.w, state.tally, factored=state.factored))
        self.views = views
        self._expert_buffers = expert_buffers
        kinds = np.array([expert.kind for expert in self.experts])
        seen = (views.columns, views.totals, views.directions, views.phases)
        mixture_buffer = self.mixture.buffer
        self._one = (*seen, views.row, expert_buffers, starts, kinds, mixture_buffer, self._z, self.tally)
        self._predicting = (*seen, expert_buffers, starts, kinds, mixture_buffer)

    # ---- all that it remembers

    def snapshot(self) -> Snapshot:
        """Return who plays, the totals, the mixture, the views, and the state of each expert that plays."""
        parts = {"mixture": self.mixture.snapshot()}
        if self.views is not None:
            parts["views"] = self.views.snapshot()
            parts |= {f"expert{i}": state.snapshot() for i, state in enumerate(self.states)}
        arrays = {"tally": self.tally.copy(), "unheard": self.unheard.copy()}
        return Snapshot("Ensemble", {"playing": self.played}, arrays, parts)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal ensemble."""
        given = snapshot.of("Ensemble")
        names = given.texts("playing") or []
        experts = [expert for expert in EXPERTS if expert.name in names]
        if names[:1] != [EXPERTS[0].name] or names != [expert.name for expert in experts]:
            raise SnapshotRefused(f"its experts are {names}, which this version does not play")
        ensemble = cls(experts)
        ensemble.tally[...] = given.array("tally", ensemble.tally.shape)
        ensemble.unheard[...] = given.array("unheard", ensemble.unheard.shape)
        ensemble.mixture = Mixture.restore(given.part("mixture"))
        if ensemble.mixture.prior.size != len(experts):
            raise SnapshotRefused(f"{len(experts)} experts have {ensemble.mixture.prior.size} shares of the mixture")
        if "views" in given.parts:
            views = Views.restore(given.part("views"))
            states = [State.restore(given.part(f"expert{i}")) for i in range(len(experts))]
            for expert, state in zip(experts, states, strict=True):
                if state.spec != expert.spec or state.width != views.widths[expert.kind]:
                    raise SnapshotRefused(f"the state of {expert.name} is of another game")
            ensemble._settle(views, states)
        return ensemble

    def arrays(self) -> dict[str, Vector]:
        """What a file holds."""
        arrays = {"tally": self.tally, "mixture_buffer": self.mixture.buffer, "unheard": self.unheard}
        arrays["playing"] = np.array([float(expert in self.experts) for expert in EXPERTS])
        if self.views is not None:
            views = self.views
            arrays |= {"expert_buffers": self._expert_buffers, "columns": views.columns, "totals": views.totals}
            arrays |= {"directions": views.directions, "phases": views.phases}
        return arrays

    @classmethod
    def restored(cls, features: int | None, arrays: dict[str, Vector]) -> "Ensemble":
        """A ensemble with all that the arrays hold, if they are of this very game."""
        playing = arrays["playing"]
        if playing.shape != (len(EXPERTS),) or not playing[0]:
            raise ValueError(f"its experts play as {playing.tolist()}, for which this version has no game")
        ensemble = cls([expert for expert, plays in zip(EXPERTS, playing, strict=True) if plays])
        if features is not None:
            if arrays["columns"].shape != (4, features):  # before anything of that width is made
                raise ValueError(f"{features} columns, of shape {arrays['columns'].shape}")
            ensemble.begin(features)
        expected = ensemble.arrays()
        shapes = {name: array.shape for name, array in arrays.items()}
        if shapes != {name: array.shape for name, array in expected.items()}:
            raise ValueError(f"its arrays have shapes {shapes}, which are not those of this version")
        for name, array in expected.items():
            array[...] = arrays[name]
        return ensemble
