r"""One round of K classes in K - 1 contrasts: what the learner says, how it answers the label, and what is counted.

All that a round needs of the state are $V = X^\top PX$ and the logits m of its centre, where X is $I \otimes x$; all
that it does to it is $P \leftarrow P - UU^\top$ and $w \leftarrow w - \tfrac12 PXs$ with $U = PXT$. V enters as
$V = LL^\top$ and $N = EL$, and the prediction as $z = m + Lu$: nothing is divided by V, which may be nearly singular.

With p the softmax announced, $\hat g_y = N^\top(p - e_y)$ and $M = I + N^\top\Pi N$, Π the curvature,

$$\mathrm{inst}_y = \tfrac14\bigl[(2u + \hat g_y)^\top M^{-1}(2u + \hat g_y) - 4|u|^2\bigr]$$

is the certificate's increment where the label is y. The prediction makes it the same for every label, which is
$u = t - \tfrac12N^\top p$ with $t = \tfrac14 L^{-1}(I + V E^\top\Pi E)E^\top\operatorname{diag}(N M^{-1} N^\top)$. For
fixed t this is a strictly convex problem; t is found by iteration, from the centre's own prediction on.
docs/classes.md has the proofs.
"""

import math

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.copying import copy_numbers
from aioli.numerics.softmax import curvature_weights, factor_semidefinite, minimise_softmax, softmax
from aioli.outcomes.class_curvature import decompose_curvature, project

__all__ = ["answer_label", "settle_prediction"]

TRIES = 10  # of the iteration for t
LEVEL = 0.1  # how far from the same for all labels, of what the bound allows a round, the increments may be
ROUNDING = 1e-6  # of the increments, against what the theorem allows
SHORTEST, LONGEST = 0.05, 2.0  # steps of that iteration, of the distance to its target
HEAVY = 32.0  # the weight beyond which a row is learned at the point to which it leads, as of two classes


@compiled("UniTuple(f8,3)(f8[:,::1],f8[:,::1],f8[:,::1],i8,f8[::1],f8[::1],f8[::1])", reassociate=True)
def weigh_labels(
    N: Matrix, R_hat: Matrix, chol: Matrix, rank: int, u: Vector, p: Vector, v_after: Vector
) -> tuple[float, float, float]:
    r"""Return the largest increment over labels, its mean under p, and $\tfrac14\operatorname{tr}V^+H$. O(ρK²).

    `v_after` becomes $\operatorname{diag}(NM^{-1}N^\top)$. The last is what the theorem allows.
    """
    K, q = N.shape
    centre, low, here = np.empty(q), np.empty(rank), np.empty(rank)
    spread = 0.0
    prior = 0.0
    for i in range(q):
        total = 0.0
        for k in range(K):
            total += p[k] * N[k, i]
        centre[i] = -2.0 * u[i] - total
        prior += 4.0 * u[i] * u[i]
    project(R_hat, chol, rank, centre, low)
    inner = 0.0
    for i in range(q):
        inner += (centre[i] + 2.0 * u[i]) * (centre[i] + 2.0 * u[i])
    worst, mean = -math.inf, 0.0
    for k in range(K):
        project(R_hat, chol, rank, N[k], here)
        own = 0.0
        whole = 0.0
        for i in range(q):
            own += N[k, i] * N[k, i]
            whole += (centre[i] + N[k, i]) * (centre[i] + N[k, i])
        for r in range(rank):
            own -= here[r] * here[r]
            whole -= (low[r] + here[r]) * (low[r] + here[r])
        v_after[k] = max(own, 0.0)
        inst = 0.25 * (whole - prior)
        worst = max(worst, inst)
        mean += p[k] * inst
        spread += p[k] * own
    total = inner
    for r in range(rank):  # the mean of N under p, seen through M^-1
        drawn = 0.0
        for i in range(q):
            drawn += R_hat[r, i] * (centre[i] + 2.0 * u[i])
        for s in range(r):
            drawn -= chol[r, s] * here[s]
        here[r] = drawn / chol[r, r]
        total -= here[r] * here[r]
    return worst, mean, 0.25 * (spread - total)


@compiled("void(f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1],i8,f8[::1],f8[::1])", reassociate=True)
def aim(E: Matrix, L: Matrix, R: Matrix, R_hat: Matrix, rank: int, v_after: Vector, t: Vector) -> None:
    r"""Compute $t = \tfrac14(L^{-1} + L^\top E^\top\Pi E)E^\top v$; 0 where there is no variance. O(K²)."""
    K, q = E.shape
    d = np.empty(q)
    for i in range(q):
        total = 0.0
        for k in range(K):
            total += E[k, i] * v_after[k]
        d[i] = 0.25 * total
    for i in range(q):
        total = d[i]
        for j in range(i):
            total -= L[i, j] * t[j]
        t[i] = total / L[i, i] if L[i, i] > 0.0 else 0.0
    for r in range(rank):
        along = 0.0
        for i in range(q):
            along += R[r, i] * d[i]
        for i in range(q):
            t[i] += along * R_hat[r, i]


