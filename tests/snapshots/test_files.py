"""Saved, pickled and copied learners go on as if never stopped; and what the file is made of."""

import copy
import json
import os
import pickle
import stat
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import make_labels, make_rows

from aioli import AIOLI
from aioli.numerics.compiling import Matrix
from aioli.snapshots import codec as files

Again = Callable[[AIOLI, Path], AIOLI]


def through_a_file(learner: AIOLI, folder: Path) -> AIOLI:
    learner.save(folder / "learner.aioli")
    return AIOLI.load(folder / "learner.aioli")


def through_pickle(learner: AIOLI, folder: Path) -> AIOLI:
    (folder / "learner.pickle").write_bytes(pickle.dumps(learner))
    again = pickle.loads((folder / "learner.pickle").read_bytes())
    assert isinstance(again, AIOLI)
    return again


def through_a_copy(learner: AIOLI, folder: Path) -> AIOLI:
    assert folder.is_dir()
    return copy.deepcopy(learner)


WAYS = [through_a_file, through_pickle, through_a_copy]


def contents(learner: AIOLI) -> tuple[object, ...]:
    """All that its future depends on, bit for bit, and its names."""
    state = learner._state
    said = learner._spec, learner.feature_names_, float(learner.certificate())
    if state is None:
        return said
    return *said, state.factored, state.P.tobytes(), state.w.tobytes(), state.tally.tobytes(), state.rules.tobytes()


def stream(kind: str = "random", n: int = 40, d: int = 4) -> tuple[Matrix, Matrix]:
    X = make_rows(kind, n, d, seed=5)
    return X, make_labels(X, seed=5)


def learned(**parameters: Any) -> AIOLI:
    learner = AIOLI(**parameters)
    learner.learn_many(*stream())
    return learner


# ---- go on


def check_goes_on(learner: AIOLI, again: AIOLI, X: Matrix, y: Matrix) -> None:
    assert contents(again) == contents(learner)
    assert again.predict_many(X).tobytes() == learner.predict_many(X).tobytes()
    assert again.learn_many(X, y, weights=y + 0.5).tobytes() == learner.learn_many(X, y, weights=y + 0.5).tobytes()
    assert [again.learn(x, 1) for x in X[:5]] == [learner.learn(x, 1) for x in X[:5]]
    assert [again.predict(x) for x in X[:5]] == [learner.predict(x) for x in X[:5]]
    assert contents(again) == contents(learner)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"radius": 3, "ridge": 0.1, "regulariser": 0.5, "curvature": "paper", "intercept": False},
        {"forgetting": 0.99, "radius": 1.0 / 3.0},
    ],
)
def test_stopping_and_going_on_is_never_stopping(parameters: dict[str, Any], way: Again, tmp_path: Path) -> None:
    X, y = stream()
    learner = AIOLI(**parameters)
    learner.learn_many(X[:20], y[:20])
    again = way(learner, tmp_path)
    assert repr(again) == repr(learner)
    check_goes_on(learner, again, X[20:], y[20:])


@pytest.mark.parametrize("way", WAYS)
def test_the_factored_form_goes_on(way: Again, tmp_path: Path) -> None:
    X, y = stream("collinear")
    learner = AIOLI()
    learner.learn_many(1e8 * X[:20], y[:20])
    assert learner._state is not None
    assert learner._state.factored
    check_goes_on(learner, way(learner, tmp_path), 1e8 * X[20:], y[20:])


@pytest.mark.parametrize("way", WAYS)
def test_blocks_go_on(way: Again, tmp_path: Path) -> None:
    X, y = stream(n=300, d=300)  # wide and many enough for matrix products
    learner = AIOLI()
    learner.learn_many(X[:150], y[:150])
    check_goes_on(learner, way(learner, tmp_path), X[150:], y[150:])


