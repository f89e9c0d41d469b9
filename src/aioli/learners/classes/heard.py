"""What the ensemble of many classes says of rows, and everybody in it."""

from typing import NamedTuple

import numpy as np

from aioli.numerics.compiling import Cube, Matrix

__all__ = ["Heard"]


class Heard(NamedTuple):
    """What is said of rows: by all together, and by each of those who play.

    Attributes
    ----------
    whole
        The probabilities of the ensemble, rows × classes.
    names
        Of those who play.
    below, above
        The logarithms of what the softmax learners say, and of what they say together and the companions say beside it:
        players × rows × classes. The first line of `above` means nothing where there are no companions.
    """

    whole: Matrix
    names: list[str]
    below: Cube
    above: Cube

    @property
    def Z(self) -> Cube:
        """The logarithms of the probabilities of each of those who play."""
        return np.concatenate([self.below, self.above[1:]])
