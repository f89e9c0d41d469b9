"""River's face, mini-batches: every kind of frame, the same kind back, and rows at once as rows one by one."""

import pickle
from typing import Any

import numpy as np
import pytest
from face_streams import LABELS, SAME, stream
from numpy.testing import assert_allclose, assert_array_equal
from river_frames import FRAMES, as_frame, dictionaries, pandas

from aioli import AIOLI
from aioli.river import AIOLIClassifier


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_a_frame_of_any_kind_gives_the_same_kind_back(kind: str, labels: tuple[Any, Any]) -> None:
    X, y = stream()
    frame = as_frame(kind, X)
    told = [labels[int(label)] for label in y]
    model, one_by_one = AIOLIClassifier(), AIOLIClassifier()
    model.learn_many(frame, FRAMES[kind][1](told))
    for x, label in zip(dictionaries(X), told, strict=True):
        one_by_one.learn_one(x, label)
    said, likelier = model.predict_proba_many(frame), model.predict_many(frame)
    assert type(said) is type(frame)
    columns = [list(one_by_one.predict_proba_one(x).values()) for x in dictionaries(X)]
    assert_allclose(
        np.array([said[name] for name in said.columns] if kind != "pyarrow" else said.columns).T, columns, rtol=SAME
    )
    assert list(likelier.to_pylist() if kind == "pyarrow" else likelier) == [
        one_by_one.predict_one(x) for x in dictionaries(X)
    ]


def test_a_pandas_index_and_the_name_of_the_labels_come_back() -> None:
    X, y = stream(n=6)
    frame = as_frame("pandas", X).set_index(pandas.Index(list("fedcba")))
    model = AIOLIClassifier(AIOLI())
    model.learn_many(frame, pandas.Series(y == 1.0, index=frame.index, name="clicked"))
    assert_array_equal(model.predict_proba_many(frame).index, frame.index)
    assert_array_equal(model.predict_proba_many(frame).columns, [False, True])
    assert model.predict_many(frame).name == "clicked"
    assert_array_equal(model.predict_many(frame).index, frame.index)
    before = pickle.dumps(model._game.learner)
    model.learn_many(frame[:0], pandas.Series([], dtype=bool, name="clicked"))
    assert pickle.dumps(model._game.learner) == before
    assert model.predict_proba_many(frame[:0]).shape == (0, 2)
    assert len(model.predict_many(frame[:0])) == 0


def test_a_batch_that_is_refused_says_why_and_leaves_no_trace() -> None:
    one_row = pandas.DataFrame({"a": [1.0]})
    model = AIOLIClassifier(AIOLI())
    for _ in range(2):  # before anything was learned, and after
        before = pickle.dumps(model)
        for X, labels, message in [
            (pandas.DataFrame({"a": ["1.5"]}), [True], "column 'a' is of type String"),
            (pandas.DataFrame({"t": pandas.to_datetime(["2020-01-01"])}), [True], "column 't' is of type Datetime"),
            (pandas.DataFrame({"a": [1.0, 2.0], "b": [0.0, None]}), [True, False], "row 1: column 'b' is nan"),
            (one_row, [None], "row 0: the label is missing"),
            (one_row, pandas.array([None], dtype="boolean"), "row 0: the label is missing"),
            (one_row, [True, False], "1 rows came with labels"),
            (one_row[:0], [True], "an empty matrix"),
        ]:
            with pytest.raises(ValueError, match=message):
                model.learn_many(X, pandas.Series(labels))
            assert pickle.dumps(model) == before
        model.learn_many(one_row, pandas.Series([True]))
