"""A fleet is the learners of its keys, bit for bit: whatever the batches, the budget, and however it was moved."""

import pickle
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from keyed_streams import Objects, keyed_rows, learn_in_batches, own_learner, played_apart

from aioli import AIOLI, Fleet
from aioli.fleet.keys import Key
from aioli.fleet.layout import Layout
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.codec import from_bytes, to_bytes

LEARNERS = {
    "usual": AIOLI(),
    "paper": AIOLI(radius=2.0, ridge=0.3, curvature="paper", intercept=False),
    "forgets": AIOLI(forgetting=0.98, regulariser=0.5),
    "full": AIOLI(curvature="full", radius=1.0),
}


def assert_same_models(fleet: Fleet, objects: Objects) -> None:
    assert set(fleet) == set(objects)
    for key, learner in objects.items():
        assert to_bytes(own_learner(fleet, key).snapshot()) == to_bytes(learner.snapshot())


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("form", ["packed", "full"])
def test_models_are_the_learners_of_their_keys(name: str, form: str) -> None:
    keys, X, y = keyed_rows(1500, 5, 60)
    p, objects = played_apart(keys, X, y, LEARNERS[name])
    fleet = Fleet(LEARNERS[name], form=form)  # type: ignore[arg-type]  # one of the forms
    np.testing.assert_array_equal(learn_in_batches(fleet, keys, X, y, 1), p)
    assert_same_models(fleet, objects)
    rows = X[:40], keys[:40]
    alone = [objects[key].predict(x) for x, key in zip(*rows, strict=True)]
    np.testing.assert_array_equal(fleet.predict_many(rows[1], rows[0]), alone)
    assert fleet.rounds == 1500
    assert fleet.certificate(keys[0]) == objects[keys[0]].certificate()


@pytest.mark.parametrize("width", [1, 2, 3, 7, 8, 16, 33, 60])
def test_models_of_any_width_are_the_learners_of_their_keys(width: int) -> None:
    keys, X, y = keyed_rows(300, width, 10, seed=width)
    p, objects = played_apart(keys, X, y, AIOLI())
    fleet = Fleet(AIOLI())
    np.testing.assert_array_equal(learn_in_batches(fleet, keys, X, y, 1), p)
    assert_same_models(fleet, objects)
    asked: list[Key] = [*keys[:70], "nobody", *keys[70:72]]  # groups of sixteen rows, and what is left of them
    alone = [objects[key].predict_logit(x) if key in objects else 0.0 for key, x in zip(asked, X, strict=False)]
    np.testing.assert_array_equal(fleet.predict_logit_many(asked, X[: len(asked)]), alone)


@pytest.mark.parametrize("keys", [1, 3, 1000])
def test_rows_played_side_by_side_are_those_of_their_keys_in_order(keys: int) -> None:
    numbers, X, y = keyed_rows(1000, 10, keys, seed=keys)
    numbers[500:520] = [numbers[0], *numbers[:3], *numbers[:16]]  # a key comes again next to itself, and in a group
    p, objects = played_apart(numbers, X, y, AIOLI())
    fleet = Fleet(AIOLI())
    np.testing.assert_array_equal(fleet.learn_many(numbers, X, y), p)
    assert_same_models(fleet, objects)


@pytest.mark.parametrize("form", ["packed", "full"])
def test_a_model_whose_matrix_loses_its_digits_turns_to_factors_as_a_learner_does(form: str, tmp_path: Path) -> None:
    keys, X, y = keyed_rows(800, 4, 30)
    X[[not isinstance(key, int) for key in keys]] += 1e5
    p, objects = played_apart(keys, X, y, AIOLI(radius=100.0))
    factored = [learner.snapshot().part("state").flag("factored") for learner in objects.values()]
    assert any(factored)
    assert not all(factored)
    fleet = Fleet(AIOLI(radius=100.0), form=form, hot_models=12, spill=tmp_path)  # type: ignore[arg-type]  # one of the forms
    np.testing.assert_array_equal(learn_in_batches(fleet, keys, X, y, 1), p)
    assert_same_models(fleet, objects)
    assert_same_models(Fleet.restore(from_bytes(to_bytes(fleet.snapshot())), hot_models=8), objects)
    for learner in objects.values():
        learner.grow(2)
    assert_same_models(fleet.grow(2), objects)


