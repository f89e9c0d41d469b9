#!/usr/bin/env python3
"""Print the lines of a program that pages show, in their order, each once: `.ci/run` runs them as they stand.

.ci/page_lines.py make README.md        # lines of blocks
.ci/page_lines.py pip README.md docs    # lines of blocks, and those told in a sentence or a comment
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "docs" / "_ext"))

from code_blocks import blocks_for

INSTALLING = re.compile(r"(?:\.venv/bin/)?pip (?:install|wheel) [^`\n]+")


def lines_of(program: str, page: Path) -> Iterator[str]:
    """Yield the lines of a page that begin with a program; those of pip wherever they stand."""
    if program == "pip":
        yield from (line.strip() for line in INSTALLING.findall(page.read_text(encoding="utf-8")))
    else:
        blocks = blocks_for(".ci/page_lines.py", page)
        yield from (line for block in blocks for line in block.commands if line.startswith(f"{program} "))


if __name__ == "__main__":
    asked, *places = sys.argv[1:]
    named = (Path(place) for place in places)
    pages = (page for place in named for page in (sorted(place.rglob("*.md")) if place.is_dir() else [place]))
    found = dict.fromkeys(line for page in pages for line in lines_of(asked, page))
    print("\n".join(found))
    sys.exit(not found)
