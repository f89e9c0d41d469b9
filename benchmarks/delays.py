"""Labels that come late: aioli's predictions beside its peers' and the base rate, at delays of up to 2,000 rows.

Every row's probability is announced when the row comes, and its label is learned later: after its batch, or once so
many further rows have been announced. Results are written as they come: a run that is stopped goes on where it was.
"""

import argparse
import importlib.util
import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from aioli.numerics.compiling import Vector
from benchmarks.delays_plot import draw_delays
from benchmarks.delays_report import BASE_RATE, BEST_EXPERT, delays_report, summary
from benchmarks.late_contenders import CLIP, CONTENDERS, SLOW, Tickets, base_rate, best_expert
from benchmarks.late_labels import DELAYS, Delay, OutOfTimeError, Stream, delays_of, play_late
from benchmarks.progressive import in_processes, one_thread
from benchmarks.real_streams import load_stream, stream_sizes
from benchmarks.results import Result, append_result, keep_results, read_results
from benchmarks.scores import calibration_error, log_loss

__all__ = ["Task", "main", "play"]


@dataclass(frozen=True)
class Task:
    """A stream to be played by a method at a delay; one that takes longer than its seconds has no score."""

    folder: Path | None
    stream: str
    rows: int
    method: str
    delay: Delay
    seconds: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Play what has not been played yet, then write table, summary and figure; a miss is news, not a failure."""
    options = _options(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    path: Path = options.out / "results.csv"
    methods = _methods(options.redo or options.methods, options.slow)
    sizes = stream_sizes(options.streams, options.only, options.rows)
    redone = {part for method in (methods if options.redo else []) for part in _parts(method)}
    results = keep_results(path, lambda result: not options.fresh and _still_holds(result, sizes, redone))
    done = {(result.stream, result.method) for result in results}
    tasks = [
        Task(options.streams, stream, options.rows, method, delay, options.seconds)
        for group in ([m for m in methods if m not in SLOW], [m for m in methods if m in SLOW])
        for stream, n in sizes.items()
        for method in group
        for delay in delays_of(n, options.delays)
        if delay.mode in ("in time", *options.modes)
        and any((stream, f"{part}/{delay}") not in done for part in _parts(method))
    ]
    for count, found in enumerate(in_processes(play, tasks, options.processes), 1):
        for result in found:
            append_result(path, result)
            print(f"[{count}/{len(tasks)}] {_told(result)}", flush=True)
    _report(read_results(path), options.out)


def play(task: Task) -> list[Result]:
    """Play one stream with one method at one delay, and score it; Auto's best expert is scored beside it."""
    stream = _stream(task.folder, task.stream, task.rows)
    begin = time.perf_counter()
    scored: list[tuple[str, float, float, str]] = []
    try:
        with one_thread():
            scored = _scored(task, stream)
    except Exception as error:  # a method that fails is news for the table, not the end of a long run
        told = str(error) if isinstance(error, OutOfTimeError) else f"failed: {type(error).__name__}: {error}"
        scored = [(part, math.nan, math.nan, told.splitlines()[0]) for part in _parts(task.method)]
    seconds = round(time.perf_counter() - begin, 3)
    return [
        Result(task.stream, len(stream), stream.X.shape[1], f"{name}/{task.delay}", loss, ece, seconds, note)
        for name, loss, ece, note in scored
    ]


def _scored(task: Task, stream: Stream) -> list[tuple[str, float, float, str]]:
    y = stream.y
    if task.method == BASE_RATE:
        return [_score(BASE_RATE, base_rate(y, task.delay), y)]
    contender = CONTENDERS[task.method].make(stream)
    try:
        p = play_late(contender, len(stream), task.delay, task.seconds)
    finally:
        contender.close()
    found = [_score(task.method, p, y)]
    if isinstance(contender, Tickets) and task.method == "auto":
        said, name = best_expert(contender, y)
        found.append(_score(BEST_EXPERT, said, y, name))
    return found


def _score(name: str, p: Vector, y: Vector, note: str = "") -> tuple[str, float, float, str]:
    return name, log_loss(p, y, CLIP), calibration_error(p, y), note


@lru_cache(maxsize=1)
def _stream(folder: Path | None, name: str, rows: int) -> Stream:
    return Stream(*load_stream(folder, name, rows))


def _parts(method: str) -> list[str]:
    """Return the names of the results that a method's play gives."""
    return [method, BEST_EXPERT] if method == "auto" else [method]


def _methods(wanted: Sequence[str], slow: bool) -> list[str]:
    """Return the methods of these names, or all, those that are here."""
    every = ["auto", BASE_RATE, *(name for name in CONTENDERS if name != "auto")]
    if unknown := sorted(set(wanted) - set(every)):
        raise SystemExit(f"no method is called {', '.join(unknown)}; there are {', '.join(every)}")
    chosen = [name for name in every if name in wanted or (not wanted and (slow or name not in SLOW))]
    here = [name for name in chosen if name == BASE_RATE or importlib.util.find_spec(CONTENDERS[name].needs)]
    for name in sorted(set(chosen) - set(here)):
        print(f"{name}: left out, {CONTENDERS[name].needs} is not here", flush=True)
    return here


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    folder = os.environ.get("AIOLI_STREAMS")
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.delays",
        description=__doc__,
        epilog="Without a folder, the streams that scikit-learn and River ship with are played.",
    )
    parser.add_argument(
        "--streams", type=Path, default=folder and Path(folder), metavar="DIR", help="NAME.csv[.gz], NAME.svm[.gz]"
    )
    parser.add_argument("--out", type=Path, default=Path("delays"), metavar="DIR", help="where the results go")
    parser.add_argument("--rows", type=int, default=10_000, help="of each stream, from its beginning")
    parser.add_argument("--only", type=_names, default=[], metavar="NAME,…", help="streams, by name")
    parser.add_argument("--methods", type=_names, default=[], metavar="NAME,…", help="by name; all but the slow ones")
    parser.add_argument("--redo", type=_names, default=[], metavar="NAME,…", help="methods to play again, no others")
    parser.add_argument("--delays", type=_numbers, default=DELAYS, metavar="ROWS,…", help="0,10,100,500,2000")
    parser.add_argument(
        "--modes", type=_names, default=["batches", "sliding"], metavar="MODE,…", help="batches,sliding"
    )
    parser.add_argument("--slow", action="store_true", help="River's adaptive tree and forest too: milliseconds a row")
    parser.add_argument("--fresh", action="store_true", help="forget all results that are there")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=900.0, help="that a method may take for a stream and delay")
    return parser.parse_args(arguments)


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in _names(text))


def _still_holds(result: Result, sizes: dict[str, int], redone: set[str]) -> bool:
    """Whether a result from before answers what is asked now; those of streams not asked about are left alone."""
    if result.stream not in sizes:
        return True
    return result.rows == sizes[result.stream] and result.method.partition("/")[0] not in redone


def _told(result: Result) -> str:
    score = f"{result.log_loss:.5f} nats" if result.finished else "no score"
    note = f" ({result.note})" if result.note else ""
    return f"{result.stream} {result.method}: {score}, {result.seconds:.1f} s{note}"


def _report(results: list[Result], out: Path) -> None:
    (out / "delays.md").write_text(delays_report(results), encoding="utf-8")
    if any(result.finished for result in results):
        draw_delays(results, out / "late.png")
    print("\n".join(summary(results)))


if __name__ == "__main__":
    begin = time.perf_counter()
    main()
    print(f"{time.perf_counter() - begin:.0f} s")
