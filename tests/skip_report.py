"""What a run skips, and why, is told in a table at its end; in continuous integration what is missing is a failure.

A skip whose reason begins with `SYSTEM` is of the operating system's making, and nothing that is installed would change
it. Every other one is of something that could be installed: with `CI=true` it fails.
"""

import os
import re
from collections import Counter
from collections.abc import Generator, Iterable
from typing import Any

import pytest

__all__ = ["SYSTEM", "pytest_make_collect_report", "pytest_runtest_makereport", "pytest_terminal_summary"]

SYSTEM = "this system"
NOT_IMPORTED = re.compile(r"could not import '([^'.]+)[^']*'.*", re.DOTALL)  # what pytest.importorskip says


def reason_of(report: Any) -> str:
    """Why a test, or a whole file of them, was skipped: in one line."""
    told = report.longrepr[2] if isinstance(report.longrepr, tuple | list) else str(report.longrepr)
    return NOT_IMPORTED.sub(r"\1 is not installed", told.removeprefix("Skipped: ")).replace("\n", " ")


def table_of(reports: Iterable[Any]) -> list[str]:
    """One line for each reason, the most frequent first."""
    counts = Counter(map(reason_of, reports))
    return [f"{count:6d}  {reason}" for reason, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]


def _fail_if_missing(report: Any) -> None:
    if not report.skipped or hasattr(report, "wasxfail") or os.environ.get("CI") != "true":
        return
    reason = reason_of(report)
    if not reason.startswith(SYSTEM):
        report.outcome = "failed"
        report.longrepr = f"continuous integration has everything that a test may need, but {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    """Judge a skipped test."""
    report = yield
    _fail_if_missing(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    """Judge a skipped file."""
    report = yield
    _fail_if_missing(report)
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the table; under xdist, too, all reports come together here."""
    lines = table_of(terminalreporter.stats.get("skipped", []))
    if lines:
        terminalreporter.section("skipped, and why")
        for line in lines:
            terminalreporter.line(line)
