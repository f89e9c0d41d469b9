"""The end of a run: its files are written, its regret is found, its summary is printed."""

import sys
from collections.abc import Sequence
from typing import Any

from aioli import __version__
from aioli.commands.display import as_json, finite, told
from aioli.evaluate.column_summary import described
from aioli.evaluate.loop import Playing
from aioli.snapshots.whole_files import naming
from aioli.store.models import save_model
from aioli.store.predictions import write_predictions
from aioli.streams.files.byte_source import STANDARD_INPUT
from aioli.streams.protocol import Stream
from aioli.streams.synthetic_stream import SCHEME

__all__ = ["ball_of", "check_both_classes", "find_regret", "finish", "label_names", "summarised", "write_report"]

WEIGHTS = 30  # of the largest, on the page


def finish(options: Any, playing: Playing, seconds: float, pace: float) -> None:
    """Write what was asked for, then print the summary."""
    names = label_names(playing.stream)
    if options.predictions is not None:
        assert playing.spool is not None
        write_predictions(options.predictions, playing.spool, names, options.checkpoint)
    if options.save is not None:
        save_model(options.save, playing.learner, playing.taught)
    find_regret(playing)
    summary = summarised(playing, names, seconds, pace)
    if options.report is not None:
        write_report(options, playing, names, summary)
    if options.as_json:
        print(as_json(summary))
    else:
        print("\n" + told(summary))


def label_names(stream: Stream) -> tuple[str, str]:
    """What the negative and the positive class are called in the data."""
    labels = stream.labels
    return str(labels.negative if labels.negative is not None else "0"), str(labels.positive or "1")


def find_regret(playing: Playing) -> None:
    """Enter the regret into the history, by a second pass, where the stream can be read twice and memory holds it."""
    stream = playing.stream
    if stream.rereadable and not stream.sparse:
        from aioli.evaluate.regret import AFFORDABLE, with_regret

        width = len(stream.features)
        if playing.rows * width <= AFFORDABLE:
            playing.history = with_regret(playing.history, stream.read_again(), playing.learner, width)


def check_both_classes(source: str, playing: Playing, names: tuple[str, str]) -> None:
    """ValueError where only one of the labels has come."""
    counts = playing.stream.labels.counts
    if 0 in counts:
        only = names[1] if counts[1] else names[0]
        raise ValueError(
            f"{source}: every one of the {playing.rows:,} rows has the label {only!r}; with one class there is "
            "nothing to tell apart"
        )


def summarised(playing: Playing, names: tuple[str, str], seconds: float, pace: float) -> dict[str, Any]:
    """The figures of a run, in the order in which they are read."""
    board, learner, last = playing.board, playing.learner, playing.history[-1]
    certificate = learner.certificate() if callable(getattr(learner, "certificate", None)) else None
    return {
        "rows": playing.rows,
        "log_loss": board.log_loss,
        "clipped": board.clipped,
        "base_rate": board.base_rate,
        "brier": board.brier,
        "accuracy": board.accuracy,
        "auc": board.auc,
        "auc_error": board.auc_error,
        "ece": board.ece,
        "certificate": None if certificate is None else float(certificate),
        "certificate_against": None if certificate is None else ball_of(learner, certificate),
        "regret": last.regret,
        "features": len(playing.stream.features),
        "shared": playing.stream.shared,
        "positive": names[1],
        "negative": names[0],
        "learner": repr(learner).partition("  #")[0],
        "seconds": seconds,
        "rows_per_second": pace,
        "peak_memory_mib": _peak_memory(),
    }


def ball_of(learner: Any, certificate: Any) -> str:
    """All whom the certificate holds against."""
    whose = f" of {certificate.against}" if certificate.against else ""
    if hasattr(learner, "kernel"):
        return f"every function{whose or ' of the kernel'} with ‖f‖ ≤ {certificate.radius:g}"
    return f"every linear model{whose} with ‖θ‖ ≤ {certificate.radius:g}"


def write_report(
    options: Any, playing: Playing, names: tuple[str, str], summary: dict[str, Any], remarks: Sequence[str] = ()
) -> None:
    """Write the page of the run, with further remarks at its end."""
    from aioli.evaluate.effects import effects, unit_of
    from aioli.report.page import write_page
    from aioli.report.record import Histogram, Record, Summary, Threshold, Weight

    board = playing.board
    scores = {name: finite(summary[name]) for name in Summary.__dataclass_fields__}
    notes = []
    if summary["certificate"] is not None:
        notes.append(f"The certificate holds against {summary['certificate_against']}.")
    if summary["regret"] is None:
        notes.append(
            "The regret in hindsight was not computed: the stream is too long, too wide, or cannot be read twice."
        )
    if summary["clipped"]:
        notes.append(
            f"{summary['clipped']:,} rows gave their label no probability at all; their loss is counted as that of the "
            "next float64, so that the log loss is a lower bound. Columns on one scale help (--scale)."
        )
    if summary["shared"]:
        notes.append(f"{summary['shared']:,} values of rare categories share hashed buckets.")
    weights = [Weight(e.name, e.weight, e.uncertainty) for e in effects(playing.learner)[:WEIGHTS]]
    if weights:
        notes.append(f"A weight is what {unit_of(playing.learner)} adds to the log-odds.")
    title = options.source.rpartition("/")[2] or options.source
    record = Record(
        title="standard input" if options.source == STANDARD_INPUT else title.removeprefix(SCHEME),
        learner=repr(playing.learner),
        summary=Summary(**scores),
        version=__version__,
        seconds=summary["seconds"],
        rows_per_second=summary["rows_per_second"],
        positive=names[1],
        negative=names[0],
        history=tuple(playing.history),
        reliability=tuple(board.reliability()),
        histogram=Histogram(*(tuple(int(n) for n in side) for side in board.cells.tolist())),
        thresholds=tuple(Threshold(*point) for point in board.thresholds()),
        weights=tuple(weights),
        columns=tuple(described(playing.stream, playing.rows, playing.extremes)),
        notes=(*notes, *remarks),
    )
    with naming(options.report):
        write_page(options.report, record)


def _peak_memory() -> float | None:
    """The most memory that this process has held, in MiB; None where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(most / (1024 * 1024 if sys.platform == "darwin" else 1024), 1)
