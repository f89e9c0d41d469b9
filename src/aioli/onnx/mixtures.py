"""Auto's linear experts as operators: the views of a row as if it came next, each expert's log-odds, the mixture."""

from collections.abc import Sequence

import numpy as np

from aioli.errors import CapabilityMissing
from aioli.numerics.compiling import Vector
from aioli.onnx.equation import log_odds_of_state
from aioli.onnx.graph import Graph, Name
from aioli.onnx.views import view_rows
from aioli.snapshots.tree import Snapshot
from aioli.states.dense.state import State
from aioli.states.mixture.mixture import Mixture
from aioli.states.mixture.mixture_loops import BOLD, CERTAIN, DEVIANT, LAST_LABEL, LEAST, MEAN_LABEL
from aioli.states.mixture.views import Views

__all__ = ["log_odds_of_ensemble"]

FEWEST = 3  # rows, before which the origin of a column is not settled
CANNOT = "ramp"  # the view that is cut at quantiles of a sample of rows


def log_odds_of_ensemble(graph: Graph, rows: Name, ensemble: Snapshot) -> Name:
    """Add the log-odds of a `DenseEnsemble`, one column, given its snapshot."""
    names = ensemble.texts("playing") or []
    views = Views.restore(ensemble.part("views"))
    if views.totals[0] < FEWEST:
        raise CapabilityMissing(f"Auto has learned from fewer than {FEWEST} rows; teach it more before it is exported")
    if "late" in ensemble.parts:
        raise CapabilityMissing("Auto has announced rows whose labels come late, and cannot be exported to ONNX")
    kinds = [name.partition(" on the ")[2].partition(" view")[0] for name in names]
    if CANNOT in kinds:
        name = names[kinds.index(CANNOT)]
        raise CapabilityMissing(f"{name!r} cannot be exported to ONNX; Auto(budget='fast') plays without this expert")
    seen = view_rows(graph, rows, views, frozenset(kinds))
    each = []
    for i, kind in enumerate(kinds):
        state = State.restore(ensemble.part(f"expert{i}"))
        view, order = seen[kind]
        each.append(log_odds_of_state(graph, view, state if order is None else _reordered(state, order)))
    return _mixed(graph, graph.add("Concat", *each, axis=1), Mixture.restore(ensemble.part("mixture")))


def _reordered(state: State, order: Sequence[int]) -> State:
    """Return the state of rows whose features come in another order."""
    places = list(order)
    P = state.P[places] if state.factored else state.P[np.ix_(places, places)]
    return State(state.spec, state.width).overwrite(P, state.w[places], state.tally, factored=state.factored)


def _mixed(graph: Graph, Z: Name, mixture: Mixture) -> Name:
    """Add the log-odds that the mixture and its stackers announce, given those of the experts."""
    add = graph.add
    z, belief = _logit_of_mean(graph, Z, mixture.shares)
    deviations = add("Clip", add("Sub", Z, z), graph.constant(-DEVIANT), graph.constant(DEVIANT))
    kept = add("Mul", deviations, graph.constant(np.where(mixture.prior > 0.0, 1.0, 0.0)))
    bold = add("Clip", z, graph.constant(-BOLD), graph.constant(BOLD))
    features = add("Concat", bold, kept, belief, axis=1)
    said = [z]
    for u, *_ in mixture.stackers:
        fixed = float(u[0] + u[-2] * mixture.memory[LAST_LABEL] + u[-1] * mixture.memory[MEAN_LABEL])
        moved = add("Add", add("MatMul", features, graph.constant(u[1:-2, None])), fixed)
        said.append(add("Clip", add("Add", z, moved), graph.constant(-CERTAIN), graph.constant(CERTAIN)))
    return _logit_of_mean(graph, add("Concat", *said, axis=1), mixture.upper)[0]


def _logit_of_mean(graph: Graph, Z: Name, shares: Vector) -> tuple[Name, Name]:
    r"""Add the log-odds of $\sum_i w_i\sigma(z_i)$, and $\sum_i w_i(2\sigma(z_i) - 1)$."""
    add, weights = graph.add, graph.constant(shares[:, None])
    e = add("Exp", add("Neg", add("Abs", Z)))
    likely = add("Reciprocal", add("Add", e, 1.0))
    unlikely = add("Mul", e, likely)
    positive = add("GreaterOrEqual", Z, graph.constant(0.0))
    p = add("MatMul", add("Where", positive, likely, unlikely), weights)
    q = add("MatMul", add("Where", positive, unlikely, likely), weights)
    return add("Log", add("Div", add("Max", p, LEAST), add("Max", q, LEAST))), add("Sub", p, q)
