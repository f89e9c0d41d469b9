"""Checks every command of a study that a page names: its module is there, and knows the options that are given.

python docs/_ext/study_commands.py README.md docs

The studies themselves take minutes to hours; that a command can be typed as it stands must not wait for them.
"""

import contextlib
import io
import re
import runpy
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

__all__ = ["help_of", "named_commands"]

COMMAND = re.compile(r"python -m (benchmarks\.[\w.]+)((?: +[^\s`#|]+)*)")


def named_commands(page: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the module of each command that a page names, and the options given to it."""
    for module, arguments in COMMAND.findall(page.read_text(encoding="utf-8")):
        yield module.rstrip("."), re.findall(r"--[a-z][\w-]*", arguments)


def help_of(module: str) -> str:
    """Return what `python -m module --help` prints."""
    printed, before = io.StringIO(), sys.argv
    sys.argv = [module, "--help"]
    try:
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        sys.argv = before
    return printed.getvalue()


def main(places: Sequence[str]) -> int:
    """Check all pages; return how many commands they name."""
    found = [Path(place) for place in places]
    pages = sorted(page for place in found for page in (place.rglob("*.md") if place.is_dir() else [place]))
    helps: dict[str, str] = {}
    count = 0
    for page in pages:
        for module, options in named_commands(page):
            if module not in helps:
                helps[module] = help_of(module)
            for option in options:
                assert re.search(rf"{option}\b", helps[module]), f"{page}: python -m {module} knows no {option}"
            count += 1
    return count


if __name__ == "__main__":
    sys.path.insert(0, str(Path.cwd()))
    print(f"{main(sys.argv[1:])} commands of studies are known")
