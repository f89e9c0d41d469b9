"""Online to batch: one pass over the rows makes a model with a bound on its excess risk."""

import copy
import math
from collections.abc import Sequence
from functools import partial
from typing import NoReturn, Self

import numpy as np

from aioli.errors import AioliError, CapabilityMissing, SnapshotRefused
from aioli.learners.batch.averaging import average_log_odds, log_odds
from aioli.learners.batch.reservoir import Reservoir
from aioli.learners.cloning import fresh_copy, learn_rows
from aioli.learners.parameters import require_share, require_whole, with_parameters
from aioli.learners.protocol import Capability, Learner, certifies, names_columns
from aioli.learners.registry import is_restorable, restore_learner, snapshot_part
from aioli.learners.remembering import RemembersParts
from aioli.numerics.compiling import Vector
from aioli.snapshots.tree import Plain, Snapshot
from aioli.states.certificate import Certificate
from aioli.streams.matrices import Values, as_matrix
from aioli.streams.rows import as_label, as_labels

__all__ = ["OnlineToBatch"]

# what a learner does alone, and not with its earlier states
ALONE = {Capability.GROWS, Capability.LEARNS_LATE, Capability.MERGES, Capability.MIXES, Capability.SHARDS}


class OnlineToBatch(RemembersParts):
    r"""The average of m states of a learner, of rounds drawn uniformly: a batch model (a corollary of the paper).

    Let $f_t$ be the learner's prediction function before round t, and τ uniform on 1, …, n. If the rows are drawn
    independently from one law, $f_t$ knows nothing of row t, so for every fixed θ of the ball

    $$\mathbb E\,\ell(f_\tau(X), Y) - \mathbb E\,\ell(\theta^\top X, Y)
      = \frac1n\,\mathbb E\Bigl[\sum_t \ell_t - \sum_t \ell_t(\theta)\Bigr] \le \frac{\mathbb E[C_n]}n$$

    where $C_n$ is the learner's certificate, and for AIOLI at most the bound of its theorem. The same holds for

    $$\bar f(x) = \frac1m\sum_{i=1}^m f_{\tau_i}(x),$$

    the average of probabilities over m different rounds, since the log loss is convex in p; its risk varies less. The
    rounds are a reservoir sample, so n need not be known: one pass, about $m(1 + \ln\frac nm)$ copies of a state, m
    of them held. A prediction costs m of the learner's.

    Parameters
    ----------
    learner
        A learner that has seen nothing, such as `AIOLI(radius=2.0)`: a copy of it learns. None is `Auto()`.
    states
        m. 1 is the paper's random τ.
    seed
        Of the choice of rounds.
    share
        Average only the states, of those kept, of the last part of the rounds (and the latest kept, where none is of
        that part). 1 is the corollary. Below 1 early states spoil nothing, which on held-out rows is worth more than
        the average itself (docs/batch.md); but the bound, divided by this share, is proven only where no prediction
        function whatever beats the best θ of the ball: the regret of the rounds left out, which might be negative, is
        then at least 0 on average. None is 1 for one state, which is the paper's, and ½ for several.

    Attributes
    ----------
    learner_
        The learner that plays: its last state.
    rounds
        How many rows it has learned from.

    Notes
    -----
    The average answers for rows like those seen, in any order: where the world drifts, take the learner itself. Where
    rows have weights, risks are weighted too: $\mathbb E[\omega\,\ell]$. Before the first row, ½ is predicted.

    Examples
    --------
    >>> import numpy as np
    >>> from aioli import AIOLI, OnlineToBatch
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3))
    >>> y = X @ [1.0, -2.0, 0.5] + rng.logistic(size=2000) > 0
    >>> model = OnlineToBatch(AIOLI(), states=4, share=1.0)
    >>> announced = model.learn_many(X[:1000], y[:1000])
    >>> p = model.predict_many(X[1000:])
    >>> print(f"{-np.log(np.where(y[1000:], p, 1 - p)).mean():.3f} nats a row, of rows never seen")
    0.425 nats a row, of rows never seen
    >>> print(f"{model.excess_risk_bound():.4f} nats more than the best θ, at most, in expectation")
    0.0247 nats more than the best θ, at most, in expectation

    References
    ----------
    Jézéquel, Gaillard, Rudi. Efficient improper learning for online logistic regression. COLT 2020, section
    "Online-to-batch conversion".
    Helmbold, Warmuth. On weak learning. Journal of Computer and System Sciences 50, 1995.
    """

    def __init__(
        self, learner: Learner | None = None, states: int = 16, seed: int = 0, share: float | None = None
    ) -> None:
        self.learner: Learner = fresh_copy(learner)
        self.states = require_whole("states", states, least=1)
        self.seed = require_whole("seed", seed, least=0)
        self.share = (1.0 if self.states == 1 else 0.5) if share is None else require_share("share", share)
        self.capabilities = self.learner.capabilities - ALONE
        if not is_restorable(self.learner):
            self.capabilities -= {Capability.SAVES}
        self.rounds = 0
        self.learner_: Learner = copy.deepcopy(self.learner)
        self._reservoir = Reservoir(self.states, self.seed)
        self._kept: list[Learner] = []  # a state for each of the reservoir's slots

    # ---- predicting

    def predict(self, x: object) -> float:
        r"""Return the probability that the row's label is 1, $\frac1m\sum_i f_{\tau_i}(x)$; changes nothing."""
        self._check(x, single=True)
        return float(np.mean([state.predict(x) for state in self._averaged()]))

    def predict_many(self, X: object) -> Vector:
        """Return each row's probability; changes nothing."""
        self._check(X)
        return np.asarray(np.mean([state.predict_many(X) for state in self._averaged()], axis=0))

    def predict_logit(self, x: object) -> float:
        """Return the log-odds of `predict`."""
        return float(self.predict_logit_many(as_matrix(x, width=self.n_features_, names=None, single=True))[0])

    def predict_logit_many(self, X: object) -> Vector:
        """Return the log-odds of `predict_many`, which keep their digits where a probability is 0 or 1."""
        self._check(X)
        return average_log_odds([log_odds(state, X) for state in self._averaged()])

    # ---- learning

    def learn(self, x: object, y: object, weight: float = 1.0) -> float:
        """Learn from one row and its label; return the probability that the learner announced before the label."""
        before = copy.deepcopy(self.learner_) if self._reservoir.next == self.rounds + 1 else None
        if weight == 1.0:
            announced = self.learner_.learn(x, y)
        else:
            row = as_matrix(x, width=self.n_features_, names=None, single=True)
            announced = float(learn_rows(self.learner_, row, [as_label(y)], [weight])[0])
        if before is not None:
            self._keep(before)
        self.rounds += 1
        return announced

    def learn_many(self, X: object, y: object, weights: object = None) -> Vector:
        """Play the rows in order; return what the learner announced for each before its label.

        The rounds whose states are kept are those that `learn` row by row keeps; between them, rows are learned at
        once. If one row is not a row, nothing is learned from any.
        """
        table = as_matrix(X, width=self.n_features_, names=self.feature_names_, single=False)
        count = table.shape[0]
        labels = as_labels(y, count)
        stakes = None if weights is None else np.asanyarray(weights)
        if stakes is not None and stakes.shape != (count,):
            raise AioliError(
                f"{count} rows came with weights of shape {stakes.shape}; give one a row (nothing was learned)"
            )
        if self._reservoir.next > self.rounds + count:
            announced = learn_rows(self.learner_, table, labels, stakes)
            self.rounds += count
            return announced
        playing = self._draft()
        try:
            announced = playing._play(table, labels, stakes)
        except ValueError:
            learn_rows(copy.deepcopy(self.learner_), table, labels, stakes)  # says why, and counts from the first row
            raise
        vars(self).update(vars(playing))
        return announced

    def announce(self, _x: object) -> NoReturn:
        """Refused: the bound is of states that announced each row just before its label."""
        raise CapabilityMissing(
            "OnlineToBatch does not learn late labels: its bound speaks of the states that announced the rows, each "
            "just before its label; announce by the learner itself, such as Auto, and learn here once labels are known"
        )

    # ---- what it knows

    def certificate(self, tight: bool = False) -> Certificate:
        """Return the learner's certificate: nats of regret, in its one pass, proven not to have been exceeded."""
        if not certifies(self.learner_):
            raise CapabilityMissing(
                f"{type(self.learner_).__name__} has no certificate, so its average has none either"
            )
        return self.learner_.certificate(tight)

    def excess_risk_bound(self, tight: bool = False) -> float:
        r"""Return $C_n/n$ in nats: what bounds, **in expectation**, the excess risk of the average over θ of the ball.

        The expectation is over the n rows, drawn independently from one law, and over the rounds kept; so this is one
        draw of a quantity whose mean is a bound, not a bound for this very sample. `certificate().theorem / n` is the
        corollary's own, the same for every sample of such rows. Where the certificate is `Auto`'s, θ speaks of columns
        scaled as they were in each round, and the comparison is with the mean of its n risks. With a `share` below 1
        it is $C_n/(\text{share}\cdot n)$, which asks for more (see `share`). Infinite before the first row.
        """
        return float(self.certificate(tight)) / (self.share * self.rounds) if self.rounds else math.inf

    @property
    def loss(self) -> float:
        """Return the sum of the losses of what the learner announced, in nats."""
        return self.learner_.loss

    @property
    def n_features_(self) -> int | None:
        """Return how many columns a row has; None before the first row."""
        return self.learner_.n_features_

    @property
    def kept_rounds_(self) -> list[int]:
        """Return the rounds, counted from 1, whose states are averaged, in order; a state is that before its round."""
        return sorted(self._reservoir.rounds[slot] for slot in self._slots())

    @property
    def feature_names_(self) -> list[str] | None:
        """Return the names of the columns; None until given, or where the learner knows none."""
        return self.learner_.feature_names_ if names_columns(self.learner_) else None

    @feature_names_.setter
    def feature_names_(self, names: Sequence[str] | None) -> None:
        for state in (self.learner_, *self._kept):
            if not names_columns(state):
                raise CapabilityMissing(f"{type(state).__name__} knows no names of columns")
            state.feature_names_ = None if names is None else list(names)

    # ---- its life

    def snapshot(self) -> Snapshot:
        """Return the learner, the states kept of it, and the reservoir that chooses them.

        For learners that have a snapshot themselves, as all of the package have.
        """
        learners = {"template": self.learner, "learner": self.learner_}
        learners |= {f"state {i}": state for i, state in enumerate(self._kept)}
        parts = {name: snapshot_part(learner) for name, learner in learners.items()}
        values: dict[str, Plain] = {
            "parameters": {"states": self.states, "seed": self.seed, "share": self.share},
            "rounds": self.rounds,
        }
        return Snapshot("OnlineToBatch", values, parts=parts | {"reservoir": self._reservoir.snapshot()})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal model from a snapshot; it goes on bit for bit the same."""
        given = snapshot.of("OnlineToBatch")
        model = with_parameters(partial(cls, restore_learner(given.part("template"))), given)
        model.learner_ = restore_learner(given.part("learner"))
        model._reservoir = reservoir = Reservoir.restore(given.part("reservoir"))
        model._kept = [restore_learner(given.part(f"state {i}")) for i in range(len(reservoir.rounds))]
        model.rounds = given.whole("rounds")
        if reservoir.size != model.states or model.rounds >= reservoir.next:
            raise SnapshotRefused(
                f"{len(model._kept)} of {reservoir.size} states, of rounds {reservoir.rounds}, came with "
                f"{model.rounds} rounds and room for {model.states} states"
            )
        return model

    def __repr__(self) -> str:
        suffix = f"  # {self.rounds} rows, {len(self._slots())} states averaged" if self.rounds else ""
        return f"OnlineToBatch({self.learner!r}, states={self.states}, seed={self.seed}, share={self.share:g}){suffix}"

    # ---- within

    def _slots(self) -> list[int]:
        """Return the reservoir's slots of rounds in the last `share` of all; the latest round's where there is none."""
        rounds = self._reservoir.rounds
        first = (1.0 - self.share) * self.rounds
        return [i for i, t in enumerate(rounds) if t > first] or [i for i, t in enumerate(rounds) if t == max(rounds)]

    def _averaged(self) -> list[Learner]:
        return [self._kept[slot] for slot in self._slots()] or [self.learner_]

    def _keep(self, state: Learner) -> None:
        slot = self._reservoir.admit()
        self._kept[slot : slot + 1] = [state]

    def _draft(self) -> Self:
        """Return a copy to learn with, dropped if a row is refused; states kept never change, so they are shared."""
        draft = type(self).__new__(type(self))
        vars(draft).update(vars(self))
        draft.learner_, draft._reservoir = copy.deepcopy(self.learner_), copy.deepcopy(self._reservoir)
        draft._kept = list(self._kept)
        return draft

    def _play(self, table: Values, labels: Vector, stakes: Vector | None) -> Vector:
        """Learn the rows between two rounds that enter the reservoir at once; keep the state before each of these."""
        announced = np.empty(len(labels))
        start = 0
        while start < len(labels):
            if self._reservoir.next == self.rounds + 1:
                self._keep(copy.deepcopy(self.learner_))
            end = min(len(labels), start + self._reservoir.next - self.rounds - 1)
            part = slice(start, end)
            announced[part] = learn_rows(
                self.learner_, table[part], labels[part], None if stakes is None else stakes[part]
            )
            self.rounds += end - start
            start = end
        return announced

    def _check(self, X: object, single: bool = False) -> None:
        """Refuse rows of another width; a state kept from before the first row could not, as it knows no width."""
        as_matrix(X, width=self.n_features_, names=None, single=single)
