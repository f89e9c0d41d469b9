r"""AIOLI's prediction as operators: $z + a\tanh(z/2) = m$ by Newton steps, unrolled.

`numerics.root` starts left of the root and climbs to it without passing; from the same start, so many steps are within
a few ulp of it for every m and a (tests/onnx). What is already at the root stays there: a step is never negative.
"""

import math

from aioli.onnx.graph import Graph, Name
from aioli.states.dense.state import State

__all__ = ["STEPS", "log_odds_of_state", "root"]

STEPS = 6
SMALL = 1.0  # below it $a\tanh(z/2)$ is subtracted as it is; beyond, its distance from a keeps more digits


def log_odds_of_state(graph: Graph, rows: Name, state: State) -> Name:
    """Add the log-odds of each row, one column, by a state of two classes; rows have the intercept already."""
    K = graph.add("MatMul", rows, graph.constant(state.P))
    v = graph.sum_over_columns(graph.add("Mul", K, K if state.factored else rows))
    m = graph.add("MatMul", rows, graph.constant(state.w[:, None]))
    return root(graph, m, graph.add("Mul", graph.add("Max", v, 0.0), 0.5 * state.spec.regulariser))


def root(graph: Graph, m: Name, a: Name) -> Name:
    """Add the root z of the equation, with the sign of m."""
    add = graph.add
    size = add("Abs", m)
    excess = add("Sub", size, a)
    small = add("Sub", size, add("Mul", a, add("Min", 1.0, add("Mul", size, 0.5))))
    large = add("Max", excess, add("Div", size, add("Add", 1.0, add("Mul", a, 0.5))))
    start = add("Where", add("Less", a, graph.constant(0.125)), small, large)
    # where m is near a and both are large, z is about log(2a)
    above = add("Max", a, 8.0)
    gap = add("Max", add("Sub", add("Add", add("Log", above), math.log(2.0)), excess), 1.0)
    near = add("Log", add("Div", above, gap))
    told = add("And", add("Greater", a, graph.constant(8.0)), add("Greater", near, graph.constant(1.0)))
    z = add("Where", told, add("Max", start, add("Mul", near, 1.0 - 1e-15)), start)
    for _ in range(STEPS):
        z = _step(graph, z, size, a, excess)
    return add("Mul", add("Sign", m), z)


def _step(graph: Graph, z: Name, m: Name, a: Name, excess: Name) -> Name:
    add = graph.add
    e = add("Exp", add("Neg", z))
    sigma = add("Reciprocal", add("Add", e, 1.0))
    tail = add("Mul", add("Mul", e, sigma), 2.0)  # 1 - tanh(z/2)
    slope = add("Add", add("Mul", a, add("Mul", tail, sigma)), 1.0)
    short = add("Sub", add("Sub", m, z), add("Mul", a, add("Tanh", add("Mul", z, 0.5))))
    long = add("Add", add("Sub", excess, z), add("Mul", a, tail))
    missing = add("Where", add("Less", z, graph.constant(SMALL)), short, long)
    return add("Add", z, add("Max", add("Div", missing, slope), 0.0))
