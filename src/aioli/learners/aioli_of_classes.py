"""Makes the learner of many classes that `AIOLI(classes=…)` asks for, on the processor or on a device."""

from typing import TYPE_CHECKING

from aioli.errors import ParameterRefused
from aioli.learners.classes.class_aioli import ClassAIOLI
from aioli.outcomes.class_labels import Classes
from aioli.outcomes.spec import Curvature
from aioli.states.classes.structure import Structure

if TYPE_CHECKING:
    from aioli.learners.classes.device_class_aioli import DeviceClassAIOLI

__all__ = ["aioli_of_classes"]


def aioli_of_classes(
    radius: float,
    ridge: float | None,
    regulariser: float,
    curvature: Curvature,
    forgetting: float,
    intercept: bool,
    classes: Classes,
    structure: Structure | None,
    device: str | None,
) -> "ClassAIOLI | DeviceClassAIOLI":
    """Return a learner of these classes, or refuse parameters that the game of many classes does not have."""
    if regulariser not in (0.5, 1.0) or curvature != "tight":
        message = (
            "the game of many classes has its own regulariser, ½, and its own curvature; leave out regulariser and "
            "curvature, or classes"
        )
        raise ParameterRefused(message, parameter="classes", value=classes)
    if device is None:
        return ClassAIOLI(radius, ridge, forgetting, intercept, classes, structure)
    if forgetting != 1.0 or structure not in (None, "shared"):
        message = "on a device classes share a matrix, which does not forget; leave out forgetting and structure"
        raise ParameterRefused(message, parameter="device", value=device)
    from aioli.learners.classes.device_class_aioli import DeviceClassAIOLI

    return DeviceClassAIOLI(radius, ridge, intercept, classes, device)
