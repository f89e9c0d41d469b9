"""What a state of many classes does, whatever its structure."""

from typing import Protocol, Self

from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.class_labels import Codes
from aioli.outcomes.spec import GameSpec
from aioli.snapshots.tree import Snapshot

__all__ = ["ClassState", "Proof"]

Proof = tuple[float, float]  # the certificate of the losses where rows were learned, and what the theorem promised


class ClassState(Protocol):
    """A state of rows of `width` numbers and so many classes, known by their codes."""

    spec: GameSpec
    width: int

    @property
    def classes(self) -> int:
        """How many classes are known."""

    @property
    def loss(self) -> float:
        """The sum of the losses that the certificate is about."""

    @property
    def described(self) -> str:
        """What it is, in a few words."""

    def play(self, X: Matrix, codes: Codes, stakes: Vector) -> Matrix:
        """Play the rows in order; return the logarithms of the probabilities before each label, one column a class.

        A row of negative weight is only predicted.
        """

    def predict(self, X: Matrix) -> Matrix:
        """Return the logarithms of each row's probabilities, as if it came next."""

    def add_class(self, x: Vector | None = None) -> None:
        """Make room for one more class; x is the row that brought it, where one did."""

    def grow(self, columns: int) -> None:
        """Make room for new columns, exactly as if they had been there, and 0, from the first row."""

    def certificate(self, tight: bool = False) -> Proof:
        """Return the certificate and the theorem, in nats."""

    def merged(self, other: Self, places: Codes) -> Self:
        """Return the state of both games; class k of the other is class `places[k]` here, which may be new."""

    def snapshot(self) -> Snapshot:
        """Return all of it."""
