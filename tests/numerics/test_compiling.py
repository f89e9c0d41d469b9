"""How `numerics.compiling` takes hold of Numba: by entries that Numba does not promise to keep."""

import gc
import importlib
from typing import Any

import numpy as np
import pytest

from aioli.numerics import compiling
from aioli.numerics.compiling import Vector, compiled

numba = pytest.importorskip("numba")
DISPATCHER = (
    "_compile_for_args",
    "get_call_template",
    "get_overload",
    "add_overload",
    "compile",
    "disable_compile",
    "overloads",
    "targetctx",
    "typeof_pyval",
)
LIBRARY = ("_optimize_final_module", "_finalize_final_module", "_get_module_for_linking")
SENTENCE = (
    f"Numba {numba.__version__} has changed {{}}, by which numerics/compiling.py has a function compiled when it is "
    "first called: mend compiling.py, or keep the upper bound on Numba in pyproject.toml below this version"
)


def square(x: float) -> float:
    return x * x


def fresh() -> Any:
    """A compiled function that nobody has called."""
    return compiled("f8(f8)")(square)


class KeptInMemory:
    """A cache of one function, which is empty at first."""

    kept: Any = None

    def load_overload(self, signature: str, context: object) -> Any:  # noqa: ARG002
        return self.kept

    def save_overload(self, signature: str, data: Any) -> None:  # noqa: ARG002
        self.kept = data


def not_cached() -> Any:
    """A compiled function that nobody has called in any process."""
    function = fresh()
    function._cache = KeptInMemory()
    return function


def compiled_within(function: Any) -> Any:
    """Return what was compiled of a function for compiled callers."""
    dispatcher = numba.core.dispatcher.Dispatcher
    cells = [cell.cell_contents for cell in function.get_overload.__closure__[0].cell_contents.__closure__]
    (within,) = (cell for cell in cells if isinstance(cell, dispatcher) and cell is not function)
    (made,) = within.overloads.values()
    return made


@pytest.mark.parametrize("entry", DISPATCHER)
def test_the_dispatcher_has_the_entries_that_are_taken_over(entry: str) -> None:
    assert hasattr(numba.njit(square), entry), SENTENCE.format(f"Dispatcher.{entry}")


@pytest.mark.parametrize("entry", LIBRARY)
def test_numba_s_library_has_the_entries_that_inner_functions_take_over(entry: str) -> None:
    codegen = importlib.import_module("numba.core.codegen")
    assert hasattr(codegen.JITCodeLibrary, entry), SENTENCE.format(f"JITCodeLibrary.{entry}")


def test_a_call_from_python_compiles_by_the_entry_that_was_put_in_place() -> None:
    function = fresh()
    assert not function.overloads, SENTENCE.format("when functions are compiled")
    assert function(3.0) == 9.0, SENTENCE.format("Dispatcher._compile_for_args")
    assert list(function.overloads) == [(numba.float64,)], SENTENCE.format("Dispatcher._compile_for_args")


def test_a_call_from_a_compiled_function_compiles_by_the_entry_that_was_put_in_place() -> None:
    function = not_cached()

    def caller(x: float) -> float:
        result: float = function(x) + 1.0
        return result

    assert numba.njit(caller)(3.0) == 10.0, SENTENCE.format("Dispatcher.get_call_template")
    assert not function.overloads, SENTENCE.format("Dispatcher.get_overload")  # nothing that Python could call


def test_a_function_that_only_compiled_ones_call_has_no_machine_code_and_is_not_kept() -> None:
    function = not_cached()
    assert numba.njit(lambda x: function(x) + 1.0)(3.0) == 10.0
    made = compiled_within(function)
    assert not callable(made.entry_point), SENTENCE.format("Flags.no_compile")
    assert not made.codegen._engine.is_symbol_defined(made.fndesc.llvm_func_name), SENTENCE.format("CodeLibrary")
    assert made.library._get_module_for_linking().get_function(made.fndesc.llvm_func_name).linkage is not None
    assert function._cache.kept is None


@pytest.mark.parametrize("reassociate", [True, False])
def test_of_inner_functions_those_that_reorder_sums_are_optimised_before_they_are_linked(reassociate: bool) -> None:
    def total(x: Vector) -> float:
        result = 0.0
        for i in range(x.size):
            result += x[i]
        return result

    function: Any = compiled("f8(f8[::1])", reassociate=reassociate)(total)
    function._cache = KeptInMemory()
    assert numba.njit(lambda x: function(x))(np.arange(100.0)) == 4950.0
    loops = str(compiled_within(function).library._get_module_for_linking())
    assert ("fadd reassoc contract <" in loops) == reassociate  # vector instructions: the order of the sum is chosen


def test_a_function_that_compiled_ones_call_is_compiled_for_python_when_python_calls_it() -> None:
    function = not_cached()
    assert numba.njit(lambda x: function(x) + 1.0)(3.0) == 10.0
    assert function(3.0) == 9.0
    assert numba.njit(lambda x: function(x) - 1.0)(3.0) == 8.0
    assert list(function.overloads) == [(numba.float64,)]


def test_a_function_that_python_has_called_is_not_compiled_again_for_compiled_ones() -> None:
    function = fresh()
    assert function(3.0) == 9.0
    (made,) = function.overloads.values()
    assert function.get_overload((numba.float64,)) is made.entry_point


def test_what_does_not_fit_the_signature_is_refused() -> None:
    with pytest.raises(TypeError, match=r"square takes float64, not array\(float64, 1d, C\)"):
        fresh()(np.zeros(2))


def total(x: Vector, y: float) -> float:
    return float(x[0] + y)


def test_a_bound_call_returns_what_the_call_does_and_still_refuses_numbers_of_another_size() -> None:
    x = np.array([2.0])
    add = compiled("f8(f8[::1],f8)")(total)
    again = compiling.bound(add, x)
    assert again(3.0) == add(x, 3.0) == 5.0
    x[0] = 4.0
    assert again(3.0) == 7.0
    assert compiling.bound(total, x, 3.0)() == 7.0  # as where Numba has been told to compile nothing
    for wrong in (np.array([2.0], np.float32), [2.0], None):
        with pytest.raises((TypeError, ValueError)):
            compiling.bound(add, wrong)(3.0)


def test_compiling_is_announced_while_it_happens_once_and_only_where_the_code_is_not_in_the_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[tuple[str, bool]] = []
    functions = [not_cached(), not_cached(), not_cached()]
    cache = functions[1]._cache = functions[0]._cache
    monkeypatch.setattr(compiling, "announce", lambda: said.append(("first", cache.kept is None)))
    assert functions[0](3.0) == 9.0
    assert said == [("first", True)]  # before it was compiled
    assert compiling.announce is None  # said once
    monkeypatch.setattr(compiling, "announce", lambda: said.append(("again", True)))
    assert functions[1](3.0) == 9.0  # from the cache
    assert len(said) == 1
    assert functions[2](3.0) == 9.0
    assert said[1:] == [("again", True)]


@pytest.mark.parametrize("collecting", [True, False])
def test_garbage_is_collected_after_compiling_as_it_was_before(
    collecting: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    function, seen = fresh(), []
    function._cache = KeptInMemory()
    monkeypatch.setattr(function._cache, "save_overload", lambda *_: seen.append(gc.isenabled()))
    before = gc.isenabled()
    try:
        (gc.enable if collecting else gc.disable)()
        function(3.0)
        assert (seen, gc.isenabled()) == ([False], collecting)
    finally:
        (gc.enable if before else gc.disable)()