@compiled(
    "UniTuple(i8,2)(f8[:,::1],f8[:,::1],f8[::1],f8,f8[:,::1],f8[:,::1],f8[::1],f8[::1],f8[::1],f8[:,::1],f8[:,::1],"
    "f8[:,::1],f8[::1])",
    reassociate=True,
)
def settle_prediction(
    E: Matrix,
    V: Matrix,
    m: Vector,
    C: float,
    L: Matrix,
    N: Matrix,
    u: Vector,
    p: Vector,
    log_p: Vector,
    R: Matrix,
    R_hat: Matrix,
    chol: Matrix,
    weights: Vector,
) -> tuple[int, int]:
    r"""Find the prediction: u, p and log p, the curvature there in π (`weights`), R, R̂ and chol. O(K³) a try.

    Keeps the u whose largest increment is least; the first that is level enough, and within what the theorem allows,
    ends the search. Returns the rank of the curvature, and 1 where the theorem does not allow the increment, else 0.
    """
    K, q = E.shape
    factor_semidefinite(V, L)
    start, v_after = np.empty(K), np.zeros(K)
    t, best, target, u_best, away, moved = np.empty(q), np.zeros(q), np.zeros(q), np.zeros(q), np.empty(q), np.empty(q)
    for k in range(K):
        start[k] = 0.0
        for i in range(q):
            start[k] += E[k, i] * m[i]
            total = 0.0
            for j in range(i, q):
                total += E[k, j] * L[j, i]
            N[k, i] = total
    u[:] = 0.0
    if K > 2:  # the first target is that of the centre's own prediction
        softmax(start, p, log_p)
        curvature_weights(p, log_p, C, weights)
        rank = decompose_curvature(E, N, weights, 1.0, R, R_hat, chol)
        weigh_labels(N, R_hat, chol, rank, u, p, v_after)
        aim(E, L, R, R_hat, rank, v_after, t)
    else:
        t[:] = 0.0
    least = math.inf
    step = 1.0
    rank = 0
    tries = 0
    worst = math.inf
    while True:
        tries += 1
        minimise_softmax(N, start, t, 1.0, u, p, log_p)
        curvature_weights(p, log_p, C, weights)
        rank = decompose_curvature(E, N, weights, 1.0, R, R_hat, chol)
        worst, mean, allowed = weigh_labels(N, R_hat, chol, rank, u, p, v_after)
        aim(E, L, R, R_hat, rank, v_after, target)
        if worst < least:
            least = worst
            copy_numbers(t, best)
            copy_numbers(u, u_best)
            if worst <= min(mean + LEVEL * allowed, (1.0 + ROUNDING) * allowed) or K == 2:
                break
        if tries >= TRIES:
            break
        if tries > 1:  # a secant's step (Barzilai and Borwein), from the last two distances to the target
            along, across = 0.0, 0.0
            for i in range(q):
                change = (target[i] - t[i]) - away[i]
                along -= moved[i] * change
                across += change * change
            step = min(max(along / across, SHORTEST), LONGEST) if across > 0.0 else 1.0
        for i in range(q):
            away[i] = target[i] - t[i]
            moved[i] = step * away[i]
            t[i] += moved[i]
    if worst > least:
        copy_numbers(u_best, u)
        minimise_softmax(N, start, best, 1.0, u, p, log_p)
        curvature_weights(p, log_p, C, weights)
        rank = decompose_curvature(E, N, weights, 1.0, R, R_hat, chol)
        worst, mean, allowed = weigh_labels(N, R_hat, chol, rank, u, p, v_after)
    return rank, 1 if worst > (1.0 + ROUNDING) * allowed else 0


@compiled(
    "Tuple((f8,f8,i8))(f8[:,::1],f8[::1],f8,i8,f8,f8[:,::1],f8[::1],f8[::1],f8[::1],f8[:,::1],f8[:,::1],f8[:,::1],"
    "f8[::1],i8,f8[::1])",
    reassociate=True,
)
def answer_label(
    E: Matrix,
    m: Vector,
    C: float,
    y: int,
    stake: float,
    N: Matrix,
    u: Vector,
    p: Vector,
    log_p: Vector,
    R: Matrix,
    R_hat: Matrix,
    chol: Matrix,
    weights: Vector,
    rank: int,
    step: Vector,
) -> tuple[float, float, int]:
    r"""Answer the label: R becomes $T^\top = C^{-1}R$, and `step` s; returns loss, increment and rank. O(ρK²).

    With $\hat a = -2u - \hat g_y$ and $\gamma = C^{-1}\hat R\hat a$: $s = g_y + T\gamma$. A row of large weight is
    learned at the point to which it leads, $u = -\tfrac\omega2N^\top(p - e_y)$; u, p and log p then become those of
    that point, and the loss and the increment are counted there.
    """
    K, q = E.shape
    if stake > HEAVY:
        start, t = np.empty(K), np.empty(q)
        for k in range(K):
            start[k] = 0.0
            for i in range(q):
                start[k] += E[k, i] * m[i]
        for i in range(q):
            t[i] = 0.5 * stake * N[y, i]
        minimise_softmax(N, start, t, stake, u, p, log_p)
        curvature_weights(p, log_p, C, weights)
    if stake != 1.0:
        rank = decompose_curvature(E, N, weights, stake, R, R_hat, chol)
    a, low = np.empty(q), np.empty(rank)
    whole = 0.0
    for i in range(q):
        drawn = -N[y, i]
        step[i] = -E[y, i]
        for k in range(K):
            drawn += p[k] * N[k, i]
            step[i] += p[k] * E[k, i]
        step[i] *= stake
        a[i] = -2.0 * u[i] - stake * drawn
        whole += a[i] * a[i] - 4.0 * u[i] * u[i]
    project(R_hat, chol, rank, a, low)
    for r in range(rank):
        whole -= low[r] * low[r]
        for s in range(r):
            for i in range(q):
                R[r, i] -= chol[r, s] * R[s, i]
        for i in range(q):
            R[r, i] /= chol[r, r]
            step[i] += low[r] * R[r, i]
    return -stake * log_p[y], 0.25 * whole, rank
