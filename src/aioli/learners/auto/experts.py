"""The experts of Auto: which learners, on which view of a row, and why these."""

from dataclasses import dataclass

from aioli.outcomes.spec import Curvature, GameSpec
from aioli.states.mixture.views import VIEWS

__all__ = ["EXPERTS", "Expert"]


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
# model is right; the peak view for one-hot and rare columns; one that forgets; two that are not linear. A budget keeps
# the first of them.
EXPERTS = (
    Expert("standard", ridge=0.01),
    Expert("wave", ridge=0.01),
    Expert("peak", ridge=0.1, regulariser=0.0, curvature="full"),
    Expert("square", ridge=0.1),
    Expert("peak", ridge=0.01, forgetting=0.99),
    Expert("standard", ridge=0.1, regulariser=0.0, curvature="full"),
    Expert("standard", ridge=1.0),
    Expert("peak", ridge=0.1),
)
