"""A second process compiles the forest, is waited for, and is done without where it fails."""

import sys
from pathlib import Path

import pytest

from aioli.commands import second_compiler
from aioli.commands.second_compiler import SecondCompiler, compile_beside, compile_forest
from aioli.learners.aioli import AIOLI
from aioli.learners.auto.auto import Auto
from aioli.numerics import compiling


def writing(path: Path) -> list[str]:
    return [sys.executable, "-c", f"open({str(path)!r}, 'w').write('compiled')"]


def test_the_forest_waits_for_the_process_and_other_functions_do_not(tmp_path: Path) -> None:
    second = SecondCompiler(writing(tmp_path / "code"))
    second("aioli.states.mixture.views")
    assert second.process is not None
    assert not second.ended
    second("aioli.states.forest.trees")
    assert (tmp_path / "code").read_text() == "compiled"
    assert second.process.returncode == 0


def test_a_process_that_cannot_be_started_or_fails_stops_nobody(tmp_path: Path) -> None:
    for command in ([str(tmp_path / "nothing")], [sys.executable, "-c", "raise SystemExit(3)"]):
        second = SecondCompiler(command)
        second("aioli.states.mixture.views")
        second("aioli.states.forest.trees")
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


def test_what_the_second_process_compiles_is_what_auto_plays_of_the_forest() -> None:
    asked: list[str] = []
    compile_forest()  # whatever it needs is loaded now
    before, compiling.before_compiling = compiling.before_compiling, asked.append
    try:
        X = [[float(i % 7), float(i % 3)] for i in range(40)]
        Auto().learn_many(X, [i % 2 for i in range(40)])
    finally:
        compiling.before_compiling = before
    assert [module for module in asked if module.startswith(second_compiler.ITS_MODULES)] == []
