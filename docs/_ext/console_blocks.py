"""Runs every command in a console block of the documentation: it must succeed, and print what the page shows.

python docs/_ext/console_blocks.py README.md docs

Blocks of shell that hold nothing but lines of aioli are run too: they must succeed.
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

from code_blocks import Block, blocks_for
from example_tables import write_tables

from aioli.cli import main

__all__ = ["Shown", "run_pages", "run_shown", "shown_commands"]

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Shown(NamedTuple):
    """A command as a page shows it, and the output that it shows below it; "..." stands for anything."""

    arguments: list[str]
    output: str


def shown_commands(block: Block) -> Iterator[Shown]:
    """Yield the commands of a block, in their order; one of another program than aioli is an error."""
    text = block.text if block.language == "console" else "".join(f"$ {line}\n" for line in block.commands)
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, output = part.partition("\n")
        program, *arguments = shlex.split(line, comments=True)
        assert program == "aioli", f"{block.page}:{block.line}: nothing runs {line!r}; this is a block of aioli's"
        yield Shown(arguments, output)


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
        blocks = blocks_for("docs/_ext/console_blocks.py", page)
        shown = [each for block in blocks for each in shown_commands(block)]
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