@pytest.mark.parametrize("way", WAYS)
def test_an_untrained_learner_goes_on(way: Again, tmp_path: Path) -> None:
    learner = AIOLI(radius=2.5)
    again = way(learner, tmp_path)
    assert again.n_features_ is None
    assert again.rounds == 0
    check_goes_on(learner, again, *stream())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("names", [["a", "b", "c", "d"], ["Größe", '"quoted"', "back\\slash", "new\nline \U0001f9c4"]])
def test_names_of_columns_are_kept(names: list[str], way: Again, tmp_path: Path) -> None:
    learner = learned()
    learner.feature_names_ = names
    again = way(learner, tmp_path)
    assert again.feature_names_ == names
    untrained = AIOLI()
    untrained.feature_names_ = names
    assert way(untrained, tmp_path).feature_names_ == names
    check_goes_on(learner, again, *stream())


@pytest.mark.parametrize("way", WAYS)
def test_a_learner_that_grew_or_merged_goes_on(way: Again, tmp_path: Path) -> None:
    X, y = stream()
    learner = learned().merge(learned()).grow(2, names=["new", "newer"])
    check_goes_on(learner, way(learner, tmp_path), np.hstack([X, X[:, :2]]), y)


@pytest.mark.parametrize("way", WAYS)
def test_the_two_share_nothing(way: Again, tmp_path: Path) -> None:
    learner = learned()
    learner.feature_names_ = list("abcd")
    again = way(learner, tmp_path)
    before = contents(learner)
    again.learn_many(*stream("ill-scaled"))
    again.learn(stream()[0][0], 1)
    again.feature_names_ = list("efgh")
    assert contents(learner) == before


@pytest.mark.parametrize("number", [np.float32, np.float64, np.int64, np.int8, int, bool])
def test_parameters_of_any_type_of_number_can_be_saved(number: Any, tmp_path: Path) -> None:
    learner = learned(radius=number(1))
    check_goes_on(learner, through_a_file(learner, tmp_path), *stream())


def test_a_numpy_truth_value_can_be_saved(tmp_path: Path) -> None:
    learner = learned(intercept=np.False_)
    check_goes_on(learner, through_a_file(learner, tmp_path), *stream())


def test_what_is_saved_is_the_game_that_was_played(tmp_path: Path) -> None:
    learner = learned(radius=2.0)
    try:
        learner.radius = 5.0
    except AttributeError:
        return  # it cannot be changed, and all is well
    again = through_a_file(learner, tmp_path)
    assert again._spec == learner._spec


# ---- the file


@pytest.mark.parametrize("kind", [str, Path])
def test_a_path_may_be_a_string_or_a_path(kind: Any, tmp_path: Path) -> None:
    learner = learned()
    learner.save(kind(tmp_path / "learner"))
    assert contents(AIOLI.load(kind(tmp_path / "learner"))) == contents(learner)


def test_the_file_is_json_and_raw_numbers_and_no_pickle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learner = learned()
    learner.save(tmp_path / "learner")
    raw = (tmp_path / "learner").read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    metadata = header.pop("__metadata__")
    assert json.loads(metadata["aioli"])["format"] == files.FORMAT
    assert {entry["dtype"] for entry in header.values()} == {"F64"}
    # header and numbers are all there is
    assert 8 + length + sum(8 * int(np.prod(entry["shape"])) for entry in header.values()) == len(raw)

    def no_pickle(*_: object, **__: object) -> None:
        raise AssertionError("a model file was unpickled")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, no_pickle)
    assert contents(AIOLI.load(tmp_path / "learner")) == contents(learner)


@pytest.mark.skipif(os.name != "posix", reason="this system has no permissions of POSIX")
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_permissions_follow_the_umask(mask: int, tmp_path: Path) -> None:
    old = os.umask(mask)
    try:
        learned().save(tmp_path / "learner")
        assert os.umask(mask) == mask  # saving left it alone
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "learner").stat().st_mode) == 0o666 & ~mask
