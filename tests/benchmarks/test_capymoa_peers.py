"""The comparison with CapyMOA: what is scored is what was said before the label, whoever says it."""

import sys
from types import ModuleType

import numpy as np
import pytest

from aioli import Auto
from aioli.numerics.compiling import Matrix, Vector
from benchmarks import capymoa_peers
from benchmarks.late_labels import Stream
from benchmarks.online_contenders import announced_in_time


class _LastLabel:
    """A classifier with CapyMOA's methods: it says nothing at first, then that the last label comes again."""

    def __init__(self, schema: str) -> None:
        assert schema == "two classes"
        self._last: int | None = None

    def predict_proba(self, instance: tuple[Vector, int]) -> Vector | None:
        assert instance[0].shape == (2,)
        return None if self._last is None else np.array([1.0 - self._last, float(self._last)])

    def train(self, instance: tuple[Vector, int]) -> None:
        self._last = instance[1]


class _Rows:
    """Stand for CapyMOA's `NumpyStream`: instances of a schema."""

    def __init__(self, X: Matrix, y: Vector) -> None:
        assert y.dtype == np.int64
        self._instances = list(zip(X, y.tolist(), strict=True))

    def __iter__(self) -> object:
        return iter(self._instances)

    def get_schema(self) -> str:
        return "two classes"


X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [0.0, 3.0]])
Y = np.array([1.0, 1.0, 0.0, 0.0])


def test_a_classifier_of_capymoa_is_asked_before_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("capymoa.stream")
    module.NumpyStream = _Rows  # type: ignore[attr-defined]  # a module that is made up
    monkeypatch.setitem(sys.modules, "capymoa", ModuleType("capymoa"))
    monkeypatch.setitem(sys.modules, "capymoa.stream", module)
    said = list(announced_in_time(capymoa_peers.OfCapyMOA(_LastLabel, Stream(X, Y)), 4))
    assert said == [0.5, 1.0, 1.0, 0.0]


def test_auto_says_row_by_row_what_it_says_of_many() -> None:
    said = list(announced_in_time(capymoa_peers.RowByRow(Auto(budget="fast"), Stream(X, Y)), 4))
    np.testing.assert_allclose(said, Auto(budget="fast").learn_many(X, Y), rtol=1e-9)


def test_the_least_loss_is_bold_and_beside_it_is_the_accuracy() -> None:
    sure, torn = np.array([1.0, 1.0, 0.0, 1.0]), np.array([0.5, 0.5, 0.4, 0.4])
    assert capymoa_peers.score_table([sure, torn], Y) == ["1.7277, 75.0 %", "**0.6020**, 100.0 %"]


def test_without_capymoa_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "capymoa", None)
    with pytest.raises(SystemExit, match="pip install capymoa"):
        capymoa_peers.main([])


def test_the_rows_around_a_change_are_of_both_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    made = np.arange(20_000.0)[:, None], np.arange(20_000.0) > 9_999.0
    monkeypatch.setattr(capymoa_peers, "drifting_stream", lambda _name, rows: (made[0][:rows], made[1][:rows]))
    rows, labels = capymoa_peers.STREAMS["SEA, abrupt"](100)
    assert rows[0, 0] == 9_950.0
    assert labels.sum() == 50
