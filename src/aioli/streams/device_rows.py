"""The border of a device: rows of PyTorch, CuPy, NumPy or any other kind become float64 on it, or are refused.

Rows that are on the device already are checked there; others are brought up a part at a time, the next part while the
one before it is played.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, runtime_checkable

import numpy as np

from aioli.errors import UNCHANGED, ParameterRefused
from aioli.numerics.compiling import Vector
from aioli.numerics.pytorch import Tensor, beside, is_tensor, pytorch
from aioli.streams.matrices import Values, as_matrix, check_shape
from aioli.streams.rows import CheckedRows

__all__ = ["DeviceRows"]

PART = 1 << 25  # numbers that are made ready at a time: 256 MiB
PART_HERE = 1 << 22  # the same for rows that are read on the CPU, where more are no faster
PART_ROWS = 1024  # a part has a multiple of so many rows, the largest block that a state plays
KNOWN_HERE = 1  # DLPack's number of the CPU


@runtime_checkable
class _OnDevice(Protocol):
    """An array of a library that tells where it lies, such as CuPy's (the array API standard)."""

    def __dlpack_device__(self) -> tuple[int, int]: ...

    def __dlpack__(self) -> object: ...


class DeviceRows(CheckedRows):
    """Checks rows and hands them out in parts as a state on a device reads them: float64 there, intercept first."""

    def __iter__(self) -> Iterator[tuple[int, Tensor]]:
        """Yield the parts, each with the number of its first row."""
        if self._ready is not None:
            yield 0, self._ready
            return
        starts = range(0, len(self), self._part)
        with ThreadPoolExecutor(1) as ahead:
            coming = ahead.submit(self._loaded, 0)
            for start in starts:
                part = coming.result()
                if start + self._part < len(self):
                    coming = ahead.submit(self._loaded, start + self._part)
                yield start, part

    def lengths(self) -> Iterator[tuple[int, Vector]]:
        """Yield the norms of the rows, part by part, each with the number of its first row."""
        for start, part in self:
            yield start, pytorch().linalg.vector_norm(part, dim=1).cpu().numpy()

    def _as_values(self, X: object, width: int | None, names: Sequence[str] | None, single: bool) -> Values:
        if not is_tensor(X):
            if not (isinstance(X, _OnDevice) and X.__dlpack_device__()[0] != KNOWN_HERE):
                return as_matrix(X, width=width, names=names, single=single)
            X = pytorch().from_dlpack(X)
        values: Tensor = X
        if single and values.ndim == 1:
            values = values[None]
        if values.ndim != 2 or (single and len(values) != 1):
            wanted = "one row, of one dimension" if single else "rows and columns"
            raise ParameterRefused(f"an array of shape {tuple(values.shape)} came; give {wanted}", parameter="X")
        if values.is_complex() or values.layout != pytorch().strided:
            raise ParameterRefused(f"an array of {values.dtype} came; give real numbers{UNCHANGED}", parameter="X")
        check_shape(tuple(values.shape), width=width, names=names, single=single)
        return values.detach()  # type: ignore[no-any-return]  # PyTorch says Any

    def _check(self, widest: float) -> None:
        numbers = PART_HERE if self.device == "cpu" else PART
        self._part = max(PART_ROWS, numbers // (self.width + 1) // PART_ROWS * PART_ROWS)
        self._ready: Tensor | None = None
        given: Tensor = self.values
        elsewhere = is_tensor(given) and given.device.type != pytorch().device(self.device).type
        for start in range(0, len(self), self._part):
            # rows of a GPU that are read on the CPU are checked where they lie, and come when they are asked for
            part = given[start : start + self._part].double() if elsewhere else self._loaded(start)
            norms = pytorch().linalg.vector_norm(part, dim=1)
            if not bool((norms <= widest).all()):
                bad = int(np.argmax(~(norms.cpu().numpy() <= widest)))
                row = part[bad, 0 if elsewhere else int(self.intercept) :].cpu().numpy()
                self._refuse(start + bad, row, range(self.width), widest)
            if len(self) <= self._part and not elsewhere:
                self._ready = part

    def _loaded(self, start: int) -> Tensor:
        """Return the rows from `start` on the device, in float64, behind a 1 where there is an intercept."""
        torch = pytorch()
        there = torch.device(self.device)
        values = self.values[start : start + self._part]
        if is_tensor(values):
            given: Tensor = values
        else:
            plain = values if isinstance(values, np.ndarray) else values.toarray()
            if plain.dtype.kind == "O" or not plain.dtype.isnative or plain.dtype.itemsize > 8:
                plain = plain.astype(np.float64)
            given = torch.from_numpy(np.ascontiguousarray(plain) if plain.flags.writeable else plain.copy())
        with beside(there):
            if there.type == "cuda" and given.device.type == "cpu":
                given = given.pin_memory()  # copied at the full speed of the bus, in the type that came
            part = torch.empty((len(given), self.width + self.intercept), dtype=torch.float64, device=there)
            part[:, int(self.intercept) :] = given.to(there, non_blocking=True)
            if self.intercept:
                part[:, 0] = 1.0
        return part
