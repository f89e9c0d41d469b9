"""The code blocks of the documents, and who runs each of them in continuous integration.

Runners take their blocks from here (`blocks_for`), so that the list below is what is run: tests/test_documents.py fails
for a block that nobody takes, or two do, and for a runner that `.ci/run` does not reach.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["ROOT", "RUNNERS", "Block", "blocks_for", "blocks_of", "documents"]

ROOT = Path(__file__).resolve().parents[2]
DOCTESTED = ("README.md", "docs/")  # what `make check` names
FENCE = re.compile(r"( *)(`{3,}|~{3,}) *(.*)")
SERVICE = ("docs/service.md", "docs/service_tutorial.md")
SPARK = ("docs/fleet.md", "docs/shards.md")


class Block(NamedTuple):
    """A fenced block: where its fence stands, what its fence says, and what is in it."""

    page: str  # from the root of the repository, with /
    line: int
    language: str
    text: str

    @property
    def prompted(self) -> bool:
        """Whether the block shows Python at its prompt, which doctest runs."""
        return self.language == "python" and self.text.lstrip().startswith(">>> ")

    @property
    def commands(self) -> list[str]:
        """The lines of a block of shell; none of any other block."""
        return [line for line in self.text.splitlines() if line.strip()] if self.language == "sh" else []

    def only(self, *beginnings: str) -> bool:
        """Return whether it is a block of shell whose lines all begin so."""
        return bool(self.commands) and all(line.startswith(beginnings) for line in self.commands)


def documents() -> list[Path]:
    """Return every page that people read: those of the root and those of the site."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def blocks_of(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page; directives of the site, whose language is in braces, too."""
    name = page.resolve().relative_to(ROOT).as_posix()
    lines = iter(enumerate(page.read_text(encoding="utf-8").splitlines(), 1))
    for number, line in lines:
        if opening := FENCE.fullmatch(line):
            indent, fence, language = opening.groups()
            inside = []
            for _, each in lines:
                if each.strip().startswith(fence) and not each.strip().strip(fence[0]):
                    break
                inside.append(each.removeprefix(indent) + "\n")
            else:
                raise ValueError(f"{name}:{number}: the block has no end")
            yield Block(name, number, language.strip(), "".join(inside))


def _by_doctest(block: Block) -> bool:
    return block.prompted and block.page.startswith(DOCTESTED)


def _by_console_blocks(block: Block) -> bool:
    elsewhere = ("docs/command.md", *SERVICE)
    return block.language == "console" or (block.only("aioli ") and block.page not in elsewhere)


def _by_the_document(block: Block) -> bool:
    return block.page == "docs/command.md" and bool(block.commands)


def _by_the_tutorial(block: Block) -> bool:
    spoken = block.language in ("sh", "python", "text") and not block.prompted
    return block.page in SERVICE and spoken and not block.only("pip ")


def _by_device_blocks(block: Block) -> bool:
    return block.page == "docs/gpu.md" and block.language == "python"


def _by_spark_pages(block: Block) -> bool:
    return block.page in SPARK and not block.prompted and "from aioli.engines.spark" in block.text


def _by_kafka(block: Block) -> bool:
    return block.page in SPARK and not block.prompted and "from aioli.engines.kafka" in block.text


def _by_new_learner(block: Block) -> bool:
    return block.page == "docs/new_learner.md" and not block.prompted and block.language in ("python", "sh")


def _by_page_lines(block: Block) -> bool:
    return block.only("pip ") or (block.only("make ") and block.page == "README.md")


# the file that runs a block, and which blocks it takes
RUNNERS: dict[str, Callable[[Block], bool]] = {
    "Makefile": _by_doctest,
    "docs/_ext/console_blocks.py": _by_console_blocks,
    "docs/_ext/device_blocks.py": _by_device_blocks,
    "tests/commands/test_the_document.py": _by_the_document,
    "tests/service/test_tutorial.py": _by_the_tutorial,
    "tests/engines/spark_pages.py": _by_spark_pages,
    "tests/engines/test_kafka.py": _by_kafka,
    ".ci/page_lines.py": _by_page_lines,
    ".ci/new_learner.py": _by_new_learner,
}


def blocks_for(runner: str, page: Path) -> list[Block]:
    """Return the blocks of a page that a runner takes, by its path from the root of the repository."""
    return [block for block in blocks_of(page) if RUNNERS[runner](block)]
