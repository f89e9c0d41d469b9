"""One class against the rest, by any learner of two classes."""

import copy
import math
from collections.abc import Sequence
from inspect import Signature, signature
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from aioli.errors import CapabilityMissing, SnapshotRefused
from aioli.learners.classes.base import PlaysClasses
from aioli.learners.parametrised import Parametrised
from aioli.learners.predicting import PredictsRows
from aioli.learners.protocol import Capability, Learner, certifies, grows, names_columns, require_fresh, weighs
from aioli.learners.registry import is_restorable, restore_learner, snapshot_part
from aioli.learners.remembering import RemembersParts
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.class_labels import Classes, ClassLabels, Codes, Label
from aioli.snapshots.tree import Plain, Snapshot
from aioli.states.certificate import Certificate
from aioli.states.classes.one_vs_rest import normalised
from aioli.streams.matrices import Values
from aioli.streams.passed_rows import PassedRows
from aioli.streams.rows import CheckedRows

__all__ = ["OneVsRest", "TakesClasses"]

AGAINST = "one model a class, scored as games of two classes"
TINY = 1e-300  # a probability below this counts as this
PASSED_ON = {Capability.CERTIFIES, Capability.GROWS, Capability.SPARSE_ROWS, Capability.WEIGHS}  # where the learner can


