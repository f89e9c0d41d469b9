"""Every learner has a table for notebooks, whose text is escaped."""

from xml.etree import ElementTree

import numpy as np
import pytest

from aioli import AIOLI, EKF, OGD, Auto
from aioli.learners.notebook import html_of
from aioli.learners.protocol import AnyLearner


@pytest.mark.parametrize("learner", [AIOLI(), OGD(), EKF(), Auto(budget="fast"), AIOLI(classes=["<a>", "b", "c"])])
def test_the_table_is_well_formed_before_and_after_rows(learner: AnyLearner) -> None:
    before = html_of(learner)
    assert "rows learned" in before
    rows = np.random.default_rng(0).normal(size=(40, 2))
    labels: object = ["<a>", "b", "c", "b"] * 10 if "<a>" in repr(learner) else [0, 1] * 20
    learner.learn_many(rows, labels)
    after = html_of(learner)
    assert "nats a row" in after
    for text in (before, after):
        ElementTree.fromstring(text.replace("<br>", "<br/>"))


def test_names_of_columns_are_escaped_and_cut() -> None:
    learner = AIOLI()
    learner.learn(np.zeros(20), 1)
    learner.feature_names_ = ["<b>", *(f"column {j}" for j in range(19))]
    text = learner._repr_html_()
    assert "&lt;b&gt;" in text
    assert "and 8 more" in text


def test_the_shares_of_a_mixture_are_bars() -> None:
    learner = Auto(budget="fast")
    learner.learn([1.0], 1)
    assert learner._repr_html_().count("<span") >= 3
