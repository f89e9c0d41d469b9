r"""The certificate: regret that the run itself proves not to have been exceeded, against every θ of the ball.

Each surrogate lies below its loss on the ball and touches it at the prediction, so with
$F(\theta) = \lambda\|\theta\|^2 + \sum \hat\ell_t(\theta) = \min F + (\theta - w)^\top A (\theta - w)$

$$\sum_t \ell_t - \sum_t \ell_t(\theta) \le \sum_t \mathrm{inst}_t + \lambda\|\theta\|^2 - (\theta-w)^\top A(\theta-w),
  \qquad \mathrm{inst}_t = \ell_t - (\min F_t - \min F_{t-1}).$$

Dropping the last term gives the running certificate $\lambda B^2 + \sum \mathrm{inst}_t$, O(1) a round. Keeping it
gives the tight one. Both stay true when the state forgets: $P \preceq I/\lambda$, so
$\rho P + (1-\rho)I/\lambda \succeq P$, and a larger P is a smaller F.
"""

import math
from typing import Protocol

import numpy as np

from aioli.numerics.ball import ball_multiplier
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.spec import GameSpec
from aioli.outcomes.two_classes import Tally

__all__ = ["Certificate", "running_certificate", "theorem_bound", "tight_certificate", "tight_prior"]


class Certificate(float):
    """Say how many nats the regret has not exceeded, and against what.

    It is a float of nats, to compare and to compute with: `float(learner.certificate())`.

    Attributes
    ----------
    radius
        B: against which ball of models, ‖θ‖ ≤ B.
    rounds
        Over how many rows.
    theorem
        What a theorem promised beforehand, in nats: infinite where none speaks, as with forgetting, the full curvature,
        a regulariser below ½, or weighted, late or merged rows.
    against
        The view of the rows that the models see, where it is not the rows themselves; else "".
    """

    radius: float
    rounds: int
    theorem: float
    against: str

    def __new__(cls, nats: float, radius: float, rounds: int, theorem: float, against: str = "") -> "Certificate":
        """Make a certificate of this many nats."""
        certificate = super().__new__(cls, nats)
        certificate.radius, certificate.rounds = radius, rounds
        certificate.theorem, certificate.against = theorem, against
        return certificate

    def __repr__(self) -> str:
        seen = f", {self.against}" if self.against else ""
        return f"Certificate({float(self):.6g} nats against ‖θ‖ ≤ {self.radius:g} over {self.rounds} rows{seen})"

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (float(self), self.radius, self.rounds, self.theorem, self.against)


class PlayedGame(Protocol):
    """What a certificate reads of a state, whichever form it has."""

    spec: GameSpec
    width: int

    @property
    def tally(self) -> Vector:
        """The running totals."""

    @property
    def w(self) -> Vector:
        """The centre."""

    def precision(self) -> Matrix:
        """Return A."""


def running_certificate(state: PlayedGame) -> Certificate:
    r"""Return $\lambda B^2 + \sum \mathrm{inst}_t$. O(1)."""
    return _certificate(state, state.spec.ridge * state.spec.radius**2)


def tight_certificate(state: PlayedGame) -> Certificate:
    r"""Return $\sum \mathrm{inst}_t + \max_{\|\theta\| \le B} \lambda\|\theta\|^2 - \|\theta-w\|_A^2$. O(d³).

    By its dual: for any μ ≥ 0 the maximum is at most
    $\mu B^2 + \sum_i a_i w_i^2 (\lambda - \mu)/(a_i - \lambda + \mu)$ in the eigenbasis of A, with equality at the
    multiplier of the ball. So rounding in μ cannot make it untrue, and μ = λ
    is the running certificate.
    """
    spec = state.spec
    return _certificate(state, tight_prior(state.precision(), state.w, spec.ridge, spec.radius))


def tight_prior(A: Matrix, w: Vector, ridge: float, radius: float) -> float:
    r"""Return $\max_{\|\theta\| \le B} \lambda\|\theta\|^2 - \|\theta-w\|_A^2$, by its dual, or λB². O(d³)."""
    a, basis = np.linalg.eigh(A)
    a = np.maximum(a, ridge)  # A ⪰ λI; rounding may say otherwise
    w = basis.T @ w
    mu = ball_multiplier(a - ridge, a * w, radius)
    if mu == 0.0:
        mu = 1e-12 * ridge  # where A has learned nothing, a = λ, and 0/0 would be the limit 0
    dual = mu * radius**2 + float(np.sum(a * w * w * (ridge - mu) / (a - ridge + mu)))
    rounding = 4.0 * len(w) * np.finfo(np.float64).eps * float(a[-1] * (w @ w))  # of A, seen from w
    return min(dual + rounding, ridge * radius**2)


def theorem_bound(
    rounds: int, width: int, *, radius: float, ridge: float, regulariser: float, tight: bool, widest: float
) -> float:
    r"""Return $\lambda B^2 + c\,d(1+BR)\log\bigl(1 + \tfrac{nR^2}{8d\lambda\kappa}\bigr)$: for c = 1, Theorem 1.

    κ is 1 + BR for the paper's curvature; the tight one is larger by up to that factor, and κ is 1. The same proof
    gives the factor c for every c ≥ ½: inst ≤ ¼·2c·p(1-p)·v⁺. Below ½ there is no such bound. R is the largest ‖x‖.
    """
    if regulariser < 0.5:
        return math.inf
    stretch = 1.0 + radius * widest
    learned = rounds * widest**2 / (8.0 * width * ridge * (1.0 if tight else stretch))
    return ridge * radius**2 + regulariser * width * stretch * math.log1p(learned)


def _certificate(state: PlayedGame, prior: float) -> Certificate:
    spec, tally = state.spec, state.tally
    full = spec.curvature == "full"
    regular = not full and spec.forgetting == 1.0 and tally[Tally.IRREGULAR] == 0.0
    rounds = int(tally[Tally.ROUNDS])
    promised = theorem_bound(
        rounds,
        state.width,
        radius=spec.radius,
        ridge=spec.ridge,
        regulariser=spec.regulariser,
        tight=spec.curvature == "tight",
        widest=float(tally[Tally.WIDEST]),
    )
    nats = math.inf if full else prior + float(tally[Tally.REGRET])
    return Certificate(nats, spec.radius, rounds, promised if regular else math.inf)
