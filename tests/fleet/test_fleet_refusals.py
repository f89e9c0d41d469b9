"""What a fleet refuses, with its row; a refused call changes nothing."""

from pathlib import Path

import numpy as np
import pytest
from keyed_streams import keyed_rows

from aioli import AIOLI, Fleet
from aioli.errors import KeyRefused, KeyUnknown, ParameterRefused, RowRefused
from aioli.snapshots.codec import to_bytes


@pytest.mark.parametrize("key", [None, ["a list"], {"a": 1}, 1.5, float("nan"), ("a", None)])
def test_what_is_no_key_is_refused_with_its_row(key: object) -> None:
    keys, X, y = keyed_rows(10, 2, 3)
    fleet = Fleet(AIOLI())
    fleet.learn_many(keys, X, y)
    before = to_bytes(fleet.snapshot())
    with pytest.raises(
        KeyRefused, match=r"row 4: the key is .*; give a string, a whole number, bytes, or a tuple"
    ) as told:
        fleet.learn_many([*keys[:4], key, *keys[5:]], X, y)
    assert told.value.row == 4
    with pytest.raises(KeyRefused):
        fleet.predict(key, X[0])
    assert to_bytes(fleet.snapshot()) == before


def test_rows_labels_and_widths_that_are_refused_change_nothing() -> None:
    keys, X, y = keyed_rows(10, 2, 3)
    fleet = Fleet(AIOLI())
    fleet.learn_many(keys, X, y)
    before = to_bytes(fleet.snapshot())
    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(RowRefused, match="row 3: column 1 is nan"):
        fleet.learn_many(["new"] * 10, bad, y)
    with pytest.raises(ParameterRefused, match="rows have 3 columns; this learner knows 2"):
        fleet.learn_many(keys, np.ones((10, 3)), y)
    with pytest.raises(ParameterRefused, match="10 rows came with 9 keys"):
        fleet.learn_many(keys[1:], X, y)
    with pytest.raises(RowRefused, match="row 2: the label is"):
        fleet.learn_many(["new"] * 10, X, [0, 1, 2, 0, 1, 0, 1, 0, 1, 0])
    with pytest.raises(KeyUnknown, match="no row has had the key 'nobody'"):
        fleet["nobody"]
    assert to_bytes(fleet.snapshot()) == before
    assert "new" not in fleet
    assert fleet.predict("nobody", X[0]) == 0.5


def test_parameters_that_are_none_are_refused(tmp_path: Path) -> None:
    from aioli import Auto

    with pytest.raises(ParameterRefused, match="a fleet is of AIOLI"):
        Fleet(Auto())  # type: ignore[arg-type]  # refused
    with pytest.raises(ParameterRefused, match="storage is 'float16'"):
        Fleet(storage="float16")  # type: ignore[arg-type]  # refused
    with pytest.raises(ParameterRefused, match="is no folder"):
        Fleet(spill=tmp_path / "nowhere")
    with pytest.raises(ParameterRefused, match="hot_models is 2"):
        Fleet(hot_models=2)
    small = Fleet(memory=1000)
    with pytest.raises(ParameterRefused, match="memory is 1000 bytes"):
        small.learn_many([1, 2], np.ones((2, 3)), [0, 1])
    learned = AIOLI()
    learned.learn([1.0], 1)
    with pytest.raises(ParameterRefused, match="learned from 1 rows already"):
        Fleet(learned)
