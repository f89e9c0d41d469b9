r"""One round on a packed record: the round of `states.dense.fused`, number by number, with P's triangle left in place.

$k = Px$ wants the whole of P, in the order of sums of the library's own loop, so the triangle is unpacked; what the
round does to P, $P \leftarrow P - ss^\top$ and the drift back to the prior, is done to the triangle where it lies.
Nothing is packed again, and loops are written out that elsewhere are calls: copying back and calls were a third of what
a row of 10 columns cost.
"""

import math

from aioli.fleet.layout import HEAD, MODEL_HEAD, TALLY
from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.outcomes.spec import Rule
from aioli.outcomes.two_classes import count_round, keeps_its_digits, play_round
from aioli.states.dense import fused

__all__ = ["play_packed_row"]

multiply = fused.multiply


@compiled("f8(f8[::1],i8,f8[:,::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8,f8,f8)", reassociate=True)
def play_packed_row(
    numbers: Vector,
    begin: int,
    P: Matrix,
    w: Vector,
    tally: Vector,
    rules: Vector,
    x: Vector,
    k: Vector,
    s: Vector,
    y: float,
    weight: float,
    logit: float,
) -> float:
    """Play a row by the first model of the record that begins at a place; return the log-odds announced. O(d²).

    NaN means that the row would cost P too many digits, and that nothing has been changed.
    """
    width = x.size
    first = begin + HEAD
    centre = first + MODEL_HEAD
    triangle = centre + width
    at = triangle
    for i in range(width):
        w[i] = numbers[centre + i]
        for j in range(i + 1):
            entry = numbers[at + j]
            P[i, j] = entry
            P[j, i] = entry
        at += i + 1
    spread = multiply(P, x, k)
    v = 0.0
    m = 0.0
    norm2 = 0.0
    for i in range(width):
        v += x[i] * k[i]
        m += x[i] * w[i]
        norm2 += x[i] * x[i]
    norm = math.sqrt(norm2)
    z, gamma, alpha, inst, loss, v_after = play_round(rules, m, v, norm, y, weight, logit)
    rho = rules[Rule.FORGETTING]
    if rho == 1.0 and not keeps_its_digits(spread, v_after):
        return math.nan
    root_gamma = math.sqrt(gamma)
    for i in range(width):
        s[i] = root_gamma * k[i]
        numbers[centre + i] = w[i] + alpha * k[i]
    at = triangle
    for i in range(width):
        si = s[i]
        for j in range(i + 1):
            numbers[at + j] -= si * s[j]
        at += i + 1
    if rho < 1.0:
        at = triangle
        back = (1.0 - rho) / rules[Rule.RIDGE]
        for i in range(width):
            for j in range(i + 1):
                numbers[at + j] *= rho
            numbers[at + i] += back
            at += i + 1
    for i in range(TALLY):
        tally[i] = numbers[first + i]
    count_round(tally, weight, loss, inst, norm, logit)
    for i in range(TALLY):
        numbers[first + i] = tally[i]
    return z
