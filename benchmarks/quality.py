"""aioli's predictions beside its peers': linear ones untuned and tuned in hindsight, forests, and batch models.

Every method says each row's probability before it sees the row's label, in file order; then once more with every label
500 rows late. Results are written as they come: a run that is stopped goes on where it was.
"""

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.methods import Method, choose_methods
from benchmarks.online_report import online_summary, online_tables
from benchmarks.progressive import Task, play_all
from benchmarks.promises import check_promises, promise_lines
from benchmarks.quality_plot import draw_quality
from benchmarks.quality_report import quality_table, summary
from benchmarks.real_streams import stream_sizes
from benchmarks.results import LATE, Result, append_result, keep_results, read_results

__all__ = ["main"]

FAST_ROWS, FAST_STREAMS = 2000, 8
SLOW = 1  # the first stage whose peers take milliseconds a row


def main(arguments: Sequence[str] | None = None) -> None:
    """Play what has not been played yet, then write table, summary and figure; a miss is news, not a failure."""
    options = _options(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    path: Path = options.out / "results.csv"
    methods = _methods(options)
    sizes = _sizes(options)
    redone = {method.name for method in methods} if options.redo else set()
    results = keep_results(path, lambda result: not options.fresh and _still_holds(result, sizes, redone))
    done = {(result.stream, result.method) for result in results}
    tasks = [
        Task(options.streams, stream, options.rows, method.name, options.peer_seconds, late)
        for late in (0, options.late)[: 2 if options.late else 1]
        for stage in sorted({method.stage for method in methods})
        for stream, rows in sizes.items()
        for method in methods
        if method.stage == stage and (stream, f"{method.name}{LATE}" if late else method.name) not in done
        if not late or (method.contend is not None and rows >= 2 * late)
    ]
    for count, result in enumerate(play_all(tasks, options.processes), 1):
        append_result(path, result)
        print(f"[{count}/{len(tasks)}] {_told(result)}", flush=True)
    promises = check_promises(options.streams, list(sizes), options.rows) if options.promises else []
    _report(read_results(path), promise_lines(promises), options.out)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    folder = os.environ.get("AIOLI_STREAMS")
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality",
        description=__doc__,
        epilog="Without a folder, the streams that scikit-learn and River ship with are played.",
    )
    parser.add_argument(
        "--streams",
        type=Path,
        default=folder and Path(folder),
        metavar="DIR",
        help="NAME.csv[.gz], NAME.svm[.gz]",
    )
    parser.add_argument("--out", type=Path, default=Path("quality"), metavar="DIR", help="where the results go")
    parser.add_argument("--rows", type=int, default=20_000, help="of each stream, from its beginning")
    parser.add_argument("--only", type=_names, default=[], metavar="NAME,…", help="streams, by name")
    parser.add_argument(
        "--methods",
        type=_names,
        default=[],
        metavar="NAME,…",
        help="by name, or by family: ours, untuned, tuned, trees, refitted",
    )
    parser.add_argument(
        "--redo", type=_names, default=[], metavar="NAME,…", help="methods to play again, and no others"
    )
    parser.add_argument("--fresh", action="store_true", help="forget all results that are there")
    parser.add_argument(
        "--fast", action="store_true", help="8 streams, 2000 rows, no peer that takes a millisecond a row"
    )
    parser.add_argument(
        "--no-promises", dest="promises", action="store_false", help="leave out units, origins and certificates"
    )
    parser.add_argument(
        "--late", type=int, default=0, metavar="ROWS", help="play again with every label so many rows late"
    )
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--peer-seconds", type=float, default=900.0, help="that a peer may take for a stream")
    options = parser.parse_args(arguments)
    if options.fast:
        options.rows = min(options.rows, FAST_ROWS)
    return options


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _methods(options: argparse.Namespace) -> list[Method]:
    chosen = choose_methods(options.redo or options.methods)
    if options.fast:
        chosen = [method for method in chosen if method.stage < SLOW]
    for method in chosen:
        if not method.available:
            print(f"{method.name}: left out, {method.needs} is not here", flush=True)
    return [method for method in chosen if method.available]


def _sizes(options: argparse.Namespace) -> dict[str, int]:
    """The streams to play, with their rows: evenly chosen ones where it must be fast."""
    sizes = stream_sizes(options.streams, options.only, options.rows)
    if options.fast and len(sizes) > FAST_STREAMS:
        every = len(sizes) / FAST_STREAMS
        picked = [list(sizes)[int(i * every)] for i in range(FAST_STREAMS)]
        sizes = {name: sizes[name] for name in picked}
    return sizes


def _still_holds(result: Result, sizes: dict[str, int], redone: set[str]) -> bool:
    """Whether a result from before answers what is asked now; those of streams not asked about are left alone."""
    if result.stream not in sizes:
        return True
    return result.rows == sizes[result.stream] and result.method.removesuffix(LATE) not in redone


def _told(result: Result) -> str:
    score = f"{result.log_loss:.5f} nats, ECE {result.ece:.4f}" if result.finished else "no score"
    note = f" ({result.note})" if result.note else ""
    return f"{result.stream} {result.method}: {score}, {result.seconds:.1f} s{note}"


def _report(results: list[Result], promises: list[str], out: Path) -> None:
    online = online_summary(results)
    lines = summary(results) + online + promises
    (out / "table.md").write_text(quality_table(results, summary(results) + promises), encoding="utf-8")
    told = "\n".join(f"- {line}" for line in online)
    (out / "online.md").write_text(f"{online_tables(results)}\n{told}\n", encoding="utf-8")
    if any(result.finished for result in results):
        draw_quality(results, out / "quality.png")
    print("\n".join(lines))


if __name__ == "__main__":
    begin = time.perf_counter()
    main()
    print(f"{time.perf_counter() - begin:.0f} s")
