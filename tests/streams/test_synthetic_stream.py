import numpy as np
import pytest
from numpy.testing import assert_array_equal

from aioli import AIOLI
from aioli.errors import ParameterRefused, SnapshotRefused
from aioli.numerics.compiling import Matrix
from aioli.snapshots.codec import from_bytes, to_bytes
from aioli.snapshots.tree import Snapshot
from aioli.streams.protocol import Batch, Stream
from aioli.streams.synthetic_stream import SyntheticStream

ROWS = 9000  # three blocks of the law, the last one short


def played(stream: SyntheticStream, learner: AIOLI) -> list[Batch]:
    """All batches that are left, each learned before the next is encoded."""
    stream.learner = learner
    batches = []
    for table in stream.tables():
        batches.append(stream.encode(table))
        learner.learn_many(batches[-1].X, batches[-1].y)
    return batches


def rows_of(batches: list[Batch]) -> Matrix:
    """The rows with their labels behind them."""
    return np.vstack([np.column_stack([np.asarray(batch.X), np.asarray(batch.y)]) for batch in batches])


@pytest.mark.parametrize(("source", "rows", "stop"), [("logistic", ROWS, 1), ("adversary", 60, 25)])
def test_a_stream_goes_on_from_a_snapshot_as_if_it_had_never_stopped(source: str, rows: int, stop: int) -> None:
    whole, learner = SyntheticStream(f"synthetic:{source}", rows, 3), AIOLI()
    expected = played(whole, learner)
    first, resumed = SyntheticStream(f"synthetic:{source}", rows, 3), AIOLI()
    first.learner = resumed
    kept: list[bytes] = []
    for _, table in zip(range(stop), first.tables(), strict=False):
        batch = first.encode(table)
        resumed.learn_many(batch.X, batch.y)
        kept.append(to_bytes(first.snapshot()))
    again = SyntheticStream(f"synthetic:{source}", rows, 3, from_bytes(kept[-1]))
    assert 0.0 < again.fraction < 1.0
    assert_array_equal(rows_of(played(again, resumed)), rows_of(expected[stop:]))
    assert to_bytes(again.snapshot()) == to_bytes(whole.snapshot())
    assert_array_equal(rows_of(list(again.read_again())), rows_of(expected))


def test_a_snapshot_of_the_adversary_is_not_changed_by_later_answers() -> None:
    stream, learner = SyntheticStream("synthetic:adversary", 20, 0), AIOLI()
    stream.learner = learner
    taken = []
    for table in stream.tables():
        batch = stream.encode(table)
        learner.learn_many(batch.X, batch.y)
        taken.append((stream.snapshot(), to_bytes(stream.snapshot())))
    assert all(to_bytes(snapshot) == data for snapshot, data in taken)


def test_both_kinds_of_stream_are_what_the_loop_asks_for() -> None:
    stream: Stream = SyntheticStream("synthetic:logistic", 5, 0)
    table = next(stream.tables())
    assert stream.encode(table).where(4) == "synthetic:logistic, row 5"
    assert (stream.rereadable, stream.hostile, stream.sparse, stream.shared) == (True, False, False, 0)


def test_what_cannot_be_a_synthetic_stream_is_refused() -> None:
    with pytest.raises(ParameterRefused, match="0 rows were asked for"):
        SyntheticStream("synthetic:logistic", 0, 0)
    with pytest.raises(ParameterRefused, match="NAME is one of hkl"):
        SyntheticStream("synthetic:nothing", 1, 0)
    labels = SyntheticStream("synthetic:logistic", 1, 0).labels.snapshot()
    with pytest.raises(SnapshotRefused, match="7 rows have come of 5"):
        SyntheticStream(
            "synthetic:logistic", 5, 0, Snapshot("SyntheticStream", {"position": 7}, {}, {"labels": labels})
        )
