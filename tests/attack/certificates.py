"""Certificates under attack: random and adversarial games of every certified learner, each named by its seed.

`python -m attack.certificates SEED …` (with tests on the path) plays these games again and shows them.
"""

import math
import sys
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from support import KINDS, make_labels, make_rows

from aioli import AIOLI, Auto, Certificate, KernelAIOLI, Nystrom, OnlineToBatch, RandomFeatures, Wide
from aioli.errors import AioliError
from aioli.evaluate.hindsight import best_in_ball
from aioli.learners.kernel.random_features import FourierMap
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.threads import one_blas_thread
from aioli.states.mixture.views import Views

__all__ = ["LEARNERS", "Verdict", "try_certificate"]

Model: TypeAlias = Any  # a certified learner: which methods it has is known where it is made
LEARNERS = ("AIOLI", "AIOLI merged", "KernelAIOLI", "Auto", "Wide", "RandomFeatures", "Nystrom", "OnlineToBatch")
LABELLINGS = ("by a model", "adversary", "alternating", "one class", "noise")
TRIED = 1e-6  # of what is compared: sums of rounded losses, by two programs


@dataclass(frozen=True)
class Verdict:
    """What a game showed: how far below the regret its certificates are at worst, in nats; negative is true."""

    seed: int
    game: str
    regret: float
    running: float
    tight: float
    refused: str = ""

    @property
    def holds(self) -> bool:
        """Whether both certificates are at least the regret."""
        slack = TRIED * (1.0 + abs(self.regret))
        return bool(self.refused) or min(self.running, self.tight) >= self.regret - slack

    def __str__(self) -> str:
        found = self.refused or f"regret {self.regret:.9g}, certificate {self.running:.9g}, tight {self.tight:.9g}"
        return f"{self.seed}: {self.game}: {found}"


