"""What a scikit-learn classifier refuses, in scikit-learn's words where it has some."""

import numpy as np

from aioli.numerics.compiling import Vector
from aioli.outcomes.class_labels import Codes
from aioli.sklearn_parts import Labels, check_array, type_of_target

__all__ = ["as_weights", "check_class_weight", "check_classes", "check_known", "check_taught"]


def as_weights(sample_weight: object, count: int) -> Vector | None:
    """Return one weight a row, at least 0, or None where none are given."""
    if sample_weight is None:
        return None
    given = np.full(count, sample_weight) if np.isscalar(sample_weight) else sample_weight
    weights: Vector = check_array(given, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weights.shape != (count,):
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(count,)}: one weight a row")
    if (weights < 0.0).any():
        raise ValueError("Negative values in data passed to `sample_weight`: a weight is at least 0")
    return weights


def check_classes(classes: Labels, takes_many: bool) -> None:
    """Refuse labels that are no classes, and more than two where the learner is for two."""
    kind = type_of_target(classes)
    if kind != "binary" and not takes_many:
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}. Use Auto or AIOLI, "
            "without an average."
        )


def check_known(labels: Labels, classes: Labels, codes: Codes) -> None:
    """Refuse labels that are none of the classes: an encoder of truth values takes any text for one."""
    unknown = np.asarray(classes[codes] != labels)
    if unknown.any():
        label = labels.tolist()[int(np.argmax(unknown))]
        raise ValueError(f"y contains previously unseen labels: {label!r}; the classes are {classes.tolist()}")


def check_taught(codes: Codes, weights: Vector | None, classes: Labels) -> None:
    """Refuse a batch that has no row of weight, or rows of one class only."""
    if weights is not None and not weights.any():
        raise ValueError("sample_weight is zero for every row; give at least one a weight above zero")
    taught = codes if weights is None else codes[weights > 0.0]
    if np.ptp(taught) == 0:
        label = classes.tolist()[taught[0]]
        raise ValueError(f"every row is of one class, {label!r}; give rows of two, or use partial_fit with classes=[…]")


def check_class_weight(class_weight: object) -> None:
    """Refuse weights that go by how often classes come, which a stream does not know."""
    if isinstance(class_weight, str):
        raise ValueError(
            f"class_weight {class_weight!r} is not supported for partial_fit: classes cannot be counted "
            "before they come; count a sample of them, and give the weights as a dict"
        )
