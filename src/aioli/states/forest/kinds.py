"""The kinds of trees that a forest has, and the members that announce: trees of a kind, all of them, and paths."""

from typing import NamedTuple

__all__ = ["KINDS", "MEMBERS", "Kind"]


class Kind(NamedTuple):
    """How a tree is grown: how much it prefers columns that speak of the label, and how it forgets."""

    name: str
    informed: float
    forgetting: float


KINDS = (
    Kind("trees", 0.0, 1.0),
    Kind("trees, informed", 0.5, 1.0),
    Kind("trees, well informed", 0.9, 1.0),
    Kind("trees that forget", 0.5, 0.999),
)

# who announces: each kind of trees, all of them, all of them said louder, and the model in paths at three rates
MEMBERS = (*(kind.name for kind in KINDS), "all trees", "all trees, bolder", "paths, slow", "paths", "paths, fast")