class Game:
    """Draws a game from a seed: the learner, its rows, weights, delays and labels; then plays it."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.seed, self.learner = seed, str(rng.choice(LEARNERS))
        self.n, self.d = int(rng.integers(1, 41)), int(rng.integers(1, 6))
        self.rows_kind, self.labelling = str(rng.choice(KINDS)), str(rng.choice(LABELLINGS))
        self.scale = 10.0 ** rng.uniform(-8, 8) if rng.random() < 0.3 else 1.0
        self.radius = 10.0 ** rng.uniform(-2, 3)
        self.ridge = None if rng.random() < 0.5 else 10.0 ** rng.uniform(-6, 4)
        self.curvature = str(rng.choice(["tight", "tight", "paper"]))
        self.regulariser = float(rng.choice([0.0, 0.5, 1.0, 1.0, 2.0]))
        self.forgetting = float(rng.choice([1.0, 1.0, 0.99, 0.5]))
        self.kernel = str(rng.choice(["linear", "poly", "rbf", "laplacian"]))
        self.gamma = 10.0 ** rng.uniform(-3, 3)
        self.weighted, self.late, self.grows = (bool(rng.random() < share) for share in (0.4, 0.3, 0.3))
        self.X: Matrix = make_rows(self.rows_kind, self.n, self.d, seed) * self.scale
        if rng.random() < 0.2:
            self.X = np.asarray(np.round(self.X), np.float64)
        self.y = make_labels(self.X, seed)
        if self.labelling == "noise":
            self.y = rng.integers(0, 2, self.n).astype(np.float64)
        elif self.labelling == "alternating":
            self.y = np.asarray(np.arange(self.n) % 2, np.float64)
        elif self.labelling == "one class":
            self.y = np.full(self.n, float(rng.integers(0, 2)))
        drawn = rng.choice([0.0, 0.3, 1.0, 3.0, 60.0, 1e4], size=self.n)
        self.weights: Vector = drawn if self.weighted else np.ones(self.n)
        self.order: list[int] = []  # in which the rows were learned

    def __str__(self) -> str:
        said = {
            "n": self.n, "d": self.d, "rows": self.rows_kind, "scale": f"{self.scale:.3g}", "labels": self.labelling,
            "radius": f"{self.radius:.3g}", "ridge": self.ridge, "curvature": self.curvature, "c": self.regulariser,
            "forgetting": self.forgetting, "weighted": self.weighted, "late": self.late, "grows": self.grows,
        }  # fmt: skip
        if self.learner == "KernelAIOLI":
            said |= {"kernel": self.kernel, "gamma": f"{self.gamma:.3g}"}
        return f"{self.learner}({', '.join(f'{name} {value}' for name, value in said.items())})"

    def make(self) -> Model:
        """Return the fresh learner."""
        rules: dict[str, Any] = {
            "radius": self.radius,
            "ridge": self.ridge,
            "regulariser": self.regulariser,
            "curvature": self.curvature,
            "forgetting": self.forgetting,
        }
        if self.learner == "KernelAIOLI":
            return KernelAIOLI(self.kernel, self.gamma, 2, 1.0, **rules)
        if self.learner == "Auto":
            return Auto()
        if self.learner == "Wide":
            return Wide()
        if self.learner == "RandomFeatures":
            return RandomFeatures(AIOLI(**rules), 6, bandwidth=self.bandwidth)
        if self.learner == "Nystrom":
            return Nystrom(AIOLI(**rules), 64, 0.0, self.bandwidth)
        if self.learner == "OnlineToBatch":
            return OnlineToBatch(AIOLI(**rules), states=3)
        return AIOLI(**rules)

    @property
    def bandwidth(self) -> float:
        """The bandwidth of a feature map: that of γ in units of the rows."""
        return self.scale / math.sqrt(2.0 * self.gamma)

    def play(self) -> Model:
        """Return the learner after the game; `y` then holds the labels that were played."""
        if self.learner == "AIOLI merged":
            half = self.n // 2
            first, second = self.make(), self.make()
            self._teach(first, 0, half)
            self._teach(second, half, self.n)
            return first.merge(second) if half else second
        learner = self.make()
        self._teach(learner, 0, self.n)
        return learner

    def _teach(self, learner: Model, start: int, stop: int) -> None:
        grown = self.grows and self.d > 1 and self.learner in ("AIOLI", "KernelAIOLI", "Wide")
        columns, switch = self.d - 1 if grown else self.d, max((start + stop) // 2, start + 1)
        if grown:
            self.X[start:switch, columns:] = 0.0
        owed: list[tuple[int, float]] = []
        for t in range(start, stop):
            if grown and t == switch:
                learner.grow(self.d - columns)
                columns = self.d
            x = self.X[t, :columns] if grown else self.X[t]
            z = learner.predict_logit(x)
            if self.labelling == "adversary":
                self.y[t] = float(z <= 0.0)
            if self.late and not grown and self.learner != "OnlineToBatch":
                owed.append((t, z))
                if self.rng.random() < 0.5:
                    self._pay(learner, owed)
            else:
                self.order.append(t)
                learner.learn(x, self.y[t], *([self.weights[t]] if self.weighted else []))
        if grown and learner.n_features_ is not None and learner.n_features_ < self.d:
            learner.grow(self.d - learner.n_features_)
        self._pay(learner, owed)

    def _pay(self, learner: Model, owed: list[tuple[int, float]]) -> None:
        """Let the labels come that are owed, the latest first."""
        while owed:
            t, z = owed.pop()
            self.order.append(t)
            learner.learn(self.X[t], self.y[t], self.weights[t], z)

    def seen(self, learner: Model, certificate: Certificate) -> Matrix:
        """Return the rows on which the θ of the certificate act."""
        ones = np.ones((self.n, 1))
        if self.learner in ("KernelAIOLI", "Nystrom"):
            gamma = self.gamma if self.learner == "KernelAIOLI" else 0.5 / self.bandwidth**2
            g, basis = np.linalg.eigh(self._kernel(gamma) + 1.0)
            return np.asarray(basis * np.sqrt(np.maximum(g, 0.0)))
        if self.learner == "Auto":
            views = dict(zip(("standard", "peak"), Views(self.d).of_rows(self.X[self.order])[:2], strict=True))
            rows = next(rows for name, rows in views.items() if f"the {name} view" in certificate.against)
            return np.asarray(rows[np.argsort(self.order)])
        if self.learner == "Wide":
            norms = np.linalg.norm(self.X, axis=1)
            return np.hstack([ones, self.X / np.where(norms > 0.0, norms, 1.0)[:, None]])
        if self.learner == "RandomFeatures":
            assert isinstance(learner._forecaster, FourierMap)
            return np.hstack([ones, learner._forecaster.map(self.X)])
        return np.hstack([ones, self.X])

    def _kernel(self, gamma: float) -> Matrix:
        X, name = self.X, self.kernel if self.learner == "KernelAIOLI" else "rbf"
        if name in ("linear", "poly"):
            return X @ X.T if name == "linear" else (gamma * (X @ X.T) + 1.0) ** 2
        return np.asarray(np.exp(-gamma * cdist(X, X, "sqeuclidean" if name == "rbf" else "cityblock")))


def least_loss(Z: Matrix, y: Vector, weights: Vector, radius: float) -> float:
    """Return the least loss found in the ball: an upper bound on the best, by an optimiser that the library lacks.

    The ball is reached from all of space by φ ↦ Bφ/√(1+‖φ‖²), so that whatever the search ends with lies within.
    """
    signs = np.where(y == 1.0, -1.0, 1.0)
    unit = np.linalg.norm(Z, axis=0).max(initial=0.0) or 1.0

    def loss(theta: Vector) -> float:
        return float(weights @ np.logaddexp(0.0, signs * (Z @ theta)))

    def of_phi(phi: Vector) -> tuple[float, Vector]:
        stretch = math.sqrt(1.0 + float(phi @ phi))
        theta = radius * phi / stretch
        s = signs * (Z @ theta)
        gradient = Z.T @ (weights * signs * np.exp(-np.logaddexp(0.0, -s)))
        into = radius * (gradient - phi * float(phi @ gradient) / stretch**2) / stretch
        return float(weights @ np.logaddexp(0.0, s)) / unit, into / unit

    start = -(Z.T @ (weights * signs))
    found = [np.zeros(Z.shape[1])]
    phi = 0.1 * start / (float(np.linalg.norm(start)) or 1.0)
    end = minimize(of_phi, phi, jac=True, method="L-BFGS-B", options={"maxiter": 100}).x
    found.append(radius * end / math.sqrt(1.0 + float(end @ end)))
    return min(loss(theta) for theta in found)


def try_certificate(seed: int) -> Verdict:
    """Play the game of this seed, and hold its certificates against the regret."""
    game = Game(seed)
    try:
        with np.errstate(all="ignore"):
            learner = game.play()
    except AioliError as error:
        return Verdict(seed, str(game), math.nan, math.nan, math.nan, f"refused: {error}")
    running, tight = learner.certificate(), learner.certificate(tight=True)
    regret = -math.inf
    for proven in (running, tight):
        Z = game.seen(learner, proven)
        with np.errstate(all="ignore"), one_blas_thread():
            best = least_loss(Z, game.y, game.weights, proven.radius)
            theta = best_in_ball(Z, game.y, proven.radius, intercept=False, weights=game.weights).theta
            theta *= min(1.0, proven.radius / (float(np.linalg.norm(theta)) or 1.0))
            own = float(game.weights @ np.logaddexp(0.0, np.where(game.y == 1.0, -1.0, 1.0) * (Z @ theta)))
        worse = float(learner.loss) - min(best, own)
        if proven < worse - TRIED * (1.0 + abs(worse)):
            return Verdict(seed, str(game), worse, float(running), float(tight))
        regret = max(regret, worse)
    return Verdict(seed, str(game), regret, max(float(running), regret), max(float(tight), regret))


if __name__ == "__main__":
    for given in sys.argv[1:]:
        print(try_certificate(int(given)))
