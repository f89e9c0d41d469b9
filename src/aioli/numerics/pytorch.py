"""PyTorch, where a learner is to play on a device of it, such as a GPU; it is optional, and loaded on first use."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, TypeAlias, TypeGuard

from aioli.errors import ParameterRefused

__all__ = ["Tensor", "beside", "is_tensor", "pytorch", "require_device"]

Tensor: TypeAlias = Any  # torch.Tensor: types are checked without PyTorch too


def pytorch() -> ModuleType:
    """Return PyTorch, or say how to install it."""
    try:
        return importlib.import_module("torch")
    except ImportError:
        raise ImportError("a device needs PyTorch: pip install 'aioli-online[torch]'") from None


def require_device(device: object) -> Any:
    """Return PyTorch's device of this name, which must be there and know float64."""
    torch = pytorch()
    try:
        found = torch.device(device)
        torch.zeros(1, dtype=torch.float64, device=found)
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).splitlines()[0]
        message = (
            f"device is {device!r}, which cannot be used here ({reason}); give 'cuda' where there is one, or 'cpu'"
        )
        raise ParameterRefused(message, parameter="device", value=device) from None
    return found


@contextmanager
def beside(device: object) -> Iterator[None]:
    """Give the device orders beside those of other threads, and wait for them at the end; a CPU has no such."""
    torch = pytorch()
    there = torch.device(device)
    if there.type != "cuda":
        yield
        return
    with torch.cuda.stream(torch.cuda.Stream(there)):
        yield
        torch.cuda.current_stream(there).synchronize()


def is_tensor(X: object) -> TypeGuard[Tensor]:
    """Return whether X is an array of PyTorch. It is not loaded for it: without PyTorch nobody can have one."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.Tensor)
