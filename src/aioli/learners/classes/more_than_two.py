"""From a learner of two classes to the experts of many: nothing that was learned is lost."""

from aioli.learners.auto.dense_ensemble import DenseEnsemble
from aioli.learners.classes.companions import Player
from aioli.learners.classes.ensemble import ClassEnsemble
from aioli.learners.classes.experts import FIRST_TWO
from aioli.learners.classes.first_two import FirstTwoState, TwoClasses
from aioli.outcomes.class_places import ClassPlaces
from aioli.states.classes.shared import SharedState
from aioli.states.mixture.views import Views

__all__ = ["ensemble_after_two"]


def ensemble_after_two(two: TwoClasses, linear: DenseEnsemble | None, budget: str) -> ClassEnsemble:
    """Return the ensemble that goes on from a learner of two classes, which becomes one of its experts.

    What the columns have shown to its linear experts stays, and so do the coefficients of those played here too.
    """
    made = ClassEnsemble(None, two.n_features_ or 0, ClassPlaces(2), budget)
    if linear is not None and linear.views is not None:
        _take_over(made, linear, linear.views)
    made.mixture = made.mixture.joined(0.5)
    made.players.append(Player(FIRST_TWO, FirstTwoState.copied(two)))
    return made.open_up()


def _take_over(made: ClassEnsemble, linear: DenseEnsemble, views: Views) -> None:
    made.bases.views = Views.restore(views.snapshot())
    playing = zip(linear.playing, linear.states, strict=True)
    learned = {(expert.view, expert.forgetting): state for expert, state in playing}
    for player in made.players:
        state = learned.get((player.expert.view.name, player.expert.forgetting))
        if isinstance(player.state, SharedState) and state is not None:
            player.state.take_two(state)
