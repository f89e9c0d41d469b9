from typing import Any

import numpy as np
import pytest
from file_reading import dense, padded

from aioli.numerics.compiling import Matrix
from aioli.snapshots.codec import from_bytes, to_bytes
from aioli.streams import encoding
from aioli.streams.encoding import BUCKET, BUCKETS, Encoder
from aioli.streams.files.cell_values import converted
from aioli.streams.files.dates import days_in
from aioli.streams.files.recognition import kinds_of
from aioli.streams.files.table import CATEGORY, DATE, NUMBER, SKIPPED, TEXT, SparseTable, Table, Texts
from aioli.streams.files.where import Numbered
from aioli.streams.sparse_encoding import SHARED, SparseEncoder

KINDS = {"size": NUMBER, "colour": CATEGORY, "when": DATE, "id": SKIPPED, "shape": CATEGORY}


where = Numbered("a.csv", "line", range(2, 1 << 20))


def table(numbers: dict[str, list[float]], texts: dict[str, Texts] | None = None, **others: Any) -> Table:
    rows = len(next(iter((numbers or texts or others["days"]).values())))
    texts = dict(texts or {})
    days = {name: converted(texts.pop(name), days_in)[0] for name in ("when",) if name in texts}
    matrix = np.array(list(numbers.values())).T if numbers else np.empty((rows, 0))
    complete = not np.isnan(matrix).any()
    return Table(
        list(numbers), np.ascontiguousarray(matrix), texts, None, where, {}, complete, **{"days": days, **others}
    )


def random_tables(seed: int, count: int = 6) -> list[Table]:
    rng = np.random.default_rng(seed)
    tables = []
    for k in range(count):
        n = int(rng.integers(1, 20))
        size = np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)).tolist()
        colour: Texts = [None if rng.random() < 0.1 else f"c{rng.integers(3 + 4 * k)}" for _ in range(n)]
        shape: Texts = [f"s{rng.integers(3)}" for _ in range(n)]
        when: Texts = [None if rng.random() < 0.1 else f"2020-0{1 + rng.integers(9)}-1{k}" for _ in range(n)]
        tables.append(table({"size": size}, {"colour": colour, "when": when, "shape": shape}))
    return tables


