"""AIOLI of many classes on a device of PyTorch: one matrix for all of them."""

from typing import Self

import numpy as np

from aioli.errors import DeviceFull, ParameterRefused
from aioli.learners.classes.announcements import LateClasses
from aioli.learners.classes.class_aioli import ClassAIOLI
from aioli.learners.on_device import CopiedOnDevice, on_the_cpu, telling_of_memory
from aioli.numerics.compiling import Matrix
from aioli.numerics.pytorch import require_device
from aioli.outcomes.class_labels import Classes
from aioli.snapshots.tree import Snapshot
from aioli.states.classes.device_shared import DeviceSharedGame
from aioli.states.dense.device_blocks import block_rows
from aioli.streams.device_rows import DeviceRows
from aioli.streams.rows import as_weights

__all__ = ["DeviceClassAIOLI"]

REMEDY = "give fewer rows at a time, or free memory on the device"


class DeviceClassAIOLI(CopiedOnDevice[ClassAIOLI], ClassAIOLI):
    """The learner that `AIOLI(classes=[…], device=…)` makes: the game of `structure="shared"`, on a device.

    Files are those of `AIOLI(classes=[…], structure="shared")`, which announces the same on the CPU, to rounding.

    Parameters
    ----------
    radius, ridge, intercept
        As those of `AIOLI`.
    classes
        The labels of all classes: on a device none appears on the way.
    device
        A device of PyTorch that knows float64: "cuda", "cuda:1", "cpu".
    """

    def __init__(
        self,
        radius: float = 4.0,
        ridge: float | None = None,
        intercept: bool = True,
        classes: Classes = (),
        device: object = "cuda",
    ) -> None:
        if classes == "any":
            message = "a device plays classes that are declared; give a list of their labels"
            raise ParameterRefused(message, parameter="classes", value=classes)
        self.device = str(require_device(device))
        super().__init__(radius, ridge, 1.0, intercept, classes, "shared")

    @classmethod
    def of(cls, learner: ClassAIOLI, device: object) -> Self:
        """Return the learner that goes on from what another knows, on a device; the other stays as it is."""
        game = learner._shared_game
        if learner._structure != "shared" or learner._labels.open:
            message = 'a device plays declared classes that share one matrix; begin with structure="shared"'
            raise ParameterRefused(message, parameter="device", value=device)
        own = ClassAIOLI.restore(learner.snapshot())
        there = cls(own.radius, own.ridge, own.intercept, own.classes, device)
        there._names, there._rounds, there._late, there._loss = own._names, own._rounds, own._late, own._loss
        there._unseen, there._ledger = own._unseen, own._ledger
        if game is not None:
            there._set(DeviceSharedGame.of(game, there.device))
        return there

    @staticmethod
    def _class_on_cpu() -> type[ClassAIOLI]:
        return ClassAIOLI

    def learn_many(
        self, X: object, y: object, weights: object = None, logits: object = None, announced: LateClasses = None
    ) -> Matrix:
        """Play the rows in order; returns each row's probabilities before its label, one column a class.

        Labels and weights may be on the device too. Where its memory ends, `DeviceFull` tells how many rows have been
        learned from, and the learner can go on behind them.
        """
        y, weights, logits = on_the_cpu(y, weights, logits)
        learned = 0
        try:
            with telling_of_memory(self.device, REMEDY):
                rows = self._rows(X)
                codes, _ = self._labels.encode(y, len(rows))
                piece = block_rows(rows.width + self._spec.intercept)  # where memory ends, those before it are learned
                if len(rows) <= piece or (logits is not None and announced is not None):
                    return super().learn_many(X, y, weights, logits, announced)
                stakes = as_weights(weights, rows, self._widest)
                labels = [self.classes_[code] for code in codes.tolist()]
                if announced is not None:
                    self._ledger.check(announced.tickets, len(rows))
                late = None if logits is None else self._unseen.as_announced(logits, len(rows), len(self._labels))
                said = np.empty((len(rows), len(self.classes_)))
                for first in range(0, len(rows), piece):
                    part = slice(first, first + piece)
                    told = None if late is None else late[part], None if announced is None else announced.of(part)
                    said[part] = super().learn_many(rows.values[part], labels[part], stakes[part], *told)
                    learned += len(labels[part])
                return said
        except DeviceFull as error:
            raise error.after(learned) from None

    def predict_logits_many(self, X: object) -> Matrix:
        """Return the logarithms of `predict_many`, which keep their digits where a probability is 0 or 1."""
        with telling_of_memory(self.device, REMEDY):
            return super().predict_logits_many(X)

    def merge(self, other: ClassAIOLI) -> Self:
        """Take in what another learner of the same parameters learned from other rows, on the CPU."""
        theirs = other.to_cpu() if isinstance(other, DeviceClassAIOLI) else other
        merged = self.of(self.to_cpu().merge(theirs), self.device)
        vars(self).update(vars(merged))
        return self

    def snapshot(self) -> Snapshot:
        """Return the snapshot of the equal `ClassAIOLI`: files do not know of devices."""
        own = super().snapshot()
        return Snapshot("ClassAIOLI", own.values, own.arrays, own.parts)

    # ---- within

    def _begin(self, width: int) -> None:
        state = DeviceSharedGame(self._spec, width + self._spec.intercept, len(self._labels), self.device)
        self._set(state)

    def _rows(self, X: object, single: bool = False) -> DeviceRows:
        return DeviceRows(
            X,
            device=self.device,
            intercept=self._intercept,
            widest=self._widest,
            width=self.n_features_,
            names=self._names,
            single=single,
        )
