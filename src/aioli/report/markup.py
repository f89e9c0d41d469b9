"""Markup, which is made here alone: the type checker tells it from text, so that no text goes unescaped."""

import re
from html import escape
from typing import NewType

__all__ = ["Markup", "join", "number", "short", "tag", "text"]

Markup = NewType("Markup", str)

# Controls and halves of surrogate pairs, which no document may hold, and marks that turn the direction of the text
# around them: a column's name must not rearrange the page.
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def text(raw: str) -> Markup:
    """Return anybody's text as markup: what it says is shown, and nothing of it runs.

    >>> text("<script>")
    '&lt;script&gt;'
    """
    return Markup(escape(UNPRINTABLE.sub("\ufffd", raw)))


def short(name: str, length: int = 60) -> str:
    """Return a name of at most so many characters; of a longer one both ends are kept, either may tell it apart."""
    if len(name) <= length:
        return name
    tail = length // 3
    return f"{name[: length - tail - 1]}…{name[-tail:]}"


def number(value: float) -> str:
    """Return a length in a drawing as text, to a tenth: finer than any eye.

    >>> number(12.04), number(-0.01)
    ('12', '0')
    """
    return f"{round(value, 1) + 0.0:g}" if abs(value) < 1e5 else f"{value:.0f}"


def tag(name: str, *children: Markup, **attributes: str | float | None) -> Markup:
    """Return an element; attributes are escaped, `class_` is class, `stroke_width` stroke-width, None is left out.

    >>> tag("p", text("a < b"), class_="reading", id=None)
    '<p class="reading">a &lt; b</p>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value) if isinstance(value, str) else number(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{given}>{''.join(children)}</{name}>")


def join(*parts: Markup | None) -> Markup:
    """Return the parts that there are, one after the other."""
    return Markup("\n".join(part for part in parts if part))
