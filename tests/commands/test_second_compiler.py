"""A second process compiles a part of Auto, is waited for, and is done without where it fails."""

import sys
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from aioli.commands import second_compiler
from aioli.commands.second_compiler import ITS_FUNCTIONS, SecondCompiler, compile_beside, compile_functions
from aioli.learners.aioli import AIOLI
from aioli.learners.auto.auto import Auto
from aioli.numerics import compiling

COMBINES, VIEWS = "aioli.states.mixture.mixture_loops.combine_rows", "aioli.states.mixture.view_rows.view_rows"


def writing(path: Path, then: str = "") -> list[str]:
    return [sys.executable, "-c", f"open({str(path)!r}, 'w').write('compiled'); {then}"]


def test_functions_of_the_second_process_wait_until_they_are_found_and_others_do_not(tmp_path: Path) -> None:
    kept = tmp_path / "code"
    second = SecondCompiler(writing(kept, "import time; time.sleep(60)"))
    second(VIEWS, kept.exists)
    assert second.process is not None
    second(COMBINES, kept.exists)
    assert kept.exists()
    assert second.process.poll() is None  # it may go on with the next one
    assert not second.ended
    second.process.kill()
    second.process.wait()


def test_a_function_kept_by_a_process_that_has_ended_is_found(tmp_path: Path) -> None:
    kept = tmp_path / "code"
    second = SecondCompiler(writing(kept))
    second(VIEWS, kept.exists)
    assert second.process is not None
    second.process.wait()
    looks = []

    def found() -> bool:
        looks.append(kept.exists())
        return looks[-1]

    second(COMBINES, found)
    assert looks == [True]


def test_a_process_that_cannot_be_started_or_fails_stops_nobody(tmp_path: Path) -> None:
    for command in ([str(tmp_path / "nothing")], [sys.executable, "-c", "raise SystemExit(3)"]):
        second = SecondCompiler(command)
        second(VIEWS, lambda: False)
        second(COMBINES, lambda: False)
        assert second.ended


def test_a_second_process_is_for_auto_on_two_cores_with_a_cache_that_can_be_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(compiling, "before_compiling", None)
    monkeypatch.setattr(second_compiler, "_cores", lambda: 2)
    monkeypatch.setattr(compiling, "cache_folder", lambda _: str(tmp_path / "not there"))
    compile_beside(Auto())
    monkeypatch.setattr(compiling, "cache_folder", lambda _: None)
    compile_beside(Auto())
    monkeypatch.setattr(compiling, "cache_folder", lambda _: str(tmp_path))
    compile_beside(AIOLI())
    compile_beside(Auto(budget="fast"))
    monkeypatch.setattr(second_compiler, "_cores", lambda: 1)
    compile_beside(Auto())
    assert compiling.before_compiling is None
    monkeypatch.setattr(second_compiler, "_cores", lambda: 2)
    compile_beside(Auto())
    assert isinstance(compiling.before_compiling, SecondCompiler)


def test_what_the_second_process_compiles_is_what_auto_plays() -> None:
    asked: list[str] = []
    compile_functions()  # they are in the cache now
    before, compiling.before_compiling = compiling.before_compiling, lambda name, _: asked.append(name)
    try:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(500, 3))
        Auto().learn_many(X, X[:, 0] > 0)
    finally:
        compiling.before_compiling = before
    assert not {compiling.name_of(function) for function in ITS_FUNCTIONS} & set(asked)
    assert all(function.overloads for function in cast(tuple[Any, ...], ITS_FUNCTIONS))
