r"""The compiled loops of a softmax learner with one precision matrix for all classes.

A row x needs $k = Px$, $v = x^\top k$ and the logits $m = Wx$. The prediction solves
$z + \tfrac v2(p - \tfrac1K) = m$ with p the softmax of z: the gradient of a strictly convex function, so Newton's
steps, halved where the function would not fall, end at its only root, at O(K) a step: the Jacobian is diagonal plus
rank one.
The curvature is the mean over contrasts of the softmax's own (`numerics.softmax`),

$$\tfrac h2 = \frac1{K-1}\Bigl(\sum_k \pi_k - \frac{\sum_k\pi_k^2}{\sum_k\pi_k}\Bigr),$$

where a class that stands for those which nobody has seen is not counted in K. With
$s = \tfrac h2/(1 + \tfrac h2 v)$, $g = p - e_y$ and $r = p - \tfrac1K$

$$W \leftarrow W - \tfrac12\bigl(g + sv(r - g)\bigr)k^\top, \qquad
  P \leftarrow \rho(P - s\,kk^\top) + (1-\rho)I/\lambda.$$
"""

import math

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.softmax import curvature_weights, softmax
from aioli.outcomes.class_labels import Codes
from aioli.outcomes.two_classes import HEAVY

__all__ = ["BLOCK", "FORGETTING", "RIDGE", "RULES", "answer", "consult_rows", "play_block", "play_rows", "settle"]

RULES = 4
RIDGE, RADIUS, FORGETTING, UNSEEN = range(RULES)  # the last: how many lines stand for classes that no row has had
BLOCK = 64  # rows that share one product with P
STEPS = 60  # of Newton: four or five are usual
SETTLED = 1e-7  # a step after which the next would be below the digits of z: Newton's error is its square


@compiled("void(f8[::1],f8,f8[::1],f8[::1],f8[::1],f8[::1])", reassociate=True)
def settle(m: Vector, a: float, z: Vector, p: Vector, log_p: Vector, step: Vector) -> None:
    r"""Solve $z + a(p - \tfrac1K) = m$; p is the softmax of z. O(K) a step of Newton."""
    K = m.size
    even = a / K
    for k in range(K):
        z[k] = m[k]
    mass = softmax(z, p, log_p)
    if not a > 0.0:
        return
    value = a * mass
    for k in range(K):
        value -= even * z[k]
    for _ in range(STEPS):
        along, bent = 0.0, 0.0
        for k in range(K):
            stiff = 1.0 + a * p[k]
            step[k] = (z[k] - m[k] + a * p[k] - even) / stiff
            along += p[k] * step[k]
            bent += p[k] * p[k] / stiff
        shift = a * along / (1.0 - a * bent)
        slope, longest = 0.0, 0.0
        for k in range(K):
            residual = step[k] * (1.0 + a * p[k])
            step[k] += shift * p[k] / (1.0 + a * p[k])
            slope += residual * step[k]
            longest = max(longest, abs(step[k]))
        tau, kept = 1.0, value
        while True:
            for k in range(K):
                z[k] -= tau * step[k]
            value = a * softmax(z, p, log_p)
            for k in range(K):
                value += 0.5 * (z[k] - m[k]) ** 2 - even * z[k]
            if longest < SETTLED or value <= kept - 0.1 * tau * slope or tau < 1e-9:
                break
            for k in range(K):
                z[k] += tau * step[k]
            tau *= 0.5
        if longest < SETTLED:
            return


@compiled("f8(f8[::1],f8[::1],f8[::1],f8,f8,f8,i8,f8,f8[::1],f8[::1])", reassociate=True)
def answer(
    rules: Vector,
    p: Vector,
    log_p: Vector,
    v: float,
    norm: float,
    weight: float,
    y: int,
    even: float,
    pi: Vector,
    alpha: Vector,
) -> float:
    r"""Return s for a row whose label is y, and write α: $W \leftarrow W - \alpha k^\top$. O(K)."""
    K = p.size
    stake = min(weight, HEAVY)  # an expert may be led, not thrown
    total = curvature_weights(p, log_p, rules[RADIUS] * norm, pi)
    squares = 0.0
    for k in range(K):
        squares += pi[k] * pi[k]
    contrasts = max(K - 1.0 - rules[UNSEEN], 1.0)
    half = stake * (total - squares / total) / contrasts if K > 1 and total > 0.0 else 0.0
    s = half / (1.0 + half * v)
    for k in range(K):
        g = stake * (p[k] - (1.0 if k == y else 0.0))
        alpha[k] = 0.5 * (g + s * v * (p[k] - even - g))
    return s


