"""The command: parse, call, print."""

import argparse
import sys
from collections.abc import Sequence

from aioli import __version__

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0, 1 for an error that is told in one sentence, 2 for wrong usage."""
    parser = argparse.ArgumentParser(
        prog="aioli",
        description="Online logistic regression with honest probabilities and a proven bound on the regret.",
    )
    parser.add_argument("--version", action="version", version=f"aioli {__version__}")
    commands = parser.add_subparsers(dest="command", title="commands", metavar="COMMAND")
    demo = commands.add_parser("demo", help="play a real stream row by row, and watch the loss and the certificate")
    demo.add_argument("--figure", metavar="FILE", help="also draw the run into this file (PNG, SVG or PDF)")
    given = parser.parse_args(arguments)
    if given.command is None:
        parser.print_help()
        return 0
    try:
        from aioli.demo import run_demo  # each command loads what it needs, and --help nothing

        run_demo(figure=given.figure)
    except (ValueError, OSError, ImportError) as error:
        print(f"aioli: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("aioli: interrupted", file=sys.stderr)
        return 130
    return 0
