"""A learner as an ONNX graph, which any runtime plays without Python: what `predict_many` says, to rounding.

>>> import numpy as np
>>> from aioli import AIOLI
>>> from aioli.onnx import to_onnx                                   # needs onnx
>>> learner = AIOLI()
>>> _ = learner.learn_many(np.eye(3), [0, 1, 1])
>>> [output.name for output in to_onnx(learner).graph.output]
['probability', 'log_odds']
"""

from aioli.onnx.exporting import save_onnx, to_onnx

__all__ = ["save_onnx", "to_onnx"]
