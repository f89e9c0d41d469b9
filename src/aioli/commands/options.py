"""Holds the parsed options of `aioli run` and `aioli compare`, checks them, and opens the stream that they name."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace

from aioli.commands.learner_spec import names_classes
from aioli.errors import AioliError
from aioli.evaluate.delay import Delay, read_delay
from aioli.snapshots.tree import Plain, Snapshot
from aioli.streams.files.byte_source import STANDARD_INPUT
from aioli.streams.filestream import FileStream
from aioli.streams.joined_stream import JoinedStream
from aioli.streams.label_file import LabelFile
from aioli.streams.many_labels import ClassRule
from aioli.streams.protocol import Stream
from aioli.streams.reading import Reading
from aioli.streams.synthetic_stream import SCHEME, SyntheticStream

__all__ = ["STANDARD_OUTPUT", "ComparisonOptions", "Options", "RunOptions", "check_answers"]

STANDARD_OUTPUT = "-"

TWO = "two"
OF_LATE = ("weight", "key", "encoding", "on_error")  # which checkpoints of earlier versions do not know


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
    classes
        "any", or the labels of all classes: the game of K classes from the first row on. None begins with two, and goes
        on with more where a third label comes; "two" refuses it.
    rows, seed
        Of a synthetic stream.
    delay, batch
        How late the labels come: a number of rows, or a duration such as 7d; or the rows of a batch.
    labels, keys
        A second file, which has the labels, and the column of both files that tells which label is which row's; without
        such a file, the columns that are carried into the predictions (`reading.key`).
    report
        The page of plots to write.
    as_json
        Whether to print one JSON object and nothing else.
    regret
        Whether to find the regret in hindsight, where the stream can be read twice.
    command
        The command as it was given, for the page.
    """

    source: str
    reading: Reading = field(default_factory=Reading)
    learner: str = "Auto"
    classes: str | Sequence[str] | None = None
    rows: int = 10_000
    seed: int = 0
    delay: str | None = None
    batch: int | None = None
    labels: str | None = None
    keys: Sequence[str] = ()
    report: str | None = None
    as_json: bool = False
    regret: bool = True
    command: str = ""

    @property
    def live(self) -> bool:
        """Whether each row is answered when it comes."""
        return False

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

    @property
    def lateness(self) -> Delay | None:
        """How late the labels come; None where they come in time.

        Those of a second file come at their times, or in time where no time is asked for.
        """
        if self.labels is not None and len(self.keys) != 1:
            raise AioliError("--labels FILE and --key COLUMN go together: the labels, and which row each is of")
        if self.labels is not None and self.delay is None and self.batch is None:
            return Delay(rows=0) if self.reading.time is None else Delay(listed=True)
        if self.batch is None and self.delay is None:
            if self.reading.time is not None:
                raise AioliError("--time needs --delay: how long after its row a label comes, such as --delay 7d")
            return None
        if self.batch is not None and self.delay is not None:
            raise AioliError("--delay and --batch came together; give one of them")
        delay = Delay(batch=self.batch) if self.delay is None else read_delay(self.delay)
        if delay.seconds is not None and self.reading.time is None:
            raise AioliError(f"--delay {self.delay} is a duration; say which column tells the time (--time COLUMN)")
        if delay.seconds is None and self.reading.time is not None:
            raise AioliError("--time needs a --delay that is a duration, such as 7d; a number is so many rows")
        return delay

    @property
    def class_rule(self) -> ClassRule:
        """How many labels a file may have: late labels, those of a second file, and a positive class are for two."""
        if self.labels is not None and self.told_classes is None:
            return "two"
        if self.told_classes is not None or names_classes(self.learner):
            return "any"
        return "two" if self.classes == TWO or self.delay is not None or self.batch is not None else "more"

    @property
    def told_classes(self) -> str | Sequence[str] | None:
        """The classes that the learner is told; None where it plays two, or begins with two."""
        return None if self.classes == TWO else self.classes

    def stream(self, snapshot: Snapshot | None = None) -> FileStream | SyntheticStream:
        """Open the stream at its beginning, or where the snapshot was taken; one without labels is refused."""
        if self.labels is not None:
            return self._joined_stream(self.labels, snapshot)
        if self.source.startswith(SCHEME):
            return SyntheticStream(self.source, self.rows, self.seed, snapshot)
        stream = FileStream(self.source, replace(self.reading, classes=self.class_rule, live=self.live), snapshot)
        if stream.label is None:
            stream.close()
            raise AioliError(f"{self.name}: say which column is the label (--label NAME, or --label -1 for the last)")
        return stream

    def _joined_stream(self, labels: str, snapshot: Snapshot | None) -> JoinedStream:
        """Open the stream with the labels of the second file."""
        if self.source.startswith(SCHEME):
            raise AioliError(f"{self.source}: has labels of its own; --labels is for files")
        asked, late = self.reading, self.lateness
        own_times = asked.time if late is not None and late.listed else None
        told = LabelFile(labels, self.keys[0], asked.label, asked.positive, own_times, self.class_rule)
        return JoinedStream(self.source, asked, told, snapshot)


