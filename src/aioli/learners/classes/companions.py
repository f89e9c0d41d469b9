"""Companions of the softmax learners behind `Auto` for many classes: mixed with what those say together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np

from aioli.learners.classes.experts import CLASS_SHARES, ClassExpert, ExpertState
from aioli.learners.classes.first_two import FirstTwoState
from aioli.numerics.compiling import Cube, Matrix, Vector
from aioli.outcomes.class_labels import Codes
from aioli.outcomes.class_places import ClassPlaces
from aioli.states.classes.mixture import ClassMixture
from aioli.states.classes.shared import SharedState

__all__ = ["Companions", "Player"]

LEAST = 1e-300  # a probability whose logarithm is a number
TOGETHER, COUNTED = 8.0, 0.1  # prior shares of all softmax learners together, and of the class shares, beside 1 each


@dataclass
class Player:
    """An expert that plays, its state, and whether it had no influence at the last review."""

    expert: ClassExpert
    state: ExpertState | FirstTwoState
    negligible: bool = False

    def __post_init__(self) -> None:
        self.reads = self.expert.view.name

    def open_up(self, places: ClassPlaces) -> None:
        """Make room for unseen classes, where the expert speaks of them."""
        if self.expert.classes(places) > self.state.classes:
            self.state.add_class()
        if isinstance(self.state, SharedState):
            self.state.open_up()


@dataclass
class Companions:
    """Experts of other kinds, and the mixture of what each of them says and what the softmax learners say together.

    The stackers of this mixture have few coefficients, and so learn them in few rows.
    """

    players: list[Player]
    mixture: ClassMixture

    @classmethod
    def begin(cls, experts: Sequence[ClassExpert], width: int, places: ClassPlaces, budget: str) -> Self:
        """Return companions that have seen nothing."""
        prior = np.array([TOGETHER, *(expert.prior for expert in experts), COUNTED])
        players = [Player(expert, expert.state(width, places, budget)) for expert in experts]
        return cls(players, ClassMixture(prior, places.count))

    def announce(self, said: Matrix, Z: Cube) -> Matrix:
        """Return the probabilities of all together, for rows of which the softmax learners said this.

        Z is what companions say, behind a first line for what the softmax learners do; whoever says nothing of a class
        is given what is heard in its place.
        """
        return self.mixture.announce(self._with(said, Z))

    def combine(self, said: Matrix, Z: Cube, codes: Codes, weights: Vector) -> Matrix:
        """Return the probabilities announced row by row, as `announce` does, and learn from the labels."""
        return self.mixture.combine(self._with(said, Z), codes, weights)

    def add_class(self) -> None:
        """Make room for one further class."""
        for player in self.players:
            player.state.add_class()
        self.mixture.add_class()

    def shares(self, others: dict[str, float]) -> dict[str, float]:
        """Return how much everybody holds of the whole, given how much of their own mixture the others hold."""
        together, *own, counted = self.mixture.shares.tolist()
        shares = {name: together * share for name, share in others.items()}
        shares[CLASS_SHARES] += counted
        return shares | dict(zip([player.expert.name for player in self.players], own, strict=True))

    def review(self, classes: int, columns: int) -> set[str]:
        """Let those go that have no influence, now and at the last review, and those outgrown; return their names."""
        left = self.dismiss_outgrown(classes, columns)
        negligible = self.mixture.negligible()[1:].tolist()
        leaving = [i for i, player in enumerate(self.players) if negligible[i] and player.negligible]
        for player, unheard in zip(self.players, negligible, strict=True):
            player.negligible = unheard
        return left | self._dismiss(leaving)

    def dismiss_outgrown(self, classes: int, columns: int) -> set[str]:
        """Let those go that do not play where there are so many classes and columns; return their names."""
        return self._dismiss([i for i, each in enumerate(self.players) if not each.expert.plays(classes, columns)])

    def _dismiss(self, leaving: Sequence[int]) -> set[str]:
        if not leaving:
            return set()
        self.mixture = self.mixture.without([1 + i for i in leaving])
        names = {self.players[i].expert.name for i in leaving}
        self.players = [player for i, player in enumerate(self.players) if i not in leaving]
        return names

    def _with(self, said: Matrix, Z: Cube) -> Cube:
        """Write the logarithms of what is said together in front of what each companion announced; return them all."""
        np.log(said, out=Z[0])
        for abstain in self.abstaining(Z):
            abstain()
        return Z

    def abstaining(self, Z: Cube) -> list[Callable[[], None]]:
        """Return the calls that let whoever says nothing of the unseen class say what the softmax learners say.

        These are the first in Z, all together.
        """
        silent = [i for i, player in enumerate(self.players, 1) if player.state.classes < self.mixture.classes]
        return [partial(_abstain, Z[0], Z[i]) for i in silent]


def _abstain(together: Matrix, own: Matrix) -> None:
    """Take the last class's logarithms from what is said together; the other classes share the rest."""
    own[:, -1] = together[:, -1]
    own[:, :-1] += np.log(np.maximum(-np.expm1(together[:, -1]), LEAST))[:, None]
