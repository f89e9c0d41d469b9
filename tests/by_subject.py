"""Which process plays which test: those of one subject keep together, so that its code is compiled once, not twice.

The groups of pytest-xdist would do, but pytest 9.2 no longer lets them be told by a test's name.
"""

import importlib
from typing import Any

import pytest

__all__ = ["pytest_xdist_make_scheduler"]

# parts of paths: subjects whose compiled code, or whose costly fixture, few other tests need
SUBJECTS = ("class", "fleet", "paper", "forest", "foster", "kernel", "sparse", "service")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Return what hands tests out to processes: a subject at a time, all other tests one by one."""
    scheduling: Any = importlib.import_module("xdist.scheduler").LoadScopeScheduling  # has no types

    class BySubject(scheduling):  # type: ignore[misc]  # its base has no types
        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.partition("::")[0]
            return next((subject for subject in SUBJECTS if subject in path), nodeid)

    return BySubject(config, log)
