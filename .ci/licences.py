#!/usr/bin/env python3
"""Print the licence of every package that aioli-online needs, as its metadata declare it.

.ci/licences.py              # those of the package itself
.ci/licences.py files dev    # and of two extras

Exits with 1 where a package of the core declares none, or one that asks more of its users than credit.
"""

import re
import sys
from importlib import metadata

PERMISSIVE = re.compile(r"BSD|MIT|Apache|ISC|PSF|Python|Zlib|Unlicense|CC0|Boost|HPND", re.IGNORECASE)
NAME = re.compile(r"[A-Za-z0-9._-]+")


def licence_of(name: str) -> str:
    """Return what the metadata of an installed package say of its licence, in one line."""
    about = metadata.metadata(name)
    classified = [line.rpartition(" :: ")[2] for line in about.get_all("Classifier", []) if line.startswith("License")]
    said = about.get("License-Expression") or ", ".join(classified) or (about.get("License") or "").strip()
    return said.splitlines()[0][:80] if said else ""


def needed(name: str, extras: set[str], found: dict[str, str]) -> None:
    """Add a package and all that it needs, as far as they are installed, with their versions."""
    try:
        found[name.lower().replace("_", "-")] = metadata.version(name)
    except metadata.PackageNotFoundError:
        return
    for requirement in metadata.requires(name) or []:
        wanted, _, condition = requirement.partition(";")
        match = re.search(r"extra\s*==\s*['\"]([^'\"]+)", condition)
        other = NAME.match(wanted)
        assert other is not None, requirement
        inner = set(re.findall(r"\[([^\]]*)\]", wanted)[0].split(",")) if "[" in wanted else set()
        if match is not None and match[1] not in extras:
            continue
        if other[0].lower().replace("_", "-") not in found or inner:
            needed(other[0], extras | inner if other[0] == name else inner, found)


def main(extras: list[str]) -> int:
    """Print a line a package; return 1 where a licence is not plainly permissive."""
    core: dict[str, str] = {}
    needed("aioli-online", set(), core)
    every = dict(core)
    if extras:
        needed("aioli-online", set(extras), every)
    doubtful = False
    for name, version in sorted(every.items()):
        said = licence_of(name)
        mark = ""
        if name in core and not PERMISSIVE.search(said):
            doubtful, mark = True, "  ← look at it"
        print(f"{name:<24} {version:<14} {said or 'none declared'}{mark}")
    return int(doubtful)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
