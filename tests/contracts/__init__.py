"""The properties that every learner keeps, as far as its capabilities promise them.

`make contracts` plays every learner of `subjects.py` through every property and prints the table; `test_contracts.py`
does the same, a test each.
"""

from contracts import capabilities, every_learner, late_labels
from contracts.class_learners import CLASS_PROPERTIES, ClassProperty
from contracts.class_subjects import CLASS_SUBJECTS, ClassSubject
from contracts.playing import Property
from contracts.subjects import LEARNERS, SUBJECTS, Subject

__all__ = [
    "CLASS_PROPERTIES",
    "CLASS_SUBJECTS",
    "LEARNERS",
    "PROPERTIES",
    "SUBJECTS",
    "ClassProperty",
    "ClassSubject",
    "Property",
    "Subject",
]

PROPERTIES = [*every_learner.PROPERTIES, *capabilities.PROPERTIES, *late_labels.PROPERTIES]
