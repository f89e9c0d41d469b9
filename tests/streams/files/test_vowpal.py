from pathlib import Path

import numpy as np
import pytest
from file_reading import check_resuming, gzipped, read, refused

from aioli.streams.files import byte_window
from aioli.streams.filestream import FileStream, Reading


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "a.vw"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_features_are_named_by_their_namespaces(tmp_path: Path) -> None:
    path = write(tmp_path, "1 |a x:2 y |b:0.5 x:3 z\r\n\n-1 | x plain:-1e-3\n")
    features, X, y = read(path)
    assert features == ["a^x", "a^y", "b^x", "b^z", "x", "plain"]
    assert X.tolist() == [[2.0, 1.0, 1.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0, -0.001]]
    assert y.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("head", "label", "weight"),
    [
        ("1 ", 1.0, 1.0),
        ("-1 2.5 ", 0.0, 2.5),
        ("1 0.5 0 ", 1.0, 0.5),
        ("1 'tag", 1.0, 1.0),
        ("-1 3 'tag", 0.0, 3.0),
        ("1 2 tag", 1.0, 2.0),
        ("1 'tag ", 1.0, 1.0),
        ("1", 1.0, 1.0),
        ("  -1  ", 0.0, 1.0),
    ],
)
def test_the_head_is_label_importance_base_and_tag(head: str, label: float, weight: float, tmp_path: Path) -> None:
    with FileStream(str(write(tmp_path, f"{head}| x\n1 7 | x\n-1 | x\n")), Reading()) as stream:
        (batch,) = stream
    assert batch.y is not None
    assert batch.weights is not None
    assert (batch.y[0], batch.weights.tolist()) == (label, [weight, 7.0, 1.0])


def test_without_importances_there_are_no_weights(tmp_path: Path) -> None:
    with FileStream(str(write(tmp_path, "0 | x\n1 | y\n")), Reading()) as stream:
        assert [batch.weights for batch in stream] == [None]
        assert (stream.labels.negative, stream.labels.positive) == ("0", "1")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (b"1 x y", "a.vw, line 2: has no bar; write the label, ' |' and the features"),
        (b"one | x", "a.vw, line 2: 'one', the value of 'label', is no finite number; mend it"),
        (b"1:2:0.5 | x", "a.vw, line 2: '1:2:0.5', the value of 'label'"),
        (b"1 -2 | x", "a.vw, line 2: has the importance -2; it must be at least 0"),
        (b"1 1 0.5 | x", "a.vw, line 2: has the base 0.5"),
        (b"1 2 3 4 5 | x", "a.vw, line 2: '1 2 3 4 5 ' is more than label, importance, base and tag"),
        (b"1 | x:", "a.vw, line 2: '', the value of 'x', is no finite number"),
        (b"1 | x:2:3", "a.vw, line 2: '2:3', the value of 'x', is no finite number"),
        (b"1 | x:inf", "a.vw, line 2: the value of 'x' is not finite; mend it, or drop it"),
        (b"1 | x:nan", "a.vw, line 2: the value of 'x' is not finite"),
        (b"1 |a:x y", "a.vw, line 2: 'x', the value of 'a', is no finite number"),
        (b"1 | \xff", "a.vw, line 2: '\ufffd' is not UTF-8; say how the file is encoded (--encoding latin-1"),
        (b"2 | x\n-1 | x", "a.vw, line 3: the label is '-1', besides "),
    ],
)
def test_what_is_wrong_is_told_with_its_line(row: bytes, said: str, tmp_path: Path) -> None:
    assert refused(write(tmp_path, b"1 | x\n" + row + b"\n")).startswith(said)


@pytest.mark.parametrize("row", ["| x", "'tag | x"])
def test_a_row_without_a_label_has_none(row: str, tmp_path: Path) -> None:
    with FileStream(str(write(tmp_path, f"1 | x\n{row}\n-1 | x\n")), Reading()) as stream:
        (batch,) = stream
        assert batch.y is not None
        np.testing.assert_array_equal(batch.y, [1.0, np.nan, 0.0])
        assert stream.unlabelled == 1


def test_rows_without_labels_can_be_read_where_none_are_asked_for(tmp_path: Path) -> None:
    features, X, y = read(write(tmp_path, "| x\n|a x\n"), labelled=False)
    assert (features, X.tolist(), y.tolist()) == (["x", "a^x"], [[1.0, 0.0], [0.0, 1.0]], [])


def test_an_empty_file_is_told(tmp_path: Path) -> None:
    assert refused(write(tmp_path, "")).startswith("a.vw: is empty")


@pytest.mark.parametrize("seed", range(6))
def test_reading_goes_on_from_anywhere_as_if_it_had_never_stopped(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(byte_window, "BLOCK", 30 + 41 * seed)
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(40):
        words = " ".join(f"w{k}:{v:.3g}" for k, v in zip(rng.integers(0, 30, 5), rng.normal(size=5), strict=True))
        lines += [f"{rng.choice([-1, 1])} |{rng.choice(['a', 'b', ''])} {words}", *[""] * int(rng.random() < 0.2)]
    path = write(tmp_path, "\n".join(lines))
    for file in (path, gzipped(path, 2)):
        assert check_resuming(file, None) > 5
