"""How Numba compiles a function that only compiled code calls: to LLVM's bitcode, and no further.

Left to itself, Numba makes machine code of every function, keeps it on disk, and then compiles the function once more
as a part of each of its callers, whose code is the only one that is ever run. Here such a function is neither
optimised, nor made machine code, nor kept: it is linked into its callers as Numba wrote it. One that may reorder sums
is optimised before: its order is then chosen once, and every caller gets the same (`numerics.compiling`).
"""

import importlib
from functools import cache

from aioli.numerics.code_cache import Numba

__all__ = ["compiler", "inner_compiler", "register", "set_environments"]


@cache
def compiler() -> Numba:
    """Return the class by which Numba compiles a function that Python calls (its `pipeline_class`)."""
    ordinary: Numba = importlib.import_module("numba.core.compiler").Compiler

    def begin(pipeline: Numba, *given: Numba) -> None:
        ordinary.__init__(pipeline, *given)
        pipeline.state.flags = _flags()(pipeline.state.flags)

    return type("QuickCompiler", (ordinary,), {"__init__": begin})


@cache
def _flags() -> Numba:
    """Return a class of Numba's flags whose copies are compared quickly: a copy is not changed, its values are kept.

    Numba compares those of the function being compiled with others' whenever it types an operation, twenty thousand
    times in the first minute, and looks up two dozen values each time.
    """
    ordinary: Numba = importlib.import_module("numba.core.compiler").Flags

    number = hash(ordinary())  # of the names of the options, not of their values

    def copy(flags: Numba) -> Numba:
        made = copied(flags)
        made.kept = ordinary.values(flags)
        return made

    fixed = {"values": lambda flags: flags.kept, "__hash__": lambda _: number, "copy": copy}
    copied = type(ordinary)("Flags", (ordinary,), {"__slots__": ("kept",), **fixed})
    return type(ordinary)("Flags", (ordinary,), {"__slots__": (), "copy": copy})


@cache
def inner_compiler() -> Numba:
    """Return the class by which Numba compiles a function that only compiled code calls (its `pipeline_class`)."""
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
    """Return the class of Numba's libraries of code that are linked into others and never run by themselves."""
    library: Numba = importlib.import_module("numba.core.codegen").JITCodeLibrary
    optimise = library._optimize_final_module

    def optimise_sums(code: Numba) -> None:
        if code.reorders:
            optimise(code)

    def finalise(code: Numba) -> None:
        code._finalized = True

    return type("InnerCode", (library,), {"_optimize_final_module": optimise_sums, "_finalize_final_module": finalise})


def register(dispatcher: Numba, result: Numba) -> None:
    """Make known to Numba what was compiled of a function, for compiled callers alone: it has no address."""
    result = result._replace(entry_point=object())  # what Numba finds it by
    dispatcher.targetctx.insert_user_function(result.entry_point, result.fndesc, [result.library])
    dispatcher.overloads[tuple(result.signature.args)] = result


def set_environments(result: Numba) -> None:
    """Give the inner functions of one that was compiled now their environments, as Numba does where it loads one."""
    for environment in result._find_referenced_environments():
        result.codegen.set_env(environment.env_name, environment)