@compiled("void(f8[:,::1],f8[:,::1],f8[::1],f8[:,::1],i8[::1],f8[::1],f8[:,::1])", reassociate=True)
def play_rows(P: Matrix, W: Matrix, rules: Vector, X: Matrix, codes: Codes, weights: Vector, out: Matrix) -> None:
    """Announce the logarithm of each class's probability, then learn, row after row. O(d² + Kd) a row."""
    d, K = X.shape[1], W.shape[0]
    k, m, z, p = np.empty(d), np.empty(K), np.empty(K), np.empty(K)
    step, pi, alpha = np.empty(K), np.empty(K), np.empty(K)
    rho = rules[FORGETTING]
    back = (1.0 - rho) / rules[RIDGE]
    for t in range(len(X)):
        x = X[t]
        v, norm2 = 0.0, 0.0
        for i in range(d):
            total = 0.0
            for j in range(d):
                total += P[i, j] * x[j]
            k[i] = total
            v += total * x[i]
            norm2 += x[i] * x[i]
        v = max(v, 0.0)
        for q in range(K):
            total = 0.0
            for j in range(d):
                total += W[q, j] * x[j]
            m[q] = total
        settle(m, 0.5 * v, z, p, out[t], step)
        s = answer(rules, p, out[t], v, math.sqrt(norm2), weights[t], codes[t], 1.0 / K, pi, alpha)
        for q in range(K):
            for j in range(d):
                W[q, j] -= alpha[q] * k[j]
        root = math.sqrt(s)
        for i in range(d):
            k[i] *= root
        for i in range(d):
            for j in range(d):
                P[i, j] = rho * (P[i, j] - k[i] * k[j])  # k[i]*k[j] commutes, so P stays bitwise symmetric
            P[i, i] += back


@compiled(
    "void(f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[::1],f8[:,::1],i8[::1],f8[::1],f8[:,::1],f8[:,::1])",
    reassociate=True,
)
def play_block(
    PX: Matrix,
    G: Matrix,
    M: Matrix,
    A: Matrix,
    rules: Vector,
    X: Matrix,
    codes: Codes,
    weights: Vector,
    out: Matrix,
    S: Matrix,
) -> None:
    r"""Play a block of b rows that share the products $PX$, $G = X^\top PX$ and $M = WX$. O(bd) a row.

    What a row changes is told to those behind it through G and M alone; nothing is forgotten. At the end row t of `S`
    is $\sqrt{s_t}k_t$, of `A` it is $\alpha_t$, and PX holds the $k_t$: then $P \leftarrow P - S^\top S$ and
    $W \leftarrow W - A^\top K$.
    """
    n, d = X.shape
    K = M.shape[1]
    z, p = np.empty(K), np.empty(K)
    step, pi = np.empty(K), np.empty(K)
    told = np.zeros((n, n))  # row t: s_i (k_i·x_t) of the rows before
    roots = np.empty(n)
    for t in range(n):
        v = max(G[t, t], 0.0)
        norm2 = 0.0
        for j in range(d):
            norm2 += X[t, j] * X[t, j]
        settle(M[t], 0.5 * v, z, p, out[t], step)
        s = answer(rules, p, out[t], v, math.sqrt(norm2), weights[t], codes[t], 1.0 / K, pi, A[t])
        roots[t] = math.sqrt(s)
        for i in range(t + 1, n):
            along = G[t, i]
            told[i, t] = s * along
            for q in range(K):
                M[i, q] -= along * A[t, q]
            for j in range(t + 1, n):
                G[i, j] -= s * along * G[t, j]
    for t in range(n):
        for i in range(t):
            share = told[t, i]
            for j in range(d):
                PX[t, j] -= share * PX[i, j]
        for j in range(d):
            S[t, j] = roots[t] * PX[t, j]


@compiled("void(f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1])", reassociate=True)
def consult_rows(P: Matrix, W: Matrix, X: Matrix, out: Matrix) -> None:
    """Write the logarithm of each class's probability for rows, each as if it came next. O(d² + Kd)."""
    d, K = X.shape[1], W.shape[0]
    m, z, p, step = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    for t in range(len(X)):
        x = X[t]
        v = 0.0
        for i in range(d):
            total = 0.0
            for j in range(d):
                total += P[i, j] * x[j]
            v += total * x[i]
        for q in range(K):
            total = 0.0
            for j in range(d):
                total += W[q, j] * x[j]
            m[q] = total
        settle(m, 0.5 * max(v, 0.0), z, p, out[t], step)
