"""Games of many classes, random and adversarial: regret ≤ tight certificate ≤ certificate ≤ theorem in each.

`make games` (`python -m benchmarks.class_games --games 3000`) plays thousands and prints what was found; the tests play
a fixed few. A game draws the number of classes (2 to 12) and columns, the structure, whether classes are declared or
appear, extreme radii, ridges and scales, and whether rows are weighted, labels late, or two learners merged.
"""

import argparse
import math
import sys
from collections import deque
from dataclasses import dataclass

import numpy as np

from aioli.evaluate.class_hindsight import best_in_class_ball, classes_seen
from aioli.evaluate.hindsight import best_in_ball
from aioli.learners.classes.announcements import ClassAnnouncements
from aioli.learners.classes.class_aioli import ClassAIOLI
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.class_labels import Codes
from aioli.states.classes.structure import Structure
from aioli.states.classes.tree import TreeState

__all__ = ["Game", "draw_game", "main", "play_game"]

STRUCTURES: tuple[Structure | None, ...] = (None, "full", "tree", "one_vs_rest")


@dataclass(frozen=True)
class Game:
    """What was drawn, and what came of it, in nats."""

    classes: int
    width: int
    radius: float
    ridge: float | None
    scale: float
    structure: Structure | None
    appear: bool
    labels: str
    played: str
    seed: int
    rows: int
    regret: float = math.nan
    tight: float = math.nan
    certificate: float = math.nan
    theorem: float = math.nan

    @property
    def holds(self) -> bool:
        """Whether the four numbers are in order, up to the rounding of the comparator and of sums."""
        slack = 1e-6 * (1.0 + abs(self.certificate))
        return self.regret <= self.tight + slack <= self.certificate + 2.0 * slack <= self.theorem + 3.0 * slack


def draw_game(seed: int, rows: int = 50) -> Game:
    """Return the parameters of a game."""
    rng = np.random.default_rng(seed)
    radius = float(rng.choice([0.01, 0.5, 2.0, 8.0, 100.0]))
    played = str(rng.choice(["plain", "plain", "weighted", "late", "merged"]))
    return Game(
        classes=int(rng.integers(2, 13)),
        width=int(rng.integers(1, 5)),
        radius=radius,
        ridge=None if rng.random() < 0.5 else float(rng.choice([1e-4, 0.1, 10.0])),
        scale=float(rng.choice([1e-3, 0.3, 1.0, 30.0])),
        structure=STRUCTURES[int(rng.integers(len(STRUCTURES)))],
        appear=bool(rng.random() < 0.5) and played != "merged",
        labels=str(rng.choice(["softmax", "adversary", "one row", "noise"])),
        played=played,
        seed=seed,
        rows=rows,
    )


def play_game(game: Game) -> Game:
    """Play it; return it with its regret, certificates and theorem."""
    rng = np.random.default_rng(game.seed + 1)
    X = rng.normal(size=(game.rows, game.width)) * game.scale
    if game.labels == "one row":
        X[:] = X[0]
    weights = rng.choice([0.2, 1.0, 4.0, 200.0], size=game.rows) if game.played == "weighted" else np.ones(game.rows)
    learners = [_fresh(game) for _ in range(2 if game.played == "merged" else 1)]
    W = rng.normal(size=(game.classes, game.width + 1)) * 2.0
    delay = 6 if game.played == "late" else 0
    waiting: deque[tuple[int, int, ClassAnnouncements]] = deque()
    order: list[int] = []
    chosen = np.zeros(game.rows, dtype=np.int64)
    for t in range(game.rows):
        learner = learners[t % len(learners)]
        announced = learner.announce(X[t])
        chosen[t] = label = _label(game, rng, W, X[t], learner, announced)
        waiting.append((t, label, announced))
        while len(waiting) > (delay if t + 1 < game.rows else 0):
            s, y, said = waiting.popleft()
            late = said if delay else None
            learner.learn(X[s], y, weight=float(weights[s]), announced=late)
            order.append(s)
    whole = learners[0] if len(learners) == 1 else learners[0].merge(learners[1])
    codes = np.array([whole.classes_.index(int(chosen[s])) for s in order])
    least = _least(game, whole, X[order], codes, weights[order])
    tight, running = whole.certificate(tight=True), whole.certificate()
    drawn = {name: getattr(game, name) for name in game.__dataclass_fields__}
    found = {"regret": whole.loss - least, "tight": tight, "certificate": running, "theorem": running.theorem}
    return Game(**(drawn | {name: float(value) for name, value in found.items()}))


