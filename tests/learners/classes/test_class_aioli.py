"""AIOLI of many classes: labels as people have them, structures, classes beyond counting, and two that become more."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aioli import AIOLI, OGD, ClassAIOLI
from aioli.errors import LabelRefused, ParameterRefused, SnapshotRefused
from aioli.evaluate.class_hindsight import best_in_class_ball
from aioli.learners.protocol import Capability, certifies, knows_classes
from aioli.numerics.compiling import Matrix
from aioli.outcomes.class_labels import ClassLabels
from aioli.snapshots.tree import Snapshot
from aioli.states.classes.tree import TreeState


def clouds(n: int, K: int, d: int = 3, seed: int = 0) -> tuple[Matrix, list[int]]:
    rng = np.random.default_rng(seed)
    codes = rng.integers(K, size=n)
    return rng.normal(size=(K, d))[codes] * 2.0 + rng.normal(size=(n, d)), codes.tolist()


# ---- labels


@pytest.mark.parametrize(
    "labels",
    [
        ["b", "a", "c", "a"],
        np.array(["b", "a", "c", "a"]),
        np.array(["b", "a", "c", "a"], dtype=object),
        np.array([3, 1, 2, 1]),
        [True, False, True, False],
        np.array([2.0, 1.0, 0.5, 1.0]),
        [[3], [1], [2], [1]],
    ],
)
def test_labels_of_any_kind_are_classes_in_the_order_of_their_coming(labels: Any) -> None:
    plain = np.asarray(labels, dtype=object).ravel().tolist()
    learner = ClassAIOLI()
    learner.learn_many(np.ones((4, 1)), labels if not isinstance(labels[0], list) else np.array(labels))
    assert learner.classes_ == list(dict.fromkeys(plain))
    assert not any(isinstance(label, np.generic) for label in learner.classes_)


def test_pandas_categories_are_labels() -> None:
    pandas = pytest.importorskip("pandas")
    column = pandas.Series(["b", "a", "b"], dtype="category")
    learner = ClassAIOLI(classes=column.cat.categories)
    learner.learn_many(np.ones((3, 1)), column)
    assert learner.classes_ == ["a", "b"]
    holed = pandas.Series(["b", None, "b"], dtype="category")
    with pytest.raises(LabelRefused, match="row 1: the label is missing"):
        learner.learn_many(np.ones((3, 1)), holed)


@pytest.mark.parametrize(
    "classes", ["some", ["a"], [], ["a", "a"], [1, True], 3, None, [["a"], ["b"]], [math.nan, 1.0]]
)
def test_classes_that_are_none_are_refused(classes: Any) -> None:
    with pytest.raises(ParameterRefused, match="classes"):
        ClassAIOLI(classes=classes)


def test_a_snapshot_of_labels_that_repeat_is_refused() -> None:
    with pytest.raises(SnapshotRefused, match="more than once"):
        ClassLabels.restore(Snapshot("ClassLabels", {"open": True, "classes": ["a", "a"]}))


def test_learners_of_two_classes_name_the_learners_of_more() -> None:
    for learner in (AIOLI(), OGD()):
        with pytest.raises(LabelRefused, match=r"AIOLI\(classes=…\)"):
            learner.learn([1.0], 2)
        with pytest.raises(LabelRefused, match=r"AIOLI\(classes=…\)"):
            learner.learn_many([[1.0], [2.0]], ["a", "b"])


def test_aioli_with_classes_is_the_learner_of_many_classes() -> None:
    learner: object = AIOLI(classes="any")
    assert isinstance(learner, ClassAIOLI)
    assert knows_classes(learner)
    assert not knows_classes(AIOLI())
    assert certifies(learner)
    assert Capability.MERGES in learner.capabilities
    with pytest.raises(ParameterRefused, match="leave out regulariser"):
        AIOLI(regulariser=2.0, classes="any")
    with pytest.raises(ParameterRefused, match="give classes too"):
        AIOLI(structure="tree")
    with pytest.raises(ParameterRefused, match="structure"):
        AIOLI(classes="any", structure="bush")  # type: ignore[arg-type]  # refused


# ---- structures


def test_the_width_chooses_the_structure_and_it_is_said() -> None:
    learner = ClassAIOLI()
    assert learner.structure_ == "nothing yet"
    X, codes = clouds(60, 5, d=170)
    learner.learn_many(X, codes)
    state = learner._state
    assert isinstance(state, TreeState)
    assert state.most == 3  # 2 contrasts of 171 columns have 342 rows, and 3 would have 513
    assert learner.structure_ == "tree of 3 nodes"
    assert learner.certificate().against == "one model a node"
    narrow = ClassAIOLI()
    narrow.learn_many(X[:, :3], codes)
    assert narrow.structure_ == "full softmax"


def test_a_tree_that_has_room_is_the_full_softmax() -> None:
    X, codes = clouds(80, 4)
    full = ClassAIOLI(structure="full")
    chosen = ClassAIOLI()
    assert_array_equal(chosen.learn_many(X, codes), full.learn_many(X, codes))
    assert chosen.certificate() == full.certificate()


def test_a_tree_of_two_classes_is_aioli_with_half_the_regulariser() -> None:
    X, codes = clouds(80, 2)
    tree = ClassAIOLI(2.0, 0.1, classes=[0, 1], structure="tree")
    binary = AIOLI(2.0 * math.sqrt(2.0), 0.05, 0.5)
    assert_allclose(tree.learn_many(X, codes)[:, 1], binary.learn_many(X, codes), atol=1e-10)
    assert_allclose(tree.certificate(), binary.certificate(), rtol=1e-10)


def test_a_damaged_tree_is_refused() -> None:
    learner = ClassAIOLI(structure="tree")
    learner.learn_many(*clouds(30, 4))
    taken = learner.snapshot()
    state = taken.part("state")
    for children in ([[0, ~1], [1, 2], [3, 3]], [[0, 1], [2, 3], [1, 2]], "none", [[0, ~2], [1, ~1], [2, 3]]):
        broken = Snapshot(state.kind, {**state.values, "children": children}, state.arrays, state.parts)
        with pytest.raises(SnapshotRefused):
            ClassAIOLI.restore(Snapshot(taken.kind, taken.values, taken.arrays, {**taken.parts, "state": broken}))


def test_classes_beyond_the_root_cost_a_node_each() -> None:
    X, codes = clouds(150, 60, d=4)
    learner = ClassAIOLI()
    learner.learn_many(X, codes)
    state = learner._state
    assert isinstance(state, TreeState)
    numbers = state.root.P.size + sum(node.state.buffer.size for node in state.nodes)
    assert numbers < (31 * 5) ** 2 + 60 * 200
    assert math.isfinite(learner.certificate())
    p = learner.predict(X[0])
    assert_allclose(p.sum(), 1.0 - learner.escape, rtol=1e-9)


# ---- two classes that become more


@pytest.mark.parametrize(("regulariser", "curvature"), [(0.5, "tight"), (1.0, "paper")])
def test_two_classes_go_on_as_many_with_what_was_learned_and_proven(regulariser: float, curvature: Any) -> None:
    X, codes = clouds(120, 3)
    two = np.flatnonzero(np.array(codes) < 2)[:50]
    rest = np.setdiff1d(np.arange(120), two)
    binary = AIOLI(4.0, None, regulariser, curvature)
    binary.learn_many(X[two], np.array(codes)[two])
    many = binary.with_classes("no", "yes")
    assert many.classes_ == ["no", "yes"]
    assert_allclose(many.certificate(), binary.certificate(), rtol=1e-12)
    assert_allclose(many.certificate(tight=True), binary.certificate(tight=True), rtol=1e-8)
    assert_allclose((many.loss, many.rounds), (binary.loss, 50))
    W = many.coefficients_
    assert W is not None
    assert_allclose(W[1] - W[0], binary.coefficients_, rtol=1e-12)
    if regulariser == 0.5:
        assert_allclose(many.predict(X[0])[1], binary.predict(X[0]) * (1.0 - many.escape), rtol=1e-10)
    names = np.array(["no", "yes", "maybe"])
    many.learn_many(X[rest], names[np.array(codes)[rest]])
    order = np.concatenate([two, rest])
    played = np.array([many.classes_.index(names[codes[t]]) for t in order])
    seen = np.maximum(np.maximum.accumulate(played) + 1, 2)
    proven = many.certificate()
    best = best_in_class_ball(X[order], played, 3, proven.radius, seen=seen)
    assert many.loss - best.loss <= proven + 1e-6


def test_two_classes_find_their_places_among_those_declared() -> None:
    X, codes = clouds(60, 2)
    binary = AIOLI(regulariser=0.5)
    binary.learn_many(X, codes)
    many = binary.with_classes("no", "yes", ["maybe", "yes", "no"], structure="full")
    assert many.classes_ == ["maybe", "yes", "no"]
    W = many.coefficients_
    assert W is not None
    assert_allclose(W[1] - W[2], binary.coefficients_, rtol=1e-9)
    assert_allclose(many.certificate(), binary.certificate(), rtol=1e-9)
    with pytest.raises(ParameterRefused, match="cannot go on"):
        binary.with_classes("no", "yes", structure="one_vs_rest")
    with pytest.raises(ParameterRefused, match="proves nothing"):
        AIOLI(curvature="full").with_classes()


# ---- merging


def test_classes_are_found_by_label_when_learners_merge() -> None:
    X, codes = clouds(90, 4)
    labels = [f"class {k}" for k in codes]
    left, right, both = ClassAIOLI(), ClassAIOLI(), ClassAIOLI(classes=[f"class {k}" for k in range(4)])
    left.learn_many(X[:40], labels[:40])
    right.learn_many(X[40:], labels[40:])
    W = {}
    for first, second in ((left, right), (right, left)):
        merged = type(first).restore(first.snapshot()).merge(second)
        coefficients = merged.coefficients_
        assert coefficients is not None
        W[first is left] = {label: coefficients[k] for k, label in enumerate(merged.classes_)}
    for label in W[True]:
        assert_allclose(W[True][label], W[False][label], atol=1e-9)
    with pytest.raises(ParameterRefused, match="other rules"):
        left.merge(both)
