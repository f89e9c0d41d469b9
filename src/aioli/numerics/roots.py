"""The scalar equation of several rows at once: the steps of `root.solve`, taken by all rows together.

A row's root waits for one division after the other. Rows that climb side by side wait together, and what has no
exponential in it becomes vector instructions: half the time at 16 rows. Every number is the one that `solve` gives.
"""

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.root import MOST_STEPS, SHORT, carried, exponentials, start

__all__ = ["WORKSPACE", "solve_together"]

WORKSPACE = 3  # vectors as long as the rows are many


@compiled("void(f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1])", uncounted=True)
def climb(m: Vector, a: Vector, z: Vector, e: Vector, fall: Vector, small: Vector, step: Vector, going: Vector) -> None:
    """Take the next step of every row that is still going: z moves, `step` tells how far. O(1) a row.

    The operations are those of `solve`, in its order; choices are made by value, so that no row waits for a branch.
    """
    for i in range(m.size):
        sigma = 1.0 / (1.0 + e[i])
        slope = 1.0 + a[i] * (2.0 * e[i] * sigma * sigma)
        near = (m[i] - z[i]) + a[i] * (fall[i] * sigma)
        far = ((m[i] - a[i]) - z[i]) + a[i] * (2.0 * e[i] * sigma)
        length = (near if z[i] < small[i] else far) / slope
        bend = 0.5 * (1.0 - 1.0 / slope) * -(fall[i] * sigma)
        factor = a[i] if a[i] < 1.0 else 1.0
        last = length * length * length * factor <= 1e-16 * z[i]
        bent = length + bend * length * length
        taken = bent if last else length
        taken = taken if length > 0.0 else 0.0
        taken = taken if going[i] > 0.0 else 0.0
        step[i] = taken
        z[i] += taken
        on = 0.0 if last else going[i]
        going[i] = on if length > 0.0 else 0.0


@compiled("void(f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[:,::1])", uncounted=True)
def solve_together(m: Vector, a: Vector, z: Vector, e: Vector, fall: Vector, workspace: Matrix) -> None:
    r"""Write the roots z of rows with m, a ≥ 0, $e^{-z}$ and $e^{-z} - 1$, bit for bit as `solve`. O(1) a row."""
    rows = m.size
    small, step, going = workspace[0, :rows], workspace[1, :rows], workspace[2, :rows]
    for i in range(rows):
        z[i], small[i] = start(m[i], a[i])
        e[i], fall[i] = exponentials(z[i], small[i])
        going[i] = 1.0
    for _ in range(MOST_STEPS):
        climb(m, a, z, e, fall, small, step, going)
        left = 0.0
        for i in range(rows):
            if step[i] >= SHORT:
                e[i], fall[i] = exponentials(z[i], small[i])
            elif step[i] > 0.0:
                e[i], fall[i] = carried(e[i], fall[i], step[i])
            left += going[i]
        if left == 0.0:
            return
