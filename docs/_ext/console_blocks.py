"""Runs every command in a console block of the documentation: it must succeed, and print what the page shows.

python docs/_ext/console_blocks.py README.md docs

Of the pages in `PLAIN`, the lines that begin with "aioli" in blocks without a language are run too: they must succeed.
"""

import contextlib
import doctest
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from example_tables import write_tables

from aioli.cli import main

__all__ = ["Shown", "plain_commands", "run_pages", "run_shown", "shown_commands"]

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
ANY_BLOCK = re.compile(r"^```(\S*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PLAIN = ("README.md", "index.md", "fleet.md", "late.md")  # tests/commands/test_the_document.py runs those of command.md
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Shown(NamedTuple):
    """A command as a page shows it, and the output that it shows below it; "..." stands for anything."""

    arguments: list[str]
    output: str


def shown_commands(page: Path) -> Iterator[Shown]:
    """Yield the commands of a page that begin with "$ aioli", in their order; anything else after a $ is an error."""
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, output = part.partition("\n")
            program, *arguments = shlex.split(line, comments=True)
            assert program == "aioli", f"{page.name}: nothing runs {line!r}; a console block holds commands of aioli"
            yield Shown(arguments, output)


def plain_commands(page: Path) -> Iterator[Shown]:
    """Yield the commands in blocks without a language, where a page has such that are to be run."""
    if page.name in PLAIN:
        for language, block in ANY_BLOCK.findall(page.read_text(encoding="utf-8")):
            for line in block.splitlines():
                if not language and line.startswith("aioli "):
                    yield Shown(shlex.split(line, comments=True)[1:], "")


def run_shown(shown: Shown) -> None:
    """Run a command in this process; it must succeed and print what the page shows."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        status = main(shown.arguments)
    command = shlex.join(["aioli", *shown.arguments])
    assert status == 0, f"{command} ended with {status}"
    if shown.output.strip():
        right = doctest.OutputChecker().check_output(shown.output, printed.getvalue(), FLAGS)
        assert right, f"{command} prints\n{printed.getvalue()}\nwhere the page shows\n{shown.output}"


def run_pages(pages: Sequence[Path]) -> int:
    """Run the commands of pages, each page in a folder of its own that holds the example tables."""
    count, home = 0, Path.cwd()
    for page in pages:
        shown = [*shown_commands(page), *plain_commands(page)]
        if shown:
            with tempfile.TemporaryDirectory() as place:
                os.chdir(place)
                write_tables(Path(place), keyed=page.name == "fleet.md")
                for each in shown:
                    run_shown(each)
                os.chdir(home)
        count += len(shown)
    return count


if __name__ == "__main__":
    given = [Path(name).resolve() for name in sys.argv[1:]]
    all_pages = [page for path in given for page in (sorted(path.rglob("*.md")) if path.is_dir() else [path])]
    print(f"{run_pages(all_pages)} commands ran, and printed what their pages show")
