"""Checks the names of models and rows: what goes into addresses, files and logs is plain.

>>> check_model_name("fraud-2")
>>> check_model_name("../etc")
Traceback (most recent call last):
    ...
aioli.service.refusals.BadRequest: a model cannot be called '../etc'; take 1 to 64 letters, digits, -, _ and ., the first a letter or a digit
"""  # noqa: E501  (a message is one line)

import re

from aioli.service.refusals import BadRequest

__all__ = ["LONGEST_ID", "check_id", "check_model_name", "is_id"]

MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
LONGEST_ID = 256
SHOWN = 80


def check_model_name(name: str) -> None:
    """Refuse a name that is not plain."""
    if MODEL.fullmatch(name) is None:
        rule = "take 1 to 64 letters, digits, -, _ and ., the first a letter or a digit"
        raise BadRequest(f"a model cannot be called {name[:SHOWN]!r}; {rule}")


def is_id(name: str) -> bool:
    """Return whether an id is neither empty nor long, and can be printed."""
    return 0 < len(name) <= LONGEST_ID and name.isprintable()


def check_id(name: str) -> None:
    """Refuse an id that is empty, long, or has characters that cannot be printed."""
    if not is_id(name):
        rule = f"take 1 to {LONGEST_ID} characters that can be printed"
        raise BadRequest(f"an id cannot be {name[:SHOWN]!r}; {rule}")
