"""The command: parse, call, print."""

import argparse
import contextlib
import errno
import gc
import importlib
import io
import os
import shlex
import sys
import threading
import warnings
from collections.abc import MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from aioli import __version__

if TYPE_CHECKING:
    from aioli.streams.filestream import Reading

__all__ = ["console", "main"]

READER = "aioli-reader"  # the thread of `evaluate.read_ahead`


def console() -> NoReturn:
    """Run the command as a process of its own, with a quick start and exit; never returns.

    What is loaded at the start is no garbage, so nothing looks through it until the rows are played (`commands.run`).
    To take Numba down in order at the end takes time and brings nothing.
    """
    gc.disable()
    warnings.showwarning = lambda message, *_: print(f"aioli: {message}", file=sys.stderr)
    status = main()
    for out in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            out.flush()
    os._exit(status)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    0; 1 for an error, said in one sentence; 2 for wrong usage; 130 for Ctrl-C; 141 where nobody reads what it prints.
    """
    _open_closed_streams()
    for out in (sys.stdout, sys.stderr):
        if isinstance(out, io.TextIOWrapper):
            out.reconfigure(errors="backslashreplace")  # names in a file may hold what a terminal cannot show
    given = _parser().parse_args(arguments)
    given.line = shlex.join(["aioli", *(sys.argv[1:] if arguments is None else arguments)])
    status = _exit_status(given)
    if any(thread.name == READER for thread in threading.enumerate()):
        # It waits for input that may never come, and holds standard input, without which Python cannot end in order.
        sys.stderr.flush()
        os._exit(status)
    return status


def _open_closed_streams() -> None:
    """Give a process whose standard streams are closed empty ones: else a file would be opened in their place."""
    if sys.stdin is not None and sys.stdout is not None and sys.stderr is not None:
        return
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(handle)
    sys.stdin = sys.stdin or os.fdopen(0, "r")
    sys.stdout = sys.stdout or os.fdopen(1, "w")
    sys.stderr = sys.stderr or os.fdopen(2, "w")


def _exit_status(given: argparse.Namespace) -> int:
    """Run the command and return its exit status; print an error to standard error."""
    status = 0
    try:
        if given.command is None:
            _parser().print_help()
        else:
            status = _run(given)
        sys.stdout.flush()
    except BrokenPipeError:
        return _unheard(141)
    except (ValueError, OSError, ImportError, MemoryError) as error:
        print(_sentence(error), file=sys.stderr)
        return _unheard(1)
    except KeyboardInterrupt as error:
        print(_sentence(error, "interrupted"), file=sys.stderr)
        return _unheard(130)
    return status


def _unheard(status: int) -> int:
    """Return the status; output that cannot be written is discarded, or Python would report it on exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return status


def _sentence(error: BaseException, said: str | None = None) -> str:
    """Return the error as one line, its notes in brackets: what was saved or kept all the same."""
    kept = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
    return f"aioli: {said or _describe(error)}{kept}".replace("\n", " ")


def _describe(error: BaseException) -> str:
    """Return what went wrong; what the system refused is said in the system's words."""
    if isinstance(error, MemoryError):
        return f"there is not enough memory ({error or 'for what was asked'}); take fewer columns, or another learner"
    if isinstance(error, OSError) and error.errno is not None:  # which the system has put in its own words
        what = (error.strerror or os.strerror(error.errno)).lower()
        hint = "; make room, and run it again" if error.errno == errno.ENOSPC else ""
        return f"{error.filename or 'standard output'}: {what}{hint}"
    if isinstance(error, UnicodeError):
        return "a name or a text in the file is not UTF-8; convert the file, or mend it"
    return str(error)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="aioli",
        description="Online logistic regression with honest probabilities and a proven bound on the regret.",
    )
    parser.add_argument("--version", action="version", version=f"aioli {__version__}")
    commands = parser.add_subparsers(dest="command", title="commands", metavar="COMMAND")
    demo = commands.add_parser("demo", help="the whole job on a real table: learn it, see the page, score a new row")
    demo.add_argument("--folder", default="demo", metavar="DIR", help="where its files go (default: ./demo)")
    demo.add_argument(
        "--figure", metavar="FILE", help="instead, play handwritten digits and draw regret, certificate and theorem"
    )
    _add_run(commands)
    _add_compare(commands)
    predict = commands.add_parser("predict", help="the probabilities of new rows, from a saved model")
    predict.add_argument("source", metavar="FILE", help="a file, a folder, or - for standard input")
    predict.add_argument("--model", required=True, metavar="MODEL", help="what aioli run --save wrote")
    predict.add_argument("--out", metavar="FILE", help="where to (.parquet, .csv, .jsonl); default: print them")
    _add_top(predict)
    predict.add_argument("--json", action="store_true", help="print the summary as one JSON object")
    predict.add_argument(
        "--explain",
        type=int,
        nargs="?",
        const=5,
        default=0,
        metavar="N",
        help="print beside a row what its columns add",
    )
    _add_reading(predict)
    look = commands.add_parser("inspect", help="what a saved model knows")
    look.add_argument("model", metavar="MODEL", help="what aioli run --save, or a learner's save(), wrote")
    look.add_argument("--json", action="store_true", help="print one JSON object")
    commands.add_parser("warm", help="compile now what the first run on this machine would compile")
    paper = commands.add_parser("paper", help="the paper's figures, table and theorems, measured again")
    paper.add_argument("--out", metavar="DIR", default="paper", help="where figures and numbers go (default: ./paper)")
    paper.add_argument("--fast", action="store_true", help="smaller and fewer runs: under a minute")
    paper.add_argument("--processes", type=int, metavar="N", help="runs side by side (default: one a core)")
    paper.add_argument("--only", metavar="NAME,…", help="some of the experiments, by name")
    return parser


