"""Settings for every test: Hypothesis tries the same examples everywhere, and no example is timed."""

import signal
from collections.abc import Iterator

import numpy as np
import pytest
from by_subject import pytest_xdist_make_scheduler
from hypothesis import HealthCheck, settings
from skip_report import pytest_make_collect_report, pytest_runtest_makereport, pytest_terminal_summary
from thoroughness import in_full_or_quickly

__all__ = [
    "pytest_make_collect_report",
    "pytest_runtest_makereport",
    "pytest_terminal_summary",
    "pytest_xdist_make_scheduler",
    "rng",
]

settings.register_profile(
    "aioli",
    derandomize=True,
    deadline=None,
    max_examples=in_full_or_quickly(40, 20),
    database=None,
    suppress_health_check=[HealthCheck.too_slow],  # which times how examples are drawn
)
settings.load_profile("aioli")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell has it for what it starts in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _stores_are_closed(request: pytest.FixtureRequest) -> Iterator[None]:
    """Close every store that a test of the service has opened, as its process would do."""
    if "service" not in request.path.parts:
        yield
        return
    from open_stores import remember_stores

    with remember_stores():
        yield
