"""The figures of the sources: what is counted, and what is passed over."""

from benchmarks.figures import pairs_of_places, rows_of_figures

SHARED = "\n".join(f"total = total + {i}" for i in range(6))


def test_any_counts_where_it_is_a_type_and_not_where_it_is_a_word() -> None:
    source = '"""Any of them."""\nfrom typing import Any\n# Any\nx: Any = getattr(y, "Any")\n'
    counts = dict(rows_of_figures({"a.py": source}))
    assert counts["lines with Any"] == "2"
    assert counts["lines with hasattr or getattr"] == "1"
    assert counts["lines"] == "4"
    assert counts["files over 300 lines"] == "0"


def test_six_lines_in_two_places_are_a_pair_and_five_are_none() -> None:
    sources = {"a.py": f"a = 1\n{SHARED}\nb = 2\n", "b.py": f"c = 3\n\n{SHARED}\n"}
    assert pairs_of_places(sources) == [(("a.py", 2), ("b.py", 3), 6)]
    assert pairs_of_places({"a.py": SHARED, "b.py": SHARED.partition("\n")[2]}) == []


def test_a_file_may_repeat_itself_and_imports_repeat_nothing() -> None:
    assert [pair[2] for pair in pairs_of_places({"a.py": f"{SHARED}\nx = 1\n{SHARED}\n"})] == [6]
    imports = "from m import (\n" + "".join(f"    name{i},\n" for i in range(9)) + ")\n"
    assert pairs_of_places({"a.py": imports, "b.py": imports}) == []