def _add_run(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    run = commands.add_parser("run", help="play a file as a stream: predict, score, learn, row by row")
    _add_playing(run)
    second = run.add_argument_group("labels in a second file")
    second.add_argument("--labels", metavar="FILE", help="a file of labels; --label is then one of its columns")
    second.add_argument("--key", metavar="COLUMN", help="the column of both files that says which label is which row's")
    results = run.add_argument_group("results")
    results.add_argument("--predictions", metavar="FILE", help="write every row's probability (.parquet, .csv, .jsonl)")
    _add_top(results)
    results.add_argument("--save", metavar="MODEL", help="write what was learned, for aioli predict and inspect")
    results.add_argument("--model", metavar="MODEL", help="go on from what an earlier run saved, with its columns")
    results.add_argument("--report", metavar="PAGE", help="write a page of plots (.html)")
    results.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    keeping = run.add_argument_group("being killed, and going on")
    keeping.add_argument("--checkpoint", metavar="DIR", help="keep the state of the run in this folder")
    keeping.add_argument(
        "--every", type=float, default=10.0, metavar="S", help="seconds between checkpoints (default: 10)"
    )
    keeping.add_argument("--resume", action="store_true", help="go on from the folder's checkpoint, if it has one")


def _add_compare(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    compare = commands.add_parser("compare", help="the same pass with River, Vowpal Wabbit and scikit-learn beside it")
    _add_playing(compare).add_argument(
        "--peers", default="river,vw,sklearn", metavar="NAME,…", help="who plays too (default: river,vw,sklearn)"
    )
    results = compare.add_argument_group("results")
    results.add_argument("--report", metavar="PAGE", help="write a page of plots (.html)")
    results.add_argument("--figure", metavar="FILE", help="draw everybody's running loss (.png, .svg, .pdf)")
    results.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def _add_playing(command: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add source and learner options; return the learner group."""
    command.add_argument("source", metavar="FILE", help="a file, a folder, - for standard input, or synthetic:NAME")
    _add_reading(command)
    learning = command.add_argument_group("learning")
    learning.add_argument(
        "--learner", default="Auto", metavar="NAME", help="Auto (default), AIOLI, 'AIOLI(radius=2)', …"
    )
    learning.add_argument(
        "--rows", type=int, default=10_000, metavar="N", help="of a synthetic stream (default: 10000)"
    )
    learning.add_argument("--seed", type=int, default=0, metavar="N", help="of a synthetic stream (default: 0)")
    learning.add_argument(
        "--classes",
        metavar="any",
        help="of labels: any, all of them (a,b,c), or two (default: two, and more if they come)",
    )
    learning.add_argument("--no-regret", action="store_true", help="do not look for the best fixed model in hindsight")
    late = command.add_argument_group("labels that come late")
    late.add_argument(
        "--delay", metavar="N", help="labels come N rows late (500), or so long after the row (90s, 30m, 12h, 7d)"
    )
    late.add_argument("--time", metavar="COLUMN", help="when a row came: dates, or seconds; for a --delay in time")
    late.add_argument("--batch", type=int, metavar="N", help="the labels of N rows come together, after the last")
    return learning


def _add_top(command: argparse._ActionsContainer) -> None:
    """Add the option of how many classes are written for each row."""
    command.add_argument(
        "--top", type=int, metavar="N", help="write the N likeliest classes of each row, a line each, not a column each"
    )


def _add_reading(command: argparse.ArgumentParser) -> None:
    """Add the options of how a file is read: the same for every command that reads one."""
    reading = command.add_argument_group("reading")
    reading.add_argument("--label", metavar="COLUMN", help="the label's column: its name, or number (1 first, -1 last)")
    reading.add_argument(
        "--positive", metavar="VALUE", help="which label is the positive class (default: 1, true, yes, …)"
    )
    for kind in ("number", "category", "date", "text", "skip"):
        text = "leave out these columns" if kind == "skip" else f"read these columns as {kind}s".replace("ys", "ies")
        reading.add_argument(f"--{kind}", action="append", default=[], metavar="COLUMN", help=text)
    reading.add_argument(
        "--columns", type=int, metavar="N", help="of their own for categories (default: 256), or for sparse features"
    )
    reading.add_argument(
        "--scale", action="store_true", help="bring columns to one scale as they come (Auto does it itself)"
    )
    reading.add_argument("--format", metavar="NAME", help="csv, tsv, parquet, arrow, jsonl, svmlight or vw")
    reading.add_argument("--delimiter", metavar="C", help="between cells (default: the one that the first line shows)")
    reading.add_argument("--no-header", action="store_true", help="the first row is no header; columns are 1, 2, 3, …")


def _reading(given: argparse.Namespace, time: str | None = None) -> "Reading":
    from aioli.streams.filestream import Reading

    return Reading(
        label=given.label,
        positive=given.positive,
        number=tuple(given.number),
        category=tuple(given.category),
        date=tuple(given.date),
        text=tuple(given.text),
        skip=tuple(given.skip),
        cap=given.columns,
        scale=given.scale,
        format=given.format,
        delimiter=given.delimiter,
        header=not given.no_header,
        time=time,
    )


def _playing(given: argparse.Namespace) -> dict[str, Any]:
    """Return the options of both `aioli run` and `aioli compare`, as `commands.options` names them."""
    same = ("source", "learner", "rows", "seed", "delay", "batch", "report")
    classes = given.classes if given.classes in (None, "any", "two") else tuple(given.classes.split(","))
    return {name: vars(given)[name] for name in same} | {
        "reading": _reading(given, given.time),
        "classes": classes,
        "as_json": given.json,
        "regret": not given.no_regret,
        "command": given.line,
    }


def _start_lightly() -> None:
    """Import Numba without SciPy's BLAS, which no compiled function here calls: the command starts sooner.

    Only the command does so: in a process of others, their code may want Numba with BLAS.
    """
    asked, asking = "scipy.linalg.cython_blas", "numba.np.arraymath"
    if asked not in sys.modules and asking not in sys.modules:
        modules: MutableMapping[str, object] = vars(sys)["modules"]
        modules[asked] = None  # to import it fails
        try:
            importlib.import_module(asking)
        finally:
            del modules[asked]


def _announce_compiling() -> None:
    """Say on a terminal that compiling takes a while, where the first function is not in the cache."""
    from aioli.numerics import compiling

    if sys.stderr.isatty():
        said = "compiling for this machine, once; `aioli warm` does it beforehand …"
        compiling.announce = lambda: print(said, file=sys.stderr, flush=True)


def _run(given: argparse.Namespace) -> int:
    """Run a command and return its exit status; each loads what it needs, and --help nothing."""
    if given.command == "demo":
        from aioli import demo

        if given.figure is not None:
            demo.draw_digits(given.figure)
        else:
            return demo.run_demo(main, given.folder)
    elif given.command == "run":
        _start_lightly()
        _announce_compiling()
        from aioli.commands.options import RunOptions
        from aioli.commands.run import run_stream

        run_stream(
            RunOptions(
                **_playing(given),
                labels=given.labels,
                key=given.key,
                predictions=given.predictions,
                save=given.save,
                model=given.model,
                top=given.top,
                checkpoint=given.checkpoint,
                resume=given.resume,
                every=given.every,
            )
        )
    elif given.command == "compare":
        from aioli.commands.compare import compare_stream
        from aioli.commands.options import ComparisonOptions

        compare_stream(
            ComparisonOptions(
                **_playing(given),
                peers=tuple(name for name in given.peers.split(",") if name),
                figure=given.figure,
            )
        )
    elif given.command == "predict":
        from aioli.commands.predict import predict_file

        predict_file(given.source, given.model, _reading(given), given.out, given.json, given.top, given.explain)
    elif given.command == "inspect":
        from aioli.commands.inspect import inspect_model

        inspect_model(given.model, given.json)
    elif given.command == "warm":
        from aioli.commands.warm import warm

        warm(main)
    else:
        from aioli.paper import run_paper

        run_paper(given.out, given.fast, given.processes, given.only.split(",") if given.only else None)
    return 0
