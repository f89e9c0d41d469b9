"""The comparison of two versions finds a difference of one bit, and nothing where there is none."""

import ast
import math
from pathlib import Path

import numpy as np
import pytest

from aioli import AIOLI
from benchmarks.unchanged import __main__ as command
from benchmarks.unchanged import recording
from benchmarks.unchanged.comparing import comparison_table, first_difference, unequal
from benchmarks.unchanged.meant import Meant
from benchmarks.unchanged.recording import streams
from benchmarks.unchanged.recording.courses import course
from benchmarks.unchanged.recording.notes import FAILED, Notes, Record, Values, read_record, write_record

PUBLIC = {"aioli", "aioli.sklearn", "aioli.river"}


def played() -> Values:
    """A tiny scenario: AIOLI on a few rows."""
    notes = Notes()
    course(lambda: AIOLI(), streams.dense(40, 2), ("one by one", "at once"))(notes)
    return notes.values


def of_all_kinds() -> Values:
    notes = Notes()
    notes.note("number", 0.1)
    notes.note("array", np.array([[1.0, math.nan], [-0.0, math.inf]]))
    notes.note("none", None)
    notes.note("by name", {"one": 1, "two": 2})
    notes.note("file", b"row,probability\n1,0.5\n")
    notes.note("text", "ρ = 0.99")
    return notes.values


def test_equal_records_are_equal_also_after_a_file(tmp_path: Path) -> None:
    record = {"AIOLI": played(), "kinds": of_all_kinds()}
    write_record(tmp_path / "record.npz", record)
    again = read_record(tmp_path / "record.npz")
    table = comparison_table(record, again, ("then", "now"))
    assert [row[0] for row in table.rows] == ["AIOLI", "kinds"]
    assert unequal(table) == []
    assert comparison_table(again, {"AIOLI": played(), "kinds": of_all_kinds()}, ("then", "now")) == table


def test_one_ulp_of_one_value_is_found_and_named() -> None:
    base, work = played(), played()
    said = work["at once: learn_many"].copy()
    said[7] = np.nextafter(said[7], 1.0)
    work["at once: learn_many"] = said
    told = first_difference(base, work)
    assert told is not None
    assert told.startswith("at once: learn_many[7]: ")
    assert told.endswith(" (1 ulp)")


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("array", np.array([[1.0, math.nan], [0.0, math.inf]]), "array[1][0]: -0.0 ≠ 0.0 (0 ulp)"),
        ("array", np.array([1.0]), "array: float64[2, 2] ≠ float64[1]"),
        ("none", np.array(1.0), "none: <U4[] ≠ float64[]"),
        ("by name, keys", np.array(["one", "six"]), "by name, keys[1]: two ≠ six"),
        ("text", np.array("ρ = 0.9"), "text: ρ = 0.99 ≠ ρ = 0.9"),
        ("file", np.frombuffer(b"row,probability\n1,0.4\n", np.uint8), "file, line 2: 1,0.5 ≠ 1,0.4"),
        ("file", np.frombuffer(b"row,probability\n1,0.5\n2\n", np.uint8), "file, line 3:  ≠ 2"),
    ],
)
def test_every_kind_of_difference_is_told(name: str, value: np.ndarray, told: str) -> None:
    assert first_difference(of_all_kinds(), {**of_all_kinds(), name: value}) == told


def test_what_one_side_lacks_or_fails_in_is_a_difference() -> None:
    base = of_all_kinds()
    fewer = {name: value for name, value in base.items() if name != "text"}
    assert first_difference(base, fewer) == "text: only base has it"
    assert first_difference(base, None) == "only base has it"
    failed = {FAILED: np.array("Traceback …\nValueError: no")}
    assert first_difference(failed, failed) == "base failed: ValueError: no"


def test_what_the_later_side_says_beyond_is_told_and_no_difference() -> None:
    base = of_all_kinds()
    table = comparison_table({"kinds": base}, {"kinds": {**base, "more": np.array(1)}, "other": base}, ("then", "now"))
    assert table.rows == [("kinds", str(len(base)), "equal, and 1 new")]
    assert table.notes == ["new: other"]
    assert unequal(table) == []


def test_what_was_meant_to_change_is_counted_with_its_reason_and_is_no_difference() -> None:
    base = of_all_kinds()
    work = {**base, "number": np.array(0.2)}
    meant = [Meant("abc", "kinds", "number", "0.2 is better")]
    table = comparison_table({"kinds": base}, {"kinds": work}, ("then", "now"), meant)
    assert table.rows == [("kinds", str(len(base)), "equal but for 1 as meant")]
    assert table.notes == ["meant, 1 values: 0.2 is better"]
    assert unequal(table) == []
    more = {"kinds": {**work, "text": np.array("ρ = 0.9")}}
    assert unequal(comparison_table({"kinds": base}, more, ("then", "now"), meant)) == ["kinds"]
    assert unequal(comparison_table({"others": base}, {"others": work}, ("then", "now"), meant)) == ["others"]


def test_the_command_checks_a_record_and_its_status_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: Record = {"AIOLI": played()}

    def recorded(*_: object, **__: object) -> dict[str, Record]:
        return {"the working tree": said}

    monkeypatch.setattr(command, "sources_of_working_tree", lambda: tmp_path)
    monkeypatch.setattr(command, "_recorded", recorded)
    path = str(tmp_path / "record.npz")
    assert command.main(["--record", path]) == 0
    assert command.main(["--check", path]) == 0
    said["AIOLI"]["at once: loss"] = np.nextafter(said["AIOLI"]["at once: loss"], 0.0)
    assert command.main(["--check", path]) == 1


def test_the_recording_code_uses_public_names_alone() -> None:
    """It runs with the sources of other commits, in which everything else may be elsewhere."""
    files = sorted(Path(str(recording.__file__)).parent.glob("*.py"))
    assert files
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                named = [str(node.module)]
            elif isinstance(node, ast.Import):
                named = [alias.name for alias in node.names]
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "importlib.import_module":
                named = [str(ast.literal_eval(node.args[0]))]
            else:
                continue
            for name in named:
                if name.partition(".")[0] == "aioli":
                    assert name in PUBLIC, path
                if name.partition(".")[0] == "benchmarks":
                    assert name.startswith(recording.__name__), path
