"""Differences that were meant: what was changed on purpose, by which commit, and why."""

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.sources import ROOT

__all__ = ["MEANT", "Meant", "meant_since", "reason_for"]


@dataclass(frozen=True)
class Meant:
    """A change of what some scenarios say; an earlier commit may differ in it.

    Attributes
    ----------
    commit
        The commit that changed it. A base that has it must say the same.
    scenarios, values
        Regular expressions: which scenarios, and which of their values.
    reason
        Why it was changed.
    """

    commit: str
    scenarios: str
    values: str
    reason: str


MEANT: tuple[Meant, ...] = ()


def meant_since(base: str) -> list[Meant]:
    """Return the changes that a commit does not have yet."""
    return [change for change in MEANT if not _has(base, change.commit)]


def reason_for(scenario: str, value: str, meant: Sequence[Meant]) -> str | None:
    """Return why a value of a scenario was meant to change; None where it was not."""
    for change in meant:
        if re.match(change.scenarios, scenario) and re.match(change.values, value):
            return change.reason
    return None


def _has(base: str, commit: str) -> bool:
    asked = ["git", "merge-base", "--is-ancestor", commit, base]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, check=False).returncode == 0
