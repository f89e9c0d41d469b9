"""The one place that calls Numba: every compiled function of the package is made here, with the same options."""

import importlib
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def compiled(signature: str, *, reassociate: bool = False) -> Callable[[Function], Function]:
    """Compile a function ahead of its first call, once per machine: the result is cached on disk.

    `reassociate` lets the compiler reorder sums and contract multiply-adds, without which it cannot use vector
    instructions in a dot product. The scalar functions of this package forbid it: their accuracy is in the order.
    """
    numba = importlib.import_module("numba")
    decorate = numba.njit(
        signature,
        cache=True,
        nogil=True,
        error_model="numpy",  # a division by zero is an infinity to be checked, not an exception in a hot loop
        fastmath={"reassoc", "contract"} if reassociate else False,
    )

    def compile_function(function: Function) -> Function:
        kernel: Function = decorate(function)
        return kernel

    return compile_function


def elementwise(function: Callable[..., float], signature: str) -> Callable[..., Vector]:
    """Turn a scalar function into a NumPy universal function that broadcasts."""
    numba = importlib.import_module("numba")
    broadcasting: Callable[..., Vector] = numba.vectorize([signature], cache=True)(
        getattr(function, "py_func", function)
    )
    return broadcasting
