"""Takes turns: reads the name of a workload and how often to run it, a line each, and answers with its times."""

import gc
import json
import os
import sys
import time

from benchmarks.beside.workloads import WORKLOADS


def main() -> None:
    """Answer until nobody asks; what the workloads print goes to standard error."""
    answers, sys.stdout = sys.stdout, sys.stderr
    gc.disable()  # as timeit does: one workload's garbage must not be another's pause
    for line in sys.stdin:
        asked = json.loads(line)
        runs = [WORKLOADS[asked["workload"]]() for _ in range(asked["runs"])]
        gc.collect()
        begin = time.perf_counter(), _processor()
        for run in runs:
            run()
        took = time.perf_counter() - begin[0], _processor() - begin[1]
        print(json.dumps({"seconds": took[0], "processor": took[1]}), file=answers, flush=True)


def _processor() -> float:
    """Seconds that this process and those it has started and outlived have computed, on all cores together."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


if __name__ == "__main__":
    main()
