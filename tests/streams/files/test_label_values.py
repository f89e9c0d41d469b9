import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioli.snapshots.codec import from_bytes, to_bytes
from aioli.streams.files.table import Texts
from aioli.streams.files.where import Numbered
from aioli.streams.labels import Labels
from aioli.streams.many_labels import ManyLabels

where = Numbered("a.csv", "line", range(2, 1 << 20))


def encoded(labels: Labels, *values: float | str | None) -> list[float]:
    """Numbers come as an array, texts as a list, as readers give them."""
    if all(isinstance(value, float) for value in values):
        return list(labels.encode(np.array(values), where))
    texts: Texts = [value if value is None else str(value) for value in values]
    return list(labels.encode(texts, where))


@pytest.mark.parametrize(
    ("negative", "positive"),
    [
        (0.0, 1.0),
        (-1.0, 1.0),
        (1.0, 2.0),
        (-3.5, -2.25),
        (0.1, 0.30000000000000004),
        (1e17, 3e17),
        ("no", "yes"),
        ("FALSE", "TRUE"),
        ("n", "y"),
        ("-", "+"),
        ("neg", "pos"),
        ("ham", "spam"),
        ("malignant", "yes"),
        ("no", "benign"),
        ("<=50K", ">50K"),
        ("9", "10"),
        ("é", "ü"),
    ],
)
def test_the_order_in_which_two_labels_come_does_not_matter(negative: float | str, positive: float | str) -> None:
    for values in ((negative, positive), (positive, negative)):
        labels = Labels()
        assert encoded(labels, *values, *values) == [float(value == positive) for value in (*values, *values)]
        assert labels.counts == [2, 2]


@pytest.mark.parametrize(
    ("first", "second"), [(0.0, 1.0), (1.0, 0.0), (-1.0, 1.0), (1.0, -1.0), ("yes", "no"), ("f", "t")]
)
def test_a_label_that_says_what_it_is_may_come_long_before_the_other(first: float | str, second: float | str) -> None:
    alone, together = Labels(), Labels()
    assert encoded(alone, first, first) + encoded(alone, second) == encoded(together, first, first, second)


@pytest.mark.parametrize(("first", "second"), [(1.0, 2.0), (0.0, -1.0), ("yes", "zebra+"), (1.0, 1.5)])
def test_a_label_that_would_turn_the_first_around_is_refused_and_may_be_asked_for(
    first: float | str, second: float | str
) -> None:
    labels = Labels()
    encoded(labels, first)
    if isinstance(first, str):  # yes is positive whatever the other is
        assert encoded(labels, second) == [0.0]
        return
    before = labels.snapshot()
    with pytest.raises(ValueError, match=r"line 2: the label is '.*', after '.*' alone had come and was taken for"):
        encoded(labels, second)
    assert labels.snapshot() == before
    asked = Labels(f"{second:g}" if isinstance(second, float) else second)
    assert encoded(asked, first) + encoded(asked, second) == [0.0, 1.0]


@pytest.mark.parametrize("value", [2.0, "ham"])
def test_one_class_that_says_nothing_is_refused_unless_it_is_asked_for(value: float | str) -> None:
    with pytest.raises(ValueError, match=r"a.csv, line 2: the label of the first 3 rows is always .*--positive"):
        encoded(Labels(), value, value, value)
    name = "2" if value == 2.0 else "ham"
    assert encoded(Labels(name), value, value) == [1.0, 1.0]
    assert encoded(Labels("other"), value, value) == [0.0, 0.0]


@pytest.mark.parametrize("asked", ["1", "1.0", "+1", "01"])
def test_a_number_may_be_asked_for_however_it_is_written(asked: str) -> None:
    assert encoded(Labels(asked), 2.0, 1.0) == [0.0, 1.0]


def test_the_asked_for_one_is_positive_even_if_it_says_no() -> None:
    assert encoded(Labels("no"), "yes", "no") == [0.0, 1.0]
    assert encoded(Labels("0"), 1.0, 0.0) == [0.0, 1.0]


