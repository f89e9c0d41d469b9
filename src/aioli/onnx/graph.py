"""Builds an ONNX graph of float64 tensors, one call an operator."""

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:  # onnx has no types that mypy could follow
    TensorProto: ModuleType
    helper: ModuleType
    numpy_helper: ModuleType
else:
    try:
        from onnx import TensorProto, helper, numpy_helper
    except ImportError:
        raise ImportError("aioli.onnx needs onnx: pip install 'aioli-online[onnx]'") from None

__all__ = ["IR", "OPSET", "Graph", "ModelProto", "Name"]

OPSET = 18  # of the operators: understood by onnxruntime from 1.14 on
IR = 9
Name = str  # of a tensor in the graph
ModelProto: TypeAlias = Any  # onnx's


class Graph:
    """Collects operators and constants; every method that adds one returns the name of its result."""

    def __init__(self) -> None:
        self.nodes: list[object] = []
        self.constants: list[object] = []
        self._count = 0

    def constant(self, value: ArrayLike, kind: type = np.float64) -> Name:
        """Add a constant, of float64 where no other type is said."""
        name = self._fresh("c")
        values: NDArray[np.generic] = np.asarray(value, dtype=object if kind is np.str_ else kind)
        self.constants.append(numpy_helper.from_array(values, name))
        return name

    def add(self, operator: str, *inputs: Name | float, **attributes: object) -> Name:
        """Add an operator; plain numbers among its inputs become constants."""
        names = [self.constant(each) if isinstance(each, (int, float)) else each for each in inputs]
        result = self._fresh(operator.lower())
        self.nodes.append(helper.make_node(operator, names, [result], **attributes))
        return result

    def sum_over_columns(self, rows: Name) -> Name:
        """Add the sum over the last axis of a matrix, which stays a matrix of one column."""
        return self.add("ReduceSum", rows, self.constant([1], np.int64), keepdims=1)

    def call(
        self, outputs: Sequence[tuple[str, Name, Sequence[int | str]]], width: int, labels: type = np.int64
    ) -> ModelProto:
        """Return the model of this graph: rows "X" of so many columns in, the named tensors out.

        All are of float64, but for an output called "label".
        """
        ends = [helper.make_node("Identity", [inner], [name]) for name, inner, _ in outputs]
        kinds = {"label": TensorProto.STRING if labels is np.str_ else TensorProto.INT64}
        made = [
            helper.make_tensor_value_info(name, kinds.get(name, TensorProto.DOUBLE), list(shape))
            for name, _, shape in outputs
        ]
        rows = helper.make_tensor_value_info("X", TensorProto.DOUBLE, ["rows", width])
        graph = helper.make_graph([*self.nodes, *ends], "aioli", [rows], made, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)

    def _fresh(self, stem: str) -> Name:
        self._count += 1
        return f"{stem}_{self._count}"
