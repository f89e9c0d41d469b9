"""The command: parse, call, print."""

import argparse
import sys
from collections.abc import Sequence

from aioli import __version__

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0, 1 for an error told in one sentence, 2 for wrong usage."""
    given = _parser().parse_args(arguments)
    if given.command is None:
        _parser().print_help()
        return 0
    try:
        _run(given)
    except (ValueError, OSError, ImportError) as error:
        print(f"aioli: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("aioli: interrupted", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="aioli",
        description="Online logistic regression with honest probabilities and a proven bound on the regret.",
    )
    parser.add_argument("--version", action="version", version=f"aioli {__version__}")
    commands = parser.add_subparsers(dest="command", title="commands", metavar="COMMAND")
    demo = commands.add_parser("demo", help="play a real stream row by row, and watch the loss and the certificate")
    demo.add_argument("--figure", metavar="FILE", help="also draw the run into this file (PNG, SVG or PDF)")
    run = commands.add_parser("run", help="play a synthetic stream by name: predict, score, learn")
    run.add_argument("source", metavar="synthetic:NAME", help="the stream; a wrong name lists them all")
    run.add_argument("--rows", type=int, default=10_000, metavar="N", help="how many rows (default: 10000)")
    run.add_argument("--seed", type=int, default=0, metavar="N", help="of the rows (default: 0)")
    run.add_argument("--learner", default="Auto", metavar="NAME", help="Auto (default), AIOLI, FTRL, Foster, …")
    run.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    paper = commands.add_parser("paper", help="the paper's figures, table and theorems, measured again")
    paper.add_argument("--out", metavar="DIR", default="paper", help="where figures and numbers go (default: ./paper)")
    paper.add_argument("--fast", action="store_true", help="smaller and fewer runs: under a minute")
    paper.add_argument("--processes", type=int, metavar="N", help="runs side by side (default: one a core)")
    paper.add_argument("--only", metavar="NAME,…", help="some of the experiments, by name")
    return parser


def _run(given: argparse.Namespace) -> None:
    """Each command loads what it needs, and --help nothing."""
    if given.command == "demo":
        from aioli.demo import run_demo

        run_demo(figure=given.figure)
    elif given.command == "run":
        from aioli.run import run_stream

        run_stream(given.source, given.rows, given.seed, given.learner, given.json)
    else:
        from aioli.paper import run_paper

        run_paper(given.out, given.fast, given.processes, given.only.split(",") if given.only else None)