class OneVsRest(Parametrised, RemembersParts, PlaysClasses[PassedRows]):
    r"""Any learner of two classes for K of them: one copy a class plays that class against the rest.

    `Wide(classes=…)`, `RandomFeatures(classes=…)`, `Nystrom(classes=…)` and `KernelAIOLI(classes=…)` make one. The
    probabilities $p_k$ of the K games are normalised, which loses at most what the games lose together:

    $$-\log\frac{p_y}{\sum_k p_k} \le -\log p_y - \sum_{k \ne y}\log(1 - p_k).$$

    So where the learner has a certificate, the sum of the K certificates, plus what was lost more than in the K games,
    which is counted and at most the escape's, bounds the regret against one model a class, each scored as a game of two
    classes. One further copy hears "no" in every row: a class that comes begins as it stands then, exactly as if it had
    been there from the first row. K + 1 times the learner's time and memory.

    Parameters
    ----------
    learner
        A learner of two classes that has seen nothing, such as `Wide()` or `OGD()`: copies of it learn.
    classes
        The labels of all classes; or "any": classes appear as they come, and a class that nobody has seen has a
        probability too, the escape (`outcomes.escape`).

    Examples
    --------
    >>> import numpy as np
    >>> from aioli import RandomFeatures
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 2))
    >>> y = np.array(["centre", "ring", "outside"])[np.digitize(np.hypot(*X.T), [0.8, 1.5])]
    >>> learner = RandomFeatures(features=64, classes="any")
    >>> p = learner.learn_many(X, y)
    >>> right = np.array(learner.classes_)[p.argmax(axis=1)] == y
    >>> print(f"{type(learner).__name__}: {right[500:].mean():.2f} of the second half right")
    OneVsRest: 0.96 of the second half right
    """

    def __init__(self, learner: Learner, classes: Classes = "any") -> None:
        super().__init__(classes, widest=math.inf)
        given = require_fresh(learner, "; give a fresh one: copies of it will learn")
        if not isinstance(given, PredictsRows) or Capability.CLASSES in given.capabilities:
            raise CapabilityMissing(
                f"{type(given).__name__} does not play one class against the rest; Auto(classes=…) plays them by itself"
            )
        self.learner, self.classes = learner, classes
        self._absent: Learner = copy.deepcopy(given)  # of a class that has not come: it hears "no" in every row
        self._games: list[Learner] = [copy.deepcopy(given) for _ in range(len(self._labels))]
        self.capabilities = PlaysClasses.capabilities - PASSED_ON | (PASSED_ON & given.capabilities)
        if not is_restorable(given):
            self.capabilities -= {Capability.SAVES}

    # ---- playing

    def _rows(self, X: object, single: bool = False) -> PassedRows:
        assert isinstance(self._absent, PredictsRows)
        checked: CheckedRows = self._absent._rows(X, single)
        return PassedRows(X, checked, width=self.n_features_, names=self._names, single=single)

    def _among_known(self, rows: PassedRows) -> Matrix:
        return normalised(np.array([_log(game.predict_many(rows.values)) for game in self._games]))

    def _require_weights(self, stakes: Vector) -> Vector | None:
        """Return the weights for learners that take them; None where all are 1, which every learner takes."""
        if (stakes == 1.0).all():
            return None
        if not weighs(self._absent):
            raise CapabilityMissing(
                f"weights came, but {type(self._absent).__name__} takes none; use AIOLI or Auto (nothing was learned)"
            )
        return stakes

    def _play_rows(
        self, rows: PassedRows, codes: Codes, stakes: Vector, is_new: NDArray[np.bool_], log_p: Matrix
    ) -> None:
        X, weights = rows.values, self._require_weights(stakes)
        came = np.flatnonzero(is_new).tolist()
        absent = copy.deepcopy(self._absent) if came else self._absent
        known = len(self._games)
        new: list[Learner] = []
        for begin, end in zip([0, *came], [*came, len(codes)], strict=True):  # what is refused is refused here
            if end > begin:
                _teach(absent, X[begin:end], np.zeros(end - begin), None if weights is None else weights[begin:end])
            if end < len(codes):
                new.append(copy.deepcopy(absent))
        self._absent = absent
        log_said = np.full((known + len(new), len(codes)), -math.inf)
        for k, game in enumerate([*self._games, *new]):
            first = 0 if k < known else came[k - known]
            part = slice(first, len(codes))
            said = _teach(game, X[part], (codes[part] == k) * 1.0, None if weights is None else weights[part])
            log_said[k, part] = _log(said)
            log_said[k, : first + 1 if k >= known else 0] = -math.inf
        self._games += new
        log_p[...] = normalised(log_said)

    # ---- what it knows

    def certificate(self, tight: bool = False) -> Certificate:
        """Return nats of regret, against one model a class, that the run proves not to have been exceeded.

        It is the sum of the games' certificates, plus all that was lost more than in the games. Each model is scored as
        a game of two classes, over all rows.
        """
        own = self._absent
        if not certifies(own):
            raise CapabilityMissing(
                f"{type(own).__name__} has no certificate, so one class against the rest by it has none either; "
                "AIOLI(classes=…) has one"
            )
        proofs = [game.certificate(tight) for game in self._games if certifies(game)]
        excess = self._loss - sum(game.loss for game in self._games)
        theorem = self._promised(sum(proof.theorem for proof in proofs))
        radius = own.certificate(tight).radius
        among = f"{AGAINST}; {proofs[0].against}" if proofs and proofs[0].against else AGAINST
        return Certificate(sum(map(float, proofs)) + excess, radius, self._rounds, theorem, among)

    @property
    def n_features_(self) -> int | None:
        """How many columns a row has; None before the first row, and where rows may have any number."""
        return self._absent.n_features_

    @property
    def games_(self) -> dict[Label, Learner]:
        """The learner of each class against the rest, by label."""
        return dict(zip(self.classes_, self._games, strict=True))

    def _set_names(self, names: Sequence[str] | None) -> None:
        super()._set_names(names)
        for game in (self._absent, *self._games):
            if names_columns(game):
                game.feature_names_ = self._names

    # ---- its life

    def grow(self, columns: int, names: Sequence[str] | None = None) -> Self:
        """Make room for new columns, exactly as if they had been there, and 0, from the first row."""
        names_after = self._names_after_growing(columns, names)
        if not grows(self._absent):
            raise CapabilityMissing(f"{type(self._absent).__name__} does not grow; begin a new one with all columns")
        for game in (self._absent, *self._games):
            if grows(game):
                game.grow(columns)
        self.feature_names_ = names_after
        return self

    def snapshot(self) -> Snapshot:
        """Return the classes, what is counted, and the learner of each class."""
        learners = {"learner": require_fresh(self.learner, ""), "absent": self._absent}
        learners |= {f"class {k}": game for k, game in enumerate(self._games)}
        parts = {name: snapshot_part(learner) for name, learner in learners.items()}
        values: dict[str, Plain] = {"classes": self._labels.given, **self._counts()}
        return Snapshot(type(self).__name__, values, parts=self._parts | parts)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal learner from a snapshot; it goes on bit for bit the same."""
        given = snapshot.of(cls.__name__)
        labels = ClassLabels.restore(given.part("labels"))
        made = cls(restore_learner(given.part("learner")), labels.given)
        made._absent = restore_learner(given.part("absent"))
        made._games = [restore_learner(given.part(f"class {k}")) for k in range(len(labels))]
        kinds = {type(game) for game in (made.learner, made._absent, *made._games)}
        counted = {(game.rounds, game.n_features_) for game in (made._absent, *made._games)}
        if len(kinds) > 1 or len(counted) > 1:
            raise SnapshotRefused(f"in a {given.kind}, the classes have learned from different rows")
        made._restore_counts(given)
        return made

    def __repr__(self) -> str:
        return f"OneVsRest({self.learner!r}, classes={self.classes!r}){self._repr_suffix()}"


class TakesClasses:
    """A learner of two classes, of which `classes=…` makes a `OneVsRest` in place of the learner itself."""

    __signature__: ClassVar[Signature]

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        own = signature(cls.__init__)
        cls.__signature__ = own.replace(parameters=[p for name, p in own.parameters.items() if name != "self"])

    def __new__(cls, *given: Any, classes: Classes | None = None, **named: Any) -> Any:
        """Make a learner of two classes, or the one against the rest of the classes given."""
        return super().__new__(cls) if classes is None else OneVsRest(cls(*given, **named), classes)


def _teach(game: Learner, X: Values, labels: Vector, weights: Vector | None) -> Vector:
    if weights is not None and weighs(game):
        return np.asarray(game.learn_many(X, labels, weights))
    return np.asarray(game.learn_many(X, labels))


def _log(p: Vector) -> Vector:
    return np.log(np.maximum(p, TINY))
