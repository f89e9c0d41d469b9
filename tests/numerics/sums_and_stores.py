"""Prints the compiled functions of the package with a loop that sums and stores, so that its order hangs on memory.

LLVM lets such a loop take vector instructions behind a check of how far apart the arrays lie (`diff.check`), and adds
the parts of the sum up at its end (`middle.block`). The first name is that of a function made to be found.
"""

import importlib
import pkgutil
import re
from collections.abc import Iterator

import aioli
from aioli.numerics.code_cache import Numba
from aioli.numerics.compiling import Vector, compiled


@compiled("f8(f8[::1],f8[::1])", reassociate=True)
def store_and_sum(x: Vector, out: Vector) -> float:
    """Do in one loop what should be two."""
    total = 0.0
    for j in range(x.size):
        r = 2.0 * x[j]
        out[j] = r
        total += r * r
    return total


def is_found(function: Numba) -> bool:
    """Return whether the function, or one that was compiled with it, has such a loop."""
    for code in function.inspect_llvm().values():
        blocks = re.split(r"\n(?=[\w.$\"]+:)", code)
        for place, block in enumerate(blocks):
            if "diff.check" in block:
                end = next((later for later in blocks[place:] if later.startswith("middle.block")), "")
                if re.search(r"bin\.rdx\S* = fadd|reduce\.fadd", end):
                    return True
    return False


def reordering() -> Iterator[Numba]:
    """Yield every function of the package that lets the compiler reorder sums, compiled in this process."""
    dispatcher = importlib.import_module("numba.core.dispatcher").Dispatcher
    for module in pkgutil.walk_packages(aioli.__path__, "aioli."):
        if not module.name.endswith("__main__"):
            for value in vars(importlib.import_module(module.name)).values():
                if isinstance(value, dispatcher) and value.py_func.__module__ == module.name:
                    yield value


if __name__ == "__main__":
    for function in [store_and_sum, *reordering()]:
        if function.targetoptions["fastmath"]:
            function.compile(function._compile_for_args.__closure__[1].cell_contents)
            if is_found(function):
                print(function.__name__)
