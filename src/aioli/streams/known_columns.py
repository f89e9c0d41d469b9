"""What an encoder of rows that come from Python or a service knows of their columns."""

from aioli.snapshots.tree import Plain, Snapshot
from aioli.streams.encoding import Encoder

__all__ = ["KnowsColumns"]


class KnowsColumns:
    """Holds the encoder, which is made when the first columns are known, and in which notation columns have numbers."""

    def __init__(self, encoder: Encoder | None = None) -> None:
        self._encoder = encoder
        self._notations: dict[str, str] = {}

    @property
    def features(self) -> list[str]:
        """The names of the features so far, in their order."""
        return [] if self._encoder is None else self._encoder.features

    @property
    def kinds(self) -> dict[str, str]:
        """What each column is, by name."""
        return {} if self._encoder is None else self._encoder.kinds

    def _column_values(self, label: str | None) -> dict[str, Plain]:
        """Return what a snapshot of a file's stream holds of the columns."""
        return {
            "position": None,
            "columns": list(self.kinds),
            "kinds": list(self.kinds.values()),
            "label": label,
            "notations": dict(self._notations),
        }

    def _restore_notations(self, snapshot: Snapshot) -> None:
        if "notations" in snapshot.values:
            self._notations = {name: str(notation) for name, notation in snapshot.mapping("notations").items()}
