"""Files of earlier versions: who played goes on, bit for bit, and what was not yet counted begins."""

from dataclasses import replace

import numpy as np
import pytest
from auto_memory import memory
from numpy.testing import assert_array_equal

from aioli import Auto
from aioli.learners.auto.bending_ensemble import BendingEnsemble
from aioli.learners.auto.chosen_columns import ChosenColumns
from aioli.learners.auto.dense_ensemble import DenseEnsemble
from aioli.learners.auto.players import companions_within
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.tree import Array, Snapshot
from aioli.states.boosting.growing import COVER
from aioli.states.boosting.learning import MOST_COVER

VERSIONS = {0: 11, 1: 12, 2: 14}  # and how many members there were
ON_COLUMNS = {1: 2, 2: 1}  # which of the ensembles on the columns that matter they played


def stream(rows: int) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 23))
    return X, (X[:, 0] + X[:, 1] ** 2 - 1.0 + 0.3 * rng.logistic(size=rows) > 0.0).astype(np.float64)


def played_earlier(version: int) -> BendingEnsemble:
    """Return the ensemble that an Auto of an earlier version played: with a forest from the first row on."""
    companions = companions_within("usual", version)
    for companion in companions:
        companion.only_late = False
        if isinstance(companion, ChosenColumns):
            companion._version = ON_COLUMNS[version]
    return BendingEnsemble(DenseEnsemble(None, "usual"), companions)


def file_of(player: Snapshot) -> Snapshot:
    """Return the snapshot of an Auto that plays so."""
    return replace(Auto().snapshot(), parts={"player": player})


def as_written_earlier(file: Snapshot, totals: int) -> Snapshot:
    """Return a snapshot without what was added since: each companion's worth, versions, the watch, and covers."""
    values, arrays = dict(file.values), dict(file.arrays)
    if file.kind == "BendingEnsemble":
        counts: Array = np.zeros(totals)
        counts[:3] = file.arrays["totals"][:3]
        arrays = {"totals": counts, "losses": np.ones(99), "silent": arrays["silent"]}
    for kind, value in (("ChosenColumns", "version"), ("ChosenColumns", "late"), ("BoostedState", "watches")):
        if file.kind == kind:
            values.pop(value)
    if file.kind == "BoostedState":
        arrays.pop("watched")
        arrays["trees"] = file.arrays["trees"][:, :, :COVER]
    if file.kind == "BoostingCompanion":
        values = {}
    kept = {name: part for name, part in file.parts.items() if not name.startswith("without")}
    return replace(
        file,
        values=values,
        arrays=arrays,
        parts={name: as_written_earlier(part, totals) for name, part in kept.items()},
    )


def with_full_covers(file: Snapshot) -> Snapshot:
    """Return a snapshot whose boosted trees learn as those of files without covers do."""
    arrays = dict(file.arrays)
    if file.kind == "BoostedState":
        arrays["trees"] = file.arrays["trees"].copy()
        arrays["trees"][:, :, COVER] = MOST_COVER
    return replace(file, arrays=arrays, parts={name: with_full_covers(part) for name, part in file.parts.items()})


def player(learner: Auto) -> BendingEnsemble:
    assert isinstance(learner._player, BendingEnsemble)
    return learner._player


def kinds(ensemble: BendingEnsemble) -> list[str]:
    """Return the kinds of the companions that play."""
    return [type(companion).__name__ for companion in ensemble.companions if companion is not None]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("rows", [0, 400, 1400])
def test_who_played_in_an_earlier_version_goes_on(version: int, rows: int) -> None:
    X, y = stream(rows + 700)
    ensemble = played_earlier(version)
    assert ensemble._mixed.count == VERSIONS[version]
    if rows:
        ensemble.learn_many(X[:rows], y[:rows])
    restored = Auto.restore(file_of(ensemble.snapshot()))
    assert kinds(player(restored)) == kinds(ensemble)
    assert rows > 400 or "ForestCompanion" in kinds(ensemble)
    assert_array_equal(restored.predict_many(X), ensemble.predict_many(X))
    again = Auto.restore(restored.snapshot())
    for learner in (restored, again, ensemble):
        learner.learn_many(X[rows:], y[rows:])
    assert memory(restored) == memory(again)
    assert restored.loss == ensemble.loss
    assert kinds(player(restored)) == kinds(ensemble)
    assert_array_equal(restored.predict_many(X), ensemble.predict_many(X))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("totals", [9, 10, 13])
def test_a_file_that_was_written_earlier_goes_on(version: int, totals: int) -> None:
    X, y = stream(900)
    ensemble = played_earlier(version)
    ensemble.learn_many(X[:500], y[:500])
    file = file_of(ensemble.snapshot())
    restored, full = Auto.restore(as_written_earlier(file, totals)), Auto.restore(with_full_covers(file))
    assert kinds(player(restored)) == kinds(ensemble)
    assert "ForestCompanion" in kinds(ensemble)
    assert (restored.rounds, restored.loss) == (500, ensemble.loss)
    assert_array_equal(restored.predict_many(X), ensemble.predict_many(X))
    assert_array_equal(restored.learn_many(X[500:], y[500:]), full.learn_many(X[500:], y[500:]))
    assert memory(Auto.restore(restored.snapshot())) == memory(restored)


@pytest.mark.parametrize("version", VERSIONS)
def test_late_labels_are_learned_by_who_played_earlier(version: int) -> None:
    X, y = stream(600)
    ensemble = played_earlier(version)
    ensemble.learn_many(X[:300], y[:300])
    restored = Auto.restore(file_of(ensemble.snapshot()))
    for first in range(300, 600, 100):
        rows = X[first : first + 100], y[first : first + 100]
        assert_array_equal(restored.learn_batch(*rows), ensemble.learn_batch(*rows))
