"""Makes every compiled function of the package, with the same options; its neighbours here hide the rest of Numba."""

import contextlib
import gc
import importlib
from collections.abc import Callable, Iterator
from functools import cache, partial
from types import FunctionType
from typing import Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.code_cache import CodeCache, Numba, keep_code
from aioli.numerics.inner_code import compiler, inner_compiler, register, set_environments

Function = TypeVar("Function", bound=Callable[..., object])
Result = TypeVar("Result")

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Cube = NDArray[np.float64]  # of three axes


def compiled(
    signature: str, *, reassociate: bool = False, inline: bool = False, uncounted: bool = False
) -> Callable[[Function], Function]:
    """Compile a function for these types and no others, once per machine: the result is cached on disk.

    It is loaded when it is first called. Most never are: they have been compiled into those that call them, and a
    process that loaded all of them would start later.

    `reassociate` lets the compiler reorder sums and contract multiply-adds, without which it cannot use vector
    instructions in a dot product. The scalar functions of this package forbid it: their accuracy is in the order.
    A function with it stores in one loop and sums in another: one that did both would take vector instructions only
    where its arrays lie far enough apart in memory, and the same sum would round one way here, another way there.
    For the same reason it is always compiled into its callers: copies of it may round apart.

    `inline` copies the function into its callers, whose rules on order then hold for it: it saves a call.
    `uncounted` does not count who refers to an array: else every view of one costs two atomic additions, a tenth of a
    loop that makes several a row. It is for functions that return no array and make none.
    """
    numba = importlib.import_module("numba")
    decorate = partial(
        numba.njit,
        nogil=True,
        error_model="numpy",  # a division by zero is an infinity to be checked, not an exception in a hot loop
        fastmath={"reassoc", "contract"} if reassociate else False,
        inline="always" if inline else "never",
        forceinline=reassociate,  # or every caller keeps a copy, and that of the first one loaded is called by all
        pipeline_class=compiler(),
        no_cfunc_wrapper=True,  # nothing calls these functions from C
        _nrt=not uncounted,  # said by each function: else one takes the choice of the caller that it is compiled for
    )

    def compile_function(function: Function) -> Function:
        loop: Function = decorate()(function)
        if loop is not function:  # it is, where Numba has been told to compile nothing
            keep_code(loop)
            _load_on_first_use(cast(Dispatcher, loop), signature, decorate)
        return loop

    return compile_function


class Dispatcher(Protocol):
    """A function that Numba compiles: the part of it that is used here, since Numba has no types."""

    __name__: str
    overloads: dict[object, Numba]
    typingctx: Numba
    py_func: FunctionType
    compile: Callable[[str], object]
    disable_compile: Callable[[], None]
    signature: str
    typeof_pyval: Callable[[object], object]
    get_call_template: Callable[..., object]
    get_overload: Callable[..., object]
    add_overload: Callable[[Numba], None]
    targetctx: Numba
    _cache: CodeCache
    _compile_for_args: Callable[..., object]


announce: Callable[[], None] | None = None  # called once, before the first function is compiled
# called with the name of a function that is not in the cache, and with what looks for it there once more
before_compiling: Callable[[str, Callable[[], bool]], None] | None = None


def _load_on_first_use(loop: Dispatcher, signature: str, decorate: Callable[..., Numba]) -> None:
    """Defer compiling a function to its first call, from Python or from another function being compiled.

    One that only compiled code calls is compiled for its callers alone (`numerics.inner_code`), by another name: a
    fifth to a quarter of compiling was spent on machine code that nobody called. If Python calls it later, it is
    compiled again, with the wrapper that takes Python's arguments.
    """
    within: Dispatcher | None = None

    def for_call(*arguments: object) -> object:
        _load(loop, signature)
        (made,) = loop.overloads.values()
        for argument, wanted in zip(arguments, made.signature.args, strict=True):
            came = loop.typeof_pyval(argument)
            if loop.typingctx.can_convert(came, wanted) is None:
                raise TypeError(f"{loop.__name__} takes {wanted}, not {came}")
        return made.entry_point

    def for_caller() -> Dispatcher:
        """Return the form of the function that compiled callers link to."""
        nonlocal within
        if within is None:
            if loop.overloads or _find_in_cache(loop, signature):
                return loop
            decorated = decorate(no_cpython_wrapper=True, pipeline_class=inner_compiler())
            inner = cast(Dispatcher, decorated(_renamed(loop.py_func)))
            inner.add_overload = partial(register, inner)
            with _compiling():
                _announce()
                inner.compile(signature)
                inner.disable_compile()
            within = inner
        return within

    loop.signature = signature
    loop._compile_for_args = for_call
    loop.get_call_template = lambda *types: type(loop).get_call_template(for_caller(), *types)
    loop.get_overload = lambda types: type(loop).get_overload(for_caller(), types)


def prepare(function: Callable[..., object]) -> None:
    """Have a function in the cache, or compile it and keep it there, without calling it."""
    if not isinstance(function, FunctionType):
        loop = cast(Dispatcher, function)
        _load(loop, loop.signature)