def by_definition(tables: list[Table], features: list[str]) -> Matrix:
    """Every cell by what its feature's name says, row after row."""
    sums = {"size": [0.0, 0], "when": [0.0, 0]}
    rows = []
    for piece in tables:
        days = piece.days["when"]
        for t in range(len(piece)):
            row: dict[str, float] = {}
            for name, value in (("size", float(piece.numbers[t, 0])), ("when", float(days[t]))):
                if np.isnan(value):
                    row[f"{name} is missing"] = 1.0
                    value = sums[name][0] / sums[name][1] if sums[name][1] else 0.0
                else:
                    sums[name] = [sums[name][0] + value, sums[name][1] + 1]
                row[name] = value
            row["when, weekday"], row["when, hour"] = (row["when"] // 1 + 3) % 7, row["when"] % 1 * 24
            for name in ("colour", "shape"):
                text = piece.texts[name][t]
                row[f"{name} is missing" if text is None else f"{name}={text}"] = 1.0
            rows.append([row.pop(feature, 0.0) for feature in features])
            assert not row
    return np.array(rows)


@pytest.mark.parametrize("seed", range(5))
def test_every_cell_is_what_its_features_name_says(seed: int) -> None:
    tables, encoder = random_tables(seed), Encoder(KINDS)
    X = padded([dense(encoder.encode(piece)) for piece in tables], len(encoder.features))
    expected = by_definition(tables, encoder.features)
    # sums of blocks are added in another order than one by one: days of 2e4 differ by a few ulp, hours by 24 of them
    np.testing.assert_allclose(X, expected, rtol=1e-14, atol=24 * 1e-11)


@pytest.mark.parametrize("cap", [0, 5, 256])
def test_a_table_grows_but_never_changes_the_features_that_there_were(cap: int) -> None:
    encoder, before = Encoder(KINDS, cap), list[str]()
    for piece in random_tables(1):
        X = encoder.encode(piece)
        assert encoder.features[: len(before)] == before
        assert X.shape == (len(piece), len(encoder.features))
        before = list(encoder.features)
    assert len(set(before)) == len(before)


def test_categories_get_their_places_as_their_rows_come_however_the_rows_are_cut() -> None:
    rng = np.random.default_rng(3)
    colour: Texts = [None if rng.random() < 0.1 else f"c{rng.integers(1 + t // 4)}" for t in range(60)]
    shape: Texts = [f"s{rng.integers(3)}" for _ in range(60)]
    features = []
    for size in (1, 7, 60):
        encoder = Encoder({"size": NUMBER, "colour": CATEGORY, "shape": CATEGORY})
        for begin in range(0, 60, size):
            cut = slice(begin, begin + size)
            encoder.encode(table({"size": [1.0] * len(colour[cut])}, {"shape": shape[cut], "colour": colour[cut]}))
        features.append(encoder.features)
    assert features[0] == features[1] == features[2]
    assert features[0][:3] == ["size", f"shape={shape[0]}", "colour is missing"]


def test_categories_beyond_the_cap_share_buckets_and_are_counted() -> None:
    encoder = Encoder({"c": CATEGORY, "d": CATEGORY}, cap=4)
    names: Texts = [f"v{k}" for k in range(100)]
    X = encoder.encode(table({}, {"c": names, "d": ["x"] * 100}))
    assert encoder.features[:4] == ["c=v0", "d=x", "c=v1", "c=v2"]
    assert all(name.startswith(BUCKET) for name in encoder.features[4:])
    assert len(encoder.features) <= 4 + BUCKETS
    assert encoder.shared == 97
    assert encoder.categories == {"c": 3, "d": 1}
    assert set(X.sum(axis=1)) == {2.0}
    np.testing.assert_array_equal(
        Encoder.restore(encoder.snapshot()).encode(table({}, {"c": names, "d": ["x"] * 100})), X
    )


def test_numbers_alone_are_given_as_they_were_read_and_their_means_are_kept() -> None:
    encoder = Encoder({"a": NUMBER, "b": NUMBER, "c": SKIPPED})
    first = table({"a": [1.0, 3.0], "b": [0.0, 0.0]})
    assert encoder.encode(first) is first.numbers
    assert dense(encoder.encode(table({"a": [np.nan], "b": [7.0]}))).tolist() == [[2.0, 7.0, 1.0]]


def test_columns_that_come_in_another_order_are_the_same_features() -> None:
    encoder = Encoder({"a": NUMBER, "b": NUMBER})
    assert dense(encoder.encode(table({"b": [1.0], "a": [2.0]}))).tolist() == [[2.0, 1.0]]


def test_a_column_may_be_called_as_a_feature_of_another_would_be() -> None:
    """As where a file has a column both as it was and one-hot: no value is written over another."""
    kinds = {"c=red": NUMBER, "c": CATEGORY, "c is missing": NUMBER, "when": DATE, "when, hour": NUMBER}
    numbers = {"c=red": [0.1, 0.2, 0.3], "c is missing": [0.4, 0.5, 0.6], "when, hour": [0.7, 0.8, 0.9]}
    days: Texts = ["2024-01-01", "2024-01-02", "2024-01-03"]
    rows = table(numbers, {"c": ["red", None, "blue"], "when": days})
    encoder = Encoder(kinds)
    X = dense(encoder.encode(rows))
    columns = dict(zip(encoder.features, X.T.tolist(), strict=True))
    assert {name: columns[name] for name in numbers} == numbers
    assert columns["c=red (made)"] == [1.0, 0.0, 0.0]
    assert columns["c is missing (made)"] == [0.0, 1.0, 0.0]
    assert columns["when, hour (made)"] == [0.0, 0.0, 0.0]
    np.testing.assert_array_equal(Encoder.restore(encoder.snapshot()).encode(rows), X)


def test_missing_values_are_counted_by_column() -> None:
    encoder = Encoder(KINDS)
    encoder.encode(
        table({"size": [np.nan, 1.0]}, {"colour": [None, None], "when": ["", "2020-01-01"], "shape": ["a", "b"]})
    )
    assert {name: count for name, count in encoder.missing.items() if count} == {"size": 1, "colour": 2, "when": 1}


def test_a_date_is_its_day_its_weekday_and_its_hour() -> None:
    texts: Texts = ["2020-01-01T06:00", None, "1969/7/20 20:17:40", "2020-01-01T06:00:00+02:00"]
    days, _ = converted(texts, days_in)
    np.testing.assert_allclose(days, [18262.25, np.nan, -165 + (20 + (17 + 40 / 60) / 60) / 24, 18262.25 - 2 / 24])
    encoder = Encoder({"t": DATE})
    X = dense(encoder.encode(table({}, days={"t": days})))
    assert encoder.features == ["t", "t, weekday", "t, hour", "t is missing"]
    np.testing.assert_allclose(X[[0, 2], 1:3], [[2.0, 6.0], [6.0, 20 + (17 + 40 / 60) / 60]])  # a Wednesday, a Sunday
    np.testing.assert_array_equal(X[1], [18262.25, 2.0, 6.0, 1.0])


def test_what_is_no_date_is_missing_and_marked_by_a_feature_of_its_own() -> None:
    days, unreadable = converted(["2020-01-01", "soon", None], days_in)
    assert unreadable == {1: "soon"}
    encoder = Encoder({"t": DATE})
    X = dense(encoder.encode(table({}, days={"t": days}, unreadable={"t": unreadable})))
    assert encoder.features[3:] == ["t is unreadable", "t is missing"]
    assert X[:, 3:].tolist() == [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    assert X[1, :3].tolist() == X[0, :3].tolist()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("cap", [4, 256])
def test_going_on_from_a_state_gives_the_same_matrices(seed: int, cap: int) -> None:
    tables, encoder = random_tables(seed), Encoder(KINDS, cap)
    late = table({"size": [1.0], "late": [2.0]}, {"late too": ["x"]}, new={"late": NUMBER, "late too": CATEGORY})
    tables.insert(2, late)
    states = []
    expected = []
    for piece in tables:
        expected.append(encoder.encode(piece))
        states.append(to_bytes(encoder.snapshot()))
    for k, state in enumerate(states):
        again = Encoder.restore(from_bytes(state))
        for piece, X in zip(tables[k + 1 :], expected[k + 1 :], strict=True):
            np.testing.assert_array_equal(again.encode(piece), X)
        assert to_bytes(again.snapshot()) == states[-1]


def test_free_text_is_the_words_that_are_in_it() -> None:
    encoder = Encoder({"stars": NUMBER, "review": TEXT, "shop": CATEGORY})
    review: Texts = ["Good, very GOOD!", None, "not good"]
    X = encoder.encode(table({"stars": [5.0, 0.0, np.nan]}, {"review": review, "shop": ["a", "b", "a"]}))
    assert encoder.sparse
    by_row = ["review: good", "review: very", "shop=a"], ["shop=b"], ["stars is missing", "review: not"]
    assert encoder.features == ["stars", *by_row[0], *by_row[1], *by_row[2]]
    assert dense(X).tolist() == [
        [5.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
        [2.5, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0],
    ]
    assert not isinstance(X, np.ndarray)
    assert X.nnz == 10
    assert (encoder.words, encoder.missing["review"]) == ({"review": 3}, 1)
    again = Encoder.restore(from_bytes(to_bytes(encoder.snapshot())))
    more = table({"stars": [1.0]}, {"review": ["very new"], "shop": ["c"]})
    np.testing.assert_array_equal(dense(again.encode(more)), dense(encoder.encode(more)))
    assert again.features == encoder.features


def test_words_beyond_the_cap_share_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "WORD_CAP", 2)
    encoder = Encoder({"t": TEXT})
    X = encoder.encode(table({}, {"t": ["a b c", "c d", "", "a"]}))
    assert encoder.features[:2] == ["t: a", "t: b"]
    assert all(name.startswith(encoding.WORD_BUCKET) for name in encoder.features[2:])
    assert X.sum(axis=1).tolist() == [3.0, 2.0, 0.0, 1.0]
    assert encoder.shared == 3


@pytest.mark.parametrize("cap", [-1, -100])
def test_a_cap_below_0_is_refused(cap: int) -> None:
    with pytest.raises(ValueError, match="it must be at least 0"):
        Encoder(KINDS, cap)
    with pytest.raises(ValueError, match="it must be at least 0"):
        SparseEncoder(cap)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "2.5", "", "NA", "-1e3"], NUMBER),
        (["2020-01-01", "2020/1/2 10:00", None], DATE),
        (["2020-01-01", "soon"], CATEGORY),
        (["2020-13-01"], CATEGORY),
        (["1", "x"], CATEGORY),
        (["1_000"], CATEGORY),
        ([None, ""], NUMBER),
    ],
)
def test_what_a_column_is_is_told_by_its_values(values: Texts, kind: str) -> None:
    assert kinds_of({"c": values})["c"] == kind


