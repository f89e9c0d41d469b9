"""Writes the page with the help of the command, as argparse prints it."""

import argparse
import os
from pathlib import Path

from public_names import write_if_changed

from aioli.commands.arguments import command_parser

__all__ = ["write_command_page"]

OPENING = """Help of the command
===================

What ``aioli --help`` and ``aioli COMMAND --help`` print. :doc:`/command` says what each is for, with examples.
"""


def write_command_page(path: Path) -> None:
    """Write the help of the command and of each of its subcommands."""
    os.environ["COLUMNS"] = "100"  # the width that argparse wraps at
    os.environ["NO_COLOR"] = "1"
    parser = command_parser()
    parser.prog = "aioli"
    (subcommands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    sections = [_section("aioli", parser.format_help())]
    for name, subparser in subcommands.choices.items():
        subparser.prog = f"aioli {name}"
        sections.append(_section(f"aioli {name}", subparser.format_help()))
    write_if_changed(path, OPENING + "".join(sections))


def _section(title: str, text: str) -> str:
    indented = "\n".join(f"   {line}".rstrip() for line in text.splitlines())
    return f"\n{title}\n{'-' * len(title)}\n\n.. code-block:: text\n\n{indented}\n"