def bound(function: Callable[..., Result], *arguments: object) -> Callable[..., Result]:
    """Return the call of a compiled function with these first arguments, for whoever calls it again and again.

    There is code for one signature alone, and the call does not look for it by the types of what it is given: that is a
    quarter of what it would cost. So it is for arrays of one's own, which are as the signature says and not read-only:
    only the size of their numbers is still checked. `tests/learners/test_bound_calls.py` lets learners check the rest.
    """
    return partial(_entry_of(function), *arguments)


@cache
def _entry_of(function: Callable[..., Result]) -> Callable[..., Result]:
    """Return what a function's call ends in: compiled code that takes Python's arguments."""
    if isinstance(function, FunctionType):  # Numba has been told to compile nothing
        return function
    loop = cast(Dispatcher, function)
    _load(loop, loop.signature)
    (made,) = loop.overloads.values()
    entry: Callable[..., Result] = made.entry_point
    return entry


def name_of(function: Callable[..., object]) -> str:
    """Return the module and the name of a function, by which `before_compiling` is told of it."""
    return f"{function.__module__}.{function.__name__}"


def _load(loop: Dispatcher, signature: str) -> None:
    """Load a function from the cache, or compile it."""
    with _compiling():
        if loop.overloads or _find_in_cache(loop, signature):
            return
        _announce()
        if before_compiling is not None:
            before_compiling(name_of(loop.py_func), partial(_find_in_cache, loop, signature))
        if loop.overloads:
            return
        loop.compile(signature)
        loop.disable_compile()
        (made,) = loop.overloads.values()
        set_environments(made)


def _announce() -> None:
    """Say that something is compiled now, if nobody has said so yet."""
    global announce
    if announce is not None:
        tell, announce = announce, None
        tell()


def cache_folder(function: Callable[..., object]) -> str | None:
    """Return the folder in which a compiled function is kept; None where it is kept nowhere."""
    return None if isinstance(function, FunctionType) else cast(Dispatcher, function)._cache.cache_path


def _find_in_cache(loop: Dispatcher, signature: str) -> bool:
    """Load a function if it is in the cache, and return whether it was."""
    found = loop._cache.load_overload(signature, loop.targetctx)
    if found is not None:
        loop.targetctx.insert_user_function(found.entry_point, found.fndesc, [found.library])
        loop.add_overload(found)
        loop.disable_compile()
    return found is not None


def _renamed(function: FunctionType) -> FunctionType:
    """Return the function under another name, by which the cache tells the two apart."""
    name = f"{function.__name__}_within"
    code = function.__code__.replace(co_name=name, co_qualname=name)
    renamed = FunctionType(code, function.__globals__, name, function.__defaults__, function.__closure__)
    renamed.__module__ = function.__module__
    return renamed


@contextlib.contextmanager
def _compiling() -> Iterator[None]:
    """Hold Numba's lock, and keep Python from looking for garbage.

    A second lock could deadlock. A seventh of compiling was spent on garbage, and next to none was found.
    """
    with importlib.import_module("numba.core.compiler_lock").global_compiler_lock:
        if not gc.isenabled():
            yield
            return
        gc.disable()
        try:
            yield
        finally:
            gc.enable()


def elementwise(function: Callable[..., float], signature: str) -> Callable[..., Vector]:
    """Turn a scalar function into one of arrays that broadcasts: a compiled loop, loaded when first called.

    A universal function of Numba would compile its wrapper again in every process.
    """

    @cache
    def loop() -> Callable[..., None]:
        return _loop_of(function, arguments=signature.count("f8") - 1)

    def broadcasting(*values: object) -> Vector:
        vectors = [value for value in values if type(value) is np.ndarray and _is_vector(value)]
        if len(vectors) == len(values) and len({vector.size for vector in vectors}) == 1:  # as nearly always
            answer = np.empty(vectors[0].size)
            loop()(*vectors, answer)
            return answer
        arrays = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in values))
        out = np.empty(arrays[0].shape)
        loop()(*(np.ascontiguousarray(array).reshape(-1) for array in arrays), out.reshape(-1))
        answers: Vector = out[()]  # a number for numbers, as universal functions have it
        return answers

    return broadcasting


def _is_vector(array: NDArray[np.generic]) -> bool:
    """Return whether a compiled loop takes the array as it is: of float64, in one dimension and without gaps."""
    return array.ndim == 1 and array.dtype == np.float64 and array.flags.carray


def _loop_of(function: Callable[..., float], arguments: int) -> Callable[..., None]:
    """Return a compiled loop that calls the function, named and filed as the function is, for the cache."""
    plain = function if isinstance(function, FunctionType) else cast(Dispatcher, function).py_func
    place = plain.__code__
    name = f"{place.co_name}_many"
    code = (_one_by_one if arguments == 1 else _pair_by_pair).__code__.replace(
        co_name=name, co_qualname=name, co_filename=place.co_filename, co_firstlineno=place.co_firstlineno
    )
    names = {"__name__": function.__module__, "scalar": function, "range": range}
    return compiled(f"void({'f8[::1],' * arguments}f8[::1])")(FunctionType(code, names))


def scalar(*_arguments: float) -> float:
    """Placeholder for the function that `_loop_of` puts into the two loops below."""
    raise NotImplementedError


def _one_by_one(x: Vector, out: Vector) -> None:
    for i in range(out.size):
        out[i] = scalar(x[i])


def _pair_by_pair(x: Vector, y: Vector, out: Vector) -> None:
    for i in range(out.size):
        out[i] = scalar(x[i], y[i])
