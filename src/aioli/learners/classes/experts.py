"""The experts of Auto for many classes: what each reads of a row, from how many classes on, and why these."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from aioli.errors import ParameterRefused
from aioli.outcomes.class_places import ClassPlaces
from aioli.outcomes.spec import GameSpec
from aioli.snapshots.tree import Snapshot
from aioli.states.boosting.fitting import SWIFT
from aioli.states.classes.against_rest import RestState
from aioli.states.classes.boosting import ClassBoostedState
from aioli.states.classes.forest import ClassForestState
from aioli.states.classes.naive_bayes import NaiveBayesState
from aioli.states.classes.shared import SharedSpec, SharedState
from aioli.states.classes.views import ViewSpec

__all__ = [
    "CLASS_EXPERTS",
    "CLASS_SHARES",
    "FIRST_TWO",
    "GAMES",
    "ROW",
    "ClassExpert",
    "ExpertState",
    "experts_for",
    "require_budget",
]

ROW = "row"  # the view of an expert that reads the rows as they are
CLASS_SHARES = "the shares of the classes so far"  # the expert that every mixture has
FEW, SEVERAL = 5, 16  # classes up to which 128 and 256 waves are played; beyond, 512
FINER = 1.2
CERTIFIED = 250_000  # numbers up to which the certified expert, with a matrix a class, is played
WIDEST = 800  # columns up to which every expert plays; beyond, the first ones do: each keeps d² numbers
TREES = {"fast": 0, "usual": 10, "best": 40}  # of the forest, by budget
BOOSTED_CLASSES = 16  # up to which boosted trees play: each class has 40
FOREST_COLUMNS, FOREST_CLASSES = 200, 64  # up to which a forest plays: its nodes hold 2d + 7K numbers each

ExpertState: TypeAlias = SharedState | RestState | NaiveBayesState | ClassForestState | ClassBoostedState


GAMES = GameSpec(8.0, 0.1, 0.5, "tight", 1.0, intercept=False)  # of two classes each, in units of contrasts


@dataclass(frozen=True)
class ClassExpert:
    """Specify an expert on a view of the rows, and for how many classes it is played.

    It is a softmax learner with one matrix for all classes; AIOLI, one class against the rest, which is certified;
    naive Bayes; a forest; boosted trees; or the learner that knew two classes before there were more.
    """

    view: ViewSpec
    forgetting: float = 1.0
    least: int = 0
    most: int | None = None
    on_wide_rows: bool = False
    kind: Literal["softmax", "certified", "naive Bayes", "forest", "boosting", "first two"] = "softmax"

    @property
    def is_companion(self) -> bool:
        """Whether it is mixed with what all others say together, and not among them."""
        return self.kind in ("naive Bayes", "forest", "boosting")

    @property
    def certified(self) -> bool:
        """Whether it proves a bound."""
        return self.kind == "certified"

    @property
    def name(self) -> str:
        """What `weights_` calls the expert."""
        if self.kind == "first two":
            return "Auto of the first two classes"
        if self.is_companion:
            return self.kind
        if self.certified:
            return f"AIOLI, one class against the rest, on the {self.view.name} view"
        drift = "" if self.forgetting == 1.0 else f", ρ = {self.forgetting:g}"
        return f"softmax on the {self.view.name} view{drift}"

    @property
    def prior(self) -> float:
        """The share of the mixture that it begins with, not yet normalised: most streams do not drift."""
        return 3.0 if self.forgetting == 1.0 and not self.is_companion else 1.0

    def classes(self, places: ClassPlaces) -> int:
        """Return how many of the places it speaks of: trees know nothing of a class that nobody has seen."""
        return places.known if self.kind in ("forest", "boosting") else places.count

    def state(self, width: int, places: ClassPlaces, budget: str) -> ExpertState:
        """Return a fresh state of its game."""
        classes = self.classes(places)
        if self.certified:
            return RestState(GAMES, width, classes)
        if self.kind == "naive Bayes":
            return NaiveBayesState(width, classes)
        if self.kind == "forest":
            return ClassForestState(width, classes, TREES[budget])
        if self.kind == "boosting":
            return ClassBoostedState(SWIFT, width, classes)
        return SharedState(self._spec(places), width, classes)

    def restored(self, snapshot: Snapshot, places: ClassPlaces) -> ExpertState:
        """Return the state of a snapshot of its game."""
        if self.certified:
            return RestState.restore(snapshot, GAMES)
        if self.kind == "naive Bayes":
            return NaiveBayesState.restore(snapshot)
        if self.kind == "forest":
            return ClassForestState.restore(snapshot)
        if self.kind == "boosting":
            return ClassBoostedState.restore(snapshot, SWIFT)
        return SharedState.restore(snapshot, self._spec(places))

    def _spec(self, places: ClassPlaces) -> SharedSpec:
        return SharedSpec(forgetting=self.forgetting, unseen=places.unseen)

    def plays(self, classes: int, columns: int) -> bool:
        """Return whether it is played where there are so many classes and columns."""
        fits = self.on_wide_rows or columns <= WIDEST
        if self.certified:
            fits = classes * (columns + 1) ** 2 <= CERTIFIED
        if self.kind == "forest":
            fits = columns <= FOREST_COLUMNS and classes <= FOREST_CLASSES
        if self.kind == "boosting":
            fits = columns <= FOREST_COLUMNS and classes <= BOOSTED_CLASSES
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


# Chosen for what they bring together over many streams: linear views, one of them with a proven bound; two speeds of
# forgetting, on the view that leaves rare columns alone; waves, and products of columns, each on a view that keeps
# distances and on one of ranks; and among these one that forgets slowly. More classes need more waves. Naive Bayes
# knows much after a few rows; a forest and boosted trees see what neither waves nor products do.
CLASS_EXPERTS = (
    ClassExpert(ViewSpec("standard"), on_wide_rows=True),
    ClassExpert(ViewSpec("standard"), kind="certified"),
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
    ClassExpert(ViewSpec(ROW), on_wide_rows=True, kind="naive Bayes"),
    ClassExpert(ViewSpec(ROW), kind="forest"),
    ClassExpert(ViewSpec(ROW), kind="boosting"),
)


FIRST_TWO = ClassExpert(ViewSpec(ROW), on_wide_rows=True, kind="first two")  # where two classes become more


def experts_for(classes: int, columns: int, budget: str = "usual") -> list[ClassExpert]:
    """Return the experts that a budget plays where there are so many classes and columns."""
    allowed = [expert for expert in CLASS_EXPERTS if TREES[budget] or expert.kind not in ("forest", "boosting")]
    return [expert for expert in allowed if expert.plays(classes, columns)]


def require_budget(budget: object) -> str:
    """Return the budget, or refuse what is none."""
    if not isinstance(budget, str) or budget not in TREES:
        raise ParameterRefused.unlike("budget", budget, " or ".join(f'"{name}"' for name in TREES))
    return budget
