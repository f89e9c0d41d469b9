"""Labels that differ in upper and lower case alone: when they are one class, and what means yes or no."""

from collections.abc import Mapping, Sequence

__all__ = ["meaning_of", "spellings_of"]

YES = frozenset(["1", "1.0", "+1", "true", "t", "yes", "y", "positive", "pos", "+"])
NO = frozenset(["0", "0.0", "-1", "-1.0", "false", "f", "no", "n", "negative", "neg", "-"])


def meaning_of(name: str) -> int:
    """Return 1 for a label that means yes, -1 for one that means no, else 0."""
    return (name.lower() in YES) - (name.lower() in NO)


def spellings_of(known: Sequence[str], new: Sequence[str]) -> Mapping[str, str]:
    """Return, for each new label that is another spelling of an earlier one, that one; none where case must count.

    Case does not count where labels compared without it are two classes; and where they are one that means yes or no.

    >>> spellings_of(["no", "Yes"], ["yes", "NO"])
    {'yes': 'Yes', 'NO': 'no'}
    >>> spellings_of([], ["a", "A"]), spellings_of([], ["a", "A", "b", "c"])
    ({}, {})
    """
    first: dict[str, str] = {}
    found: dict[str, str] = {}
    for name in (*known, *new):
        earlier = first.setdefault(name.casefold(), name)
        if earlier != name and name not in known:
            found[name] = earlier
    one = len(first) == 1 and any(map(meaning_of, first))
    return found if len(first) == 2 or one else {}
