"""Auto for any number of classes."""

import math
from collections.abc import Sequence
from typing import Self

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.learners.announcements import Announcements
from aioli.learners.auto.dense_ensemble import DenseEnsemble
from aioli.learners.auto.experts import with_budget
from aioli.learners.classes.announcements import ClassAnnouncements, LateClasses
from aioli.learners.classes.class_rows import ClassRows, ClassRowsLearner
from aioli.learners.classes.ensemble import ClassEnsemble
from aioli.learners.classes.experts import CLASS_EXPERTS, GAMES, require_budget
from aioli.learners.classes.first_two import TwoClasses
from aioli.learners.classes.late_game import LateGame
from aioli.learners.classes.more_than_two import ensemble_after_two
from aioli.learners.classes.prepared_row import LearnedRow
from aioli.learners.classes.unseen_class import AllDeclared, UnseenByRow, UnseenClass
from aioli.learners.named_rows import TakesNamedRows, only_row
from aioli.learners.parameters import require_whole, with_parameters
from aioli.learners.protocol import Capability
from aioli.learners.remembering import Remembering
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.class_labels import Classes, Codes, Label, plain_label
from aioli.outcomes.class_places import ClassPlaces
from aioli.snapshots.tree import Plain, Snapshot
from aioli.states.certificate import Certificate
from aioli.states.mixture.views import LONGEST
from aioli.streams.gap_marks import gaps_among
from aioli.streams.many_labels import ManyLabels
from aioli.streams.rows import check_weights, load_rows

__all__ = ["ClassAuto"]

AFTER_TWO = ", and models of two classes before"
AGAINST_REST = "one model a class of the standard view, each scored as a game of two classes"


