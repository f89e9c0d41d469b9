"""Which learners become a graph, and what its inputs and outputs are."""

import importlib
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from aioli.errors import CapabilityMissing
from aioli.learners.aioli import AIOLI
from aioli.learners.auto.auto import Auto
from aioli.learners.classes.class_aioli import ClassAIOLI
from aioli.learners.protocol import AnyLearner, knows_classes, require_any_learner
from aioli.onnx.equation import log_odds_of_state
from aioli.onnx.graph import IR, OPSET, Graph, ModelProto, Name
from aioli.onnx.mixtures import log_odds_of_ensemble
from aioli.snapshots.tree import Snapshot
from aioli.states.classes.one_vs_rest import OneVsRestState
from aioli.states.dense.state import State

__all__ = ["save_onnx", "to_onnx"]

ROWS = "X"


def to_onnx(model: object) -> ModelProto:
    """Return an ONNX model that predicts as the learner or classifier does now; it does not learn.

    The input `X` is float64, one row a case. A learner of two classes has the outputs `probability` and `log_odds`, one
    a row; one of more classes `probabilities`, one column a class. A fitted `aioli.sklearn.AIOLIClassifier`, or a
    pipeline that ends with one (its other steps by skl2onnx), has `label` and `probabilities`, as skl2onnx's own
    classifiers have. Rows are not checked: NaN gives NaN.

    `AIOLI`, `Auto` with linear experts (`budget="fast"`, or `experts=…`) and `AIOLI(classes=…,
    structure="one_vs_rest")` can be exported. The companions and guests beside `Auto`'s linear experts, its ramps, the
    full softmax and trees of classes, `Wide` and kernels cannot; the error names what stands in the way.
    """
    steps = _steps_of_pipeline(model)
    if steps is not None:
        return _pipeline(*steps)
    graph = Graph()
    if _is_classifier(model):
        return _classifier(graph, model)
    learner = require_any_learner(model, "model")
    width = _width(learner)
    if knows_classes(learner):
        told = graph.add("Mul", _class_probabilities(graph, learner), 1.0 - _escape(learner))
        return graph.call([("probabilities", told, ["rows", len(learner.classes_)])], width)
    z = graph.add("Reshape", _log_odds(graph, learner), graph.constant([-1], np.int64))
    return graph.call([("probability", graph.add("Sigmoid", z), ["rows"]), ("log_odds", z, ["rows"])], width)


def save_onnx(model: object, path: str | os.PathLike[str]) -> None:
    """Write what `to_onnx` returns to a file."""
    importlib.import_module("onnx").save(to_onnx(model), os.fspath(path))


def _width(learner: AnyLearner) -> int:
    if learner.n_features_ is None or not learner.rounds:
        raise CapabilityMissing(f"{type(learner).__name__} has learned from no row yet; there is nothing to export")
    return learner.n_features_


def _log_odds(graph: Graph, learner: AnyLearner) -> Name:
    """Add the log-odds of a learner of two classes, one column."""
    if isinstance(learner, AIOLI):
        state = State.restore(learner.snapshot().part("state"))
        return log_odds_of_state(graph, _with_intercept(graph, state.spec.intercept), state)
    if isinstance(learner, Auto):
        return log_odds_of_ensemble(graph, ROWS, _linear_player(learner.snapshot().part("player")))
    raise CapabilityMissing(f"{type(learner).__name__} cannot be exported to ONNX; AIOLI and Auto(budget='fast') can")


def _linear_player(player: Snapshot) -> Snapshot:
    """Return the ensemble of linear experts; refuse what plays beside them."""
    if player.kind == "DenseEnsemble":
        return player
    beside = {
        "BendingEnsemble": "companions or guests play beside the linear experts",
        "NarrowAndWide": "wide experts on pairs play beside the others",
    }.get(player.kind, "rows are wide, and Wide plays")
    raise CapabilityMissing(f"Auto cannot be exported to ONNX: {beside}; Auto(budget='fast') on dense rows can be")


