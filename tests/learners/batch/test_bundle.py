"""Several learners in one file: what is saved with an average goes on, and what is not right is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from numpy.testing import assert_array_equal
from support import make_labels, make_rows

from aioli import AIOLI, OGD, Auto, OnlineToBatch
from aioli.snapshots.legacy_files import read_file, write_file

LEARNERS: dict[str, Callable[[], Any]] = {"AIOLI": AIOLI, "Auto": lambda: Auto(experts=3)}


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("rows", [0, 2, 60])
def test_a_saved_model_goes_on_bit_for_bit(name: str, rows: int, tmp_path: Path) -> None:
    X = make_rows("random", 150, 3, seed=4)
    y = make_labels(X, seed=4)
    model = OnlineToBatch(LEARNERS[name](), states=3, seed=2, share=0.75)
    if rows:
        model.learn_many(X[:rows], y[:rows])
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


def test_what_cannot_be_saved_or_loaded_says_why(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"OGD has no save\(\).*pickle it"):
        OnlineToBatch(OGD()).save(tmp_path / "model.aioli")
    AIOLI().save(tmp_path / "other.aioli")
    with pytest.raises(ValueError, match="holds a learner of type 'AIOLI', not 'OnlineToBatch'"):
        OnlineToBatch.load(tmp_path / "other.aioli")
    assert not (tmp_path / "model.aioli").exists()
    OnlineToBatch(AIOLI()).save(tmp_path / "good.aioli")
    header, tensors = read_file(tmp_path / "good.aioli", "OnlineToBatch")
    for change, message in (
        ({"within": [{"learner": "Certificate"}]}, "'Certificate', which this version does not know"),
        ({"within": header["within"][:1]}, "not enough values to unpack"),
        ({"rounds": 7}, r"0 states of rounds \[\], 7 in all"),
        ({"parameters": {"states": 0}}, "states is 0"),
    ):
        write_file(tmp_path / "bad.aioli", header | change, tensors)
        with pytest.raises(ValueError, match=f"is not a complete learner.*{message}"):
            OnlineToBatch.load(tmp_path / "bad.aioli")