@pytest.mark.parametrize("budget", [{"hot_models": 9}, {"hot_rows": 40}, {"memory": 50_000}])
def test_models_on_disk_are_the_same_models(budget: dict[str, int], tmp_path: Path) -> None:
    keys, X, y = keyed_rows(1500, 5, 200)
    p, objects = played_apart(keys, X, y, AIOLI())
    fleet = Fleet(AIOLI(), spill=tmp_path, **budget)  # type: ignore[arg-type]  # one of three
    half = 700
    q = learn_in_batches(fleet, keys[:half], X[:half], y[:half], 1)
    assert fleet.on_disk > 50
    copy = pickle.loads(pickle.dumps(fleet))
    for each in (fleet, copy):
        rest = learn_in_batches(each, keys[half:], X[half:], y[half:], 2)
        np.testing.assert_array_equal(np.append(q, rest), p)
        before = to_bytes(each.snapshot())
        alone = [objects[key].predict(x) for x, key in zip(X, keys, strict=True)]
        np.testing.assert_array_equal(each.predict_many(keys, X), alone)
        assert to_bytes(each.snapshot()) == before
        assert_same_models(each, objects)
    assert to_bytes(fleet.snapshot()) == to_bytes(copy.snapshot())


def test_columns_that_come_later_were_0_before() -> None:
    keys, X, y = keyed_rows(400, 5, 20)
    X[:200, 3:] = 0.0
    whole = Fleet().learn_many(keys, X, y)
    fleet = Fleet(AIOLI())
    first = fleet.learn_many(keys[:200], X[:200, :3], y[:200])
    fleet.grow(2, ["d", "e"])
    assert fleet.feature_names_ == ["x0", "x1", "x2", "d", "e"]
    second = fleet.learn_many(keys[200:], X[200:], y[200:])
    np.testing.assert_allclose(np.append(first, second), whole, atol=1e-13)  # sums over 0 may be grouped otherwise


