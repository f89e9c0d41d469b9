#!/usr/bin/env python3
"""Print the lowest version that pyproject.toml declares of each dependency, as constraints for pip.

.ci/lowest.py project files sklearn    # those of the package itself and of two extras
"""

import re
import sys
import tomllib
from pathlib import Path

REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)>=([0-9.]+)(,<[0-9.]+)?( *;.*)?")


def lowest(groups: list[str]) -> list[str]:
    """The constraints of these groups; a requirement without a lower bound is an error, since it promises too much."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {"project": project["dependencies"], **project["optional-dependencies"]}
    found = []
    for requirement in (text for group in groups for text in declared[group]):
        if requirement.startswith(f"{project['name']}["):  # an extra that is made of others
            continue
        bounds = REQUIREMENT.fullmatch(requirement)
        if bounds is None:
            raise SystemExit(f"pyproject.toml: {requirement!r} has no lower bound")
        found.append(f"{bounds[1]}=={bounds[2]}")
    return found


if __name__ == "__main__":
    print("\n".join(lowest(sys.argv[1:])))
