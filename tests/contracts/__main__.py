"""The table of learners and properties: ✓ holds, ✗ does not, – is not promised."""

import sys
from collections.abc import Callable, Sequence
from functools import partial

import pytest

from contracts import CLASS_PROPERTIES, CLASS_SUBJECTS, PROPERTIES, SUBJECTS

Row = tuple[
    str, Sequence[Callable[[], None] | None]
]  # a learner's name, and a check for each property that it promises


def main() -> int:
    """Print both tables, of two classes and of many, and what each property says; return 1 where one does not hold."""
    two = [(s.name, [partial(p.check, s) if p.concerns(s) else None for p in PROPERTIES]) for s in SUBJECTS]
    many = [
        (s.name, [partial(p.check, s) if s.promises(*p.needs) else None for p in CLASS_PROPERTIES])
        for s in CLASS_SUBJECTS
    ]
    failures = table({p.name: p.says for p in PROPERTIES}, two)
    failures += table({p.name: p.says for p in CLASS_PROPERTIES}, many)
    print(*failures, sep="\n")
    return bool(failures)


def table(properties: dict[str, str], rows: Sequence[Row]) -> list[str]:
    """Print the table of learners and properties; return what does not hold."""
    margin = max(len(name) for name, _ in rows) + 2
    print(" " * margin + " ".join(properties))
    failures = []
    for name, checks in rows:
        marks = []
        for promised, check in zip(properties, checks, strict=True):
            mark = "–"
            if check is not None:
                try:
                    check()
                    mark = "✓"
                except (Exception, pytest.fail.Exception) as error:
                    mark = "✗"
                    failures.append(f"{name}, {promised}: {type(error).__name__}: {error}")
            marks.append(mark.ljust(len(promised)))
        print(name.ljust(margin) + " ".join(marks).rstrip(), flush=True)
    print()
    print(*(f"{name}: {says}" for name, says in properties.items()), "", sep="\n")
    return failures


if __name__ == "__main__":
    sys.exit(main())
