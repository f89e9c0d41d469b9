"""How much a test tries: `make test` tries a fixed part of it, `make thorough` all of it."""

import os
from typing import TypeVar

from hypothesis import settings

__all__ = ["examples", "in_full_or_quickly"]

Amount = TypeVar("Amount")
FULL = os.environ.get("AIOLI_THOROUGH") == "1"


def examples(full: int) -> settings:
    """Have Hypothesis try so many examples, or a fifth of them where the run is to be quick."""
    return settings(max_examples=full if FULL else max(10, full // 5))


def in_full_or_quickly(full: Amount, quickly: Amount) -> Amount:
    """Return the first amount in a thorough run, the second in a quick one."""
    return full if FULL else quickly
