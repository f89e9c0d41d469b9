"""Compiles a function that only compiled code calls: to LLVM bitcode, which its callers link in, and no further.

Left to itself, Numba compiles every function to machine code, caches that on disk, and then compiles the function once
more as a part of each caller, whose code is the only one that is ever run. Here such a function is neither optimised,
nor compiled to machine code, nor cached: its callers link in the bitcode as Numba wrote it. A function that may reorder
sums is optimised before it is linked: the order is then chosen once, and is the same in every caller
(`numerics.compiling`).
"""

import importlib
from functools import cache

from aioli.numerics.code_cache import Numba

__all__ = ["compiler", "inner_compiler", "register", "set_environments"]


@cache
def compiler() -> Numba:
    """Return Numba's `pipeline_class` for a function that Python calls: its own, with flags that compare quickly."""
    ordinary: Numba = importlib.import_module("numba.core.compiler").Compiler

    def begin(pipeline: Numba, *given: Numba) -> None:
        ordinary.__init__(pipeline, *given)
        pipeline.state.flags = _flags()(pipeline.state.flags)

    return type("QuickCompiler", (ordinary,), {"__init__": begin})


@cache
def _flags() -> Numba:
    """Return a subclass of Numba's compiler flags whose copies look up their values once, since no copy is changed.

    Numba compares the flags of the function being compiled with others whenever it types an operation, twenty thousand
    times in the first minute, and would look up two dozen values each time.
    """
    ordinary: Numba = importlib.import_module("numba.core.compiler").Flags

    number = hash(ordinary())  # Numba hashes the names of the options, so that all flags have this hash

    def copy(flags: Numba) -> Numba:
        made = copied(flags)
        made.kept = ordinary.values(flags)
        return made

    fixed = {"values": lambda flags: flags.kept, "__hash__": lambda _: number, "copy": copy}
    copied = type(ordinary)("Flags", (ordinary,), {"__slots__": ("kept",), **fixed})
    return type(ordinary)("Flags", (ordinary,), {"__slots__": (), "copy": copy})


@cache
def inner_compiler() -> Numba:
    """Return Numba's `pipeline_class` for a function that only compiled code calls: it stops at bitcode."""
    ordinary = compiler()
    passes = ordinary.define_pipelines

    def define_pipelines(pipeline: Numba) -> Numba:
        state = pipeline.state
        state.library = _inner_code()(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.reorders = bool(state.flags.fastmath)
        state.flags.no_compile = True
        return passes(pipeline)

    return type("InnerCompiler", (ordinary,), {"define_pipelines": define_pipelines})


@cache
def _inner_code() -> Numba:
    """Return a subclass of Numba's code library that is linked into others and never becomes machine code itself."""
    library: Numba = importlib.import_module("numba.core.codegen").JITCodeLibrary
    optimise = library._optimize_final_module

    def optimise_sums(code: Numba) -> None:
        if code.reorders:
            optimise(code)

    def finalise(code: Numba) -> None:
        code._finalized = True

    return type("InnerCode", (library,), {"_optimize_final_module": optimise_sums, "_finalize_final_module": finalise})


def register(dispatcher: Numba, result: Numba) -> None:
    """Add a function that was compiled to bitcode to Numba's registries, so that compiled callers find it."""
    result = result._replace(entry_point=object())  # Numba's key for it, which usually is an address: there is none
    dispatcher.targetctx.insert_user_function(result.entry_point, result.fndesc, [result.library])
    dispatcher.overloads[tuple(result.signature.args)] = result


def set_environments(result: Numba) -> None:
    """Give all functions linked into a new result their environments (Numba's tables of constants and globals).

    Numba does so only for code that it loads from its cache.
    """
    for environment in result._find_referenced_environments():
        result.codegen.set_env(environment.env_name, environment)
