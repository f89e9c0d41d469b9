"""The comparison on wide streams: which streams it plays, and that no peer sees a label early."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from aioli.numerics.compiling import Vector
from benchmarks.wide import main, measured, wide_streams
from benchmarks.wide_peers import PEERS

WIDTH = 1500


def words(rows: int = 40) -> tuple[Any, Vector]:
    rng = np.random.default_rng(0)
    drawn = np.array([rng.choice(WIDTH, size=6, replace=False) for _ in range(rows)])
    X = sparse.csr_array((np.ones(drawn.size), drawn.ravel(), np.arange(rows + 1) * 6), shape=(rows, WIDTH))
    X.sort_indices()
    return X, (rng.random(rows) < 0.5).astype(float)


def written(folder: Path, name: str, X: Any, y: Vector) -> None:
    lines = []
    for t, label in enumerate(y):
        part = slice(X.indptr[t], X.indptr[t + 1])
        entries = " ".join(f"{j + 1}:{v}" for j, v in zip(X.indices[part], X.data[part], strict=True))
        lines.append(f"{int(label)} {entries}")
    (folder / name).write_text("\n".join(lines) + "\n")


def test_wide_binary_streams_are_read_and_others_passed_over(tmp_path: Path) -> None:
    X, y = words()
    X = sparse.csr_array(
        sparse.hstack([X[:, :-1], sparse.csr_array(np.ones((40, 1)))])
    )  # so that the file tells its width
    written(tmp_path, "wide.svm", X, y)
    written(tmp_path, "narrow.svm", X[:, :100], y)
    written(tmp_path, "three.svm", X, (np.arange(40) % 3).astype(float))
    ((name, rows, labels),) = wide_streams(tmp_path, [], rows=30)
    assert name == "wide"
    assert_array_equal(rows.toarray(), X[:30].toarray())
    assert_array_equal(labels, y[:30])
    assert list(wide_streams(tmp_path, ["narrow"], rows=30)) == []


@pytest.mark.parametrize("peer", PEERS)
def test_no_peer_sees_a_label_early(peer: str) -> None:
    pytest.importorskip("vowpalwabbit" if peer.startswith("vw") else "river")
    X, y = words()
    other = y.copy()
    other[-1] = 1.0 - other[-1]
    assert_array_equal(PEERS[peer](X, y), PEERS[peer](X, other))


def test_a_stream_becomes_a_line_and_the_lines_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("vowpalwabbit")
    pytest.importorskip("river")
    X, y = words()
    line = measured("words", X, y, repeats=1)
    assert line[:4] == ("words", "40", str(WIDTH), "6")
    assert len(line) == 9 + len(PEERS)
    written(tmp_path, "words.svm", X, y)
    main(["--streams", str(tmp_path), "--repeats", "1", "--markdown"])
    assert "| words | 40 |" in capsys.readouterr().out
