"""Finds the classes of a stream that is compared: peers must know how many there are before the first row."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from aioli.commands.learner_spec import names_classes
from aioli.commands.options import TWO, ComparisonOptions
from aioli.errors import AioliError
from aioli.streams.filestream import FileStream
from aioli.streams.present_labels import encode_present

__all__ = ["classes_of"]


def classes_of(options: ComparisonOptions) -> Sequence[str] | None:
    """Return the labels of all classes, in the order in which they come; None for the game of two.

    A first pass over the file finds them. What cannot be read twice plays two, unless it was told that there are more.
    """
    asked = options.told_classes is not None or names_classes(options.learner)
    two = options.classes == TWO or options.reading.positive is not None or options.lateness is not None
    if two and not asked:
        return None
    if not (Path(options.source).is_file() or Path(options.source).is_dir()):  # a law, or a pipe
        if asked:
            raise AioliError(f"{options.name}: cannot be read twice, and peers must know the classes; give a file")
        return None
    with FileStream(options.source, replace(options.reading, classes="any")) as stream:
        try:
            for table in stream.tables():
                if table.labels is not None:
                    encode_present(stream.labels, table.labels, table.where)
        except ValueError:  # the comparison itself will say what is wrong, and where
            return None
    found = stream.labels.classes
    return found if asked or len(found) > 2 else None
