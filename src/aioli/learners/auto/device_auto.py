"""Auto on a device of PyTorch: a mixture over ridges and two scalings of the columns, for embeddings."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np

from aioli.errors import CapabilityMissing
from aioli.learners.announcements import Delayed
from aioli.learners.auto.dense_ensemble import HEAVIEST, DenseEnsemble
from aioli.learners.auto.device_experts import BUDGET, DeviceExperts, plays_on_devices
from aioli.learners.base import RowsLearner
from aioli.learners.on_device import OnDevice
from aioli.learners.protocol import Capability
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid_many
from aioli.snapshots.tree import Snapshot
from aioli.states.dense.device import DeviceState
from aioli.states.dense.state import State
from aioli.states.mixture.views import LONGEST
from aioli.streams.device_rows import DeviceRows
from aioli.streams.rows import as_logits, as_weights

if TYPE_CHECKING:
    from aioli.learners.auto.auto import Auto

__all__ = ["DeviceAuto"]


class DeviceAuto(DeviceExperts, OnDevice["Auto"]):
    """The learner that `Auto(device=…)` makes: the linear experts of `Auto` that do not forget, on a device.

    Up to five AIOLI learners, of three ridges and two curvatures, read columns that are standardised or divided by
    their peak as the stream goes, in the mixture of `Auto` with its stackers. It announces what an `Auto` of the same
    experts announces on the CPU, to rounding. Files are those of `Auto`: `Auto.load(path)` reads one on any machine.

    Parameters
    ----------
    experts
        How many to play, the most useful first. None plays all five where their matrices, of 8d² bytes each, take at
        most 17 GiB together, and fewer beyond, but two at least.
    device
        A device of PyTorch that knows float64: "cuda", "cuda:1", "cpu".
    """

    capabilities = RowsLearner.capabilities | {Capability.GROWS, Capability.MIXES}
    remedy = "make it with fewer experts, or free memory on the device"

    def __init__(self, experts: int | None = None, device: object = "cuda") -> None:
        RowsLearner.__init__(self)
        DeviceExperts.__init__(self, experts, device)

    @classmethod
    def of(cls, learner: "Auto", device: object) -> Self:
        """Return the learner that goes on from what an `Auto` knows, on a device; the other stays as it is."""
        player = learner._linear_experts_alone
        if player is None or not all(plays_on_devices(expert) for expert in player.playing):
            raise CapabilityMissing(
                "experts that forget or bend, companions and wide rows play on the CPU alone; begin with "
                "Auto(device=…), whose files move between devices"
            )
        if player.on_fixed_columns or any(state.factored for state in player.states):
            raise CapabilityMissing("columns that are fixed, and factored states, are played on the CPU alone")
        own = DenseEnsemble.restore(player.snapshot())
        there = cls(device=device)
        there._set_experts(own.playing, own._mixture)
        there._late, there._views, there._ledger, there._names = own._late, own._views, own._ledger, own._names
        there._totals[...], there._negligible[...] = own._totals, own._negligible
        there.states = [DeviceState.of(state, there.device) for state in own.states]
        return there

    @staticmethod
    def _class_on_cpu() -> "type[Auto]":
        from aioli.learners.auto.auto import Auto

        return Auto

    # ---- its life

    def grow(self, columns: int, names: Sequence[str] | None = None) -> Self:
        """Make room for new columns, exactly as if they had been there, and 0, from the first row."""
        names_after = self._names_after_growing(columns, names)
        if self._views is not None:
            grown = [(state if isinstance(state, State) else state.to_state()).grown(columns) for state in self.states]
            views = self._views.grown(columns)
            self.states = [state if state.factored else DeviceState.of(state, self.device) for state in grown]
            self._views = views
        self._names = names_after
        return self

    def snapshot(self) -> Snapshot:
        """Return the snapshot of the equal `Auto`: files do not know of devices."""
        player = self._ensemble_snapshot(self._names, self._ledger_part)
        return Snapshot("Auto", {"parameters": {"experts": None, "budget": BUDGET}}, parts={"player": player})

    def __repr__(self) -> str:
        experts = "" if self.most is None else f"experts={self.most}, "
        return f"Auto({experts}device={self.device!r}){self._repr_suffix()}"

    # ---- within

    def _rows(self, X: object, single: bool = False) -> DeviceRows:
        return DeviceRows(
            X,
            device="cpu",  # where the views are made
            intercept=False,
            widest=LONGEST,
            width=self.n_features_,
            names=self._names,
            single=single,
        )

    def _logits(self, rows: DeviceRows) -> Vector:
        return self._mixed(self._consult(rows))

    def _announce(self, rows: DeviceRows) -> tuple[Vector, Matrix]:
        logits, kept = self._hear_announcements().announce(self._mixture, self._consult(rows))
        return logits, self._spread(kept)

    def _learn(self, rows: DeviceRows, labels: Vector, weights: object, logits: object) -> Vector:
        row_weights = as_weights(weights, rows, LONGEST, HEAVIEST)
        announced = np.empty(len(rows))
        self._learn_rows(rows, labels, row_weights, as_logits(logits, len(rows)), announced, None)
        return sigmoid_many(announced)

    def _answer(self, rows: DeviceRows, labels: Vector, weights: object, delayed: Delayed) -> None:
        row_weights = as_weights(weights, rows, LONGEST, HEAVIEST)
        self._gather(delayed.memory)  # refuses announcements of another kind of learner
        self._hear_announcements()
        self._learn_rows(rows, labels, row_weights, delayed.logits, np.empty(len(rows)), delayed)
