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


DIGITS = "a single row's log-odds take the compiled way of its probability, and tables are scored by matrix products"
COMPANION = "a third companion plays beside Auto's linear experts: all of them again, on the columns that matter"
FEW_ROWS = "fit of few rows has a part of maximum likelihood, and Auto a third companion"
NORMAL = "fit of few rows has a part of normally distributed classes besides"

MEANT = (
    Meant("588cca8", "AIOLI|Auto, three experts", ".*: predict_logit$|lists: predict_many$|late labels: ", DIGITS),
    Meant("588cca8", "aioli run, (CSV, AIOLI|CSV, text|svmlight, AIOLI|vw, AIOLI)", "predict", DIGITS),
    Meant("4c94aa9", "Auto(?!, three experts|, wide)", r"(?!Auto\(experts=3\))", COMPANION),
    Meant("4c94aa9", "Auto, wide", ".*before the first row: weights_|grown to ", COMPANION),
    Meant("4c94aa9", ".* of Auto$", "", COMPANION),
    Meant("4c94aa9", "scikit-learn's face, the learner inside|River's face", "default", COMPANION),
    Meant("9b97f4b", "scikit-learn's face$", "default, |average=8, |balanced, ", FEW_ROWS),
    Meant("cceaacd", "scikit-learn's face$", "default, |balanced, ", NORMAL),
    Meant("4c94aa9", "aioli run, (CSV$|JSON lines|Parquet|synthetic|standard|killed and resumed, Auto)", "", COMPANION),
    Meant("4c94aa9", "aioli compare", "Auto", COMPANION),
    Meant("4c94aa9", "aioli run, several learners", "OnlineToBatch", COMPANION),
)


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
