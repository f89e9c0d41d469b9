"""What learners on a device of PyTorch share: labels that lie there, memory that ends, copies that stay there."""

import os
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic, Self, TypeVar

from aioli.errors import DeviceFull
from aioli.learners.announcements import LateMany
from aioli.learners.base import RowsLearner
from aioli.learners.remembering import Remembering
from aioli.numerics.compiling import Vector
from aioli.numerics.pytorch import is_tensor, pytorch
from aioli.snapshots.tree import Snapshot
from aioli.streams.device_rows import DeviceRows

__all__ = ["FACTORED", "CopiedOnDevice", "OnDevice", "on_the_cpu", "telling_of_memory"]

OnCPU = TypeVar("OnCPU", bound=Remembering)  # the equal learner on the CPU

FACTORED = (
    "from here on the state needs its factored form, which keeps more digits and is played on the CPU alone: scale the "
    "columns, or give a larger ridge, to stay on the device"
)


def on_the_cpu(*parts: object) -> list[object]:
    """Return labels, weights or log-odds as NumPy arrays where they are PyTorch's, on whichever device."""
    return [part.detach().cpu().numpy() if is_tensor(part) else part for part in parts]


@contextmanager
def telling_of_memory(device: str, remedy: str) -> Iterator[None]:
    """Turn PyTorch's error about memory into a `DeviceFull` that says what to do."""
    try:
        yield
    except pytorch().cuda.OutOfMemoryError as error:
        raise DeviceFull(f"the memory of {device} has come to its end", reason=str(error), remedy=remedy) from None


class CopiedOnDevice(Remembering, Generic[OnCPU]):
    """A learner on a device whose files are those of the CPU's learner; its copies and pickles stay on the device.

    Attributes
    ----------
    device
        The name of the device.
    """

    device: str

    @staticmethod
    @abstractmethod
    def _class_on_cpu() -> type[OnCPU]:
        """Return the class of the equal learner on the CPU."""

    @classmethod
    @abstractmethod
    def of(cls, learner: OnCPU, device: object) -> Self:
        """Return the learner that goes on from what another knows, on a device; the other stays as it is."""

    def to_cpu(self) -> OnCPU:
        """Return the equal learner on the CPU; this one stays as it is."""
        return self._class_on_cpu().restore(self.snapshot())

    @classmethod
    def restore(cls, snapshot: Snapshot, device: object = "cuda") -> Self:
        """Make an equal learner on a device from the snapshot of the CPU's learner."""
        return cls.of(cls._class_on_cpu().restore(snapshot), device)

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: object = "cuda") -> Self:
        """Read a learner that `save` wrote, of this class or of the CPU's, onto a device."""
        return cls.of(cls._class_on_cpu().load(path), device)

    def __copy__(self) -> Self:
        return self.restore(self.snapshot(), self.device)

    def __deepcopy__(self, _memo: dict[int, object]) -> Self:
        return self.restore(self.snapshot(), self.device)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self).restore, (self.snapshot(), self.device)


class OnDevice(CopiedOnDevice[OnCPU], RowsLearner[DeviceRows], Generic[OnCPU]):
    """A learner of two classes whose matrices are on a device of PyTorch."""

    remedy = "give fewer rows at a time, or free memory on the device"

    def predict_logit_many(self, X: object) -> Vector:
        """Return the log-odds of `predict_many`, which keep their digits where a probability is 0 or 1."""
        with telling_of_memory(self.device, self.remedy):
            return super().predict_logit_many(X)

    def learn_many(
        self, X: object, y: object, weights: object = None, logits: object = None, announced: LateMany = None
    ) -> Vector:
        """Play the rows in order; returns each row's probability before its label, as the CPU's learner does.

        Labels and weights may be on the device too. Where its memory ends, `DeviceFull` tells how many rows have been
        learned from: whole blocks, and the learner can go on behind them.
        """
        y, weights, logits = on_the_cpu(y, weights, logits)
        before = self.rounds
        try:
            with telling_of_memory(self.device, self.remedy):
                return super().learn_many(X, y, weights, logits, announced)
        except DeviceFull as error:
            raise error.after(self.rounds - before) from None

    def learn_batch(self, X: object, y: object, weights: object = None) -> Vector:
        """Announce all rows before the first of their labels, then learn from them; returns what was announced.

        Labels and weights, and what is told where the device's memory ends, are as in `learn_many`.
        """
        return self._announce_then_learn(X, y, weights)
