r"""Turns the formulas of docstrings, written between dollars, into reStructuredText.

>>> as_rst(["Return $e^{-z}$ at once."])
['Return :math:`e^{-z}` at once.']
>>> as_rst(["$$z + a = m,", "  v = 1$$"])
['', '.. math::', '', '    z + a = m,', '      v = 1', '']
"""

import re

__all__ = ["as_rst"]

INLINE = re.compile(r"(?<![\w$\\`])\$(?=[^\s$])([^$\n]+?)(?<=[^\s\\$])\$(?![\d$])")


def as_rst(lines: list[str]) -> list[str]:
    """Return the lines of a docstring with its formulas as reStructuredText; code examples stay as they are."""
    result: list[str] = []
    formula: list[str] | None = None
    for line in lines:
        text = line.strip()
        indent = line[: len(line) - len(line.lstrip())]
        if formula is None and text.startswith("$$"):
            formula = []
            result += ["", f"{indent}.. math::", ""]
            line = indent + text[2:]
        if formula is not None:
            ended = line.rstrip().endswith("$$")
            formula.append(f"    {line.rstrip().removesuffix('$$')}")
            if ended:
                result += [*formula, ""]
                formula = None
        elif text.startswith((">>>", "...")):
            result.append(line)
        else:
            result.append(INLINE.sub(r":math:`\1`", line))
    return result
