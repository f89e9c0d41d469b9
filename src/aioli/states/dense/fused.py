r"""The state as P and w: the rounds in compiled loops over arrays. One pass over P a row.

A loop neither allocates nor validates. `X` holds rows as the state sees them (an intercept is a column of ones);
`logits` comes with NaN where the learner is to predict now, or the log-odds it announced when it was asked, and
leaves with what was announced. Each returns how many rows it played: fewer than came means that the next one would
cost P too many digits, and that the state stands exactly before that row.
"""

import math

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.outcomes.spec import Rule
from aioli.outcomes.two_classes import count_round, keeps_its_digits, play_round

__all__ = ["play_rows"]


@compiled("f8(f8[:,::1],f8[::1],f8[::1])", reassociate=True)
def multiply(P: Matrix, x: Vector, k: Vector) -> float:
    r"""Compute $k = Px$; returns $\sum_i x_i^2 P_{ii}$. O(d²)."""
    spread = 0.0
    for i in range(x.size):
        total = 0.0
        for j in range(x.size):
            total += P[i, j] * x[j]
        k[i] = total
        spread += x[i] * x[i] * P[i, i]
    return spread


@compiled("f8(f8[:,::1],f8[::1],f8[::1],f8[::1])", reassociate=True)
def downdate_and_multiply(P: Matrix, s: Vector, x: Vector, k: Vector) -> float:
    r"""Set $P \leftarrow P - ss^\top$ and $k = Px$ in the same pass over memory. O(d²)."""
    spread = 0.0
    for i in range(x.size):
        si = s[i]
        total = 0.0
        for j in range(x.size):
            entry = P[i, j] - si * s[j]  # s[i]*s[j] commutes, so P stays bitwise symmetric
            P[i, j] = entry
            total += entry * x[j]
        k[i] = total
        spread += x[i] * x[i] * P[i, i]
    return spread


@compiled("f8(f8[:,::1],f8[::1],f8[::1],f8[::1],f8,f8)", reassociate=True)
def forget_and_multiply(P: Matrix, s: Vector, x: Vector, k: Vector, rho: float, ridge: float) -> float:
    r"""Set $P \leftarrow \rho(P - ss^\top) + (1-\rho)/\lambda\, I$ and $k = Px$ in the same pass. O(d²)."""
    back = (1.0 - rho) / ridge
    spread = 0.0
    for i in range(x.size):
        si = s[i]
        total = 0.0
        for j in range(x.size):
            entry = rho * (P[i, j] - si * s[j])
            P[i, j] = entry
            total += entry * x[j]
        P[i, i] += back
        k[i] = total + back * x[i]
        spread += x[i] * x[i] * P[i, i]
    return spread


@compiled("void(f8[:,::1],f8[::1])", reassociate=True)
def downdate(P: Matrix, s: Vector) -> None:
    r"""Set $P \leftarrow P - ss^\top$. O(d²)."""
    for i in range(s.size):
        si = s[i]
        for j in range(s.size):
            P[i, j] -= si * s[j]


@compiled("void(f8[:,::1],f8,f8)", reassociate=True)
def forget(P: Matrix, rho: float, ridge: float) -> None:
    r"""Set $P \leftarrow \rho P + (1-\rho)/\lambda\, I$: the state drifts back to its prior. O(d²)."""
    for i in range(P.shape[0]):
        for j in range(P.shape[0]):
            P[i, j] *= rho
        P[i, i] += (1.0 - rho) / ridge


@compiled(
    "i8(f8[:,::1],f8[::1],f8[::1],f8[::1],f8[:,::1],f8[:,::1],f8[::1],f8[::1],f8[::1])",
    reassociate=True,
    uncounted=True,
)
def play_rows(
    P: Matrix,
    w: Vector,
    tally: Vector,
    rules: Vector,
    workspace: Matrix,
    X: Matrix,
    y: Vector,
    weights: Vector,
    logits: Vector,
) -> int:
    """Play the rows in order, each row's downdate applied in the pass that multiplies by the next. O(d²) a row."""
    k, s = workspace[1], workspace[2]
    rho, ridge = rules[Rule.FORGETTING], rules[Rule.RIDGE]
    pending = False
    played = len(X)
    for t in range(len(X)):
        x = X[t]
        if not pending:
            spread = multiply(P, x, k)
        elif rho == 1.0:
            spread = downdate_and_multiply(P, s, x, k)
        else:
            spread = forget_and_multiply(P, s, x, k, rho, ridge)
        pending = False
        v = 0.0
        m = 0.0
        norm2 = 0.0
        for i in range(x.size):
            v += x[i] * k[i]
            m += x[i] * w[i]
            norm2 += x[i] * x[i]
        norm = math.sqrt(norm2)
        z, gamma, alpha, inst, loss, v_after = play_round(rules, m, v, norm, y[t], weights[t], logits[t])
        # forgetting gives back at least (1-ρ)‖x‖²/λ before v is read again: its error stays below ε/(1-ρ) of it
        if rho == 1.0 and not keeps_its_digits(spread, v_after):
            played = t
            break
        root_gamma = math.sqrt(gamma)
        for i in range(x.size):
            s[i] = root_gamma * k[i]
            w[i] += alpha * k[i]
        count_round(tally, weights[t], loss, inst, norm, logits[t])
        logits[t] = z
        pending = True
    if pending:
        downdate(P, s)
        if rho < 1.0:
            forget(P, rho, ridge)
    return played
