"""Chooses who plays the rows of Auto, by its parameters: linear experts, non-linear companions, or wide experts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from aioli.errors import SnapshotRefused
from aioli.learners.auto.bending_ensemble import BendingEnsemble
from aioli.learners.auto.boosting import BoostingCompanion
from aioli.learners.auto.chosen_columns import ChosenColumns
from aioli.learners.auto.companions import Companion, ForestCompanion, KernelCompanion
from aioli.learners.auto.dense_ensemble import DenseEnsemble
from aioli.learners.auto.guests import batch_guests, guests_of
from aioli.learners.auto.narrow_and_wide import NarrowAndWide
from aioli.learners.wide import Wide
from aioli.snapshots.tree import Snapshot

__all__ = ["Dense", "Player", "PlayersOf", "companions_within", "linear_experts_of"]

SIZES = {"usual": (12, 128), "best": (20, 256)}  # by budget: trees of the forest, and random features

WITH_CHOSEN_COLUMNS, WITH_BOOSTING = 1, 2  # versions of the files that hold companions, and when which came
NEWEST = WITH_BOOSTING
Dense: TypeAlias = DenseEnsemble | BendingEnsemble
Player: TypeAlias = Dense | NarrowAndWide | Wide


@dataclass(frozen=True)
class PlayersOf:
    """Makes the players that parameters of `Auto`, under the same names, ask for."""

    experts: int | None
    budget: str
    guests: Sequence[object]
    refit: str | int | None
    pairs: bool

    def fresh(self) -> Dense | NarrowAndWide:
        """Return who plays rows that are not wide, or whatever they are where pairs are asked for."""
        return NarrowAndWide(self._dense(), paired=True) if self.pairs else self._dense()

    def restored(self, part: Snapshot) -> Player:
        """Return the player of a snapshot, which must be one that the parameters allow."""
        if part.kind != "NarrowAndWide":
            return self._recalled(part)
        narrow = self._recalled(part.part("narrow"))
        if isinstance(narrow, Wide):
            raise SnapshotRefused(f"in a {part.kind}, the narrow player is a wide one")
        return NarrowAndWide(narrow, self.pairs).recall(part)

    def _dense(self, version: int = NEWEST) -> Dense:
        dense = DenseEnsemble(self.experts, self.budget)
        companions = companions_within(self.budget, version) if self.experts is None else []
        companions += guests_of(self.guests, self.refit)
        return BendingEnsemble(dense, companions) if companions else dense

    def _recalled(self, part: Snapshot) -> Dense | Wide:
        fresh = self._dense()
        if part.kind == "BendingEnsemble" and isinstance(fresh, BendingEnsemble):
            known = [each for each in map(self._dense, range(NEWEST)) if isinstance(each, BendingEnsemble)]
            return next((each for each in known if each.has_members_of(part)), fresh).recall(part)
        player: DenseEnsemble | Wide = Wide.restore(part) if part.kind == "Wide" else DenseEnsemble.restore(part)
        if player.experts != self.experts:
            raise SnapshotRefused(f"in an Auto, {player.experts} experts play, not {self.experts}")
        if not isinstance(player, (Wide, type(fresh))) or (
            isinstance(player, DenseEnsemble) and player.budget != self.budget
        ):
            raise SnapshotRefused(f"in an Auto, others play than the budget {self.budget!r} allows")
        return player


def companions_within(budget: str, version: int = NEWEST) -> list[Companion]:
    """Return the companions that a budget plays beside the linear experts; none has learned from a row.

    `version` is of the files that hold them: each of an earlier one goes on with the companions that it had.
    """
    if budget == "fast":
        return []
    trees, features = SIZES[budget]
    companions: list[Companion] = [ForestCompanion(trees, only_late=budget == "usual"), KernelCompanion(features)]
    if version >= WITH_CHOSEN_COLUMNS:
        companions.append(ChosenColumns(_makers(budget)))
    if version >= WITH_BOOSTING:
        companions.append(BoostingCompanion())
    if budget == "best":
        companions += batch_guests()
    return companions


def linear_experts_of(player: Player) -> DenseEnsemble | None:
    """Return the ensemble of linear experts within a player, which may read its first columns only; None in `Wide`."""
    narrow = player.narrow if isinstance(player, NarrowAndWide) else player
    linear = narrow.dense if isinstance(narrow, BendingEnsemble) else narrow
    return linear if isinstance(linear, DenseEnsemble) else None


def _makers(budget: str) -> list[Callable[[], BendingEnsemble]]:
    """Return what makes the ensemble on the columns that matter: of few rows, of many, and in files of before.

    Files hold the places in this list.
    """
    return [partial(_again, budget, *players) for players in (["trees"], ["waves", "trees"], ["forest", "waves"])]


def _again(budget: str, *players: str) -> BendingEnsemble:
    """Return linear experts with companions, none of which has learned from a row."""
    trees, features = SIZES[budget]
    makers: dict[str, Callable[[], Companion]] = {
        "forest": partial(ForestCompanion, trees),
        "waves": partial(KernelCompanion, features),
        "trees": BoostingCompanion,
    }
    return BendingEnsemble(DenseEnsemble(None, budget), [makers[player]() for player in players])
