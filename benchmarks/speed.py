"""aioli's speed beside its peers: one run, one process, one BLAS thread."""

import argparse
import os
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numba
import numpy as np

from benchmarks import blas_threads, forms, importing, peers, scaling, tickets
from benchmarks.streams import SEED
from benchmarks.table import Comparison, Table, as_markdown, as_text, comparison_table

__all__ = ["main"]


@dataclass(frozen=True)
class Effort:
    """How many rounds, and over how many rows, a run takes."""

    repeats: int
    heavy_repeats: int  # where one round takes a second
    share_of_rows: float


FULL = Effort(repeats=25, heavy_repeats=11, share_of_rows=1.0)
LATE_NOTE = (
    "late labels: ≥ 0.667× is within 1.5 times; learn_batch says all rows before the first label, then learns them; "
    "the same experts: both calls by a learner of late labels, as experts retire at other rows where labels are late; "
    "predict_many: ≥ 3× is a third of learn_many"
)
QUICK = Effort(repeats=7, heavy_repeats=3, share_of_rows=0.4)


def main() -> None:
    """Measure, print, and say how many goals were met; a miss is news, not a failure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds and rows: under a minute")
    late = "only what late labels and predictions cost, or one part of it"
    parser.add_argument("--late", nargs="?", const="all", choices=["all", *LATE], help=late)
    parser.add_argument("--out", type=Path, metavar="FILE.md", help="write the tables as Markdown too")
    options = parser.parse_args()
    begin = time.perf_counter()
    with blas_threads.blas_threads(1):
        conditions = "\n".join(f"- {line}" for line in _conditions())
        print(f"{conditions}\n")
        effort = QUICK if options.quick else FULL
        comparisons, notes = (
            _comparisons(effort) if options.late is None else (_late(effort, options.late), [LATE_NOTE, _load()])
        )
        tables = [comparison_table("Speed, side by side", comparisons, notes)]
        print(as_text(tables[0]), flush=True)
        for table in () if options.late else _tables(effort):
            print(as_text(table), flush=True)
            tables.append(table)
    verdict = _verdict(comparisons)
    print(f"{time.perf_counter() - begin:.0f} s. {verdict}")
    if options.out is not None:
        body = "\n".join(as_markdown(table) for table in tables)
        options.out.write_text(f"# Speed\n\n{conditions}\n\n{body}\n{verdict}\n", encoding="utf-8")


def _conditions() -> Iterator[str]:
    yield f"{platform.machine()}, {blas_threads.CORES} cores, Python {platform.python_version()}"
    yield f"NumPy {np.__version__}, Numba {numba.__version__}, " + ", ".join(
        f"{name} {version}" for name, version in peers.versions().items()
    )
    yield "BLAS threads pinned to 1, but where a line says otherwise: " + "; ".join(blas_threads.blas_libraries())
    yield f"synthetic rows: standard normal, a logistic label, seed {SEED}"
    yield "contenders take turns; ratio = median over the rounds of peer's time / aioli's, with its quartiles"


def _comparisons(effort: Effort) -> tuple[list[Comparison], list[str]]:
    found: list[Comparison] = []
    dict_costs: list[str] = []
    for width, rows in ((10, 5000), (50, 2000), (200, 1000)):
        lines, seconds = peers.compare_row_by_row(width, _rows(effort, rows), effort.repeats, aioli=8.0, auto=1.0)
        found += lines
        dict_costs.append(f"{1e6 * seconds:.2f} (d = {width})")
    for width, rows in ((10, 20_000), (50, 10_000)):
        found += peers.compare_bulk(width, _rows(effort, rows), effort.repeats, sgd=0.25, vw=8.0)
    for width, rows in ((10, 20_000), (50, 10_000), (200, 2000)):
        found.append(peers.compare_auto(width, _rows(effort, rows), effort.heavy_repeats, goal=1 / 12))
    found += _late(effort)
    found += forms.compare_blocks(1000, effort.repeats, faster=2.5, share=None)
    found += forms.compare_blocks(2000, effort.heavy_repeats, faster=3.5, share=0.6)
    found += [forms.compare_factored(width, effort.heavy_repeats) for width in (50, 200, 1000)]
    found += [blas_threads.compare_threads(width, effort.heavy_repeats) for width in (300, 1000)]
    return found, [
        f"River has dictionaries made beforehand; to make one of a NumPy row adds {', '.join(dict_costs)} µs",
        "scikit-learn only learns; aioli also says each row's probability before its label; ≥ 0.25× is within 4 times",
        "Vowpal Wabbit reads text of six digits: lines from Python, or a file, its parser then in a second thread and "
        "its start-up not counted",
        'Auto(budget="fast") plays eight learners: ≥ 0.083× is within 12 times',
        LATE_NOTE,
        f"the last two lines are why learn_many keeps BLAS to one thread ({blas_threads.CORES} cores, {_load()})",
    ]


def _late(effort: Effort, part: str = "all") -> list[Comparison]:
    parts = LATE if part == "all" else {part: LATE[part]}
    return [line for compare in parts.values() for line in compare(effort)]


def _tickets(effort: Effort) -> Iterator[Comparison]:
    for width, rows in ((10, 2000), (50, 1000)):
        yield from tickets.compare_tickets(width, _rows(effort, rows), effort.repeats, goal=1 / 1.5)


def _batches(effort: Effort) -> Iterator[Comparison]:
    for width, rows in ((10, 5000), (50, 2500)):
        yield from tickets.compare_batches(width, rows, effort.heavy_repeats, goal=1.0)


def _scoring(effort: Effort) -> Iterator[Comparison]:
    for width, rows in ((10, 5000), (50, 2500)):
        yield from tickets.compare_scoring(width, rows, effort.heavy_repeats, goal=3.0)


LATE: dict[str, Callable[[Effort], Iterator[Comparison]]] = {
    "tickets": _tickets,
    "batches": _batches,
    "scoring": _scoring,
}


def _tables(effort: Effort) -> Iterator[Table]:
    yield scaling.width_table((16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024), effort.heavy_repeats)
    yield scaling.rows_table(20, (1000, 3000, 10_000, 30_000, 100_000), effort.heavy_repeats)
    yield scaling.memory_table(500, (3000, 6000, 10_000, 20_000))
    yield importing.importing_table(effort.heavy_repeats)


def _rows(effort: Effort, rows: int) -> int:
    return int(effort.share_of_rows * rows)


def _load() -> str:
    """How busy the machine is, this run counted in; Windows does not say."""
    return f"load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "load unknown"


def _verdict(comparisons: list[Comparison]) -> str:
    verdicts = [each.met for each in comparisons if each.met is not None]
    return f"{verdicts.count(True)} goals met, {verdicts.count(False)} missed."


if __name__ == "__main__":
    main()
