"""Auto for many classes: one game however rows come, classes that appear, experts that come and go, what is proven."""

import copy
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aioli import Auto, ClassAuto
from aioli.errors import SnapshotRefused
from aioli.evaluate.hindsight import best_in_ball
from aioli.learners.classes.companions import Companions
from aioli.learners.classes.experts import CLASS_EXPERTS, CLASS_SHARES, experts_for
from aioli.learners.protocol import Capability
from aioli.numerics.compiling import Matrix, Vector
from aioli.outcomes.class_labels import Classes
from aioli.outcomes.class_places import ClassPlaces
from aioli.snapshots.codec import to_bytes
from aioli.states.classes.base_views import BaseViews

NAMES = ["ant", "bee", "cat", "dog"]


def blobs(n: int = 300, K: int = 4, d: int = 3, seed: int = 0) -> tuple[Matrix, list[str]]:
    """Return rows around K centres, and the names of these."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, K, n)
    names = [*NAMES, *(f"class {k}" for k in range(K))]
    return 3.0 * rng.normal(size=(K, d))[codes] + rng.normal(size=(n, d)), [names[k] for k in codes]


def own(p: Matrix, learner: ClassAuto, y: list[str]) -> Vector:
    """Return the probability announced for each label."""
    return p[np.arange(len(y)), [learner.classes_.index(label) for label in y]]


def test_auto_with_classes_is_the_learner_of_many_classes() -> None:
    for classes in ("any", NAMES):
        learner: object = Auto(classes=classes)
        assert isinstance(learner, ClassAuto)
        assert repr(learner) == f"Auto(classes={classes!r})"
        assert {Capability.CLASSES, Capability.GROWS, Capability.MIXES} <= learner.capabilities
    assert isinstance(Auto(), Auto)


@pytest.mark.parametrize("classes", ["any", NAMES])
def test_rows_in_chunks_of_any_size_and_one_by_one_are_the_same_game(classes: Classes) -> None:
    X, y = blobs()
    whole, pieces, single = (ClassAuto(classes=classes) for _ in range(3))
    announced = own(whole.learn_many(X, y), whole, y)
    for a, b in ((0, 1), (1, 7), (7, 100), (100, 300)):
        assert_allclose(own(pieces.learn_many(X[a:b], y[a:b]), pieces, y[a:b]), announced[a:b], rtol=1e-9)
    for t in range(300):
        assert_allclose(single.learn(X[t], y[t])[single.classes_.index(y[t])], announced[t], rtol=1e-9)
    for learner in (whole, pieces, single):
        assert_allclose(learner.loss, -np.log(announced).sum(), rtol=1e-9)
        assert_allclose(learner.predict_many(X[:9]), whole.predict_many(X[:9]), rtol=1e-8)
        assert learner.rounds == 300


def test_an_array_takes_the_short_way_and_a_list_the_long_one_to_the_same_bits() -> None:
    X, y = blobs(60, d=5)
    learners = ClassAuto(classes="any"), ClassAuto(classes="any")
    announced: list[list[Vector]] = []
    for learner, rows in zip(learners, (list(X), X.tolist()), strict=True):
        learner.learn_many(X[:9, :3], y[:9])
        said = [learner.learn(rows[t][:3], y[t]) for t in range(9, 20)]
        learner.learn_many(X[20:30, :3], y[20:30])
        learner.grow(2)
        said += [learner.learn(rows[t], y[t], weight=1.0 + t % 2) for t in range(30, 40)]
        said += [learner.learn(rows[t], "whale") for t in range(40, 60)]
        with pytest.raises(ValueError, match="nothing was learned"):
            learner.learn(np.full(5, math.nan), "ant")
        announced.append(said)
    for one, other in zip(*announced, strict=True):
        assert_array_equal(one, other)
    assert to_bytes(learners[0].snapshot()) == to_bytes(learners[1].snapshot())


def test_what_is_predicted_is_announced_next_and_predicting_changes_nothing() -> None:
    X, y = blobs()
    learner = ClassAuto(classes=NAMES)
    learner.learn_many(X[:200], y[:200])
    before = learner.snapshot()
    said = learner.predict_many(X[200:])
    assert repr(learner.snapshot()) == repr(before)
    assert_allclose(said.sum(axis=1), 1.0)
    assert_allclose(learner.predict(X[200]), said[0], rtol=1e-12)
    assert_allclose(learner.learn(X[200], y[200]), said[0], rtol=1e-12)


@pytest.mark.parametrize("classes", ["any", NAMES])
def test_one_row_predicted_between_others_is_predicted_as_by_a_copy_that_prepared_nothing(classes: Classes) -> None:
    X, y = blobs(420)
    learner = ClassAuto(classes=classes)
    for t in range(300):
        learner.learn(X[t], y[t])
        if t % 20 == 0:
            assert_array_equal(learner.predict(X[t + 1]), copy.deepcopy(learner).predict(X[t + 1]))
    learner.learn_many(X[300:400], y[300:400])
    assert_array_equal(learner.predict(X[400]), copy.deepcopy(learner).predict(X[400]))
    learner.grow(1)
    wider = np.append(X[401], 1.0)
    assert_array_equal(learner.predict(wider), copy.deepcopy(learner).predict(wider))


def test_a_snapshot_goes_on_bit_for_bit_and_copies_do() -> None:
    X, y = blobs(K=8)
    learner = ClassAuto(classes="any")
    learner.learn_many(X[:150], y[:150])
    others = ClassAuto.restore(learner.snapshot()), copy.deepcopy(learner)
    announced = learner.learn_many(X[150:], y[150:])
    for other in others:
        assert_array_equal(other.learn_many(X[150:], y[150:]), announced)
        assert other.weights_ == learner.weights_


def test_a_snapshot_of_other_experts_or_classes_is_refused() -> None:
    X, y = blobs(60)
    learner = ClassAuto(classes="any")
    learner.learn_many(X, y)
    for part, name, value in (("ensemble", "playing", ["nobody"]), ("labels", "classes", ["ant", "bee"])):
        snapshot = learner.snapshot()
        snapshot.parts[part].values[name] = value  # type: ignore[index]  # a snapshot that is damaged
        with pytest.raises(SnapshotRefused):
            ClassAuto.restore(snapshot)


def test_a_snapshot_without_a_class_that_stands_for_the_unseen_goes_on() -> None:
    X, y = blobs(120, K=4)
    learner = ClassAuto(classes=sorted(set(y)))
    learner.learn_many(X[:60], y[:60])
    snapshot = learner.snapshot()
    open_ = ClassAuto(classes="any").snapshot()
    snapshot.values["parameters"] = open_.values["parameters"]  # type: ignore[index]
    snapshot.parts["labels"].values["open"] = True  # type: ignore[index]
    snapshot.parts["labels"].values["given"] = "any"  # type: ignore[index]
    restored = ClassAuto.restore(snapshot)
    p = restored.learn_many(X[60:], ["new", *y[61:]])
    assert restored.classes_ == [*sorted(set(y)), "new"]
    assert p[0, -1] == pytest.approx(1.0 - p[0, :-1].sum())


def test_classes_that_appear_cost_little_more_than_classes_declared() -> None:
    X, y = blobs(1000, K=6)
    declared, found = ClassAuto(classes=sorted(set(y))), ClassAuto(classes="any")
    declared.learn_many(X, y)
    p = found.learn_many(X, y)
    assert found.loss <= 1.01 * declared.loss  # rows tell of new classes, and nothing is given to the never seen
    for label in set(y):
        first, column = y.index(label), found.classes_.index(label)
        assert_array_equal(p[:first, column], 0.0)
        assert p[first, column] > 0.0


def test_experts_join_as_classes_come_and_those_outgrown_leave() -> None:
    X, y = blobs(600, K=18)
    learner = ClassAuto(classes="any")
    learner.learn_many(X, y)
    assert learner._ensemble is not None
    assert learner._ensemble.companions is not None
    playing = [player.expert for player in (*learner._ensemble.players, *learner._ensemble.companions.players)]
    assert set(playing) == set(experts_for(18, 3))
    assert len({expert.name for expert in CLASS_EXPERTS}) == len(CLASS_EXPERTS)
    assert set(learner.weights_) == {expert.name for expert in CLASS_EXPERTS} | {CLASS_SHARES}
    assert_allclose(sum(learner.weights_.values()), 1.0)


def test_an_expert_to_which_nobody_listens_retires() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4096, 3))
    y = np.argmax(3.0 * X + rng.gumbel(size=X.shape), axis=1)  # as linear as can be
    learner = ClassAuto(classes=[0, 1, 2])
    learner.learn_many(X, y)
    assert learner._ensemble is not None
    assert len(learner._ensemble.players) < len(experts_for(3, 3))
    assert learner._ensemble.players[0].expert == CLASS_EXPERTS[0]
    assert {"softmax on the peak view, ρ = 0.9", "softmax on the peak view, ρ = 0.99"} <= set(learner._ensemble.shares)


def test_new_columns_are_as_if_they_had_been_there_and_0() -> None:
    X, y = blobs(d=5)
    grown, whole = ClassAuto(classes=NAMES), ClassAuto(classes=NAMES)
    grown.learn_many(X[:200, :3], y[:200])
    grown.grow(2)
    whole.learn_many(np.column_stack([X[:200, :3], np.zeros((200, 2))]), y[:200])
    assert_allclose(grown.learn_many(X[200:], y[200:]), whole.learn_many(X[200:], y[200:]), atol=1e-10)
    assert grown.n_features_ == 5


def test_units_and_origins_of_columns_do_not_matter() -> None:
    X, y = blobs()
    moved = X * [2.0**30, 2.0**-30, 1.0] + [0.0, 0.0, 2.0**4]
    assert_allclose(ClassAuto(classes=NAMES).learn_many(X, y), ClassAuto(classes=NAMES).learn_many(moved, y), atol=1e-6)


@pytest.mark.parametrize("classes", ["any", NAMES])
def test_the_certificate_bounds_the_regret_against_one_model_a_class(classes: Classes) -> None:
    X, y = blobs()
    learner = ClassAuto(classes=classes)
    learner.learn_many(X, y)
    seen = BaseViews(3).of_rows(X)[0]
    best = 0.0
    for name in learner.classes_:
        first = y.index(str(name)) if classes == "any" else 0  # the game of a class begins with the row that brings it
        labels = [label == name for label in y[first:]]
        best += best_in_ball(seen[first:], labels, 2.0**0.5 * learner.certificate().radius, intercept=False).loss
    for tight in (False, True):
        assert learner.loss - best <= learner.certificate(tight) <= learner.certificate()
    assert "one model a class" in learner.certificate().against


def test_where_classes_are_too_many_the_certificate_is_the_regret_against_constant_probabilities() -> None:
    X, y = blobs()
    weights = np.random.default_rng(1).uniform(0.1, 2.0, 300)
    learner = ClassAuto(experts=1, classes="any")  # which leaves out the certified expert, as many classes do
    p = learner.learn_many(X, y, weights)
    loss = weights @ -np.log(own(p, learner, y))
    assert_allclose(learner.loss, loss)
    totals = np.array([weights[[label == name for label in y]].sum() for name in learner.classes_])
    best = -totals @ np.log(totals / totals.sum())
    assert_allclose(float(learner.certificate()), loss - best)
    assert learner.certificate().against == "constant probabilities"


def test_an_expert_with_a_matrix_a_class_is_not_played_where_classes_are_many() -> None:
    assert not any(expert.certified for expert in experts_for(1000, 20))
    X, y = blobs(200, K=30, d=100)
    learner = ClassAuto(classes="any")
    learner.learn_many(X, y)
    assert learner._ensemble is not None
    assert learner._ensemble.proven() is None
    assert learner.certificate().against == "constant probabilities"


def test_a_row_of_weight_0_teaches_nothing_and_a_late_label_is_counted_where_it_was_announced() -> None:
    X, y = blobs()
    learner = ClassAuto(classes=NAMES)
    learner.learn_many(X[:200], y[:200])
    z = learner.predict_logits(X[200])
    learner.learn_many(X[201:], y[201:])
    loss = learner.loss
    learner.learn(X[200], y[200], logits=z)
    assert_allclose(learner.loss - loss, -z[NAMES.index(y[200])])


def test_what_is_refused_changes_nothing() -> None:
    X, y = blobs()
    learner = ClassAuto(classes=NAMES)
    learner.learn_many(X, y)
    before = repr(learner.snapshot())
    wrong = X.copy()
    wrong[5, 1] = math.nan
    for rows, labels in ((wrong, y), (X, [*y[:-1], "whale"]), (X[:, :2], y), (X, y[1:])):
        with pytest.raises(ValueError, match=r"nothing was learned|knows 3"):
            learner.learn_many(rows, labels)
        assert repr(learner.snapshot()) == before


def test_it_sees_that_labels_come_in_runs() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(rng.integers(0, 5, 100), 12)
    X = rng.normal(size=(len(y), 2))  # noise
    learner = ClassAuto(classes=list(range(5)))
    p = learner.learn_many(X, y)
    right = p.argmax(axis=1) == y
    persistence = np.append(False, y[1:] == y[:-1])
    assert right[600:].mean() >= persistence[600:].mean() - 0.01


def test_a_budget_plays_the_first_experts() -> None:
    X, y = blobs(50)
    learner = ClassAuto(experts=2, classes="any")
    learner.learn_many(X, y)
    assert sum(share > 0.0 for share in learner.weights_.values()) == 3  # and the class shares
    with pytest.raises(ValueError, match="experts is 0"):
        ClassAuto(experts=0, classes="any")


def test_the_usual_budget_plays_a_forest_and_the_fast_one_none() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(900, 3))
    y = 2 * (X[:, 0] > 0.3) + (X[:, 1] > 0.6)  # steps, which trees see
    usual, fast = Auto(classes=range(4)), Auto(classes=range(4), budget="fast")
    for learner in (usual, fast):
        learner.learn_many(X, y)
    assert usual.loss < fast.loss
    assert usual.weights_["forest"] > 0.3
    assert fast.weights_["forest"] == 0.0
    assert repr(Auto(classes="any", budget="fast")) == "Auto(classes='any', budget='fast')"
    with pytest.raises(ValueError, match=r'budget is .slow.; it must be "fast"'):
        Auto(classes="any", budget="slow")


def test_a_companion_to_which_nobody_listens_leaves_at_the_second_review_and_an_outgrown_one_at_once() -> None:
    beside = [expert for expert in CLASS_EXPERTS if expert.is_companion]
    companions = Companions.begin(beside, 3, ClassPlaces(4), "usual")
    companions.mixture.shares[...] = [1.0, 0.0, 0.0, 0.0, 0.0]
    assert companions.review(classes=4, columns=3) == set()
    assert companions.review(classes=4, columns=3) == {"naive Bayes", "forest", "boosting"}
    assert companions.mixture.experts == 1
    heard = Companions.begin(beside, 3, ClassPlaces(100), "usual")
    assert heard.review(classes=100, columns=3) == {"forest", "boosting"}


def test_naive_bayes_tells_what_a_few_rows_of_each_class_do() -> None:
    X, y = blobs(60, d=8)
    learner, without = ClassAuto(classes=NAMES), ClassAuto(experts=11, classes=NAMES)
    learner.learn_many(X, y)
    without.learn_many(X, y)
    assert learner.loss < without.loss
    assert learner.weights_["naive Bayes"] > 0.1
