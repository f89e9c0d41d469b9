"""Every exported learner keeps every property that its capabilities promise."""

import re
from pathlib import Path

import pytest
from contracts import (
    CLASS_PROPERTIES,
    CLASS_SUBJECTS,
    LEARNERS,
    PROPERTIES,
    SUBJECTS,
    ClassProperty,
    ClassSubject,
    Property,
    Subject,
)
from contracts.subjects import CLASS_LEARNERS

from aioli.learners.protocol import Capability

PROMISES = [
    pytest.param(subject, promised, id=f"{subject.name}-{promised.name}")
    for subject in SUBJECTS
    for promised in PROPERTIES
    if promised.concerns(subject)
]


@pytest.mark.parametrize(("subject", "promised"), PROMISES)
def test_a_learner_keeps_what_it_promises(subject: Subject, promised: Property) -> None:
    promised.check(subject)


CLASS_PROMISES = [
    pytest.param(subject, promised, id=f"{subject.name}-{promised.name}")
    for subject in CLASS_SUBJECTS
    for promised in CLASS_PROPERTIES
    if subject.promises(*promised.needs)
]


@pytest.mark.parametrize(("subject", "promised"), CLASS_PROMISES)
def test_a_learner_of_many_classes_keeps_what_it_promises(subject: ClassSubject, promised: ClassProperty) -> None:
    promised.check(subject)


def test_every_exported_learner_is_a_subject() -> None:
    assert sorted({subject.kind for subject in SUBJECTS}) == LEARNERS
    assert sorted({subject.kind for subject in CLASS_SUBJECTS}) == CLASS_LEARNERS


def test_every_learner_that_certifies_is_held_to_its_certificate_in_some_configuration() -> None:
    certifying = {subject.kind for subject in SUBJECTS if subject.promises(Capability.CERTIFIES)}
    assert {subject.kind for subject in SUBJECTS if subject.seen is not None} == certifying


TOLD = {
    "certificate": Capability.CERTIFIES,
    "late labels": Capability.LEARNS_LATE,
    "new columns": Capability.GROWS,
    "weights": Capability.WEIGHS,
    "merging": Capability.MERGES,
    "sparse rows kept sparse": Capability.SPARSE_ROWS,
    "shares of experts": Capability.MIXES,
}


def test_the_page_of_learners_tells_what_each_can_do() -> None:
    page = Path(__file__).parents[1] / "docs" / "reference" / "learners.md"
    section = page.read_text(encoding="utf-8").partition("## What each can do")[2].partition("\n## ")[0]
    heading, _, *lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]
    assert heading[1:] == list(TOLD)
    usual = {each.kind: each.make() for each in reversed(SUBJECTS)}  # the first configuration of each
    usual |= {each.kind: each.make() for each in reversed(CLASS_SUBJECTS)}
    told = {name: marks for names, *marks in lines for name in re.findall(r"`(\w+)`", names)}
    assert sorted(told) == sorted([*LEARNERS, *CLASS_LEARNERS])
    for name, marks in told.items():
        assert marks == ["yes" if each in usual[name].capabilities else "–" for each in TOLD.values()], name
