"""The options of `aioli run` and `aioli compare`, parsed; they open the stream that is played."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from aioli.errors import AioliError
from aioli.snapshots.tree import Plain, Snapshot
from aioli.streams.files.byte_source import STANDARD_INPUT
from aioli.streams.filestream import FileStream, Reading
from aioli.streams.synthetic_stream import SCHEME, SyntheticStream

__all__ = ["ComparisonOptions", "Options", "RunOptions"]


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options that `aioli run` and `aioli compare` share.

    Attributes
    ----------
    source
        A file, a folder, `-` for standard input, or `synthetic:NAME`.
    reading
        How a file is read.
    learner
        A learner's name, with parameters or without.
    rows, seed
        Of a synthetic stream.
    report
        The page of plots to write.
    as_json
        Whether to print one JSON object and nothing else.
    """

    source: str
    reading: Reading = field(default_factory=Reading)
    learner: str = "Auto"
    rows: int = 10_000
    seed: int = 0
    report: str | None = None
    as_json: bool = False

    @property
    def name(self) -> str:
        """What the stream is called in a sentence."""
        return "standard input" if self.source == STANDARD_INPUT else self.source

    @property
    def title(self) -> str:
        """What the stream is called above its page: a file's name without its folder."""
        if self.source == STANDARD_INPUT:
            return self.name
        return (self.source.rpartition("/")[2] or self.source).removeprefix(SCHEME)

    def stream(self, snapshot: Snapshot | None = None) -> FileStream | SyntheticStream:
        """Open the stream at its beginning, or where the snapshot was taken; one without labels is refused."""
        if self.source.startswith(SCHEME):
            return SyntheticStream(self.source, self.rows, self.seed, snapshot)
        stream = FileStream(self.source, self.reading, snapshot)
        if stream.label is None:
            stream.close()
            raise AioliError(f"{self.name}: say which column is the label (--label NAME, or --label -1 for the last)")
        return stream


@dataclass(frozen=True, kw_only=True)
class RunOptions(Options):
    """The options of `aioli run`.

    Attributes
    ----------
    predictions, save
        Files to write.
    checkpoint, resume, every
        A folder to keep the run's state in, whether to go on from there, and the seconds between two checkpoints.
    """

    predictions: str | None = None
    save: str | None = None
    checkpoint: str | None = None
    resume: bool = False
    every: float = 10.0

    def fingerprint(self) -> dict[str, Plain]:
        """Return the options that must be equal for a checkpoint to be resumed."""
        asked = {"source": self.source, "learner": self.learner, "rows": self.rows, "seed": self.seed}
        written = {"predictions": self.predictions is not None, "report": self.report is not None}
        plain: dict[str, Plain] = json.loads(json.dumps({**asked, **written, **asdict(self.reading)}))
        return plain


@dataclass(frozen=True, kw_only=True)
class ComparisonOptions(Options):
    """The options of `aioli compare`.

    Attributes
    ----------
    peers
        The libraries of the peers.
    figure
        The plot of all learners' running losses to write.
    """

    peers: Sequence[str]
    figure: str | None = None
