"""Which categories get a feature of their own where features are fewer than categories: fair shares between columns."""

from collections import Counter
from collections.abc import Mapping, Sequence

__all__ = ["admitted"]

SETTLED = 1000  # rows after which a column that has shown few values is not expected to bring many


def admitted(new: Sequence[tuple[str, str]], used: Mapping[str, int], cap: int, rows: int) -> list[tuple[str, str]]:
    """Return the categories that get a feature of their own, of `new` ones in the order of their rank.

    Half of the cap is divided equally: each of C columns has a right to cap/2C features. The other half, and what
    columns do not claim, goes to whoever comes first in rank. `used` says how many each column has already, and `rows`
    how many rows have been seen: until there are many, what a column may claim is kept free for it.

    >>> admitted([("id", "a"), ("id", "b"), ("id", "c"), ("id", "d"), ("sex", "m")], {"id": 0, "sex": 0}, 4, 5000)
    [('id', 'a'), ('id', 'b'), ('id', 'c'), ('sex', 'm')]
    """
    taken = Counter(dict(used))
    right = cap // (2 * max(1, len(used)))
    claims = Counter(name for name, _ in new)
    room = cap - taken.total()
    if len(new) <= room and rows >= SETTLED:
        return list(new)
    kept = {
        name: max(0, min(right, right if rows < SETTLED else taken[name] + claims[name]) - taken[name]) for name in used
    }
    free = room - sum(kept.values())
    chosen = []
    for name, text in new:
        if kept.get(name, 0) > 0:
            kept[name] -= 1
        elif free > 0:
            free -= 1
        else:
            continue
        chosen.append((name, text))
    return chosen
