r"""The sequential part of a block: rows that are known only by their inner products, played in turn.

$H = XPX^\top$ and $m = Xw$ are all that b rows need of the state. Row j answers its label and takes its rank-one
downdate out of the rows behind it, $H_{i\cdot} \leftarrow H_{i\cdot} - \gamma_j H_{ij} H_{j\cdot}$ and
$m_i \leftarrow m_i + \alpha_j H_{ij}$. What the block does to the state is linear in $K = XP$: row i of K at its own
turn is $k_i - \sum_{j<i} \gamma_j H_{ij} k_j$, a unit triangular system.
"""

import math

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.outcomes.two_classes import count_round, keeps_its_digits, play_round

__all__ = ["play_square", "rows_at_their_turns", "square_effect"]


@compiled(
    "b1(f8[:,::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1])",
    reassociate=True,
)
def play_square(
    H: Matrix,
    m: Vector,
    rules: Vector,
    norms: Vector,
    spreads: Vector,
    y: Vector,
    weights: Vector,
    logits: Vector,
    gamma: Vector,
    alpha: Vector,
    tally: Vector,
) -> bool:
    """Play b rows knowing only their inner products; column j of H keeps its values of turn j. O(b²) a row."""
    for j in range(m.size):
        v = H[j, j]
        z, gamma[j], alpha[j], inst, loss, v_after = play_round(rules, m[j], v, norms[j], y[j], weights[j], logits[j])
        if not keeps_its_digits(max(spreads[j], v), v_after):
            return False
        for i in range(j + 1, m.size):
            taken = gamma[j] * H[i, j]
            m[i] += alpha[j] * H[i, j]
            for q in range(j + 1, i + 1):
                H[i, q] -= taken * H[q, j]
        count_round(tally, weights[j], loss, inst, norms[j], logits[j])
        logits[j] = z
    return True


@compiled("void(f8[:,::1],f8[::1],f8[:,::1])", reassociate=True)
def rows_at_their_turns(H: Matrix, gamma: Vector, effect: Matrix) -> None:
    r"""Write $T = (I + \mathrm{tril}(H\Gamma, -1))^{-1}$ into the first b rows of `effect`, and 0 below. O(b²) a row.

    $TK$ are the rows of K, each at its own turn.
    """
    effect[:] = 0.0
    for i in range(gamma.size):
        effect[i, i] = 1.0
        for j in range(i):
            taken = gamma[j] * H[i, j]
            for q in range(j + 1):
                effect[i, q] -= taken * effect[j, q]


@compiled("void(f8[:,::1],f8[::1],f8[::1],f8[:,::1])", reassociate=True)
def square_effect(H: Matrix, gamma: Vector, alpha: Vector, effect: Matrix) -> None:
    r"""Compute $[\sqrt\Gamma T; \alpha^\top T]$ of a square that was played. O(b²) a row.

    T is that of `rows_at_their_turns`: $\sqrt\Gamma TK$ is the factor of the downdate, and the last row, times K, is
    the step of w.
    """
    b = gamma.size
    rows_at_their_turns(H, gamma, effect)
    for i in range(b):
        root = math.sqrt(gamma[i])
        for q in range(i + 1):
            effect[b, q] += alpha[i] * effect[i, q]
            effect[i, q] *= root
