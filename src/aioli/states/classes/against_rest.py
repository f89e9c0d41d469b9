"""One class against the rest as an expert of a mixture: the games of two classes side by side, in one compiled call."""

import math
from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector, bound, compiled
from aioli.numerics.logistic import softplus
from aioli.outcomes.class_labels import Codes
from aioli.outcomes.spec import GameSpec
from aioli.snapshots.tree import Snapshot
from aioli.states.classes.one_vs_rest import OneVsRestState
from aioli.states.classes.protocol import Proof
from aioli.states.dense.single_row import (
    FACTORED,
    RULES,
    SLOTS,
    TALLY,
    play_rows,
    play_rows_factored,
    predict_logit_one,
)
from aioli.states.dense.state import State

__all__ = ["RestState"]

ALL = -1  # what `play_games` returns where every game was played to its end


class RestState:
    """Holds the games of `OneVsRestState` in one array, and plays them together; they stay the same games.

    Its certificate is theirs: nats of regret against one model a class, each scored as a game of two classes.
    """

    def __init__(self, spec: GameSpec, width: int, classes: int) -> None:
        self._lay_out(OneVsRestState(spec, width, classes))

    @property
    def width(self) -> int:
        """How many features a row has."""
        return self.games.width

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return self.games.classes

    @property
    def loss(self) -> float:
        """The sum of the losses that the certificate is about: those of all games of two classes."""
        return self.games.loss

    def certificate(self, tight: bool = False) -> Proof:
        """Return the certificate of the games' losses, and what the theorem promised, in nats."""
        return self.games.certificate(tight)

    def proven(self, classes: int, tight: bool = False) -> tuple[float, float]:
        """Return the certificate of the games of the first classes, and the losses that it is about, in nats.

        Each game's certificate holds by itself, so the last games may be left out.
        """
        games = self.games.nodes[:classes]
        return sum(node.certificate(tight)[0] for node in games), sum(node.loss for node in games)

    def play(self, X: Matrix, codes: Codes, weights: Vector, out: Matrix) -> None:
        """Play the rows in order; `out` receives the logarithms of the probabilities before each label. O(Kd²)."""
        self.prepared(X, codes, weights, out)()

    def prepared(self, X: Matrix, codes: Codes, weights: Vector, out: Matrix) -> Callable[[], None]:
        """Return the call that plays, again and again, the rows that these arrays hold."""
        Z, games = np.empty((self.classes, len(X))), self.games.nodes
        play_from, end = bound(play_games, self._buffers, X, codes, weights, Z), bound(normalise, Z, out)

        def play() -> None:
            Z.fill(math.nan)
            game, first = play_from(0, 0)
            while game != ALL:
                games[game].state.factor()  # it would lose digits: it goes on in its factored form
                game, first = play_from(game, first)
            end()

        return play

    def consult(self, X: Matrix, out: Matrix) -> None:
        """Write the logarithms of the probabilities of rows, each as if it came next; changes nothing."""
        self.prepared_consult(X, out)()

    def prepared_consult(self, X: Matrix, out: Matrix) -> Callable[[], None]:
        """Return the call that consults, again and again, about the rows that X holds."""
        Z = np.empty((self.classes, len(X)))
        ask, end = bound(consult_games, self._buffers, X, Z), bound(normalise, Z, out)

        def consult() -> None:
            ask()
            end()

        return consult

    def grown(self, width: int, places: NDArray[np.int64]) -> Self:
        """Return the state of wider rows, new features being behind those so far, and always 0 until now."""
        assert places.tolist() == list(range(self.width))
        larger = type(self).restore(self.snapshot(), self.games.spec)
        larger.games.grow(width - self.width)
        larger._lay_out(larger.games)
        return larger

    def add_class(self) -> None:
        """Begin the game of one further class."""
        self.games.add_class()
        self._lay_out(self.games)

    def snapshot(self) -> Snapshot:
        """Return every class's game."""
        return self.games.snapshot()

    @classmethod
    def restore(cls, snapshot: Snapshot, spec: GameSpec) -> Self:
        """Make an equal state of games of these parameters."""
        games = OneVsRestState.restore(snapshot)
        if games.spec != spec:
            raise SnapshotRefused(f"in a {snapshot.kind}, the games are of other parameters")
        made = cls(spec, games.width, 0)
        made._lay_out(games)
        return made

    def _lay_out(self, games: OneVsRestState) -> None:
        """Copy the states of the games into one array, a line each."""
        self.games = games
        self._buffers: Matrix = np.zeros((games.classes, State.size(games.width)))
        for node, buffer in zip(games.nodes, self._buffers, strict=True):
            state = node.state
            moved = State(state.spec, state.width, buffer)
            node.state = moved.overwrite(state.P, state.w, state.tally, factored=state.factored)


@compiled("UniTuple(i8,2)(f8[:,::1],f8[:,::1],i8[::1],f8[::1],f8[:,::1],i8,i8)")
def play_games(
    buffers: Matrix, X: Matrix, codes: Codes, weights: Vector, Z: Matrix, game: int, first: int
) -> tuple[int, int]:
    """Play the games from one of them on, that one from row `first` on; Z receives each game's log-odds. O(Kd²) a row.

    Returns the game and the row at which a state would lose digits, or ALL.
    """
    width = X.shape[1]
    labels = np.empty(len(X))
    for k in range(game, len(buffers)):
        buffer = buffers[k]
        rules, tally = buffer[:RULES], buffer[RULES:TALLY]
        w = buffer[SLOTS : SLOTS + width]
        workspace = buffer[SLOTS + width : SLOTS + 4 * width].reshape(3, width)
        P = buffer[SLOTS + 4 * width :].reshape(width, width)
        for t in range(len(X)):
            labels[t] = 1.0 if codes[t] == k else 0.0
        rows, y, stakes, z = X[first:], labels[first:], weights[first:], Z[k, first:]
        if buffer[FACTORED] > 0.5:
            play_rows_factored(P, w, tally, rules, workspace, rows, y, stakes, z)
        else:
            played = play_rows(P, w, tally, rules, workspace, rows, y, stakes, z)
            if played < len(rows):
                return k, first + played
        first = 0
    return ALL, 0


@compiled("void(f8[:,::1],f8[:,::1],f8[:,::1])")
def consult_games(buffers: Matrix, X: Matrix, Z: Matrix) -> None:
    """Write each game's log-odds of rows, each as if it came next. O(Kd²) a row."""
    for k in range(len(buffers)):
        for t in range(len(X)):
            Z[k, t] = predict_logit_one(buffers[k], X[t])


@compiled("void(f8[:,::1],f8[:,::1])")
def normalise(Z: Matrix, out: Matrix) -> None:
    """Write the logarithms of the probabilities of the games, normalised row by row. O(K) a row."""
    for t in range(len(out)):
        most = -math.inf
        for k in range(len(Z)):
            out[t, k] = -softplus(-Z[k, t])
            most = max(most, out[t, k])
        total = 0.0
        for k in range(len(Z)):
            total += math.exp(out[t, k] - most)
        for k in range(len(Z)):
            out[t, k] -= most + math.log(total)
