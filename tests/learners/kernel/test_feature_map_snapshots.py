"""Snapshots of kernel approximations: complete, equal bytes after a round trip, and refused where parts do not fit."""

from dataclasses import replace

import numpy as np
import pytest

from aioli import AIOLI, Auto, Nystrom, RandomFeatures
from aioli.errors import RowRefused, SnapshotRefused
from aioli.learners.kernel.feature_map_learner import FeatureMapLearner
from aioli.learners.kernel.kernel_aioli import KernelAIOLI
from aioli.snapshots.codec import from_bytes, to_bytes
from aioli.snapshots.tree import Snapshot

LEARNERS = [
    RandomFeatures(features=8),
    RandomFeatures(features=16, bandwidth=0.7),
    RandomFeatures(AIOLI(2.0), features=8, bandwidth=0.7, kernel="laplacian"),
    Nystrom(points=10),
    Nystrom(Auto(2), points=10, bandwidth=0.7),
]


def learned(learner: FeatureMapLearner, rows: int) -> Snapshot:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 2))
    fresh = type(learner).restore(learner.snapshot())
    fresh.learn_many(X, X[:, 0] * X[:, 1] > 0.0)
    return fresh.snapshot()


def within(snapshot: Snapshot, *path: str) -> Snapshot:
    for name in path:
        snapshot = snapshot.part(name)
    return snapshot


def changed(snapshot: Snapshot, part: Snapshot, *path: str) -> Snapshot:
    """Return the snapshot with another part at the end of a path."""
    if not path:
        return part
    inside = changed(snapshot.part(path[0]), part, *path[1:])
    return replace(snapshot, parts={**snapshot.parts, path[0]: inside})


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_restored_learner_learns_single_rows_bit_for_bit_the_same(learner: FeatureMapLearner) -> None:
    X = np.random.default_rng(1).normal(size=(100, 2))
    never = type(learner).restore(learner.snapshot())  # still fresh, so that only one of the two stops
    for x in X[:50]:
        never.learn(x, x[0] > x[1])
    stopped = type(learner).restore(from_bytes(to_bytes(never.snapshot())))
    assert [stopped.learn(x, x[0] > x[1]) for x in X[50:]] == [never.learn(x, x[0] > x[1]) for x in X[50:]]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("rows", [1, 20, 700])
def test_a_restored_learner_has_the_same_snapshot(learner: FeatureMapLearner, rows: int) -> None:
    snapshot = learned(learner, rows)
    written = to_bytes(snapshot)
    restored = type(learner).restore(from_bytes(written))
    assert to_bytes(restored.snapshot()) == written
    restored.learn_many(np.ones((100, 2)), np.ones(100))
    assert to_bytes(snapshot) == written  # it belongs to nobody who learns
    assert to_bytes(type(learner).restore(snapshot).snapshot()) == written


def test_parts_that_do_not_fit_are_refused() -> None:
    mixture, other = learned(LEARNERS[0], 20), learned(RandomFeatures(features=6), 20)
    single, dictionary = learned(LEARNERS[1], 20), learned(LEARNERS[3], 20)
    path = "forecaster", "map 0"
    directions = within(mixture, *path).array("directions")
    narrow = replace(within(mixture, *path), arrays={"directions": directions[:, :1].copy()})
    sample = within(mixture, "forecaster", "sample")
    points = within(dictionary, *path, "dictionary")
    for wrong, message in (
        (changed(mixture, within(other, *path), *path), "3 directions came, not 4"),
        (changed(mixture, narrow, *path), r"parts of \[1, 2\] columns came together"),
        (changed(mixture, within(other, *path, "base"), *path, "base"), "an? AIOLI of 6 features came for a map of 8"),
        (changed(mixture, Snapshot("Certificate"), *path, "base"), "'Certificate', which this version"),
        (changed(mixture, replace(sample, values={"seen": 20, "stride": 0}), "forecaster", "sample"), "'stride' is 0"),
        (changed(mixture, single.part("forecaster"), "forecaster"), "it is of a FourierMap, not of a BandwidthMixture"),
        (changed(dictionary, replace(points, values={"kernel": "cubic"}), *path, "dictionary"), "'kernel' is 'cubic'"),
        (changed(dictionary, replace(within(dictionary, *path), values={}), *path), "'budget' is None"),
        (replace(mixture, parts={}, values={**mixture.values, "names": ["a", 1]}), "holds 1, which is no text"),
    ):
        kind = Nystrom if wrong.kind == "Nystrom" else RandomFeatures
        with pytest.raises(SnapshotRefused, match=message):
            kind.restore(wrong)


def test_a_refusal_names_its_row_as_data() -> None:
    learner = KernelAIOLI("poly", gamma=1.0)
    X = np.ones((150, 2))
    X[140] = 1e60
    with pytest.raises(RowRefused, match="row 140: its kernel with a row that came with it is inf") as refused:
        learner.learn_many(X, np.arange(150) % 2)
    assert (refused.value.row, refused.value.value, learner.rounds) == (140, np.inf, 0)
    with pytest.raises(RowRefused, match="the row: its kernel") as refused:
        learner.learn(X[140], 1)
    assert refused.value.row is None