class ClassAuto(Remembering, ClassRowsLearner, TakesNamedRows):
    r"""The learner of many classes that needs no tuning: `Auto(classes=[…])` and `Auto(classes="any")` make one.

    Softmax learners play side by side, on views of the row that do not depend on the unit or the origin of a column
    (`learners.classes.experts`): linear ones, some that forget, random waves, products of columns, and running ranks. A
    mixture over their probabilities follows the best of them, and two stackers on top learn what they know together
    (`states.classes.mixture`). O(d² + Kd) a row for each.

    Rows are numbers, or, from the first row on, data frames and dictionaries, as in `Auto`.

    Parameters
    ----------
    experts
        A budget: how many experts to play, the most useful first. None plays all.
    classes
        The labels of all classes; or "any": classes appear as they come, and a class that nobody has seen has a
        probability too, the escape (`outcomes.escape`).
    budget
        "fast" plays no forest; "usual" plays one of 10 trees, which about doubles the time while it is heard; "best"
        one of 40.

    Examples
    --------
    >>> import numpy as np
    >>> from aioli import Auto
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = np.array(["centre", "ring", "outside"])[np.digitize(np.hypot(*X.T), [0.8, 1.5])]
    >>> learner = Auto(classes="any")
    >>> p = learner.learn_many(X, y)
    >>> sorted(learner.classes_)
    ['centre', 'outside', 'ring']
    >>> right = np.array(learner.classes_)[p.argmax(axis=1)] == y
    >>> print(f"{right[1000:].mean():.2f} of the second half right")
    0.98 of the second half right
    """

    capabilities = ClassRowsLearner.capabilities | {Capability.GROWS, Capability.MIXES}

    def __init__(self, experts: int | None = None, classes: Classes = "any", budget: str = "usual") -> None:
        self.experts, self.classes, self.budget = experts, classes, require_budget(budget)
        self._budget = self.budget
        self._experts = None if experts is None else require_whole("experts", experts, 1)
        super().__init__(classes, intercept=False, widest=LONGEST)
        self._ensemble: ClassEnsemble | None = None
        self._weights: Vector = np.zeros(len(self._labels))  # of the rows of each class
        self._before = 0.0, 0.0  # of a game of two classes that went before: its loss, and its certificate
        self._late_game = LateGame()

    # ---- one row

    def learn(
        self, x: object, y: object, weight: float = 1.0, logits: object = None, announced: LateClasses = None
    ) -> Vector:
        """Learn from one row and its label; returns the probabilities announced before the label.

        A `weight` multiplies the row's loss. Of a label that comes late, `announced` is what `announce` gave when the
        row came, or `logits` what `predict_logits` said.
        """
        ensemble = self._ensemble
        in_time = logits is None and announced is None and not self._late_game.awake
        if ensemble is not None and in_time and weight == 1.0 and type(x) is np.ndarray:
            code = self._labels.code_of(y)
            row = ensemble.prepared() if code >= 0 else None
            if row is not None and _load(x, row.X, self._widest):
                return self._learn_known(ensemble, row, code)
        if self._by_name(x):
            with self._learning(x, lambda _: self._check([plain_label(y)], [weight], announced, 1)) as encoded:
                return self.learn(only_row(encoded), y, weight, logits, announced)
        return super().learn(x, y, weight, logits, announced)

    def learn_many(
        self, X: object, y: object, weights: object = None, logits: object = None, announced: LateClasses = None
    ) -> Matrix:
        """Play the rows in order; returns each row's probabilities before its label, one column a class.

        A class that appears within these rows has 0 in its column before, and the escape's probability in the row where
        it first came. If one row is not a row, or one label no label, nothing is learned from any.
        """
        if self._by_name(X):
            with self._learning(X, lambda count: self._check(y, weights, announced, count)) as rows:
                return super().learn_many(rows, y, weights, logits, announced)
        return super().learn_many(X, y, weights, logits, announced)

    def _check(self, y: object, weights: object, announced: LateClasses, count: int) -> None:
        """Refuse labels, weights and announcements that are not those of so many rows."""
        self._labels.encode(y, count)
        check_weights(weights, count)
        if isinstance(announced, ClassAnnouncements):
            self._ledger.check(announced.tickets, count)

    def predict_logits(self, x: object) -> Vector:
        """Return the logarithms of `predict`: what to remember, with the row, until a late label comes."""
        if self._by_name(x):
            x = only_row(self.features_of(x))
        if self._ensemble is not None and type(x) is np.ndarray:
            X = np.empty((1, self._ensemble.columns))
            if _load(x, X, self._widest):
                return np.asarray(self._unseen.announced(self._log_probabilities(X))[0])
        return super().predict_logits(x)

    def _learn_known(self, ensemble: ClassEnsemble, row: LearnedRow, code: int) -> Vector:
        """Learn from a row of weight 1 that has passed the border, whose class is known."""
        log_p = self._unseen.play_known(np.log(ensemble.play_row(row, code, 1.0)[0]), row.codes)
        self._weights[code] += 1.0
        self._rounds += 1
        self._loss -= log_p.item(code)
        return np.asarray(np.exp(log_p))

    # ---- playing

    def _rows(self, X: object, single: bool = False) -> ClassRows:
        return super()._rows(self.features_of(X), single)

    def _unseen_class(self) -> UnseenClass:
        return UnseenByRow() if self._labels.open else AllDeclared()

    def _begin(self, width: int) -> None:
        self._ensemble = ClassEnsemble(self._experts, width, self._labels.places, self._budget)
        self._ensemble.mark_gaps(gaps_among(self._names))

    def _set_names(self, names: Sequence[str] | None) -> None:
        super()._set_names(names)
        if self._ensemble is not None:
            self._ensemble.mark_gaps(gaps_among(names))

    def _log_probabilities(self, X: Matrix) -> Matrix:
        if self._late_game.awake:
            return self._late_game.predict(self._playing, X, self._weights)
        return np.log(self._playing.predict(X))

    def _play(self, X: Matrix, codes: Codes, stakes: Vector) -> Matrix:
        if self._late_game.awake and not self._announced_before:
            log_p = self._late_game.play(self._playing, X, codes, stakes, self._weights)
        else:
            log_p = np.log(self._playing.play(X, codes, stakes))
        np.add.at(self._weights, codes, stakes)
        return log_p

    def _announced(self, rows: ClassRows) -> tuple[Matrix, Matrix]:
        if self._ensemble is None or not len(self._labels):
            return super()._announced(rows)
        parts = [self._late_game.announce(self._ensemble, chunk, self._weights) for _, chunk in rows]
        log_p, memory = (np.concatenate(each) for each in zip(*parts, strict=True))
        return self._unseen.announced(log_p), memory

    def _answer_late(self, announced: Announcements, codes: Codes, stakes: Vector) -> None:
        delays = self._ledger.delayed(announced, self._rounds).late
        self._late_game.answer(announced.memory, codes, stakes, delays)

    def _add_class(self, x: Vector) -> None:  # noqa: ARG002  (the base's signature)
        self._playing.add_class()
        self._weights = np.append(self._weights, 0.0)

    @property
    def _playing(self) -> ClassEnsemble:
        assert self._ensemble is not None
        return self._ensemble

    @classmethod
    def after_two(
        cls, two: TwoClasses, linear: DenseEnsemble | None, proven: float, labels: tuple[Label, Label], budget: str
    ) -> Self:
        """Return the learner that goes on from one of two classes; `labels` are what 0 and 1 meant.

        Its linear experts, where it has some, hand over what the columns have shown; `proven` is its certificate. Rows
        and loss are kept; the escape to unknown classes is played from now on.
        """
        learner = cls(classes="any", budget=budget)
        if two.n_features_ is None:
            return learner
        learner._labels.add(labels)
        learner._weights = np.zeros(2)
        learner._ensemble = ensemble_after_two(two, linear, budget)
        learner._rounds, learner._loss = two.rounds, two.loss
        learner._before = two.loss, proven
        learner._unseen.begin_after(two.rounds, 2)
        return learner

    # ---- what it knows

    against_rest = AGAINST_REST  # what the certificate speaks of where the certified expert has played all rows

    def certificate(self, tight: bool = False) -> Certificate:
        """Return nats of regret that are proven not to have been exceeded, against what `against` names.

        Where classes and columns are not too many, an expert plays one class against the rest on the standard view: it
        is that expert's own certificate, plus all that the whole lost more than the expert's games of two classes. So
        nothing needs to be assumed of the mixture. Else it is the regret against the best constant probabilities of
        the classes, which is known, since their shares in hindsight are. Where a game of two classes went before, what
        that one proved is added, against its own models.
        """
        lost, proven = self._before
        before = AFTER_TWO if lost else ""
        certified = self._ensemble.proven(tight) if self._ensemble is not None else None
        if certified is not None:
            bound, games_loss = certified
            nats = bound + self.loss - games_loss + proven - lost
            return Certificate(nats, GAMES.radius, self.rounds, math.inf, against=AGAINST_REST + before)
        total = self._weights.sum()
        seen = self._weights[self._weights > 0.0]
        best = float(seen @ np.log(total / seen)) if len(seen) else 0.0
        nats = self.loss - best + proven - lost
        return Certificate(nats, math.inf, self.rounds, math.inf, against="constant probabilities" + before)

    @property
    def _labels_in_files(self) -> Snapshot:
        """The classes as the command knows them; weights of rows count as rows."""
        names = [str(label) for label in self.classes_]
        return ManyLabels.of_counts(names, self._weights.astype(np.int64).tolist()).snapshot()

    @property
    def n_features_(self) -> int | None:
        """How many columns a row has; None before the first row."""
        return None if self._ensemble is None else self._ensemble.columns

    @property
    def weights_(self) -> dict[str, float]:
        """How much of the mixture each expert holds now: 0 if it has retired, or there were never classes for it."""
        shares = self._ensemble.shares if self._ensemble is not None else {}
        return dict.fromkeys([expert.name for expert in CLASS_EXPERTS], 0.0) | shares

    # ---- its life

    def _grow(self, columns: int, names: Sequence[str] | None) -> None:
        names_after = self._names_after_growing(columns, names)
        if self._ensemble is not None:
            self._ensemble.grow(columns)
        self._set_names(names_after)

    def snapshot(self) -> Snapshot:
        """Return the parameters, the classes, what is counted, and the ensemble where rows have come."""
        parameters: dict[str, Plain] = {
            "experts": self._experts,
            "classes": self._labels.given,
            "budget": self._budget,
        }
        parts = self._parts | self._table_parts(self._labels_in_files)
        if self._ensemble is not None:
            parts["ensemble"] = self._ensemble.snapshot()
        if self._late_game.awake:
            parts["late"] = self._late_game.snapshot()
        arrays = {"weights": self._weights.copy(), "before": np.array(self._before)}
        return Snapshot(type(self).__name__, {"parameters": parameters, **self._counts()}, arrays, parts)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal learner from a snapshot; it goes on bit for bit the same."""
        given = with_budget(snapshot.of(cls.__name__))
        learner = with_parameters(cls, given)
        if "ensemble" in given.parts:
            learner._ensemble = ClassEnsemble.restore(given.part("ensemble"))
        if "late" in given.parts:
            learner._late_game = LateGame.restore(given.part("late"))
        learner._restore_counts(given)
        learner._recall_table(given)
        learner._weights = given.array("weights", (len(learner._labels),)).copy()
        lost, proven = given.array("before", (2,)).tolist()
        learner._before = lost, proven
        ensemble = learner._ensemble
        places = learner._labels.places
        if ensemble is not None and ensemble.places not in (places, ClassPlaces(places.known)):
            raise SnapshotRefused(f"in a {given.kind}, the ensemble knows {ensemble.places.known} classes")
        if ensemble is not None and ensemble.places != places:  # of a version that only counted
            ensemble.open_up()
        return learner

    def __repr__(self) -> str:
        experts = f"experts={self.experts}, " if self.experts is not None else ""
        budget = f", budget={self.budget!r}" if self.budget != "usual" else ""
        return f"Auto({experts}classes={self.classes!r}{budget}){self._repr_suffix()}"


def _load(x: Vector, X: Matrix, widest: float) -> bool:
    """Copy a row to the only line of X; return False where x must go through the border."""
    if x.shape != X.shape[1:]:
        return False
    try:
        return load_rows(x[None], X, widest) < 0
    except TypeError:  # another type of number, or another layout
        return False
