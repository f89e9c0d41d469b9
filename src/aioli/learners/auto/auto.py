"""Auto: the learner that needs no tuning."""

import copy
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Self

from aioli.errors import CapabilityMissing, ParameterRefused
from aioli.learners.auto.dense_ensemble import DenseEnsemble
from aioli.learners.auto.experts import experts_within, with_budget
from aioli.learners.auto.narrow_and_wide import NarrowAndWide
from aioli.learners.auto.players import Player, PlayersOf, linear_experts_of
from aioli.learners.auto.through_player import ThroughPlayer
from aioli.learners.classes.class_auto import ClassAuto
from aioli.learners.parameters import with_parameters
from aioli.learners.parametrised import Parametrised
from aioli.learners.protocol import Capability
from aioli.learners.remembering import RemembersParts
from aioli.learners.wide import Wide
from aioli.learners.wide_rows import MANY_COLUMNS, is_wide
from aioli.outcomes.class_labels import Classes, Label
from aioli.snapshots.tree import Plain, Snapshot
from aioli.states.certificate import Certificate
from aioli.states.mixture.survey import ColumnSurvey
from aioli.streams.files.table import CATEGORY, TEXT
from aioli.streams.many_labels import ManyLabels
from aioli.streams.matrices import as_matrix

if TYPE_CHECKING:
    from aioli.learners.auto.device_auto import DeviceAuto

__all__ = ["Auto"]


