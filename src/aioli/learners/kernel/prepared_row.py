"""One row at a time through all bandwidths of random features and their mixture: every call made ready beforehand."""

from aioli.learners.kernel.few_rows import FewRows
from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.logistic import log_loss
from aioli.states.mixture.combination import Combination

__all__ = ["LOSS", "PAST_LOSS", "PAST_REGRET", "ROUNDS", "PreparedRow"]

ROUNDS, LOSS, PAST_LOSS, PAST_REGRET = range(4)  # entries of the tally


class PreparedRow:
    """Plays the row that its arrays hold, again and again, until there are other maps, or one of them retires.

    Parameters
    ----------
    few, combination
        What plays few rows through all maps, and what hears them; no row has been announced.
    tally
        Where rows and losses are counted.
    X, y, weights
        The arrays of the row.
    """

    def __init__(
        self, few: FewRows, combination: Combination, tally: Vector, X: Matrix, y: Vector, weights: Vector
    ) -> None:
        self.X = X
        Z, play_maps = few.prepared(combination.mixture.prior, X, y, weights)

        def play() -> float:
            play_maps()
            said = combination.answer_row(Z, y, weights)
            count_row(tally, said, y, weights)
            return said

        self.play = play  # learns the row, and returns its log-odds before its label


@compiled("void(f8[::1],f8,f8[::1],f8[::1])")
def count_row(tally: Vector, said: float, y: Vector, weights: Vector) -> None:
    """Count a row and its loss. O(1)."""
    tally[ROUNDS] += 1.0
    tally[LOSS] += weights[0] * log_loss(said, y[0])