def sparse_table(rows: list[dict[Any, float]], named: bool) -> SparseTable:
    names = list(dict.fromkeys(key for row in rows for key in row)) if named else []
    features = np.array([names.index(key) if named else key for row in rows for key in row], dtype=np.int64)
    starts = np.cumsum([0, *map(len, rows)])
    values = np.array([value for row in rows for value in row.values()])
    return SparseTable(starts, features, values, None, where, {}, names=names, first=1)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("cap", [None, 5, 0])
def test_sparse_features_keep_their_columns_and_go_on_from_a_state(named: bool, cap: int | None) -> None:
    rng = np.random.default_rng(0)
    tables, total = [], 0
    for k in range(5):
        keys = [rng.choice(4 + 4 * k, size=3, replace=False).tolist() for _ in range(6)]
        rows: list[dict[Any, float]] = [
            {f"f{key}" if named else key: float(rng.normal()) for key in row} for row in keys
        ]
        total += sum(key >= 5 for row in keys for key in row)
        tables.append((rows, sparse_table(rows, named)))
    encoder = SparseEncoder(cap)
    for rows, piece in tables:
        state = from_bytes(to_bytes(encoder.snapshot()))
        X = encoder.encode(piece)
        np.testing.assert_array_equal(SparseEncoder.restore(state).encode(piece).toarray(), X.toarray())
        assert X.shape == (len(rows), len(encoder.features))
        np.testing.assert_allclose(
            X.sum(axis=1), [sum(row.values()) for row in rows], atol=1e-14
        )  # a few ulp of 3 terms
        if cap is None:
            for t, row in enumerate(rows):
                for key, value in row.items():
                    assert X[t, encoder.features.index(str(key + 1) if not named else key)] == value
    if cap is None:
        assert encoder.shared == 0
    else:
        assert len(encoder.features) == cap + SHARED
        assert encoder.shared > 0
    if cap == 5 and not named:
        assert encoder.shared == total