def check_answers(stream: Stream, delay: Delay | None) -> None:
    """Refuse late labels of a stream whose labels depend on what the learner says."""
    if delay is not None and stream.hostile:
        raise AioliError(f"{stream.name}: answers what the learner says, so that its labels cannot be late")


@dataclass(frozen=True, kw_only=True)
class RunOptions(Options):
    """The options of `aioli run`.

    Attributes
    ----------
    predictions, save
        Files to write; predictions to `-` are printed as they are made.
    model
        A saved model to go on from; None begins anew.
    top
        How many of the likeliest classes are written for each row; None for all.
    by
        The column that tells which model a row is of: one model a key. None plays one learner.
    guests, trust
        Files of models that play beside Auto's experts, and whether those that run code may be loaded.
    checkpoint, resume, every
        A folder to keep the run's state in, whether to go on from there, and the seconds between two checkpoints.
    own_process
        Whether the process is the command's alone, so that it may start a second one to compile.
    """

    predictions: str | None = None
    save: str | None = None
    model: str | None = None
    top: int | None = None
    by: str | None = None
    guests: Sequence[str] = ()
    trust: bool = False
    checkpoint: str | None = None
    resume: bool = False
    every: float = 10.0
    own_process: bool = False

    @property
    def lateness(self) -> Delay | None:
        """How late the labels come; what cannot be asked for together is refused."""
        if self.by is not None:
            self._check_by()
        if self.labels is None and self.keys and self.predictions is None:
            raise AioliError(
                "--labels FILE and --key COLUMN go together; without a file of labels, --key is carried into "
                "--predictions FILE"
            )
        return super().lateness

    @property
    def class_rule(self) -> ClassRule:
        """How many labels a file may have: two where there is one model a key."""
        return "two" if self.by is not None else super().class_rule

    def _check_by(self) -> None:
        """Refuse what is not for one model a key."""
        given = {
            "--labels": self.labels,
            "--delay": self.delay,
            "--batch": self.batch,
            "--classes": self.told_classes,
            "--model": self.model,
        }
        wrong = [name for name, value in given.items() if value is not None]
        if wrong:
            raise AioliError(
                f"--by is for labels of two classes that come at once, from the first row on; leave out {wrong[0]}"
            )
        if self.source.startswith(SCHEME):
            raise AioliError(f"{self.source}: has no column to tell models by; --by is for files")

    @property
    def live(self) -> bool:
        """Whether each row is answered when it comes: from a pipe to standard output."""
        return self.source == STANDARD_INPUT and self.predictions == STANDARD_OUTPUT

    def fingerprint(self) -> dict[str, Plain]:
        """Return the options that must be equal for a checkpoint to be resumed."""
        asked = {"source": self.source, "learner": self.learner, "rows": self.rows, "seed": self.seed}
        asked |= {} if self.classes is None else {"classes": self.classes}
        asked |= {} if self.model is None else {"model": self.model}
        late = {"delay": self.delay, "batch": self.batch}
        late |= {} if self.labels is None else {"labels": self.labels, "key": self.keys[0]}
        late |= {} if self.by is None else {"by": self.by}
        written = {"predictions": self.predictions is not None, "report": self.report is not None}
        usual = asdict(Reading())
        read = {k: v for k, v in asdict(self.reading).items() if k not in OF_LATE or v != usual[k]}
        if self.labels is not None:
            read.pop("key", None)
        plain: dict[str, Plain] = json.loads(json.dumps({**asked, **late, **written, **read}))
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

    @property
    def lateness(self) -> Delay | None:
        """How late the labels come; a key without labels of a second file is refused."""
        if self.labels is None and self.keys:
            raise AioliError("--labels FILE and --key COLUMN go together: the labels, and which row each is of")
        return super().lateness

    @property
    def class_rule(self) -> ClassRule:
        """Two, or any: peers of K classes play them from the first row on, and `compare` knows beforehand."""
        rule = super().class_rule
        return "two" if rule == "more" else rule

    figure: str | None = None