def _class_probabilities(graph: Graph, learner: AnyLearner) -> Name:
    """Add the probabilities of the known classes, which add up to 1."""
    if not isinstance(learner, ClassAIOLI) or learner.snapshot().part("state").kind != "OneVsRestState":
        raise CapabilityMissing(
            f"{type(learner).__name__} predicts many classes by an iteration that is no fixed graph, and cannot be "
            'exported to ONNX; AIOLI(classes=…, structure="one_vs_rest") can'
        )
    games = OneVsRestState.restore(learner.snapshot().part("state"))
    rows = _with_intercept(graph, learner.intercept)
    each = [graph.add("Sigmoid", log_odds_of_state(graph, rows, node.state)) for node in games.nodes]
    P = graph.add("Concat", *each, axis=1)
    return graph.add("Div", P, graph.sum_over_columns(P))


def _escape(learner: AnyLearner) -> float:
    return learner.escape if isinstance(learner, ClassAIOLI) else 0.0


def _with_intercept(graph: Graph, intercept: bool) -> Name:
    if not intercept:
        return ROWS
    first = graph.add("ReduceMax", ROWS, graph.constant([1], np.int64), keepdims=1)
    ones = graph.add("Add", graph.add("Mul", first, 0.0), 1.0)
    return graph.add("Concat", ones, ROWS, axis=1)


# ---- scikit-learn


def _is_classifier(model: object) -> bool:
    """Return whether this is aioli's classifier, without loading scikit-learn where nobody uses it."""
    return type(model).__module__ == "aioli.sklearn"


def _classifier(graph: Graph, model: Any) -> ModelProto:
    learners: Sequence[AnyLearner] = model.learners_
    if model.batch_models_ is not None:
        raise CapabilityMissing(
            "the classifier's models of the whole batch are not exported; fit AIOLIClassifier(batch_models=False), "
            "or one with a learner"
        )
    width = _width(learners[0])
    if knows_classes(learners[0]):
        given = [_class_probabilities(graph, learner) for learner in learners]
        P = _mean(graph, given)
    else:
        p = _mean(graph, [graph.add("Sigmoid", _log_odds(graph, learner)) for learner in learners])
        P = graph.add("Concat", graph.add("Sub", 1.0, p), p, axis=1)
    labels = model.classes_
    kind = np.int64 if labels.dtype.kind in "iub" else np.str_
    place = graph.add("ArgMax", P, axis=1, keepdims=0)
    label = graph.add("Gather", graph.constant(labels.astype(kind), kind), place)
    return graph.call([("label", label, ["rows"]), ("probabilities", P, ["rows", len(labels)])], width, labels=kind)


def _mean(graph: Graph, given: Sequence[Name]) -> Name:
    total = given[0]
    for each in given[1:]:  # onnxruntime has no Mean of float64
        total = graph.add("Add", total, each)
    return graph.add("Mul", total, 1.0 / len(given))


def _steps_of_pipeline(model: object) -> tuple[Any, Any] | None:
    """Return the steps before the classifier and the classifier; None where the model is no pipeline of both."""
    if type(model).__module__ != "sklearn.pipeline" or type(model).__name__ != "Pipeline":
        return None
    pipeline: Any = model
    last = pipeline[-1]
    if len(pipeline) == 1:
        return None
    if not _is_classifier(last):
        raise CapabilityMissing(
            f"the pipeline ends with {type(last).__name__}; give one that ends with AIOLIClassifier"
        )
    return pipeline[:-1], last


def _pipeline(before: Any, classifier: Any) -> ModelProto:
    """Return one model: skl2onnx's of the steps before, then the classifier's."""
    try:
        skl2onnx = importlib.import_module("skl2onnx")
    except ImportError:
        raise ImportError("the other steps of a pipeline need skl2onnx: pip install skl2onnx") from None
    compose = importlib.import_module("onnx.compose")
    types = importlib.import_module("skl2onnx.common.data_types")
    first = skl2onnx.to_onnx(
        before,
        initial_types=[(ROWS, types.DoubleTensorType([None, before.n_features_in_]))],
        target_opset={"": OPSET, "ai.onnx.ml": 3},
    )
    first.ir_version = IR
    last = compose.add_prefix(_classifier(Graph(), classifier), "aioli_", rename_outputs=False)
    return compose.merge_models(first, last, io_map=[(first.graph.output[0].name, f"aioli_{ROWS}")])
