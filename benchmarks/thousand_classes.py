"""Auto among a thousand classes that nobody announced: time a row, loss and memory along the stream."""

import argparse
import resource
import time
from collections.abc import Sequence

import numpy as np

from aioli import ClassAuto

__all__ = ["main"]

LINES = 10  # that are printed


def main(arguments: Sequence[str] | None = None) -> None:
    """Print ten lines along a stream of normal rows around centres, whose classes have a long tail."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.thousand_classes", description=__doc__)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--chunk", type=int, default=1000, help="rows that come at once")
    options = parser.parse_args(arguments)
    rng = np.random.default_rng(0)
    centres = 1.5 * rng.normal(size=(options.classes, options.columns))
    shares = np.arange(1.0, options.classes + 1.0) ** -0.5
    learner = ClassAuto(classes="any")
    print("| rows | classes met | µs of processor time a row | nats a row | right | megabytes, at most |")
    print("|---|---|---|---|---|---|")
    before, spent, right = (0, 0.0), 0.0, 0
    for first in range(0, options.rows, options.chunk):
        y = rng.choice(options.classes, options.chunk, p=shares / shares.sum())
        X = centres[y] + rng.normal(size=(options.chunk, options.columns))
        begun = time.process_time()
        p = learner.learn_many(X, y)
        spent += time.process_time() - begun
        right += int(np.sum(np.array(learner.classes_)[p.argmax(axis=1)] == y))
        done = first + options.chunk
        if done * LINES // options.rows > first * LINES // options.rows:
            rows = done - before[0]
            most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            nats = (learner.loss - before[1]) / rows
            cells = f"{1e6 * spent / rows:.0f} | {nats:.3f} | {right / rows:.3f} | {most:.0f}"
            print(f"| {done} | {len(learner.classes_)} | {cells} |", flush=True)
            before, spent, right = (done, learner.loss), 0.0, 0


if __name__ == "__main__":
    main()
