r"""The state as $A^{-1} = SS^\top$ (Potter's square root): the same loops where P would lose its digits.

$f = S^\top x$ gives $v = f^\top f$, which cannot be negative, and
$S \leftarrow S - a\,kf^\top$ with $k = Sf$, $a = \gamma/(1 + \sqrt{1 - \gamma v})$ gives exactly
$SS^\top - \gamma kk^\top$. Two passes over S a row instead of one, and twice the digits: S has the square root of
the condition number of P.
"""

import math

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.outcomes.two_classes import count_round, play_round

__all__ = ["play_rows", "step", "whiten"]


@compiled("f8(f8[:,::1],f8[::1],f8[::1])", reassociate=True)
def whiten(S: Matrix, x: Vector, f: Vector) -> float:
    r"""Compute $f = S^\top x$; returns $v = f^\top f$. O(d²)."""
    f[:] = 0.0
    for i in range(x.size):
        xi = x[i]
        for j in range(x.size):
            f[j] += xi * S[i, j]
    v = 0.0
    for j in range(x.size):
        v += f[j] * f[j]
    return v


@compiled("void(f8[:,::1],f8[::1],f8[::1],f8,f8,f8,f8)", reassociate=True)
def step(S: Matrix, w: Vector, f: Vector, v: float, v_after: float, gamma: float, alpha: float) -> None:
    r"""Take the step of a round: $SS^\top$ loses $\gamma kk^\top$ and w gains $\alpha k$, with $k = Sf$. O(d²)."""
    a = gamma / (1.0 + math.sqrt(v_after / v)) if v > 0.0 else 0.0  # v⁺/v is 1 - γv without the cancellation
    for i in range(f.size):
        k = 0.0
        for j in range(f.size):
            k += S[i, j] * f[j]
        w[i] += alpha * k
        k *= a
        for j in range(f.size):
            S[i, j] -= k * f[j]


@compiled("i8(f8[:,::1],f8[::1],f8[::1],f8[::1],f8[:,::1],f8[:,::1],f8[::1],f8[::1],f8[::1])", reassociate=True)
def play_rows(
    S: Matrix,
    w: Vector,
    tally: Vector,
    rules: Vector,
    workspace: Matrix,
    X: Matrix,
    y: Vector,
    weights: Vector,
    logits: Vector,
) -> int:
    """Play the rows in order; return their number, since a factor never has to stop early. O(d²) a row."""
    f = workspace[1]
    for t in range(len(X)):
        x = X[t]
        v = whiten(S, x, f)
        m = 0.0
        norm2 = 0.0
        for i in range(x.size):
            m += x[i] * w[i]
            norm2 += x[i] * x[i]
        norm = math.sqrt(norm2)
        z, gamma, alpha, inst, loss, v_after = play_round(rules, m, v, norm, y[t], weights[t], logits[t])
        step(S, w, f, v, v_after, gamma, alpha)
        count_round(tally, weights[t], loss, inst, norm, logits[t])
        logits[t] = z
    return len(X)
