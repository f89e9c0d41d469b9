"""Counts the rows and labels of `aioli run --labels` that found no partner, and words that for the summary."""

from dataclasses import asdict

from aioli.errors import AioliError
from aioli.streams.joined_stream import JoinedStream
from aioli.streams.protocol import Stream

__all__ = ["check_some_met", "join_counts", "join_sentences"]


def join_counts(stream: Stream) -> dict[str, int]:
    """Return how many rows and labels did not meet, by what was wrong; nothing where labels come with their rows."""
    return asdict(stream.counts) if isinstance(stream, JoinedStream) else {}


def join_sentences(stream: Stream) -> list[str]:
    """Return a sentence for each kind of row or label that did not meet, where there are some."""
    if not isinstance(stream, JoinedStream):
        return []
    counts, labels, key = stream.counts, stream.label_file.path, stream.label_file.key
    said = [
        (counts.rows_without_label, f"had no label in {labels}: predicted, and nothing was learned from them", "row"),
        (counts.rows_repeated, f"had the {key!r} of an earlier row, which took the label: predicted only", "row"),
        (counts.labels_without_row, f"of {labels} had a value of {key!r} that no row has: left out", "label"),
        (counts.labels_repeated, f"of {labels} had the {key!r} of an earlier label, which stands: left out", "label"),
        (counts.labels_before_row, f"of {labels} came before the row: learned as soon as that was announced", "label"),
    ]
    return [f"{count:,} {what}{'' if count == 1 else 's'} {why}." for count, why, what in said if count]


def check_some_met(stream: Stream) -> None:
    """Refuse a join in which no row found its label."""
    if isinstance(stream, JoinedStream) and stream.counts.labels_without_row == len(stream.label_file):
        keys = f"the {len(stream.label_file):,} keys of {stream.label_file.path}"
        raise AioliError(
            f"{stream.name}: no row has a label, since none of {keys} is in its column {stream.label_file.key!r}; give "
            "the column that both files share (--key)"
        )
