"""AIOLI on a device of PyTorch: embeddings of a thousand columns and more, at the speed of a GPU's matrix products."""

import warnings
from collections.abc import Sequence
from typing import Self

import numpy as np

from aioli.errors import ParameterRefused
from aioli.learners.aioli import AIOLI
from aioli.learners.of_state import LearnerOfState
from aioli.learners.on_device import FACTORED, OnDevice
from aioli.learners.protocol import Capability
from aioli.numerics.compiling import Vector
from aioli.numerics.logistic import sigmoid_many
from aioli.numerics.pytorch import require_device
from aioli.outcomes.spec import Curvature
from aioli.snapshots.tree import Snapshot
from aioli.states.dense.device import DeviceState
from aioli.states.dense.play import logits_of_rows, play
from aioli.states.dense.state import State
from aioli.streams.device_rows import DeviceRows
from aioli.streams.rows import as_logits, as_weights

__all__ = ["DeviceAIOLI"]


class DeviceAIOLI(OnDevice[AIOLI], LearnerOfState[DeviceRows]):
    """The learner that `AIOLI(device=…)` makes: the same game, its matrices on a device, for wide rows and many.

    Rows may be arrays of PyTorch or CuPy, on the device or not, or all that `AIOLI` takes. Files are those of `AIOLI`:
    `AIOLI.load(path).to("cuda")` goes on there, and `to_cpu` comes back. Rows are played in blocks: announcements
    differ from those of the CPU by rounding, and a single row costs what a matrix product does.

    Parameters
    ----------
    radius, ridge, regulariser, curvature, intercept
        As those of `AIOLI`. There is no forgetting, which would mix the rows themselves into a block.
    device
        A device of PyTorch that knows float64: "cuda", "cuda:1", "cpu".
    """

    capabilities = LearnerOfState.capabilities | {Capability.GROWS, Capability.MERGES}

    def __init__(
        self,
        radius: float = 4.0,
        ridge: float | None = None,
        regulariser: float = 1.0,
        curvature: Curvature = "tight",
        intercept: bool = True,
        device: object = "cuda",
    ) -> None:
        super().__init__()
        self.device = str(require_device(device))
        self._game = AIOLI(radius, ridge, regulariser, curvature, intercept=intercept)
        self._spec = self._game._spec
        self._state: DeviceState | State | None = None

    @classmethod
    def of(cls, learner: AIOLI, device: object) -> Self:
        """Return the learner that goes on from what another knows, on a device; the other stays as it is."""
        spec = learner._spec
        if spec.forgetting != 1.0:
            message = "a device plays rows in blocks, which do not forget; leave out forgetting or device"
            raise ParameterRefused(message, parameter="forgetting", value=spec.forgetting)
        if learner._state is not None and learner._state.factored:
            message = "this learner is in its factored form, which keeps more digits and is played on the CPU alone"
            raise ParameterRefused(f"{message}; go on without a device", parameter="device", value=device)
        ridge, regulariser = learner.ridge, learner.regulariser
        there = cls(learner.radius, ridge, regulariser, learner.curvature, learner.intercept, device)
        there._ledger = AIOLI.restore(learner.snapshot())._ledger
        return there._take(learner)

    @staticmethod
    def _class_on_cpu() -> type[AIOLI]:
        return AIOLI

    @property
    def _known_game(self) -> DeviceState | State | None:
        return self._state

    # ---- its life

    def grow(self, columns: int, names: Sequence[str] | None = None) -> Self:
        """Make room for new columns, exactly as if they had been there, and 0, from the first row."""
        return self._take(self.to_cpu().grow(columns, names))

    def merge(self, other: Self, since: Self | None = None) -> Self:
        """Take in what another learner of the same parameters learned from other rows, as `AIOLI.merge`, on the CPU."""
        ancestor = None if since is None else since.to_cpu()
        return self._take(self.to_cpu().merge(other.to_cpu(), ancestor))

    def snapshot(self) -> Snapshot:
        """Return the snapshot of the equal `AIOLI`: files do not know of devices."""
        game = self._game.snapshot()
        parts = self._ledger_part | ({} if self._state is None else {"state": self._state.snapshot()})
        return Snapshot(game.kind, {**game.values, "names": self._names}, parts=parts)

    def __repr__(self) -> str:
        made = repr(self._game).removesuffix(")")
        return f"{made}, device={self.device!r}){self._repr_suffix()}"

    # ---- within

    def _take(self, learner: AIOLI) -> Self:
        """Go on from what a learner on the CPU knows."""
        state = learner._state
        self._state = state if state is None or state.factored else DeviceState.of(state, self.device)
        self._names = learner.feature_names_
        return self

    def _rows(self, X: object, single: bool = False) -> DeviceRows:
        spec = self._spec
        return DeviceRows(
            X,
            device=self.device,
            intercept=spec.intercept,
            widest=spec.widest_row,
            width=self.n_features_,
            names=self._names,
            single=single,
        )

    def _logits(self, rows: DeviceRows) -> Vector:
        state = self._state
        if state is None:
            return np.zeros(len(rows))
        if isinstance(state, State):
            return np.concatenate([logits_of_rows(state, part.cpu().numpy()) for _, part in rows])
        return np.concatenate([state.logits(part) for _, part in rows])

    def _learn(self, rows: DeviceRows, labels: Vector, weights: object, logits: object) -> Vector:
        row_weights = as_weights(weights, rows, self._spec.widest_row)
        announced = as_logits(logits, len(rows))
        if self._state is None:
            self._state = DeviceState(self._spec, rows.width + self._spec.intercept, self.device)
        for start, part in rows:
            here = slice(start, start + len(part))
            given = labels[here], row_weights[here], announced[here]
            played = 0
            if isinstance(self._state, DeviceState):
                played = self._state.play(part, *given)
                if played < len(part):
                    self._state = self._state.to_state()
                    warnings.warn(FACTORED, RuntimeWarning, stacklevel=4)
            if played < len(part) and isinstance(self._state, State):
                rest = (values[played:] for values in given)
                play(self._state, np.ascontiguousarray(part[played:].cpu().numpy()), *rest)
        return sigmoid_many(announced)
