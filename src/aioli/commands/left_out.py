"""Reports the rows that a run did not learn from: those without a label, and those that could not be used."""

from aioli.evaluate.run import Run
from aioli.streams.filestream import FileStream

__all__ = ["left_out", "left_out_sentences"]


def left_out(run: Run) -> dict[str, object]:
    """Return how many rows had no label, and what is told of rows that were left out; nothing where there are none."""
    said: dict[str, object] = {}
    stream = run.stream
    if isinstance(stream, FileStream):
        said |= {"rows_without_label": stream.unlabelled} if stream.unlabelled else {}
        said |= {"skipped": str(stream.skipped)} if stream.skipped.count else {}
    if run.skipped is not None and run.skipped.count:
        said["refused"] = str(run.skipped)
    return said


def left_out_sentences(run: Run) -> list[str]:
    """Return the same as sentences for the page."""
    said = left_out(run)
    sentences = {
        "rows_without_label": "{} rows had no label: predicted, and nothing was learned from them.",
        "skipped": "Left out, since they could not be read: {}.",
        "refused": "Left out, since the learner refused them: {}.",
    }
    return [sentence.format(said[name]) for name, sentence in sentences.items() if name in said]