class Auto(Parametrised, RemembersParts, ThroughPlayer):
    r"""Online logistic regression without a parameter: a mixture of AIOLI learners that tracks the best, and beats it.

    Nobody who streams data knows B, λ or whether the world drifts. Here eleven learners play side by side, on views of
    the row that do not depend on the unit or the origin of a column (`states.mixture.views`), and a mixture follows the
    best of them: the log loss is 1-mixable, so with prior weights $w_i$

    $$\sum_t \ell_t \le \sum_t \ell_{t,i} + \ln\frac1{w_i} + \ln\frac{n+9}{9} + \ln\frac1{0.4} + 0.11\ln\frac{n+9}{9}$$

    for every expert i, on any data, for ever or until it retires; each certified expert adds its own logarithmic bound
    against every fixed linear model of a ball. Three stackers on top learn what experts know together, and that labels
    come in runs (`states.mixture.mixture`). O(K d²) a row, K = 11.

    Where the first row shows that rows are wide and mostly 0 (words, clicks, one-hot categories), or so wide that d²
    numbers would be too many, `Wide`'s experts play instead: O(K nnz) a row, with its bound and its certificate.

    Beside the linear experts play companions that bend, in a mixture of the same kind
    (`learners.auto.bending_ensemble`): random features, boosted trees (`states.boosting`), and where most columns say
    nothing all these once more on the columns that matter (`learners.auto.chosen_columns`). A forest (`aioli.Forest`)
    joins them with the first label that comes late. Those that plainly are not worth their time retire, after a
    thousand rows at the earliest (`learners.auto.auditions`).

    Rows are numbers, or, from the first row on, data frames and dictionaries with words, dates and missing values,
    which are encoded as the command encodes files (`aioli.TableEncoder`).

    Parameters
    ----------
    experts
        How many linear experts to play, the most useful first, and no companions. None plays all that the budget
        allows. Time goes with the number; the bound holds against those that play.
    classes
        None is the game of two classes, 0 and 1, with one probability a row. A list of labels, or "any", makes a
        `ClassAuto` in place of this learner, with one probability a class.
    budget
        "fast" plays eight linear experts alone, some tens of microseconds a row; "usual" adds three more experts and
        companions that bend: while they are heard, some seven times as much where rows come one at a time, and fifteen
        times in large calls (docs/speed.md); "best" plays larger ones, the forest from the first row on and, where
        scikit-learn is there, its boosting and forests, refitted whenever rows have grown by a quarter: a millisecond
        or two a row by `learn_many`.
    guests
        Models of your own that play beside the experts: anything with `predict_proba`, or a function from rows to
        probabilities. The mixture is never more than $\ln\frac1w + \ln\frac1{0.4} + 1.11\ln\frac{n+9}{9}$ nats behind a
        guest, w being its share at the start, and corrects one that is stale or too bold. A guest that fails is
        dismissed with a warning.
    refit
        When guests are fitted anew, to the newest 20,000 rows: "doubling", "quarter" (whenever rows have grown by so
        much), or every so many rows. None plays them as they are.
    pairs
        For rows of numbers and one-hot categories: whether pairs of their values play too, in wide experts beside the
        others (`learners.auto.narrow_and_wide`), and columns may become any number. O(T²) a row of T values more. None
        plays them where the first rows are a data frame or dictionaries with categories.
    device
        None is the CPU. "cuda", or another device of PyTorch's, makes a `DeviceAuto` in place of this learner: linear
        experts alone, for embeddings of a thousand columns and more (docs/gpu.md).

    Notes
    -----
    Every column may be multiplied by a positive constant, or, where rows are not wide, have one added, and nothing
    changes but rounding. An expert to which nobody listens retires after some thousands of rows, and costs nothing from
    then on: the bounds of the others can only gain by it (`states.mixture.mixture`). `predict` may be called from
    several threads; `learn` may not. `learn_many` plays long streams on up to four threads of its own, where cores are
    free, which changes no bit of what is learned. A label that comes late is learned when it comes; its loss is counted
    where it was announced.

    Examples
    --------
    >>> import numpy as np
    >>> from aioli import Auto
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3)) * [1.0, 1e6, 1e-6]
    >>> y = np.hypot(X[:, 0], X[:, 1] / 1e6) < 1.2          # a ring: no linear model sees it
    >>> learner = Auto()
    >>> p = learner.learn_many(X, y)
    >>> print(f"{-np.log(np.where(y, p, 1 - p))[1000:].mean():.2f} nats a row in the second half")
    0.02 nats a row in the second half
    >>> max(learner.weights_, key=learner.weights_.get)
    'kernel: random features'
    """

    capabilities = ThroughPlayer.capabilities | {Capability.GROWS, Capability.MIXES, Capability.SPARSE_ROWS}

    def __new__(
        cls,
        experts: int | None = None,
        classes: Classes | None = None,
        budget: str = "usual",
        guests: Sequence[object] = (),
        refit: str | int | None = None,
        pairs: bool | None = None,
        device: object = None,
    ) -> Any:
        """Make a learner of two classes, the `ClassAuto` of the classes given, or the `DeviceAuto` of a device."""
        if device is not None:
            from aioli.learners.auto.device_auto import DeviceAuto

            if classes is not None or tuple(guests) or refit is not None or pairs or budget not in ("fast", "usual"):
                message = "on a device, Auto plays linear experts of two classes alone; leave out all but experts"
                raise ParameterRefused(message, parameter="device", value=device)
            return DeviceAuto(experts, device)
        if classes is None:
            return super().__new__(cls)
        if tuple(guests):
            raise ParameterRefused.unlike("guests", tuple(guests), "left out where classes are given")
        return ClassAuto(experts, classes, budget)

    def __init__(
        self,
        experts: int | None = None,
        classes: Classes | None = None,  # noqa: ARG002  (None here: `__new__` has made a `ClassAuto` of others)
        budget: str = "usual",
        guests: Sequence[object] = (),
        refit: str | int | None = None,
        pairs: bool | None = None,
        device: object = None,  # noqa: ARG002  (None here: `__new__` has made a `DeviceAuto` of others)
    ) -> None:
        experts_within(budget, experts)  # refuses what is neither
        if pairs is not None and not isinstance(pairs, bool):
            raise ParameterRefused.unlike("pairs", pairs, "True, False or None")
        self.pairs = pairs
        self._paired = bool(pairs)
        self.experts = experts
        self.budget = budget
        self.guests = guests
        self.refit = refit
        if guests:
            self.capabilities -= {Capability.SAVES}
        self._player: Player = self._players.fresh()
        self._begun = False

    # ---- what it knows

    def certificate(self, tight: bool = False) -> Certificate:
        """Return nats of regret, against every fixed linear model of a ball, proven not to have been exceeded.

        The model is linear in the view of the expert that proves it, which `against` names: columns scaled as the
        stream went, ‖θ‖ ≤ `radius`. It is that expert's own certificate, plus all that the mixture lost more than the
        expert: nothing needs to be assumed of the mixture, so weights, drift and late labels are covered. On wide rows
        it is `Wide`'s.
        """
        return self._player.certificate(tight)

    @property
    def _linear_experts(self) -> DenseEnsemble | None:
        """The ensemble of the linear experts; None where they do not read all columns."""
        dense = linear_experts_of(self._player)
        return None if dense is None or dense.n_features_ != self.n_features_ else dense

    @property
    def _linear_experts_alone(self) -> DenseEnsemble | None:
        """The ensemble of the linear experts where nothing else plays; None where something does."""
        return self._player if isinstance(self._player, DenseEnsemble) else None

    # ---- its life

    def _grow(self, columns: int, names: Sequence[str] | None) -> None:
        """Make room for new columns.

        Rows that began narrow and become wide are played by wide experts too, beside what has learned so far: eleven
        matrices of so many columns would take gigabytes.
        """
        width = (self.n_features_ or 0) + columns
        if self._begun and not isinstance(self._player, (NarrowAndWide, Wide)) and width > MANY_COLUMNS:
            self._player = NarrowAndWide.around(self._player)
        self._player.grow(columns, names)

    def to(self, device: object) -> "DeviceAuto":
        """Return the learner that goes on from what this one knows on a device of PyTorch; this one stays as it is.

        For what `Auto(device=…)` has learned and saved: experts that play on the CPU alone are refused.
        """
        from aioli.learners.auto.device_auto import DeviceAuto

        return DeviceAuto.of(self, device)

    def meet_columns(self, kinds: Collection[str]) -> bool:
        """Choose, before the first row, who plays columns of these kinds; return whether rows may be sparse."""
        if CATEGORY in kinds and self.pairs is None and not self._player.has_announced:
            self._paired = True
            self._player = self._players.fresh()
        return self._paired or TEXT in kinds

    def with_classes(self, negative: Label = 0, positive: Label = 1) -> ClassAuto:
        """Return the learner of many classes that goes on from what this one knows; this one stays as it is.

        `negative` and `positive` are what 0 and 1 meant. A copy of this learner becomes an expert among the others, of
        half of the shares; what the columns have shown stays, and so do the coefficients of linear experts. The
        certificate is what was proven so far plus what is proven from now on (docs/classes.md).
        """
        if (self.n_features_ or 0) > MANY_COLUMNS:
            raise CapabilityMissing(
                f"rows of {self.n_features_} columns do not go on with a third class; more than {MANY_COLUMNS} columns "
                "are for two classes only"
            )
        dense = linear_experts_of(self._player) if self._begun else None
        if dense is not None and dense.n_features_ != self.n_features_:  # columns that only wide experts have read
            columns = (self.n_features_ or 0) - (dense.n_features_ or 0)
            dense = DenseEnsemble.restore(dense.snapshot()).grow(columns)
        many = ClassAuto.after_two(self, dense, float(self.certificate()), (negative, positive), self.budget)
        many.feature_names_, many._table = self.feature_names_, copy.deepcopy(self._table)
        return many

    def fix_columns(self, survey: ColumnSurvey) -> Self:
        """Read the columns as a survey of all shards' rows says, so that copies of this learner merge; return it.

        For a learner of linear experts that has learned from no row: `budget="fast"`, or a number of experts. Its
        experts do not retire, and rows no longer move the scale of a column (docs/shards.md).
        """
        if self._begun or self._player.has_announced or not isinstance(self._player, DenseEnsemble):
            raise CapabilityMissing(
                "columns are fixed before the first row, for linear experts alone; use a fresh Auto(budget='fast')"
            )
        self._begin(self._player.fix_columns(survey))
        return self

    def merge(self, other: Self, since: Self | None = None) -> Self:
        """Take in what another learner of the same fixed columns learned from other rows; `since` is counted once.

        Experts merge as `AIOLI` does, and so does the certificate; losses add, and shares follow them; stackers add
        what they have learned (`states.mixture.merging`). Refused where columns are not fixed: each learner has then
        scaled them by the rows that it saw, and the two speak of different numbers.
        """
        learners = [self, other] if since is None else [self, other, since]
        players = [learner._player for learner in learners if isinstance(learner, Auto)]
        dense = [player for player in players if isinstance(player, DenseEnsemble)]
        if len(dense) < len(learners):
            raise CapabilityMissing(
                "these Auto learners do not merge: linear experts must play alone, on columns that are fixed "
                "(fix_columns); otherwise each has scaled its columns by its own rows; merge AIOLI learners"
            )
        dense[0].merge(dense[1], dense[2] if since is not None else None)
        return self

    def snapshot(self) -> Snapshot:
        """Return the budget of experts, and all that the ensemble or `Wide` remembers, whichever plays."""
        parameters: dict[str, Plain] = {"experts": self.experts, "budget": self.budget}
        parameters |= {} if self.pairs is None else {"pairs": self.pairs}
        values: dict[str, Plain] = {"parameters": parameters}
        values |= {"paired": True} if self._paired and self.pairs is None else {}
        parts = {"player": self._player.snapshot(), **self._table_parts(self._labels_told or ManyLabels().snapshot())}
        return Snapshot(type(self).__name__, values, parts=parts)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal learner from a snapshot; it goes on bit for bit the same."""
        given = snapshot.of(cls.__name__)
        learner = with_parameters(cls, with_budget(given))
        learner._paired |= "paired" in given.values and given.flag("paired")
        learner._begin(learner._players.restored(given.part("player")))
        learner._recall_table(given)
        return learner

    def __repr__(self) -> str:
        given = {"experts": (self.experts, None), "budget": (self.budget, "usual"), "pairs": (self.pairs, None)}
        written = ", ".join(f"{name}={value!r}" for name, (value, usual) in given.items() if value != usual)
        return f"Auto({written})" + self._repr_suffix()

    # ---- within

    @property
    def _players(self) -> PlayersOf:
        return PlayersOf(self.experts, self.budget, self.guests, self.refit, self._paired)

    def _player_of(self, X: object, single: bool = False) -> Player:
        """Return who would play if these rows came first; whoever has announced a row plays."""
        if self._paired or isinstance(self._player, Wide) or self._player.has_announced:
            return self._player
        if not is_wide(as_matrix(X, width=None, names=self.feature_names_, single=single)):
            return self._player
        wide = Wide(experts=self.experts)
        wide.feature_names_ = self.feature_names_
        return wide

    def _withdraw(self, announcements: int) -> None:
        self._player._withdraw(announcements)
        if not self._begun and isinstance(self._player, Wide) and not self._player.has_announced:
            names = self.feature_names_
            self._player = self._players.fresh()  # until the first row, who plays is open
            self._player.feature_names_ = names

    def _begin(self, player: Player) -> None:
        super()._begin(player)
        if isinstance(player, DenseEnsemble) and player.on_fixed_columns:
            self.capabilities |= {Capability.MERGES, Capability.SHARDS}
