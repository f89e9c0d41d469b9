"""The companion that plays on the columns that matter: who is chosen, what it saves, and that it is remembered."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aioli import Auto
from aioli.errors import SnapshotRefused
from aioli.learners.auto import chosen_columns
from aioli.learners.auto.bending_ensemble import BendingEnsemble
from aioli.learners.auto.boosting import BoostingCompanion
from aioli.learners.auto.chosen_columns import ChosenColumns
from aioli.learners.auto.column_tests import _chance_of_seven, chance_of_one_many, columns_that_matter
from aioli.learners.auto.companions import ForestCompanion, KernelCompanion
from aioli.learners.auto.dense_ensemble import DenseEnsemble
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.codec import to_bytes
from aioli.snapshots.tree import Plain, Snapshot


def among_noise(rows: int, noise: int = 40, seed: int = 0) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3 + noise))
    y = (X[:, 0] + X[:, 1] ** 2 - 1.0 + 0.3 * rng.logistic(size=rows) > 0.0).astype(np.float64)
    return X, y


def small() -> BendingEnsemble:
    return BendingEnsemble(DenseEnsemble(None, "usual"), [ForestCompanion(4)])


def played(rows: int, noise: int = 40) -> tuple[ChosenColumns, Matrix]:
    X, y = among_noise(rows, noise)
    companion = ChosenColumns([small, small])
    return companion, companion.play(X, y, np.ones(rows))


def test_columns_are_chosen_that_say_something_of_the_label_in_a_line_or_a_bend() -> None:
    X, y = among_noise(1000)
    X[:, 2] = 5.0  # one that never moves says nothing
    assert columns_that_matter(X, y).tolist() == [0, 1]


def test_a_column_is_chosen_that_says_something_only_beside_another() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1000, 40))
    y = (X[:, 0] > 0.0).astype(np.float64)
    X[:, 0] += 2.0 * X[:, 1]  # the label knows nothing of column 1, without which column 0 says little
    X[:, 2] = X[:, 0]  # nothing new beside its copy
    assert columns_that_matter(X, y).tolist() == [0, 1, 2]


def test_of_very_many_columns_each_is_tested_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    for cubic in ("eigh", "pinv"):  # would stop a stream for seconds
        monkeypatch.delattr(np.linalg, cubic)
    X, y = among_noise(400, noise=600)
    assert columns_that_matter(X, y).tolist() == [0, 1]


def test_columns_of_two_values_join_those_chosen_where_noise_does_not() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 60))
    X[:, 10:15] = rng.random((500, 5)) < 0.5
    faint = 0.6 * X[:, 10:15].sum(axis=1) + 0.1 * X[:, 20:25].sum(axis=1)  # fainter where values are many
    y = (2.0 * X[:, 0] + faint - faint.mean() + rng.logistic(size=500) > 0.0).astype(np.float64)
    found = columns_that_matter(X, y)
    assert 0 in found
    assert np.isin(found, [0, *range(10, 15)]).all()
    assert found.size > 2


def test_none_are_chosen_where_many_columns_say_a_little_each() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(600, 40))
    faint = np.where(np.arange(40) < 3, 0.8, 0.2)  # three pass a test by themselves, most of the others do not
    y = (X @ faint + rng.logistic(size=600) > 0.0).astype(np.float64)
    assert columns_that_matter(X, y).size == 0
    y = (X[:, :3] @ faint[:3] + rng.logistic(size=600) > 0.0).astype(np.float64)
    assert columns_that_matter(X, y).tolist() == [0, 1, 2]


def test_rare_values_and_rare_labels_choose_nothing_by_chance() -> None:
    rng = np.random.default_rng(2)
    X = (rng.random((256, 400)) < 0.01).astype(np.float64)
    y = np.zeros(256)
    y[[40, 200]] = 1.0
    X[[40, 200], 7] = 1.0  # a coincidence, or not: two rows do not tell
    assert columns_that_matter(X, y).size == 0
    few = rng.normal(size=(24, 300))
    assert columns_that_matter(few, (rng.random(24) < 0.5).astype(np.float64)).size <= 2


def test_it_says_nothing_of_its_own_until_columns_are_chosen_and_where_few_are_idle() -> None:
    _, said = played(300)
    assert np.isnan(said[:16]).all()
    assert np.isfinite(said[128:]).all()
    _, said = played(300, noise=5)
    assert np.isnan(said).all()


def test_columns_of_noise_cost_auto_little() -> None:
    X, y = among_noise(1200, noise=60)
    said = [Auto().learn_many(rows, y) for rows in (np.ascontiguousarray(X[:, :3]), X)]
    said.append(Auto(budget="fast").learn_many(X, y))
    alone, among, fast = (-np.log(np.where(y == 1.0, p, 1.0 - p))[600:].mean() for p in said)
    assert among < 1.05 * alone  # of the first 600 rows some are needed to choose
    assert fast > 1.2 * alone


def test_a_stop_changes_no_bit_and_chunks_change_nothing_but_rounding() -> None:
    X, y = among_noise(400)
    one = np.ones(400)
    said = ChosenColumns([small, small]).play(X, y, one)
    steady, stopped = ChosenColumns([small, small]), ChosenColumns([small, small])
    for part in (slice(0, 50), slice(50, 129), slice(129, 256), slice(256, 400)):
        consulted = stopped.consult(X[part][:1])
        heard = stopped.play(X[part], y[part], one[part])
        assert_array_equal(heard, steady.play(X[part], y[part], one[part]))
        assert_allclose(heard, said[part], rtol=1e-9)
        assert_allclose(consulted[0], heard[0], rtol=1e-9)
        stopped = ChosenColumns([small, small]).recalled(stopped.snapshot())


def test_chances_are_those_of_chi_squared() -> None:
    special = pytest.importorskip("scipy.special")
    x = np.array([0.0, 0.5, 3.0, 20.0, 60.0])
    assert_allclose(chance_of_one_many(x), special.chdtrc(1, x), rtol=1e-12)
    assert_allclose(_chance_of_seven(x), special.chdtrc(7, x), rtol=1e-12)


def test_new_columns_may_be_chosen() -> None:
    X, y = among_noise(512)
    companion = ChosenColumns([small, small])
    companion.play(np.ascontiguousarray(X[:200, 1:]), y[:200], np.ones(200))
    companion.grow(1)
    wider = np.column_stack([X[200:, 1:], 3.0 * y[200:]])
    said = companion.play(wider, y[200:], np.ones(312))
    assert np.isfinite(said).all()
    assert companion._columns.max() == X.shape[1] - 1
    again = companion.consult(wider[:2])
    assert again[0, 0] * (2.0 * y[200] - 1.0) > 2.0  # it has learned what the new column says


def test_a_snapshot_of_other_columns_is_refused() -> None:
    companion, _ = played(300)
    whole = companion.snapshot()
    for arrays in ({"columns": np.array([99])}, {"columns": np.array([-1])}, {"kept": whole.arrays["kept"][:-1]}):
        broken = Snapshot(whole.kind, whole.values, {**whole.arrays, **arrays}, whole.parts)
        with pytest.raises(SnapshotRefused):
            ChosenColumns([small, small]).recalled(broken)


@pytest.mark.parametrize("first", [4, 20])
def test_columns_that_come_later_are_chosen_as_if_they_had_been_there(first: int) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 40))
    X[:60, first:] = 0.0
    y = (X[:, 0] - 1.5 * X[:, first + 1] + rng.logistic(size=600) > 0).astype(float)
    grown = Auto()
    said = [grown.learn_many(X[:60, :first], y[:60])]
    grown.grow(40 - first)
    said.append(grown.learn_many(X[60:], y[60:]))
    whole = Auto()
    assert_allclose(np.concatenate(said), whole.learn_many(X, y), rtol=0.0, atol=1e-9)
    assert whole.weights_["all of these on the columns that matter"] > 0.01


def test_columns_of_one_value_change_no_choice(rng: np.random.Generator) -> None:
    X = rng.normal(size=(400, 24))
    y = (X[:, 3] + rng.logistic(size=400) > 0).astype(float)
    wider = np.concatenate([np.full((400, 30), 2.0), X], axis=1)
    assert (columns_that_matter(wider, y) - 30).tolist() == columns_that_matter(X, y).tolist() == [3]


def fewer() -> BendingEnsemble:
    return BendingEnsemble(DenseEnsemble(None, "usual"), [KernelCompanion(8)])


def boosted() -> BendingEnsemble:
    return BendingEnsemble(DenseEnsemble(None, "usual"), [BoostingCompanion()])


def earlier_file(companion: ChosenColumns, **values: Plain) -> Snapshot:
    """Return the snapshot of a companion as it was before files said which version they are."""
    whole = companion.snapshot()
    return replace(whole, values={"rows": whole.values["rows"], **values})


def test_an_ensemble_of_an_earlier_version_goes_on_as_it_did() -> None:
    X, y = among_noise(600)
    known = ChosenColumns([small, small])
    known.play(X[:300], y[:300], np.ones(300))
    file = earlier_file(known)
    said = known.play(X[300:], y[300:], np.ones(300))
    assert not np.isnan(said).any()
    recalled = ChosenColumns([fewer, small]).recalled(file)
    again = ChosenColumns([fewer, small]).recalled(recalled.snapshot())
    for companion in (recalled, again):
        assert_array_equal(companion.play(X[300:], y[300:], np.ones(300)), said)


@pytest.mark.parametrize(
    ("values", "few", "many"),
    [({}, small, small), ({"earlier": True}, boosted, boosted), ({"version": 0}, fewer, small)],
)
def test_a_file_from_before_the_first_choice_goes_on_with_what_its_version_plays(
    values: dict[str, Plain], few: Callable[[], BendingEnsemble], many: Callable[[], BendingEnsemble]
) -> None:
    X, y = among_noise(300)
    known = ChosenColumns([few, many])
    known.play(X[:10], y[:10], np.ones(10))
    recalled = ChosenColumns([fewer, small, boosted]).recalled(earlier_file(known, **values))
    said = known.play(X[10:], y[10:], np.ones(290))
    assert np.isfinite(said[-100:]).all()
    # one of them makes its ensemble anew at the 256th row: rows that are learned in other calls round apart
    assert_allclose(recalled.play(X[10:], y[10:], np.ones(290)), said, rtol=1e-9)


def kinds(companion: ChosenColumns) -> list[str]:
    """Return the kinds of companions in the ensemble on the columns chosen."""
    assert companion._ensemble is not None
    return [type(each).__name__ for each in companion._ensemble.companions]


@pytest.mark.parametrize(
    "again", [lambda companion: companion, lambda c: ChosenColumns([fewer, boosted]).recalled(c.snapshot())]
)
def test_once_rows_are_many_another_ensemble_plays(again: Callable[[ChosenColumns], ChosenColumns]) -> None:
    X, y = among_noise(400)
    companion = ChosenColumns([fewer, boosted])
    companion.play(X[:255], y[:255], np.ones(255))
    assert kinds(companion) == ["KernelCompanion"]
    companion = again(companion)
    companion.play(X[255:], y[255:], np.ones(145))
    assert kinds(companion) == ["BoostingCompanion"]
    assert kinds(again(companion)) == ["BoostingCompanion"]


def test_once_rows_are_many_another_ensemble_plays_where_the_choice_changes_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chosen = lambda X, _y: np.arange(1 if len(X) < 256 else 2)  # noqa: E731  (one line says it)
    monkeypatch.setattr(chosen_columns, "columns_that_matter", chosen)
    X, y = among_noise(300)
    companion = ChosenColumns([fewer, boosted])
    companion.play(X, y, np.ones(300))
    assert companion._columns.tolist() == [0, 1]
    assert kinds(companion) == ["BoostingCompanion"]


def test_an_ensemble_that_was_told_of_late_labels_knows_it_after_a_stop() -> None:
    X, y = among_noise(600)
    told = ChosenColumns([boosted, boosted])
    told.play(X[:300], y[:300], np.ones(300))
    told.labels_come_late()
    assert told._ensemble is not None
    told._ensemble._mixed._retire([0])
    again = ChosenColumns([boosted, boosted]).recalled(told.snapshot())
    for companion in (told, again):  # who begins anew has been told as well
        assert companion._ensemble is not None
        companion._ensemble._mixed._begin_anew([0])
        companion.play(X[300:], y[300:], np.ones(300))
    assert to_bytes(again.snapshot()) == to_bytes(told.snapshot())


def test_a_file_of_an_ensemble_that_nobody_makes_is_refused() -> None:
    companion, _ = played(300)
    for file in (companion.snapshot(), earlier_file(companion)):
        with pytest.raises(SnapshotRefused):
            ChosenColumns([fewer, boosted]).recalled(file)
