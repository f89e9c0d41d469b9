"""Hands the rows of a learner to a player that is chosen when the first row comes."""

from abc import abstractmethod
from collections.abc import Sequence

from aioli.learners.all_or_nothing import all_or_nothing
from aioli.learners.announcements import Announcement, Announcements, Delayed, Late, LateMany
from aioli.learners.auto.experts import Expert
from aioli.learners.auto.players import Player
from aioli.learners.base import ColumnLearner
from aioli.learners.named_rows import TakesNamedRows, only_row
from aioli.learners.wide import Wide
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid
from aioli.streams.rows import as_label, as_labels, check_weights

__all__ = ["ThroughPlayer"]


class ThroughPlayer(TakesNamedRows, ColumnLearner):
    """Predicts and learns through a player; a refused first row leaves open who plays.

    Rows whose cells have names are encoded here, so that players take numbers alone.

    A subclass sets `_player`, and says in `_player_of` who would play rows that come first.
    """

    _player: Player
    _begun = False  # from the first row on, the player stays

    @abstractmethod
    def _player_of(self, X: object, single: bool = False) -> Player:
        """Return who would play if these rows came first."""

    def _begin(self, player: Player) -> None:
        """Let the player play from now on, if it knows the columns."""
        self._player, self._begun = player, player.n_features_ is not None

    # ---- one row

    def predict(self, x: object) -> float:
        """Return the probability that the row's label is 1; changes nothing."""
        return sigmoid(self.predict_logit(x))

    def predict_logit(self, x: object) -> float:
        """Return the log-odds of `predict`: what to remember, with the row, until a late label comes."""
        if self._by_name(x):
            x = only_row(self.features_of(x))
        player = self._player if self._begun else self._player_of(x, single=True)
        return player.predict_logit(x)

    def announce(self, x: object) -> Announcement:
        """Return the probability of `predict` and all that the label will need, to be kept until it comes."""
        if self._by_name(x):
            with self._announcing(x) as row:
                return self.announce(only_row(row))  # of features now
        player = self._player if self._begun else self._player_of(x, single=True)
        announced = player.announce(x)
        self._player = player
        return announced

    def learn(
        self, x: object, y: object, weight: float = 1.0, logit: float | None = None, announced: Late = None
    ) -> float:
        """Learn from one row and its label; returns the probability announced before the label.

        `weight`, `logit` and `announced` as in `AIOLI.learn`. With `announced`, the experts learn the row, and their
        shares and the stackers learn from what was announced, at rates that fit the delay (`states.mixture.late`).
        """
        if self._by_name(x):
            one = None if announced is None else announced.row
            with self._learning(x, lambda _: self._check([as_label(y)], [weight], one, 1)) as row:
                return self.learn(only_row(row), y, weight, logit, announced)
        if self._begun:
            return self._player.learn(x, y, weight, logit, announced)
        player = self._player_of(x, single=True)
        p = player.learn(x, y, weight, logit, announced)
        self._begin(player)
        return p

    # ---- many rows

    def predict_logit_many(self, X: object) -> Vector:
        """Return the log-odds of `predict_many`, which keep their digits where a probability is 0 or 1."""
        X = self.features_of(X)
        player = self._player if self._begun else self._player_of(X)
        return player.predict_logit_many(X)

    def announce_many(self, X: object) -> Announcements:
        """Return what `announce` does, for every row: all before the first of their labels."""
        if self._by_name(X):
            with self._announcing(X) as rows:
                return self.announce_many(rows)
        player = self._player if self._begun else self._player_of(X)
        announced = player.announce_many(X)
        self._player = player
        return announced

    def learn_many(
        self, X: object, y: object, weights: object = None, logits: object = None, announced: LateMany = None
    ) -> Vector:
        """Play the rows in order; returns each row's probability before its label.

        The same game as `learn` row by row, at the speed of compiled loops. If one row is not a row, nothing is learned
        from any.
        """
        if self._by_name(X):
            with self._learning(X, lambda count: self._check(y, weights, announced, count)) as rows:
                return self.learn_many(rows, y, weights, logits, announced)
        player = self._player if self._begun else self._player_of(X)
        p = player.learn_many(X, y, weights, logits, announced)
        self._begin(player)
        return p

    def learn_batch(self, X: object, y: object, weights: object = None) -> Vector:
        """Announce all rows before the first of their labels, then learn from them; returns what was announced."""
        if self._by_name(X):
            with all_or_nothing(self):  # features that are new in the batch are no part of its announcements
                return self._announce_then_learn(X, y, weights)
        player = self._player if self._begun else self._player_of(X)
        p = player.learn_batch(X, y, weights)
        self._begin(player)
        return p

    def _check(self, y: object, weights: object, announced: LateMany, count: int) -> None:
        """Refuse labels, weights and announcements that are not those of so many rows."""
        as_labels(y, count)
        check_weights(weights, count)
        if announced is not None:
            self._player._ledger.check(announced, count)

    # ---- what it knows

    @property
    def rounds(self) -> int:
        """How many rows it has learned from."""
        return self._player.rounds

    @property
    def loss(self) -> float:
        """The sum of its losses so far, in nats."""
        return self._player.loss

    @property
    def n_features_(self) -> int | None:
        """How many columns a row has; None before the first row."""
        return self._player.n_features_

    @property
    def weights_(self) -> dict[str, float]:
        """How much of the mixture each expert holds now: 0 if it has retired."""
        return self._player.weights_

    @property
    def certifying_expert(self) -> Expert | None:
        """The expert whose certificate is the mixture's; None where rows are wide."""
        return None if isinstance(self._player, Wide) else self._player.certifying_expert

    @property
    def feature_names_(self) -> list[str] | None:
        """Names of the columns; None until given."""
        return self._player.feature_names_

    @feature_names_.setter
    def feature_names_(self, names: Sequence[str] | None) -> None:
        self._player.feature_names_ = names

    # ---- within a mixture

    def _announce_within(self, X: object) -> tuple[Vector, Matrix]:
        self._player = self._player if self._begun else self._player_of(X)
        return self._player._announce_within(X)

    def _learn_within(self, X: object, y: object, weights: object, delayed: Delayed) -> Vector:
        player = self._player if self._begun else self._player_of(X)
        p = player._learn_within(X, y, weights, delayed)
        self._begin(player)
        return p