def _fresh(game: Game) -> ClassAIOLI:
    classes = "any" if game.appear else list(range(game.classes))
    return ClassAIOLI(game.radius, game.ridge, classes=classes, structure=game.structure)


def _label(
    game: Game, rng: np.random.Generator, W: Matrix, x: Vector, learner: ClassAIOLI, announced: ClassAnnouncements
) -> int:
    """Return the label of a row: drawn from a softmax, at random, or the one that was given least."""
    p = announced.probabilities[0]
    if game.labels == "softmax":
        return int(np.argmax(W @ np.append(1.0, x / game.scale) + rng.gumbel(size=game.classes)))
    if game.labels == "adversary" and len(p) and rng.random() < 0.9:
        label = learner.classes_[int(np.argmin(p))]
        assert isinstance(label, int)
        return label
    return int(rng.integers(game.classes))


def _least(game: Game, learner: ClassAIOLI, X: Matrix, codes: Codes, weights: Vector) -> float:
    """Return the least loss of the models that the certificate speaks of."""
    state = learner._state
    first = [int(np.argmax(codes == k)) if game.appear else 0 for k in range(len(learner.classes_))]
    seen = classes_seen(codes) if game.appear else None
    if game.structure == "one_vs_rest":
        games = [(slice(t, None), codes[t:] == k) for k, t in enumerate(first)]
        return sum(_best_of_two(game, X[rows], own, weights[rows]) for rows, own in games)
    if not isinstance(state, TreeState):
        return _best(game, X, codes, len(learner.classes_), weights, seen)
    choices = state._choices()
    least = _best(
        game, X, choices[0][codes], state.root.classes, weights, None if seen is None else np.minimum(seen, state.most)
    )
    for j, children in enumerate(state.children[1:], 1):
        begun = max(first[_first_leaf(state, child)] for child in children)
        rows = np.flatnonzero((choices[j][codes] >= 0) & (np.arange(len(X)) >= begun))
        if len(rows):
            least += _best_of_two(game, X[rows], choices[j][codes][rows] == 0, weights[rows])
    return least


def _first_leaf(state: TreeState, child: int) -> int:
    """Return the class for which a child was made: a node's is the leaf that was there before it."""
    while child < 0:
        child = state.children[~child][0]
    return child


def _best(game: Game, X: Matrix, codes: Codes, classes: int, weights: Vector, seen: Codes | None) -> float:
    if classes < 2:
        return 0.0
    return best_in_class_ball(X, codes, classes, game.radius, weights=weights, seen=seen).loss


def _best_of_two(game: Game, X: Matrix, own: "np.ndarray[tuple[int], np.dtype[np.bool_]]", weights: Vector) -> float:
    return best_in_ball(X, own, game.radius * math.sqrt(2.0), weights=weights).loss


def main() -> int:
    """Play the games and print how the four numbers stand to one another; return 1 where one is out of order."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--games", type=int, default=3000)
    asked = parser.parse_args()
    games = [play_game(draw_game(seed)) for seed in range(asked.games)]
    broken = [game for game in games if not game.holds]
    print(f"{len(games)} games, {len(broken)} out of order")
    for structure in STRUCTURES:
        mine = [g for g in games if g.structure == structure]
        shares = np.array([g.regret / g.certificate for g in mine if g.certificate > 0.0])
        promised = np.array([g.certificate / g.theorem for g in mine if math.isfinite(g.theorem)])
        print(
            f"{structure or 'chosen by width':16} {len(mine):5} games: "
            f"regret/certificate median {np.median(shares):.2f}, largest {shares.max():.3f}; "
            f"certificate/theorem median {np.median(promised):.2f}, largest {promised.max():.3f}"
        )
    for game in broken[:20]:
        print(game)
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
