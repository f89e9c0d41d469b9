"""What the documents show is run by continuous integration, and what they measured says by which command."""

import argparse
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from code_blocks import ROOT, RUNNERS, Block, blocks_of, documents

from aioli.commands.arguments import command_parser

PAGES = [page for page in documents() if not page.is_relative_to(ROOT / "docs" / "reference" / "api")]
DIRECTIVES = {"{toctree}", "{glossary}"}  # of the site's own; neither holds code
CODE = re.compile(r"(\$|>>>|aioli|curl|docker|git|make|pip|podman|python3?|systemctl) ")


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def recipe(target: str) -> str:
    """What a target of the Makefile runs."""
    (found,) = re.findall(rf"^{target}:.*\n((?:\t.*\n)+)", read("Makefile"), re.MULTILINE)
    return str(found)


def all_blocks() -> list[Block]:
    return [block for page in PAGES for block in blocks_of(page)]


def test_every_code_block_is_run_by_one_runner() -> None:
    wrong = []
    for block in all_blocks():
        takers = [name for name, takes in RUNNERS.items() if takes(block)]
        if len(takers) != 1 and block.language not in DIRECTIVES:
            wrong.append(f"{block.page}:{block.line}: a block of {block.language or 'no language'} is run by {takers}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("runner", RUNNERS)
def test_continuous_integration_reaches_every_runner(runner: str) -> None:
    everything = read(".ci/run")
    path = Path(runner)
    if runner == "Makefile":  # doctest
        assert "--doctest-glob='*.md' src README.md docs" in recipe("check")
        assert "\nmake check\n" in everything
        return
    assert f'blocks_for("{runner}"' in read(runner) or f'RUNNER = "{runner}"' in read(runner)
    if path.parts[0] == "docs":
        assert f"/python {runner} " in recipe("docs")
        assert "\nmake docs\n" in everything
    elif path.parts[0] == "tests":
        assert " make thorough " in everything
        tests = [path] if path.name.startswith("test_") else (ROOT / path).parent.glob("test_*.py")
        assert any(path.name in read(str(test)) or test == path for test in tests)
        assert "spark" not in path.name or "AIOLI_SPARK=1" in everything  # those are skipped elsewhere
    else:
        assert runner in everything


def test_doctest_skips_nothing() -> None:
    assert [f"{block.page}:{block.line}" for block in all_blocks() if "+SKIP" in block.text] == []


def test_files_that_the_design_names_are_there() -> None:
    named = set(re.findall(r"`([a-z_/]+\.py)`", read("docs/design.md")))
    assert len(named) > 60
    assert [name for name in sorted(named) if not (ROOT / "src" / "aioli" / name).exists()] == []


def indented(page: Path) -> Iterator[tuple[int, str]]:
    """The first line of each block that is a block by its indentation alone, outside of fences and lists."""
    lines = page.read_text(encoding="utf-8").splitlines()
    fenced, before = False, ""
    for number, line in enumerate(lines, 1):
        fenced ^= line.lstrip().startswith("```")
        if not fenced and line.startswith("    ") and not before:
            yield number, line.strip()
        before = line.strip()


def test_indented_blocks_are_formulas() -> None:
    found = [f"{page.name}:{number}" for page in PAGES for number, line in indented(page) if CODE.match(line)]
    assert found == []


def test_every_example_is_one_that_the_gallery_runs() -> None:
    scripts = sorted(path.name for path in (ROOT / "examples").glob("*.py"))
    assert len(scripts) >= 15
    assert all(name.startswith("plot_") for name in scripts)
    assert '"filename_pattern": r"/plot_"' in read("docs/conf.py")
    assert '"abort_on_example_error": True' in read("docs/conf.py")
    assert not re.search(r"::$|code-block", read("examples/README.rst"), re.MULTILINE)


def test_the_first_page_lists_every_extra() -> None:
    table = read("docs/start/from_a_file.md").partition("## Extras")[2].partition("\n## ")[0]
    listed = re.findall(r"`(\w+)`", " ".join(line.split("|")[1] for line in table.splitlines() if line.startswith("|")))
    assert sorted(listed) == sorted(tomllib.loads(read("pyproject.toml"))["project"]["optional-dependencies"])


# ---- what was measured

MEASURED = re.compile(r"\d[.,·]\d|\d ?(?:µs|ms|s|nats|%|×|[MG]i?B)(?!\w)")
COMMAND = re.compile(r"`(?:\S+/)?(?:python -m|make|aioli) [a-z]|^\$ aioli |\]\(\.\./gallery/", re.MULTILINE)
FEWEST = 4  # cells with a measured number that make a table one of measurements
DRAWN = "row_flow"  # by hand: it shows no number


def sections_around(lines: list[str], place: int) -> str:
    """The section of a line, and of each that encloses it what stands before its first subsection."""
    heads = [(number, line.index(" ")) for number, line in enumerate(lines) if re.match(r"#+ ", line)]
    ends = [number for number, _ in heads[1:]] + [len(lines)]
    found, level = [], 7
    for (start, depth), end in reversed(list(zip(heads, ends, strict=True))):
        if start <= place and depth < level:
            found.append("\n".join(lines[start:end]))
            level = depth
    return "\n".join(found)


def measurements(lines: list[str]) -> Iterator[int]:
    """The places of figures and of tables of measured numbers."""
    cells: list[str] = []
    for place, line in enumerate([*lines, ""]):
        if line.startswith("|"):
            cells += line.split("|")
        elif cells:
            if sum(bool(MEASURED.search(cell)) for cell in cells) >= FEWEST:
                yield place - 1
            cells = []
        if line.startswith("![") and DRAWN not in line:
            yield place


def test_every_figure_and_every_table_of_measurements_has_its_command_beside_it() -> None:
    wrong = []
    for page in PAGES:
        lines = page.read_text(encoding="utf-8").splitlines()
        wrong += [
            f"{page.name}:{place + 1}"
            for place in measurements(lines)
            if not COMMAND.search(sections_around(lines, place))
        ]
    assert wrong == []


def test_every_figure_says_in_words_what_it_shows() -> None:
    short = [
        f"{page.name}: {target}"
        for page in PAGES
        for words, target in re.findall(r"!\[([^\]]*)\]\(([^)]*)\)", page.read_text(encoding="utf-8"))
        if len(words.split()) < 4
    ]
    assert short == []


# ---- commands that are told in a sentence

INLINE = re.compile(r"`((?:\.venv/bin/)?(?:aioli|make) [^`]+)`")


def told_commands() -> Iterator[tuple[str, list[str]]]:
    """The page and the words of each command of aioli's or of make's that is told in a sentence."""
    for page in PAGES:
        for command in INLINE.findall(page.read_text(encoding="utf-8")):
            yield page.name, re.findall(r"[^\s|\"']+", command.removeprefix(".venv/bin/"))


def test_every_target_of_make_that_a_page_names_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", read("Makefile"), re.MULTILINE))
    named = [(page, words[1]) for page, words in told_commands() if words[0] == "make"]
    assert len(named) >= 10
    assert [each for each in named if each[1] not in targets] == []


def parser_of(parser: argparse.ArgumentParser, words: list[str]) -> argparse.ArgumentParser | None:
    """The parser of the command that these words begin with, `run` or `service export`; None where there is no such."""
    found = False
    for word in words[:2]:
        kinds = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
        if not kinds or word not in kinds[0].choices:
            break
        parser, found = kinds[0].choices[word], True
    return parser if found else None


def test_every_command_of_aioli_that_a_page_names_knows_its_options() -> None:
    aioli, wrong, count = command_parser(), [], 0
    for page, (program, *words) in told_commands():
        if program == "aioli" and words[0].islower() and not words[0].startswith("--"):
            parser = parser_of(aioli, words)
            known = () if parser is None else parser._option_string_actions
            asked = [word for word in words if re.match(r"--\w", word)]
            if parser is None or not set(asked) <= set(known):
                wrong.append(f"{page}: aioli {' '.join(words)}")
            count += 1
    assert wrong == []
    assert count >= 50
