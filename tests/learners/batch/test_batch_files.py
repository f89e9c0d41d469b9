"""Several learners in one file: what is saved with an average goes on, and what is not right is refused."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from numpy.testing import assert_array_equal
from support import make_labels, make_rows

from aioli import AIOLI, OGD, Auto, OnlineToBatch, RandomFeatures
from aioli.errors import CapabilityMissing
from aioli.learners.protocol import names_columns, saves
from aioli.snapshots.codec import write_snapshot
from aioli.snapshots.tree import Snapshot

LEARNERS: dict[str, Callable[[], Any]] = {
    "AIOLI": AIOLI,
    "Auto": lambda: Auto(experts=3),
    "OGD": OGD,
    "RandomFeatures": lambda: RandomFeatures(features=8),
    "OnlineToBatch": lambda: OnlineToBatch(AIOLI(), states=2),
}


class Subclass(OGD):
    """A learner that the package does not export: no snapshot of it could be restored from a file."""


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("rows", [0, 2, 60])
def test_a_saved_model_goes_on_bit_for_bit(name: str, rows: int, tmp_path: Path) -> None:
    X = make_rows("random", 150, 3, seed=4)
    y = make_labels(X, seed=4)
    model = OnlineToBatch(LEARNERS[name](), states=3, seed=2, share=0.75)
    if rows:
        model.learn_many(X[:rows], y[:rows])
        if names_columns(model):
            model.feature_names_ = ["a", "b", "c"]
    model.save(tmp_path / "model.aioli")
    loaded = OnlineToBatch.load(tmp_path / "model.aioli")
    assert repr(loaded) == repr(model)
    assert loaded.feature_names_ == model.feature_names_
    for each in (model, loaded):
        each.learn_many(X[rows:], y[rows:])
    assert loaded.kept_rounds_ == model.kept_rounds_
    assert_array_equal(loaded.predict_many(X), model.predict_many(X))
    assert [path.name for path in tmp_path.iterdir()] == ["model.aioli"]


def test_what_cannot_be_saved_says_why(tmp_path: Path) -> None:
    model = OnlineToBatch(Subclass())
    assert not saves(model)
    with pytest.raises(CapabilityMissing, match=r"Subclass has no snapshot.*pickle it"):
        model.save(tmp_path / "model.aioli")
    assert not list(tmp_path.iterdir())


def test_what_is_no_average_is_not_loaded(tmp_path: Path) -> None:
    AIOLI().save(tmp_path / "other.aioli")
    with pytest.raises(ValueError, match="holds a learner of type 'AIOLI', not 'OnlineToBatch'"):
        OnlineToBatch.load(tmp_path / "other.aioli")
    good = OnlineToBatch(AIOLI(), states=2).snapshot()
    without = {name: part for name, part in good.parts.items() if name != "learner"}
    for wrong, message in (
        (replace(good, parts={**good.parts, "learner": Snapshot("Certificate")}), "'Certificate', which this version"),
        (replace(good, parts=without), "the part 'learner' is missing"),
        (replace(good, values={**good.values, "rounds": 7}), r"0 of 2 states, of rounds \[\], came with 7 rounds"),
        (replace(good, values={**good.values, "parameters": {"states": 0}}), "states is 0"),
        (replace(good, values={**good.values, "parameters": {"states": 3}}), "room for 3 states"),
    ):
        write_snapshot(tmp_path / "bad.aioli", wrong)
        with pytest.raises(ValueError, match=f"is not a complete learner.*{message}"):
            OnlineToBatch.load(tmp_path / "bad.aioli")