@pytest.mark.parametrize("pooling", [None, "global"])
def test_a_file_written_a_few_keys_at_a_time_is_the_snapshot(
    pooling: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys, X, y = keyed_rows(700, 4, 300)
    X[:200] += 1e5 * (np.arange(200) % 3 == 0)[:, None]  # some models are factored, and take a second record
    fleet = Fleet(AIOLI(radius=100.0), pooling, hot_models=40, spill=tmp_path)  # type: ignore[arg-type]
    fleet.learn_many(keys, X, y)
    assert fleet.on_disk
    whole = to_bytes(fleet.snapshot())
    assert pooling or from_bytes(whole).part("records").array("extensions").size
    fleet.save(tmp_path / "at once")
    monkeypatch.setattr("aioli.fleet.saved_records.PIECE", 2000)
    fleet.save(tmp_path / "in pieces")
    assert (tmp_path / "at once").read_bytes() == (tmp_path / "in pieces").read_bytes() == whole
    monkeypatch.setattr("aioli.snapshots.open_files.LARGE", 1500)
    assert to_bytes(Fleet.load(tmp_path / "in pieces").snapshot()) == whole
    small = Fleet.load(tmp_path / "in pieces", hot_models=64, spill=tmp_path)
    assert small.on_disk >= len(small) - 64  # models leave memory while others are read
    assert to_bytes(small.snapshot()) == whole


def test_saving_and_loading_take_little_memory_beside_the_fleet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = Fleet(AIOLI())
    fleet.learn_many(np.arange(4000), np.ones((4000, 10)), np.arange(4000) % 2)
    monkeypatch.setattr("aioli.fleet.saved_records.PIECE", 1 << 15)
    monkeypatch.setattr("aioli.snapshots.open_files.LARGE", 1 << 15)
    fleet.save(tmp_path / "once")
    Fleet.load(tmp_path / "once")  # whatever is loaded late is loaded by now
    tracemalloc.start()
    try:
        fleet.save(tmp_path / "file")
        saving = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        Fleet.load(tmp_path / "file")  # its records lie in a map of memory that is not traced
        loading = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (tmp_path / "file").stat().st_size > 2_500_000
    assert saving < 600_000  # keys, of 8 bytes each a few times over, and a piece
    assert loading < 1_000_000  # these, and the tables of where they are


def test_fleets_merge_by_key() -> None:
    keys, X, y = keyed_rows(900, 4, 40)
    half = 500
    _, first = played_apart(keys[:half], X[:half], y[:half], AIOLI())
    _, second = played_apart(keys[half:], X[half:], y[half:], AIOLI())
    one, other = Fleet(AIOLI()), Fleet(AIOLI())
    one.learn_many(keys[:half], X[:half], y[:half])
    other.learn_many(keys[half:], X[half:], y[half:])
    for key, learner in second.items():
        first[key] = first[key].merge(learner) if key in first else learner
    assert_same_models(one.merge(other), first)
    assert one.rounds == 900
    assert_same_models(Fleet(AIOLI()).merge(other), second)


def test_weights_and_late_labels_are_those_of_a_learner() -> None:
    keys, X, y = keyed_rows(300, 3, 7)
    rng = np.random.default_rng(5)
    weights, logits = rng.uniform(0, 3, size=300), rng.normal(size=300)
    fleet = Fleet(AIOLI())
    fleet.learn_many(keys, X, y, weights, logits)
    objects: Objects = {key: AIOLI() for key in keys}
    for t, key in enumerate(keys):
        objects[key].learn(X[t], y[t], weights[t], logits[t])
    assert_same_models(fleet, objects)


def test_single_storage_is_half_as_large_and_close() -> None:
    keys, X, y = keyed_rows(3000, 10, 20)
    whole, half = Fleet(AIOLI()), Fleet(AIOLI(), storage="float32")
    p, q = whole.learn_many(keys, X, y), learn_in_batches(half, keys, X, y, 1)
    assert np.abs(p - q).max() < 2e-5  # 150 rows a key, each rounded to 24 bits; docs/fleet.md has more
    np.testing.assert_array_equal(half.learn_many(keys, X, y), pickle_and_learn(half, keys, X, y))
    assert half.nbytes < 0.85 * whole.nbytes  # of so few keys, whose tables are as large; and of one model:
    assert Layout(51, storage="float32").stride < 0.52 * Layout(51).stride


def pickle_and_learn(fleet: Fleet, keys: list[Key], X: Matrix, y: Vector) -> Vector:
    fresh = Fleet(AIOLI(), storage="float32")
    learn_in_batches(fresh, keys, X, y, 7)
    assert fleet.rounds == 2 * fresh.rounds
    return Fleet.restore(fresh.snapshot()).learn_many(keys, X, y)


def test_single_storage_survives_rows_that_float64_needs_factors_for() -> None:
    keys, X, y = keyed_rows(600, 4, 5)
    X += 50.0
    p = Fleet(AIOLI(radius=100.0)).learn_many(keys, X, y)
    fleet = Fleet(AIOLI(radius=100.0), storage="float32")
    q = learn_in_batches(fleet, keys, X, y, 1)
    assert np.abs(p - q).max() < 1e-2
    assert any(own_learner(fleet, key).snapshot().part("state").flag("factored") for key in fleet)


def test_keys_of_all_kinds_of_arrays_are_the_same_keys() -> None:
    X, y = np.ones((4, 1)), [0, 1, 1, 0]
    fleet = Fleet(AIOLI())
    fleet.learn_many([3, -1, 2**40, 3], X, y)
    fleet.learn_many(np.array([3, -1, 2**40, 3]), X, y)
    fleet.learn_many(np.array([3, 3, 3, 3], np.uint8), X, y)
    fleet.learn_many(np.array(["a", "b", "a", "c"]), X, y)
    fleet.learn_many(["a", "b", 3, 2**70], X, y)
    assert list(fleet) == [3, -1, 2**40, "a", "b", "c", 2**70]
    assert fleet.by_key()["rows"].tolist() == [9.0, 2.0, 2.0, 3.0, 2.0, 1.0, 1.0]
    assert fleet[3].rounds == 9
    assert list(Fleet.restore(fleet.snapshot())) == list(fleet)


def test_a_full_disk_under_the_spill_is_told_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys, X, y = keyed_rows(400, 3, 150)
    fleet = Fleet(AIOLI(), hot_models=10, spill=tmp_path)
    p = fleet.learn_many(keys[:4], X[:4], y[:4])
    before = to_bytes(fleet.snapshot())

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("aioli.fleet.memory._extend", full)
        with pytest.raises(OSError, match=r"no room for \d+ records .* give another folder as spill"):
            fleet.learn_many(keys[4:], X[4:], y[4:])
    assert to_bytes(fleet.snapshot()) == before
    p = np.append(p, fleet.learn_many(keys[4:], X[4:], y[4:]))
    np.testing.assert_array_equal(p, played_apart(keys, X, y, AIOLI())[0])
