"""How `numerics.compiling` takes hold of Numba: by entries that Numba does not promise to keep."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from aioli.numerics import compiling
from aioli.numerics.compiling import compiled

numba = pytest.importorskip("numba")
DISPATCHER = ("_compile_for_args", "get_call_template", "compile", "disable_compile", "overloads", "typeof_pyval")
SENTENCE = (
    f"Numba {numba.__version__} has changed {{}}, by which numerics/compiling.py has a function compiled when it is "
    "first called: mend compiling.py, or keep the upper bound on Numba in pyproject.toml below this version"
)


def square(x: float) -> float:
    return x * x


def fresh() -> Any:
    """A compiled function that nobody has called."""
    return compiled("f8(f8)")(square)


@pytest.mark.parametrize("entry", DISPATCHER)
def test_the_dispatcher_has_the_entries_that_are_taken_over(entry: str) -> None:
    assert hasattr(numba.njit(square), entry), SENTENCE.format(f"Dispatcher.{entry}")


def test_a_call_from_python_compiles_by_the_entry_that_was_put_in_place() -> None:
    function = fresh()
    assert not function.overloads, SENTENCE.format("when functions are compiled")
    assert function(3.0) == 9.0, SENTENCE.format("Dispatcher._compile_for_args")
    assert list(function.overloads) == [(numba.float64,)], SENTENCE.format("Dispatcher._compile_for_args")


def test_a_call_from_a_compiled_function_compiles_by_the_entry_that_was_put_in_place() -> None:
    function = fresh()

    def caller(x: float) -> float:
        result: float = function(x) + 1.0
        return result

    assert numba.njit(caller)(3.0) == 10.0, SENTENCE.format("Dispatcher.get_call_template")
    assert list(function.overloads) == [(numba.float64,)], SENTENCE.format("Dispatcher.get_call_template")


def test_what_does_not_fit_the_signature_is_refused() -> None:
    with pytest.raises(TypeError, match=r"square takes float64, not array\(float64, 1d, C\)"):
        fresh()(np.zeros(2))


def test_compiling_is_announced_once_and_only_where_something_was_not_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(compiling, "announce", lambda: said.append("compiling"))

    def tell(misses: dict[str, int]) -> None:
        loop: Any = SimpleNamespace(stats=SimpleNamespace(cache_misses=misses))
        compiling._tell(loop)

    tell({})
    assert said == []
    tell({"f8(f8)": 1})
    tell({"f8(f8)": 1})
    assert said == ["compiling"]
