"""The experts of Auto for many classes: what each reads of a row, from how many classes on, and why these."""

from dataclasses import dataclass

from aioli.states.classes.shared import SharedSpec
from aioli.states.classes.views import ViewSpec

__all__ = ["CLASS_EXPERTS", "CLASS_SHARES", "ClassExpert", "experts_for"]

CLASS_SHARES = "the shares of the classes so far"  # the expert that every mixture has
FEW, SEVERAL = 5, 16  # classes up to which 128 and 256 waves are played; beyond, 512
FINER = 1.2
WIDEST = 800  # columns up to which every expert plays; beyond, the first ones do: each keeps d² numbers


@dataclass(frozen=True)
class ClassExpert:
    """Specify a softmax learner on a view of the rows, and for how many classes it is played."""

    view: ViewSpec
    forgetting: float = 1.0
    least: int = 0
    most: int | None = None
    on_wide_rows: bool = False

    @property
    def name(self) -> str:
        """What `weights_` calls the expert."""
        drift = "" if self.forgetting == 1.0 else f", ρ = {self.forgetting:g}"
        return f"softmax on the {self.view.name} view{drift}"

    @property
    def prior(self) -> float:
        """The share of the mixture that it begins with, not yet normalised: most streams do not drift."""
        return 3.0 if self.forgetting == 1.0 else 1.0

    @property
    def spec(self) -> SharedSpec:
        """The parameters of its game."""
        return SharedSpec(forgetting=self.forgetting)

    def plays(self, classes: int, columns: int) -> bool:
        """Return whether it is played where there are so many classes and columns."""
        fits = self.on_wide_rows or columns <= WIDEST
        return fits and self.least <= classes and (self.most is None or classes <= self.most)


def _waves(base: str, shortest: float, longest: float, seed: int) -> tuple[ClassExpert, ...]:
    """Return the experts on waves of a plain view, of which one plays at any number of classes.

    Among many classes, what tells two of them apart is finer, and so are the waves.
    """
    few = ViewSpec(base, 128, shortest, longest, seed)
    several = ViewSpec(base, 256, shortest, longest, seed)
    many = ViewSpec(base, 512, FINER * shortest, FINER * longest, seed)
    return (
        ClassExpert(few, most=FEW),
        ClassExpert(several, least=FEW + 1, most=SEVERAL),
        ClassExpert(many, least=SEVERAL + 1),
    )


# Chosen for what they bring together over many streams: two linear views; two speeds of forgetting, on the view that
# leaves rare columns alone; waves, and products of columns, each on a view that keeps distances and on one of ranks.
# More classes need more waves, and a class of experts that costs more pays only there.
CLASS_EXPERTS = (
    ClassExpert(ViewSpec("standard"), on_wide_rows=True),
    ClassExpert(ViewSpec("peak"), on_wide_rows=True),
    ClassExpert(ViewSpec("peak"), forgetting=0.99, on_wide_rows=True),
    ClassExpert(ViewSpec("peak"), forgetting=0.9),
    ClassExpert(ViewSpec("rank")),
    *_waves("standard", 1.2, 2.3, seed=1),
    *_waves("rank", 0.9, 2.1, seed=2),
    ClassExpert(ViewSpec("standard", 512, 2.0, 2.7, seed=3, called="finer "), least=SEVERAL + 1),
    ClassExpert(ViewSpec("peak", products=True)),
    ClassExpert(ViewSpec("rank", products=True)),
    ClassExpert(ViewSpec("rank", 128, 0.9, 2.1, seed=2), forgetting=0.999),
)


def experts_for(classes: int, columns: int) -> list[ClassExpert]:
    """Return the experts that are played where there are so many classes and columns."""
    return [expert for expert in CLASS_EXPERTS if expert.plays(classes, columns)]
