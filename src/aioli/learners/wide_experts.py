"""The experts that Wide plays side by side: constants for every stream alike."""

from typing import NamedTuple

__all__ = ["EXPERTS", "WideExpert"]


class WideExpert(NamedTuple):
    """Specify a state of a diagonal and the mean row, on a view of the rows, with prior precision λ and drift ρ."""

    view: str
    ridge: float
    forgetting: float = 1.0

    @property
    def name(self) -> str:
        """What `weights_` calls the expert."""
        fades = f", ρ = {self.forgetting:g}" if self.forgetting < 1.0 else ""
        return f"{self.view}, λ = {self.ridge:g}{fades}"


# A grid over what is sensible for words, clicks and categories, in steps of ten: a small λ where columns are many and
# each says something, a larger one where they repeat each other. A budget keeps the first of them.
EXPERTS = (
    WideExpert("rarity", 0.01),
    WideExpert("presence", 1.0),
    WideExpert("amount", 0.1),
    WideExpert("rarity", 0.1),
    WideExpert("presence", 10.0),
    WideExpert("rarity", 0.001),
    WideExpert("presence", 1.0, forgetting=0.99),
    WideExpert("amount", 0.01),
    WideExpert("rarity", 1.0),
    WideExpert("presence", 0.1),
)
