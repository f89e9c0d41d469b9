"""Undoes what a call that is refused has begun."""

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["all_or_nothing"]


@contextmanager
def all_or_nothing(changed: object) -> Iterator[None]:
    """Put an object's attributes back as they were where the block raises.

    The block may give attributes other values; it must not change the values.
    """
    before = dict(vars(changed))
    try:
        yield
    except BaseException:
        vars(changed).clear()
        vars(changed).update(before)
        raise
