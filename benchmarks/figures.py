"""Counts what a reader of the sources has to bear: lines, long files, `Any`, `hasattr`, and lines that stand twice."""

import argparse
import ast
import io
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

from benchmarks.sources import ROOT
from benchmarks.table import Table, as_text

__all__ = ["main", "pairs_of_places", "rows_of_figures"]

LONG = 300  # lines beyond which a file is asking to be two
RUN = 6  # lines in a row that make two places a pair
ASKING = ("hasattr", "getattr")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures of a folder, and with `--pairs` the places that share lines."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.figures", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "src", help="(default: src)")
    parser.add_argument("--pairs", action="store_true", help="list the places that share lines, too")
    given = parser.parse_args(arguments)
    sources = {str(path.relative_to(given.folder)): path.read_text("utf-8") for path in given.folder.rglob("*.py")}
    print(as_text(Table("Sources", ("figure", "count"), rows_of_figures(sources))))
    for (one, at), (other, there), lines in pairs_of_places(sources) if given.pairs else ():
        print(f"{one}:{at} ~ {other}:{there}, {lines} lines")


def rows_of_figures(sources: dict[str, str]) -> list[tuple[str, str]]:
    """Return the name and the count of each figure."""
    names = [_lines_of_names(source) for source in sources.values()]
    long = {path: lines for path, text in sources.items() if (lines := len(text.splitlines())) > LONG}
    return [
        ("files", f"{len(sources):,}"),
        ("lines", f"{sum(len(text.splitlines()) for text in sources.values()):,}"),
        (f"files over {LONG} lines", str(len(long))),
        ("lines with Any", str(sum("Any" in line for lines in names for line in lines))),
        ("lines with hasattr or getattr", str(sum(not line.isdisjoint(ASKING) for lines in names for line in lines))),
        (f"pairs of files that share {RUN} lines in a row", str(len(pairs_of_places(sources)))),
    ]


def pairs_of_places(sources: dict[str, str]) -> list[tuple[tuple[str, int], tuple[str, int], int]]:
    """Return each pair of files, or file and itself, that shares lines: the places and the length of its longest run.

    Lines count without white space at their ends, and without those that are blank, imports or punctuation alone.
    """
    code = {path: list(_code_lines(text)) for path, text in sources.items()}
    places: dict[tuple[str, ...], list[tuple[str, int]]] = defaultdict(list)
    for path, lines in code.items():
        for i in range(len(lines) - RUN + 1):
            places[tuple(text for _, text in lines[i : i + RUN])].append((path, i))
    starts: Counter[tuple[str, str, int]] = Counter()
    first: dict[tuple[str, str, int], tuple[int, int]] = {}
    for found in places.values():
        for (one, i), (other, j) in combinations(found, 2):
            if one != other or j - i >= RUN:
                starts[one, other, j - i] += 1
                first.setdefault((one, other, j - i), (i, j))
    longest: dict[tuple[str, str], tuple[int, int, int]] = {}
    for (one, other, shift), count in starts.items():
        if count > longest.get((one, other), (0, 0, 0))[0]:
            longest[one, other] = (count, *first[one, other, shift])
    pairs = [
        ((one, code[one][i][0]), (other, code[other][j][0]), count + RUN - 1)
        for (one, other), (count, i, j) in longest.items()
    ]
    return sorted(pairs, key=lambda pair: (-pair[2], pair))


def _lines_of_names(source: str) -> list[set[str]]:
    """Return the names in each line of code that has any; texts and comments have none."""
    names: dict[int, set[str]] = defaultdict(set)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME:
            names[token.start[0]].add(token.string)
    return list(names.values())


def _code_lines(source: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that count, each with its number."""
    imports = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    for number, line in enumerate(source.splitlines(), 1):
        text = line.strip()
        if number not in imports and not text.startswith("#") and any(letter.isalnum() for letter in text):
            yield number, text


if __name__ == "__main__":
    main()
