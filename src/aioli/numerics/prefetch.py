"""Prefetching: tells the processor to begin reading numbers that a loop will need a few rows later.

Records of many keys lie scattered in memory, and a row waits about 0.3 µs for one that is in no cache. Asked for in
time, several are on their way at once.
"""

import importlib

from aioli.numerics.code_cache import Numba
from aioli.numerics.compiling import Vector, compiled

__all__ = ["LINE", "ask_for", "prefetch"]

LINE = 8  # float64 numbers in a cache line of 64 bytes


def _prefetch() -> Numba:
    """Return the function `prefetch(numbers, place)`: an instruction in compiled code, nothing where all is plain."""
    if importlib.import_module("numba").config.DISABLE_JIT:

        def nothing(numbers: Vector, place: int) -> None:  # noqa: ARG001  (the signature of what it stands for)
            return None

        return nothing

    types = importlib.import_module("numba.core.types")
    ir = importlib.import_module("llvmlite.ir")

    def typed(_context: Numba, numbers: Numba, _place: Numba) -> Numba:
        def generate(context: Numba, builder: Numba, signature: Numba, arguments: Numba) -> Numba:
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            octets, whole = ir.IntType(8).as_pointer(), ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [octets, whole, whole, whole])
            instruction = builder.module.declare_intrinsic("llvm.prefetch", [octets], kind)
            pointer = builder.bitcast(builder.gep(array.data, [arguments[1]]), octets)
            # to be written to (1), to stay in all levels of the cache (3), data and not code (1)
            builder.call(instruction, [pointer, whole(1), whole(3), whole(1)])
            return context.get_dummy_value()

        return types.void(numbers, types.int64), generate

    return importlib.import_module("numba.extending").intrinsic(typed)


prefetch = _prefetch()


@compiled("void(f8[::1],i8,i8)", uncounted=True)
def ask_for(numbers: Vector, first: int, end: int) -> None:
    """Ask for the cache lines of the numbers between two places, which begin a line. O(1) a line."""
    for i in range(first, end, LINE):
        prefetch(numbers, i)