@pytest.mark.parametrize("values", [(0.0, 1.0, 2.0), ("a", "b", "c")])
def test_a_third_label_is_refused_with_its_place_and_changes_nothing(values: tuple[float | str, ...]) -> None:
    with pytest.raises(ValueError, match=r"a.csv, line 4: the label is '.*', besides '.*' and '.*'; this is for two"):
        encoded(Labels(), *values)
    labels = Labels()
    encoded(labels, *values[:2])
    before = labels.snapshot()
    with pytest.raises(ValueError, match=r"a\.csv, line 3: the label is"):
        encoded(labels, values[0], values[2])
    assert labels.snapshot() == before


def test_the_one_that_is_asked_for_plays_against_the_rest() -> None:
    labels = Labels("red")
    assert encoded(labels, "green", "red", "blue") + encoded(labels, "grey", "red") == [0.0, 1.0, 0.0, 0.0, 1.0]
    assert (labels.names, labels.counts) == (("not red", "red"), [3, 2])
    assert labels.told() == "'red' is played against the rest: 'green', 'blue', 'grey'"
    numbers = Labels("2")
    assert encoded(numbers, 1.0, 2.0, 3.0) + encoded(numbers, 4.0, 5.0, 2.0) == [0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    assert numbers.told().endswith("the rest: '1', '3', '4', '5', …")
    again = Labels.restore(from_bytes(to_bytes(labels.snapshot())))
    assert (again.snapshot(), again.told()) == (labels.snapshot(), labels.told())


@pytest.mark.parametrize("kind", [Labels, ManyLabels])
def test_of_two_labels_that_say_nothing_the_rarer_one_is_positive_and_it_is_told(kind: type[Labels]) -> None:
    labels = kind()
    assert encoded(labels, "working", "broken", "working", "working") == [0.0, 1.0, 0.0, 0.0]
    assert "'broken' is taken for the positive class, being the rarer one of the first 4 rows" in labels.told()
    assert kind.restore(from_bytes(to_bytes(labels.snapshot()))).told() == labels.told()
    obvious = kind()
    assert encoded(obvious, "yes", "yes", "no") == [1.0, 1.0, 0.0]
    assert obvious.told() == ""


@pytest.mark.parametrize("kind", [Labels, ManyLabels])
def test_case_does_not_count_where_that_leaves_two(kind: type[Labels]) -> None:
    labels = kind()
    assert encoded(labels, "Yes", "no", "YES", "No") + encoded(labels, "yes", "NO") == [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]
    assert labels.classes == ("no", "Yes")
    again = kind.restore(from_bytes(to_bytes(labels.snapshot())))
    assert encoded(again, "YES", "nO") == [1.0, 0.0]
    assert "'YES' is taken for 'Yes'" in labels.told()
    assert encoded(Labels("SPAM"), "ham", "Spam", "eggs") == [0.0, 1.0, 0.0]


def test_case_counts_where_it_is_all_that_differs_or_classes_are_many() -> None:
    assert encoded(Labels(), "a", "A", "a") == [0.0, 1.0, 0.0]
    assert sorted(encoded(ManyLabels(), "a", "A", "b", "c")) == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("values", [(0.0, np.nan, 1.0), ("a", None, "b")])
def test_a_missing_label_is_refused_with_its_place(values: tuple[float | str | None, ...]) -> None:
    with pytest.raises(ValueError, match=r"a\.csv, line 3: the label is missing; fill it in, or drop the row"):
        encoded(Labels(), *values)


@given(values=st.lists(st.sampled_from(["no", "yes"]), min_size=1), cut=st.integers(0, 20))
def test_labels_go_on_from_their_state(values: list[str], cut: int) -> None:
    labels, whole = Labels(), Labels()
    first = encoded(labels, *values[:cut])
    rest = encoded(Labels.restore(from_bytes(to_bytes(labels.snapshot()))), *values[cut:])
    assert first + rest == encoded(whole, *values)


@pytest.mark.parametrize("asked", [None, "2"])
def test_all_of_the_state_comes_back(asked: str | None) -> None:
    labels = Labels(asked)
    encoded(labels, 1.0, 2.0, 2.0)
    again = Labels.restore(from_bytes(to_bytes(labels.snapshot())))
    expected = {"positive": "2", "negative": "1", "counts": [1, 2], "asked": bool(asked)}
    assert again.snapshot().values == labels.snapshot().values == expected
