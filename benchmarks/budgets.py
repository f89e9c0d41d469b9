"""What Auto's budgets cost where bending brings nothing: microseconds a row over a long linear stream.

`python -m benchmarks.budgets` plays 100,000 normal rows of 10 and 50 columns with logistic labels, by each in turn.
"""

import argparse
import time

import numpy as np

from aioli import Auto
from benchmarks.streams import normal_stream

__all__ = ["main"]

BUDGETS = ("fast", "usual")


def main() -> None:
    """Print a line a width."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.budgets", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    for width in (10, 50):
        X, y = normal_stream(options.rows, width)
        taken: dict[str, list[float]] = {budget: [] for budget in BUDGETS}
        for turn in range(options.repeats + 1):
            for budget in BUDGETS:
                learner = Auto(budget=budget)
                begin = time.process_time()
                learner.learn_many(X, y)
                if turn:  # the first compiles
                    taken[budget].append(1e6 * (time.process_time() - begin) / options.rows)
        told = ", ".join(f"{budget} {np.median(each):.1f} µs" for budget, each in taken.items())
        ratio = np.median(np.array(taken["usual"]) / np.array(taken["fast"]))
        print(f"{width} columns, {options.rows} rows, processor time a row: {told}; usual / fast {ratio:.2f}")


if __name__ == "__main__":
    main()
