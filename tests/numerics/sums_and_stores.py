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

BOOLEANS = re.compile(r"%([\w.$]+) = (?:or|and|xor|select|freeze) i1 ([^\n]*)")
BRANCHES = re.compile(r"br i1 %([\w.$]+), label %([\w.$]+), label %([\w.$]+)")
NAMES = re.compile(r"%([\w.$]+)")


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
    functions = (one for code in function.inspect_llvm().values() for one in re.split(r"\n(?=define )", code))
    return any(map(has_such_a_loop, functions))


def has_such_a_loop(code: str) -> bool:
    """Return whether a branch on the check leads to vector instructions that add up the parts of a sum."""
    blocks = {label_of(block): block for block in re.split(r"\n(?=[\w.$\"]+:)", code)}
    checks = set(re.findall(r"%(diff\.check\S*) = ", code))
    while True:  # what is computed of them, wherever that was moved to
        of_them = {made for made, given in BOOLEANS.findall(code) if checks & set(NAMES.findall(given))}
        if of_them <= checks:
            break
        checks |= of_them
    for near, far in [(a, b) for name, a, b in BRANCHES.findall(code) if name in checks]:
        seen, ahead = {near, far}, [far]
        while ahead:
            block = blocks.get(ahead.pop(), "")
            if "middle.block" in label_of(block):
                if re.search(r"bin\.rdx\S* = fadd|reduce\.fadd", block):
                    return True
            else:
                ahead += [label for label in re.findall(r"label %([\w.$]+)", block) if label not in seen]
                seen |= set(ahead)
    return False


def label_of(block: str) -> str:
    """Return the name of a block, empty for the first, which has the head of the function."""
    return "" if block.startswith("define") else block.partition(":")[0]


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
