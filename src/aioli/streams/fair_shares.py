"""Decides which categories get a feature of their own where not all can have one: fair to all columns."""

from collections import Counter
from collections.abc import Sequence

__all__ = ["FairShares"]

SETTLED = 1000  # rows from which on nothing is kept free for columns that have shown few values


class FairShares:
    """Decides row by row which new categories get a feature of their own.

    Half of the cap is divided equally: each of C columns has a right to cap/2C features. The other half goes to the
    categories that come first. What a column has not used of its right is kept free for it in the first 999 rows; from
    then on that goes to whichever category comes first, too.

    Parameters
    ----------
    used
        How many features each column has already; `admit` counts on in it.
    cap
        How many features all columns may have.

    Examples
    --------
    >>> shares = FairShares({"id": 0, "sex": 0}, cap=4)
    >>> [shares.admit([("id", text)], rows=1) for text in "abcd"]
    [[('id', 'a')], [('id', 'b')], [('id', 'c')], []]
    >>> shares.admit([("sex", "m")], rows=5)
    [('sex', 'm')]
    """

    def __init__(self, used: dict[str, int], cap: int) -> None:
        self._used, self._cap = used, cap
        self._room = cap - sum(used.values())

    def admit(self, new: Sequence[tuple[str, str]], rows: int) -> list[tuple[str, str]]:
        """Return those of a row's new categories that get a feature; `rows` have been seen, this one among them."""
        for name, _ in new:
            self._used.setdefault(name, 0)  # a column that first comes now
        chosen = list(new) if len(new) <= self._room and rows >= SETTLED else self._shared(new, rows)
        for name, _ in chosen:
            self._used[name] += 1
        self._room -= len(chosen)
        return chosen

    def _shared(self, new: Sequence[tuple[str, str]], rows: int) -> list[tuple[str, str]]:
        """Return the row's categories, in order, for which there is room beside what is kept free for other columns."""
        if self._room <= 0:
            return []
        right = self._cap // (2 * max(1, len(self._used)))
        claims = Counter(name for name, _ in new)
        kept = {
            name: max(0, min(right, right if rows < SETTLED else taken + claims[name]) - taken)
            for name, taken in self._used.items()
        }
        free = self._room - sum(kept.values())
        chosen = []
        for name, text in new:
            if kept[name] > 0:
                kept[name] -= 1
            elif free > 0:
                free -= 1
            else:
                continue
            chosen.append((name, text))
        return chosen
