"""The table of learners and properties: ✓ holds, ✗ does not, – is not promised."""

import sys

import pytest

from contracts import PROPERTIES, SUBJECTS


def main() -> int:
    """Print the table, and what each property says; return 1 where one does not hold."""
    margin = max(len(subject.name) for subject in SUBJECTS) + 2
    print(" " * margin + " ".join(promised.name for promised in PROPERTIES))
    failures = []
    for subject in SUBJECTS:
        marks = []
        for promised in PROPERTIES:
            mark = "–"
            if promised.concerns(subject):
                try:
                    promised.check(subject)
                    mark = "✓"
                except (Exception, pytest.fail.Exception) as error:
                    mark = "✗"
                    failures.append(f"{subject.name}, {promised.name}: {type(error).__name__}: {error}")
            marks.append(mark.ljust(len(promised.name)))
        print(subject.name.ljust(margin) + " ".join(marks).rstrip(), flush=True)
    print()
    print(*(f"{promised.name}: {promised.says}" for promised in PROPERTIES), *failures, sep="\n")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
