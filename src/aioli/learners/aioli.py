"""AIOLI: the paper's learner, as one scalar equation and one rank-one update a row."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from aioli.errors import ParameterRefused, SnapshotRefused
from aioli.learners.aioli_of_classes import aioli_of_classes
from aioli.learners.classes.class_aioli import ClassAIOLI
from aioli.learners.game_parameters import game_of
from aioli.learners.parameters import as_given, with_parameters, written_parameters
from aioli.learners.parametrised import Parametrised
from aioli.learners.protocol import Capability
from aioli.learners.remembering import Remembering
from aioli.learners.single_rows import PlaysSingleRows
from aioli.numerics.compiling import Vector
from aioli.numerics.logistic import sigmoid_many
from aioli.outcomes.class_labels import Classes, Label
from aioli.outcomes.spec import Curvature, GameSpec
from aioli.snapshots.tree import Plain, Snapshot
from aioli.states.classes.from_two import spec_of_many
from aioli.states.classes.structure import Structure
from aioli.states.dense.play import logits_of_rows, play
from aioli.states.dense.state import State
from aioli.streams.rows import Rows, as_logits, as_weights

if TYPE_CHECKING:
    from aioli.learners.device_aioli import DeviceAIOLI

__all__ = ["AIOLI"]


class AIOLI(Parametrised, Remembering, PlaysSingleRows):
    r"""Online logistic regression with logarithmic regret and no learning rate (Jézéquel, Gaillard, Rudi 2020).

    Each round solves one scalar equation and makes one rank-one update, O(d²):

    $$z + \tfrac{cv}{2}\tanh\tfrac z2 = m, \qquad k = Px,\; v = x^\top k,\; m = w^\top x, \qquad p = \sigma(z)$$
    $$P \leftarrow P - \frac{h/2}{1 + hv/2}\,kk^\top, \qquad w \leftarrow w + \frac{h(z-m) + y - p}{2(1 + hv/2)}\,k$$

    For every fixed θ with ‖θ‖ ≤ B, on any stream whatever, with R the largest ‖x‖ (the intercept's 1 counted in):

    $$\sum_t \ell_t - \sum_t \ell_t(\theta) \le
      \lambda\|\theta\|^2 + c\,d(1+BR)\log\Bigl(1 + \frac{nR^2}{8d\lambda\kappa}\Bigr)$$

    Parameters
    ----------
    radius
        B: the regret is bounded against every θ of this norm. The bound grows linearly in it; so does the caution
        with which the learner trusts a row, through the curvature.
    ridge
        λ: half the prior precision. The bound pays λB² for it, and log(1/λ). None is the paper's 1/B², which makes the
        first 1.
    regulariser
        c: how strongly a prediction hedges against its own uncertainty v. 1 is the paper's; ½ halves the bound, and
        is the least that has one.
    curvature
        h: "paper" is p(1-p)/(1+B‖x‖) and has κ = 1 + BR in the bound; "tight" is the largest that the proof allows:
        it learns faster, and has κ = 1. "full" is p(1-p), online Bayes, which has no bound.
    forgetting
        ρ: 1 never forgets. Below 1 the state drifts back to its prior by this factor a row, for a world that changes:
        `certificate()` stays true, but it no longer grows only with the logarithm of the rows.
    intercept
        Whether every row has a further column of ones. It is a coordinate of θ like any other.
    classes
        None is the game of two classes, 0 and 1, with one probability a row. A list of labels, or "any", makes a
        `ClassAIOLI` in place of this learner, with one probability a class.
    structure
        How a `ClassAIOLI` plays its classes; None lets their number and the columns choose.
    device
        None is the CPU. "cuda", or another device of PyTorch's, makes a `DeviceAIOLI` in place of this learner, for
        embeddings of a thousand columns and more (docs/gpu.md); with classes, a `DeviceClassAIOLI`.

    Attributes
    ----------
    feature_names_
        Names of the columns, for messages, saved files and reports; None until given.

    Notes
    -----
    Columns are taken as they come: bring them to a scale of about one, since B and λ are in their units. A prediction
    is not linear in x, so `coefficients_` alone cannot reproduce it. `predict` may be called from several threads;
    `learn` may not.

    Examples
    --------
    >>> import numpy as np
    >>> from aioli import AIOLI
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 3))
    >>> y = X @ [1.0, -2.0, 0.5] + rng.logistic(size=1000) > 0
    >>> learner = AIOLI()
    >>> p = learner.learn_many(X, y)            # each row's probability before its label
    >>> print(f"{-np.log(np.where(y, p, 1 - p)).mean():.3f} nats a row")
    0.447 nats a row
    >>> learner.certificate()
    Certificate(25.318 nats against ‖θ‖ ≤ 4 over 1000 rows)
    """

    capabilities = PlaysSingleRows.capabilities | {Capability.GROWS, Capability.MERGES, Capability.SHARDS}

    def __new__(
        cls,
        radius: float = 4.0,
        ridge: float | None = None,
        regulariser: float = 1.0,
        curvature: Curvature = "tight",
        forgetting: float = 1.0,
        intercept: bool = True,
        classes: Classes | None = None,
        structure: Structure | None = None,
        device: str | None = None,
    ) -> Any:
        """Make a learner of two classes, the `ClassAIOLI` of the classes given, or the `DeviceAIOLI` of a device."""
        if classes is None:
            if structure is not None:
                message = f"structure is {structure!r}, but two classes have none; give classes too"
                raise ParameterRefused(message, parameter="structure", value=structure)
            if device is not None:
                return cls(radius, ridge, regulariser, curvature, forgetting, intercept).to(device)
            return super().__new__(cls)
        rules = (radius, ridge, regulariser, curvature, forgetting, intercept)
        return aioli_of_classes(*rules, classes, structure, device)

    def __init__(
        self,
        radius: float = 4.0,
        ridge: float | None = None,
        regulariser: float = 1.0,
        curvature: Curvature = "tight",
        forgetting: float = 1.0,
        intercept: bool = True,
        classes: Classes | None = None,  # noqa: ARG002  (None here: `__new__` has made a `ClassAIOLI` of others)
        structure: Structure | None = None,  # noqa: ARG002  (as classes)
        device: str | None = None,  # noqa: ARG002  (as classes)
    ) -> None:
        super().__init__()
        self.radius = radius
        self.ridge = ridge
        self.regulariser = regulariser
        self.curvature = curvature
        self.forgetting = forgetting
        self.intercept = intercept
        self._spec = game_of(radius, ridge, regulariser, curvature, forgetting, intercept)
        self._state: State | None = None

    # ---- what it knows

    @property
    def _known_game(self) -> State | None:
        return self._state

    @property
    def spec(self) -> GameSpec:
        """The parameters of the game that is played, the ridge among them where it was not given."""
        return self._spec

    # ---- its life

    def with_state(self, state: State, names: Sequence[str] | None = None) -> Self:
        """Return a learner of these parameters that has come to a state, which it takes over."""
        made = type(self).restore(Snapshot(type(self).__name__, {"parameters": self._played(), "names": None}))
        if state.spec != made._spec:
            raise ParameterRefused(f"the state is of another game, {state.spec}", parameter="state", value=state.spec)
        made._set_state(state)
        made.feature_names_ = None if names is None else list(names)
        return made

    def grow(self, columns: int, names: Sequence[str] | None = None) -> Self:
        """Make room for new columns, exactly as if they had been there, and 0, from the first row. O(d²)."""
        names_after = self._names_after_growing(columns, names)
        if self._state is not None:
            self._set_state(self._state.grown(columns))
        self._names = names_after
        return self

    def merge(self, other: Self, since: Self | None = None) -> Self:
        """Take in what another learner of the same parameters learned from other rows. O(d³).

        The result is the state that the definition gives to both games, and its certificate is for both together.
        Where both went on from copies of one learner, `since` is that learner as it was, which is then counted once.
        """
        for name, given in (("other", other), ("since", since)):
            if given is not None and (not isinstance(given, AIOLI) or self._spec != given._spec):
                raise ParameterRefused(
                    f"{given!r} plays by other rules than {self!r}; give both the same parameters",
                    parameter=name,
                    value=given,
                )
        if self._state is not None and other._state is not None:
            if self._state.width != other._state.width:
                raise ParameterRefused(
                    f"{other.n_features_} columns cannot merge into {self.n_features_}; grow() the narrower one",
                    parameter="other",
                    value=other,
                )
            ancestor = None if since is None or since._state is None else self._as_wide(since._state)
            self._set_state(self._state.merged(other._state, ancestor))
        elif since is not None and since._state is not None:
            raise ParameterRefused(f"one of the learners has not gone on from {since!r}", parameter="since")
        elif other._state is not None:
            self._set_state(other._state.copy())
        self._names = self._names or other._names
        return self

    def _as_wide(self, ancestor: State) -> State:
        """Return the state of an ancestor, grown where this learner has grown since."""
        columns = (0 if self._state is None else self._state.width) - ancestor.width
        if columns < 0:
            raise ParameterRefused("since has more columns than the learners; give an earlier one", parameter="since")
        return ancestor.grown(columns) if columns else ancestor

    def to(self, device: str) -> "DeviceAIOLI":
        """Return the learner that goes on from what this one knows on a device of PyTorch; this one stays as it is."""
        from aioli.learners.device_aioli import DeviceAIOLI

        return DeviceAIOLI.of(self, device)

    def with_classes(
        self,
        negative: Label = 0,
        positive: Label = 1,
        classes: Classes = "any",
        structure: Structure | None = None,
    ) -> ClassAIOLI:
        """Return the learner of many classes that goes on from what this one knows; this one stays as it is.

        `negative` and `positive` are what 0 and 1 meant. What was learned stays, number by number, and so does the
        certificate, against models that are scored on the classes seen so far (docs/classes.md). With "any" the escape
        to unknown classes is played from now on. O(d²).
        """
        if self._spec.curvature == "full":
            message = 'curvature="full" proves nothing that could go on; begin with classes instead'
            raise ParameterRefused(message, parameter="curvature", value="full")
        state = self._state
        if state is None:
            spec = spec_of_many(self._spec)
            return ClassAIOLI(spec.radius, spec.ridge, spec.forgetting, spec.intercept, classes, structure)
        names = None if self._names is None else list(self._names)
        return ClassAIOLI.going_on(state, names, (negative, positive), classes, structure)

    def snapshot(self) -> Snapshot:
        """Return the parameters, the names of the columns, and the state where rows have come."""
        values: dict[str, Plain] = {"parameters": self._played(), "names": self._names}
        parts = self._ledger_part | ({} if self._state is None else {"state": self._state.snapshot()})
        return Snapshot(type(self).__name__, values, parts=parts)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal learner from a snapshot; it goes on bit for bit the same."""
        learner = with_parameters(cls, snapshot.of(cls.__name__))
        if "state" in snapshot.parts:
            state = State.restore(snapshot.part("state"))
            if state.spec != learner._spec or state.width < learner._spec.intercept:
                raise SnapshotRefused(f"in a {snapshot.kind}, the state is of another game, {state.spec}")
            learner._set_state(state)
        learner._take_names(snapshot)
        return learner

    def _played(self) -> dict[str, Plain]:
        """Return the parameters of the game itself, whatever the attributes have been set to since."""
        played: dict[str, Plain] = asdict(self._spec)
        if self.ridge is None:
            played["ridge"] = None
        return as_given(self, played)

    def __repr__(self) -> str:
        return f"AIOLI({written_parameters(self, without=('classes', 'structure', 'device'))}){self._repr_suffix()}"

    # ---- within

    def _rows(self, X: object, single: bool = False) -> Rows:
        spec, width = self._spec, self.n_features_
        return Rows(X, intercept=spec.intercept, widest=spec.widest_row, width=width, names=self._names, single=single)

    def _logits(self, rows: Rows) -> Vector:
        if self._state is None:
            return np.zeros(len(rows))
        return np.concatenate([logits_of_rows(self._state, chunk) for _, chunk in rows])

    def _learn(self, rows: Rows, labels: Vector, weights: object, logits: object) -> Vector:
        row_weights = as_weights(weights, rows, self._spec.widest_row)
        announced = as_logits(logits, len(rows))
        state = self._state or State(self._spec, rows.width + self._spec.intercept)
        for start, chunk in rows:
            part = slice(start, start + len(chunk))
            play(state, chunk, labels[part], row_weights[part], announced[part])
        self._set_state(state)
        return sigmoid_many(announced)

    def _set_state(self, state: State) -> None:
        self._state, self._buffer = state, state.buffer
