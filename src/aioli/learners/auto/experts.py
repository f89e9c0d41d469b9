"""Lists the experts of Auto: which learners play on which view of a row, and why these."""

from dataclasses import dataclass, replace

from aioli.errors import ParameterRefused
from aioli.outcomes.spec import Curvature, GameSpec
from aioli.snapshots.tree import Snapshot
from aioli.states.mixture.mixture import HEARD
from aioli.states.mixture.views import VIEWS

__all__ = ["BUDGETS", "EXPERTS", "Expert", "experts_within", "with_budget"]


MOST_COLUMNS = {"ramp": 256, "ripple": 64}  # beyond, the view costs more than it brings
RADIUS = 8.0  # of the ball, in columns of scale one: log-odds of eight are as good as certain


@dataclass(frozen=True)
class Expert:
    """Specify an AIOLI learner on a view of the rows."""

    view: str
    ridge: float
    regulariser: float = 0.5
    curvature: Curvature = "tight"
    forgetting: float = 1.0

    @property
    def name(self) -> str:
        """What `weights_` and certificates call the expert."""
        kind = "online Bayes" if self.curvature == "full" else "AIOLI"
        drift = "" if self.forgetting == 1.0 else f", ρ = {self.forgetting:g}"
        return f"{kind} on the {self.view} view, λ = {self.ridge:g}{drift}"

    @property
    def kind(self) -> int:
        """The number of the view that it reads, as counted in `VIEWS`."""
        return VIEWS.index(self.view)

    @property
    def bends(self) -> bool:
        """Whether it plays on one of the views that cost more than all others together, and leaves where not heard."""
        return self.view in MOST_COLUMNS

    def suits(self, columns: int) -> bool:
        """Return whether rows of so many columns are worth its time."""
        return columns <= MOST_COLUMNS.get(self.view, columns)

    @property
    def heard(self) -> float:
        """The weight in the stackers below which nobody listens to it: one that costs more must be worth more."""
        return 4.0 * HEARD if self.bends else HEARD

    @property
    def prior(self) -> float:
        """The share of the mixture that it begins with, not yet normalised: most streams do not drift."""
        return 3.0 if self.forgetting == 1.0 else 1.0

    @property
    def certified(self) -> bool:
        """Whether it proves a bound against every fixed linear model of the columns."""
        return self.curvature != "full" and self.view in ("standard", "peak")

    @property
    def spec(self) -> GameSpec:
        """The parameters of its game: views have their own column of ones, and a mean squared norm of 1."""
        return GameSpec(RADIUS, self.ridge, self.regulariser, self.curvature, self.forgetting, intercept=False)


# Chosen for what they bring together over many streams: certified ones, quick and careful; online Bayes, best where the
# model is right; the peak view for one-hot and rare columns; one that forgets; two that are not linear. The last three
# bend as they like, one of them in a world that moves, and cost several times what the others do together: "fast" does
# without. A budget keeps the first.
EXPERTS = (
    Expert("standard", ridge=0.01),
    Expert("wave", ridge=0.01),
    Expert("peak", ridge=0.1, regulariser=0.0, curvature="full"),
    Expert("square", ridge=0.1),
    Expert("peak", ridge=0.01, forgetting=0.99),
    Expert("standard", ridge=0.1, regulariser=0.0, curvature="full"),
    Expert("standard", ridge=1.0),
    Expert("peak", ridge=0.1),
    Expert("ramp", ridge=0.1, regulariser=0.0, curvature="full"),
    Expert("ripple", ridge=0.01),
    Expert("ripple", ridge=0.01, forgetting=0.998),
)
BUDGETS = {"fast": 8, "usual": len(EXPERTS), "best": len(EXPERTS)}  # how many of them play


def experts_within(budget: object, experts: object) -> tuple[Expert, ...]:
    """Return the experts that a budget and a number allow, or a refusal that says what is allowed."""
    if not isinstance(budget, str) or budget not in BUDGETS:
        raise ParameterRefused.unlike("budget", budget, " or ".join(f'"{name}"' for name in BUDGETS))
    most = BUDGETS[budget]
    if experts is not None and not (type(experts) is int and 1 <= experts <= most):
        raise ParameterRefused.unlike("experts", experts, f"a whole number from 1 to {most}, or None for all")
    return EXPERTS[: most if experts is None else experts]


def with_budget(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot of a learner with its budget: one from before there were budgets plays the fast experts."""
    parameters = snapshot.mapping("parameters")
    return replace(snapshot, values={**snapshot.values, "parameters": {"budget": "fast", **parameters}})
