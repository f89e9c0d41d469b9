"""Labels, weights, late log-odds and parameters that are refused."""

import math
from typing import Any

import numpy as np
import pytest
from refusing import INF, LABELS, NAN, D, N, good_rows, refused, trained
from scipy import sparse

from aioli import AIOLI

# ---- labels

NO_LABEL: list[Any] = [2, 0.5, NAN, INF, -2, 1 + 1e-16j, "yes", "1", b"1", None, [1], (1,), {}, np.array([0, 1])]
NO_LABEL += [np.int8(2), np.float32(0.5), np.str_("1"), np.array(2), np.array(None), 10**30, np.datetime64("2024")]


@pytest.mark.parametrize("label", NO_LABEL, ids=repr)
def test_what_is_no_label(label: object) -> None:
    for learner in (trained(), AIOLI()):
        with refused(learner, "label", repr(label), "0 or 1", "-1 or +1"):
            learner.learn(good_rows()[0], label)
        with refused(learner, "label", repr(label), "0 or 1", "-1 or +1"):
            learner.learn(good_rows()[0].tolist(), label)


@pytest.mark.parametrize("row", [0, N // 2, N - 1])
@pytest.mark.parametrize("label", [2, -2, 0.5, NAN, INF])
def test_the_row_of_a_wrong_label_is_named(label: float, row: int) -> None:
    labels: list[float] = list(LABELS)
    labels[row] = label
    for learner in (trained(), AIOLI()):
        for given in (labels, np.array(labels), np.array(labels, dtype=np.float32)[:, None]):
            with refused(learner, f"row {row}", "label", str(label), "0 or 1", "-1 or +1"):
                learner.learn_many(good_rows(), given)


def test_an_unsigned_255_is_not_minus_one() -> None:
    learner = trained()
    with refused(learner, "row 2", "255"):
        learner.learn_many(good_rows(), np.array([0, 1, 255, 0, 1, 0, 0, 1, 1], dtype=np.uint8))


@pytest.mark.parametrize("bad", [None, "yes", 1j], ids=repr)
def test_the_row_of_a_label_that_is_no_number_is_named(bad: object) -> None:
    labels = np.array(LABELS, dtype=object)
    labels[5] = bad
    learner = trained()
    with refused(learner, "row 5", "label", repr(bad)):
        learner.learn_many(good_rows(), labels)


WRONG_LABELS: dict[str, Any] = {
    "words": ["yes", "no"] * 4 + ["yes"],
    "digits": [str(label) for label in LABELS],
    "complex": np.array(LABELS, dtype=complex),
    "durations": np.array(LABELS, dtype="timedelta64[s]"),
    "too few": LABELS[:-1],
    "too many": [*LABELS, 1],
    "none": [],
    "None": None,
    "one for all": 1,
    "two columns": np.ones((N, 2)),
    "cube": np.ones((N, 1, 1)),
    "sparse": sparse.csr_array(np.array([LABELS])),
    "ragged": [[0], [1, 1], *LABELS[2:]],
    "an iterator": iter(LABELS),
}


@pytest.mark.parametrize("kind", WRONG_LABELS)
def test_labels_of_the_wrong_type_or_shape(kind: str) -> None:
    for learner in (trained(), AIOLI()):
        with refused(learner, "labels", "give", "nothing was learned"):
            learner.learn_many(good_rows(), WRONG_LABELS[kind])


@pytest.mark.parametrize("labels", [[0, 1, -1], [-1, 1, 0], [1, 0, -1], [1.0, -1.0, 0.0]], ids=repr)
def test_0_and_minus_1_in_one_call_are_two_conventions(labels: list[float]) -> None:
    for learner in (trained(), AIOLI()):
        with refused(learner, "row 2", "0 and -1"):
            learner.learn_many(good_rows()[:3], labels)


# ---- weights and late log-odds


@pytest.mark.parametrize("bad", [-1, -1e-300, NAN, INF, -INF])
def test_the_row_of_a_wrong_weight_is_named(bad: float) -> None:
    weights = np.ones(N)
    weights[N - 1] = bad
    for learner in (trained(), AIOLI()):
        with refused(learner, f"row {N - 1}", "weight", str(float(bad)), "at least 0"):
            learner.learn_many(good_rows(), LABELS, weights)
        with refused(learner, "weight", str(float(bad)), "at least 0"):
            learner.learn(good_rows()[0], 1, weight=bad)


@pytest.mark.parametrize("heavy", [1e15, 1e200, 1e300, 1e308])
def test_a_weight_too_heavy_to_keep_exact_is_named(heavy: float) -> None:
    X, weights = 100.0 * good_rows(), np.ones(N)
    weights[4] = heavy
    for learner in (trained(), AIOLI()):
        with refused(learner, "row 4", f"{heavy:g}", "scale the weights"):
            learner.learn_many(X, LABELS, weights)
        with refused(learner, f"{heavy:g}", "scale the weights"):
            learner.learn(X[4], 1, weight=heavy)


@pytest.mark.parametrize("bad", [NAN, INF, -INF])
def test_late_log_odds_that_are_not_finite(bad: float) -> None:
    logits = np.zeros(N)
    logits[3] = bad
    for learner in (trained(), AIOLI()):
        with refused(learner, "row 3", "logit", str(bad), "predict_logit"):
            learner.learn_many(good_rows(), LABELS, logits=logits)
        with refused(learner, "logit", str(bad), "predict_logit"):
            learner.learn(good_rows()[0], 1, logit=bad)


WRONG_COLUMNS: dict[str, Any] = {
    "too few": np.ones(N - 1),
    "too many": np.ones(N + 1),
    "one for all": 1.0,
    "two columns": np.ones((N, 2)),
    "words": ["heavy"] * N,
    "complex": np.ones(N, dtype=complex),
    "dates": np.zeros(N, dtype="datetime64[s]"),
    "ragged": [[1.0], [1.0, 2.0], *np.ones(N - 2)],
    "None among them": [*np.ones(N - 1), None],
}


@pytest.mark.parametrize("what", ["weights", "logits"])
@pytest.mark.parametrize("kind", WRONG_COLUMNS)
def test_weights_and_log_odds_of_the_wrong_type_or_shape(kind: str, what: str) -> None:
    for learner in (trained(), AIOLI()):
        with refused(learner, what[:-1], "give", "nothing was learned"):
            learner.learn_many(good_rows(), LABELS, **{what: WRONG_COLUMNS[kind]})


@pytest.mark.parametrize("bad", [None, "heavy", 1j], ids=repr)
def test_a_single_weight_that_is_no_number(bad: Any) -> None:
    learner = trained()
    with refused(learner, "weight", "give", "nothing was learned"):
        learner.learn(good_rows()[0], 1, weight=bad)


@pytest.mark.parametrize("bad", ["likely", 1j, np.ones(2)], ids=repr)
def test_a_single_late_log_odds_that_is_no_number(bad: Any) -> None:
    learner = trained()
    with refused(learner, "logit", "give", "nothing was learned"):
        learner.learn(good_rows()[0], 1, logit=bad)


# ---- parameters

NO_NUMBER: list[Any] = ["wide", "8", b"8", None, [8.0], 1j, {}, NAN, INF, -INF, -1, -1e-300, 10**400]


@pytest.mark.parametrize("name", ["radius", "ridge", "regulariser", "forgetting"])
@pytest.mark.parametrize("value", NO_NUMBER, ids=lambda value: repr(value)[:20])
def test_a_parameter_that_is_out_of_range_or_no_number(name: str, value: Any) -> None:
    if (name, value) == ("ridge", None):
        assert AIOLI(ridge=None).ridge is None
        return
    with pytest.raises(ValueError, match=rf"^{name} is .*must be"):
        AIOLI(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [("radius", 0.0), ("ridge", 0.0), ("forgetting", 0.0), ("forgetting", math.nextafter(1.0, 2.0)), ("forgetting", 2)],
)
def test_a_parameter_at_the_end_of_its_range(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"^{name} is .*must be"):
        AIOLI(**{name: value})


@pytest.mark.parametrize("value", ["loose", "Tight", "", None, 1, ["tight"]], ids=repr)
def test_an_unknown_curvature(value: Any) -> None:
    with pytest.raises(ValueError, match=r'curvature is .*"paper", "tight"'):
        AIOLI(curvature=value)


@pytest.mark.parametrize("radius", [5e-324, 1e-200, 1e-160, 1e160, 1e200, 1e308])
def test_a_radius_whose_prior_leaves_float64(radius: float) -> None:
    with pytest.raises(ValueError, match=r"radius|ridge"):
        AIOLI(radius=radius)


@pytest.mark.parametrize("names", [["a"], list("abcd"), []])
def test_names_for_another_number_of_columns(names: list[str]) -> None:
    learner = trained()
    with refused(learner, f"{len(names)} names", f"{D} columns"):
        learner.feature_names_ = names
