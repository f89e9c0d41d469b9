#!/usr/bin/env python3
"""Follow docs/new_learner.md step by step in a clone, which this changes.

Every line that the page says to type must work.

.ci/new_learner.py    # in a clone that has a .venv
"""

import doctest
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "docs" / "_ext"))

from code_blocks import blocks_for, blocks_of

PAGE = Path("docs/new_learner.md")


def quoted(pattern: str) -> str:
    """Return what a sentence of the page says, as its inline code."""
    found = re.search(pattern, PAGE.read_text(encoding="utf-8"))
    assert found is not None, f"{PAGE} says nothing like {pattern}"
    return found[1]


def insert_after(path: str, line: str, new: str) -> None:
    """Insert a line behind the first that reads so, at its indentation."""
    file = Path(path)
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    place = next(number for number, each in enumerate(lines) if each.strip() == line)
    indent = lines[place][: -len(lines[place].lstrip())]
    lines.insert(place + 1, f"{indent}{new}\n")
    file.write_text("".join(lines), encoding="utf-8")


def replace(path: str, old: str, new: str) -> None:
    """Write new text in place of old, wherever the file has it."""
    file = Path(path)
    text = file.read_text(encoding="utf-8")
    assert old in text, f"{path} has no {old}"
    file.write_text(text.replace(old, new), encoding="utf-8")


def write_learner() -> None:
    """Write the file of the learner: the first block without its prompts, and the two lines that the page tells of."""
    first = next(block for block in blocks_of(PAGE) if block.prompted)
    *imports, learner = (example.source for example in doctest.DocTestParser().get_examples(first.text))
    parts = [quoted(r'`("""The running.*""")`'), "\n\n", *imports, "\n", quoted(r"`(__all__ = .*)`"), "\n\n\n", learner]
    Path(quoted(r"Put this into `(src/.*?)`")).write_text("".join(parts), encoding="utf-8")


def play() -> None:
    """Do what each step says, then run its blocks of shell; the tests of the whole are run by `.ci/run` itself."""
    test, *others = (block for block in blocks_for(".ci/new_learner.py", PAGE) if block.language == "python")
    assert not others
    write_learner()
    home = "src/aioli/__init__.py"
    insert_after(home, '"OGD": "aioli.learners.baselines.ogd",', quoted(r"in `_HOMES`: `(.*)`"))
    insert_after(home, '"OGD",', quoted(r"in `__all__`: `(.*)`"))
    insert_after(home, "from aioli.learners.baselines.ogd import OGD", quoted(r"for type checkers: `(.*)`"))
    insert_after(
        "tests/contracts/subjects.py", 'Subject("OGD", OGD, dense()),', quoted(r"one line beside `OGD`'s, `(.*?)`")
    )
    insert_after("tests/contracts/subjects.py", "OGD,", "RunningRate,")
    Path(quoted(r"definition, in `(tests/.*?)`")).write_text(test.text, encoding="utf-8")
    replace("docs/reference/learners.md", quoted(r"in place of `` (.*?) ``"), quoted(r"asks for: `` (.*?) ``"))
    for command in (line for block in blocks_for(".ci/new_learner.py", PAGE) for line in block.commands):
        if command != "make test":
            print(f"$ {command}", flush=True)
            subprocess.run(["bash", "-ec", command], check=True)


if __name__ == "__main__":
    play()
