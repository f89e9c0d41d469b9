"""Finds by their names the features that mark where a number is missing.

>>> gaps_among(["age", "city=Ulm", "age is missing", "city is missing"])
[(0, 2)]
"""

from collections.abc import Sequence

__all__ = ["MISSING", "gaps_among"]

MISSING = " is missing"  # behind the name of a column, in the name of the feature that marks its missing values


def gaps_among(names: Sequence[str] | None) -> list[tuple[int, int]]:
    """Return the places of the numbers that have such a mark, and of their marks."""
    marks = [(name.removesuffix(MISSING), place) for place, name in enumerate(names or []) if name.endswith(MISSING)]
    if not marks:
        return []
    places = {name: place for place, name in enumerate(names or [])}
    return [(places[name], mark) for name, mark in marks if name in places]
