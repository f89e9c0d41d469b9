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
from functools import partial
from typing import NoReturn

from aioli.commands.arguments import command_parser, playing_options, reading_of
from aioli.commands.ctrl_c import CtrlC

__all__ = ["console", "main"]

READER = "aioli-reader"  # the thread of `evaluate.read_ahead`


def console() -> NoReturn:
    """Run the command as a process of its own, with a quick start and exit; never returns.

    What is loaded at the start is no garbage, so nothing looks through it until the rows are played (`commands.run`).
    To take Numba down in order at the end takes time and brings nothing.
    """
    gc.disable()
    warnings.showwarning = lambda message, *_: print(f"aioli: {message}", file=sys.stderr)
    status = main(own_process=True)
    for out in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            out.flush()
    os._exit(status)


def main(arguments: Sequence[str] | None = None, *, own_process: bool = False) -> int:
    """Run the command and return its exit status; `own_process` says that it is all that this process does.

    0; 1 for an error, said in one sentence; 2 for wrong usage; 130 for Ctrl-C; 141 where nobody reads what it prints.
    """
    _open_closed_streams()
    for out in (sys.stdout, sys.stderr):
        if isinstance(out, io.TextIOWrapper):
            out.reconfigure(errors="backslashreplace")  # names in a file may hold what a terminal cannot show
    with CtrlC() as ctrl_c:
        status = _exit_status(arguments, ctrl_c, own_process)
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


def _exit_status(arguments: Sequence[str] | None, ctrl_c: CtrlC, own_process: bool) -> int:
    """Run the command and return its exit status; print an error to standard error."""
    status = 0
    try:
        given = command_parser().parse_args(arguments)
        given.line = shlex.join(["aioli", *(sys.argv[1:] if arguments is None else arguments)])
        if given.command is None:
            command_parser().print_help()
        else:
            status = _run(given, own_process)
        sys.stdout.flush()
    except BrokenPipeError:
        return _unheard(141)
    except (Exception, KeyboardInterrupt) as error:
        if ctrl_c.pressed() or isinstance(error, KeyboardInterrupt):
            print(_sentence(error, "interrupted"), file=sys.stderr)
            return _unheard(130)
        if not isinstance(error, (ValueError, OSError, ImportError, MemoryError)):
            raise  # a defect: its traceback is wanted
        print(_sentence(error), file=sys.stderr)
        return _unheard(1)
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
        return "a name or a text in the file is not UTF-8; say how it is encoded (--encoding), or convert the file"
    return str(error)


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


def _run(given: argparse.Namespace, own_process: bool) -> int:
    """Run a command and return its exit status; each loads what it needs, and --help nothing."""
    if given.command == "demo":
        from aioli import demo

        if given.figure is not None:
            demo.draw_digits(given.figure)
        else:
            return demo.run_demo(partial(main, own_process=own_process), given.folder)
    elif given.command == "run":
        _start_lightly()
        _announce_compiling()
        from aioli.commands.options import RunOptions
        from aioli.commands.run import run_stream

        run_stream(
            RunOptions(
                **playing_options(given),
                by=given.by,
                guests=given.guest,
                trust=given.trust,
                predictions=given.predictions,
                save=given.save,
                model=given.model,
                top=given.top,
                checkpoint=given.checkpoint,
                resume=given.resume,
                every=given.every,
                own_process=own_process,
            )
        )
    elif given.command == "compare":
        from aioli.commands.compare import compare_stream
        from aioli.commands.options import ComparisonOptions

        compare_stream(
            ComparisonOptions(
                **playing_options(given),
                peers=tuple(name for name in given.peers.split(",") if name),
                figure=given.figure,
            )
        )
    elif given.command == "predict":
        from aioli.commands.predict import predict_file

        predict_file(
            given.source, given.model, reading_of(given), given.out, given.json, given.top, given.explain, given.by
        )
    elif given.command == "inspect":
        from aioli.commands.inspect import inspect_model

        inspect_model(given.model, given.json, given.of)
    elif given.command == "serve":
        _start_lightly()
        _announce_compiling()
        from aioli.commands.serve_arguments import run_serve

        run_serve(given)
    elif given.command == "service":
        from aioli.commands.serve_arguments import run_service

        return run_service(given)
    elif given.command == "warm":
        from aioli.commands.warm import warm

        warm(partial(main, own_process=own_process))
    else:
        from aioli.paper import run_paper

        run_paper(given.out, given.fast, given.processes, given.only.split(",") if given.only else None)
    return 0
